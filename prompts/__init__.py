"""One file a prompt: its name and version, its text, and the Pydantic model of its answer."""
