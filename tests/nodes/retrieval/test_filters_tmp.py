from clew.tests.graph.scene import *
async def test_x(services):
    await ingest(services, [
     {"id":"a","title":"Ada Lovelace","text":"Ada Lovelace worked with Charles Babbage.","category":"people"},
     {"id":"b","title":"Charles Babbage","text":"Charles Babbage built engines with Ada Lovelace.","category":"machines"}])
    st = await ask(services, "Ada Lovelace", filters={"category":["people"]})
    assert [d.metadata["category"] for d in st["documents"]] == ["people"]
