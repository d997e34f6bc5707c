"""Steps: one public async function a file, named like the file and like its node in the graph."""
