"""Names become mentions of chunks and entities of documents."""

from __future__ import annotations

from typing import Any

from clew.models.recognizer import CuratedEntity, Recognizer
from clew.nodes.ingestion.extract import extract
from clew.nodes.ingestion.split import split
from clew.settings import Settings
from clew.state import IngestionState
from clew.stores.records import DocumentDraft, MentionDraft

from .stand_ins import WhitespaceEmbedder


async def extracted(
    text: str, title: str, *curated: CuratedEntity, source: str = "file.md", window: int = 256
) -> DocumentDraft:
    draft: Any = {"key": source, "title": title, "source": source, "text": text}
    state: IngestionState = {"batch": [draft]}
    state = await split(state, embedder=WhitespaceEmbedder(window), settings=Settings())
    return (await extract(state, recognizer=Recognizer(curated)))["batch"][0]


def mentioned(document: DocumentDraft, chunk: int = 0) -> dict[str, MentionDraft]:
    return {mention["name"]: mention for mention in document["chunks"][chunk]["mentions"]}


async def test_the_title_is_the_subject_and_one_with_its_name_in_the_text() -> None:
    document = await extracted("Alice is directed by Jan Svěrák.", "Alice (2010 film)")
    alice = mentioned(document)["Alice"]
    assert (alice["subject"], alice["offsets"], alice["type"]) == (True, [0], "Name")
    assert not mentioned(document)["Jan Svěrák"]["subject"]
    entities = {entity["name"]: entity for entity in document["entities"]}
    assert entities["Alice"]["aliases"] == ["Alice (2010 film)"]
    assert list(entities) == ["Alice", "Jan Svěrák"]


async def test_offsets_are_those_of_the_chunk() -> None:
    text = "# Doc\n\n" + "Plain words go on here. " * 20 + "We met Mel Gibson and Mel Gibson."
    document = await extracted(text, "Doc", window=48)
    seen = 0
    for chunk in document["chunks"]:
        for mention in chunk["mentions"]:
            for offset in mention["offsets"]:
                assert chunk["text"][offset:].startswith(mention["name"])
                seen += 1
    assert seen >= 2


async def test_unsure_names_are_left_out() -> None:
    document = await extracted("The American company grew. Boritzer wrote.", "Some Title")
    assert list(mentioned(document)) == ["Some Title"]


async def test_headings_that_name_something_are_subjects() -> None:
    text = (
        "# Guide\n\n## History\n\nOld.\n\n## Eiffel Tower (Paris)\n\nHigh.\n\n## how to win\n\nTry."
    )
    document = await extracted(text, "Guide")
    subjects = [
        [m["name"] for m in chunk["mentions"] if m["subject"]] for chunk in document["chunks"]
    ]
    assert subjects == [["Guide"], ["Guide", "Eiffel Tower"], ["Guide"]]


async def test_a_generic_title_or_a_file_name_is_no_entity() -> None:
    for title, source in (("Introduction", "a.md"), ("notes_2024", "notes_2024.txt")):
        assert (await extracted("plain words only.", title, source=source))["entities"] == []


async def test_curated_entities_bring_type_aliases_and_properties() -> None:
    curated = CuratedEntity(name="Orion", type="Ship", aliases=["NX-1"], properties={"crew": 3})
    document = await extracted("The NX-1 left; Orion returned.", "Orion", curated)
    (entity,) = document["entities"]
    assert (entity["type"], entity["aliases"], entity["properties"]) == (
        "Ship", ["NX-1"], {"crew": 3}
    )  # fmt: skip
    assert mentioned(document)["Orion"]["offsets"] == [4, 15]
    assert mentioned(document)["Orion"]["subject"]


async def test_an_acronym_becomes_an_alias() -> None:
    document = await extracted(
        "The World Health Organization (WHO) met. Then WHO acted.", "Some Meeting"
    )
    entity = next(e for e in document["entities"] if e["name"] == "World Health Organization")
    assert entity["aliases"] == ["WHO"]
    assert len(mentioned(document)["World Health Organization"]["offsets"]) == 3


async def test_every_mention_has_its_entity() -> None:
    text = "# The Boat\n\nThe Boat and the boat of Jan De Vries. THE BOAT sank off Iceland."
    document = await extracted(text, "The Boat")
    entities = {(entity["name"], entity["type"]) for entity in document["entities"]}
    assert len(entities) == len(document["entities"])
    for chunk in document["chunks"]:
        assert {(m["name"], m["type"]) for m in chunk["mentions"]} <= entities
