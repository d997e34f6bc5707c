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


async def test_a_definition_is_the_subject_of_a_text_without_a_title() -> None:
    document = await extracted(
        "Moya Brennan (born Máire Bhraonáin) is a singer. Máire Bhraonáin met Zoe Lund.", "p12",
        source="p12"
    )  # fmt: skip
    moya = mentioned(document)["Moya Brennan"]
    assert (moya["subject"], moya["method"], moya["confidence"]) == (True, "definition", 0.9)
    assert moya["offsets"] == [0, 19, 49]
    assert list(mentioned(document)) == ["Moya Brennan", "Zoe Lund"]
    assert document["entities"][0]["aliases"] == ["Máire Bhraonáin"]


async def test_a_definition_covers_the_chunk_that_it_opens() -> None:
    text = "Moya Brennan is a singer. " + "Plain words go on here. " * 20
    document = await extracted(text, "p12", source="p12", window=48)
    subjects = [[m["name"] for m in c["mentions"] if m["subject"]] for c in document["chunks"]]
    assert len(subjects) > 1
    assert subjects == [["Moya Brennan"], *[[]] * (len(subjects) - 1)]


async def test_a_section_may_define_what_its_heading_does_not_name() -> None:
    text = "# Guide\n\nWords.\n\n## how to stop waves\n\nA breakwater is a structure.\n"
    document = await extracted(text, "Guide")
    subjects = [[m["name"] for m in c["mentions"] if m["subject"]] for c in document["chunks"]]
    assert subjects == [["Guide"], ["Guide", "breakwater"]]


async def test_a_definition_lends_the_title_its_spellings() -> None:
    document = await extracted(
        "Sir Alec Guinness (1914 – 2000), also known as Alec Cuffe, was an actor. "
        "They met Alec Cuffe. Guinness left.",
        "Alec Guinness",
    )
    (entity,) = document["entities"]
    assert (entity["name"], entity["method"]) == ("Alec Guinness", "title")
    assert entity["aliases"] == ["Sir Alec Guinness", "Alec Cuffe"]
    assert mentioned(document)["Alec Guinness"]["offsets"] == [0, 47, 82, 94]


async def test_somebody_of_the_same_surname_and_initial_is_whom_the_title_names() -> None:
    for title, subjects in (("Lou Breslow", 1), ("Ann Breslow", 2), ("Breslow", 2)):
        document = await extracted("Louis Breslow (1900 – 1987) was a writer.", title)
        assert len(document["entities"]) == subjects


async def test_a_definition_of_something_else_leaves_a_title_alone() -> None:
    document = await extracted("Rugby union is the national sport in Samoa.", "Samoa")
    assert [(name, one["subject"]) for name, one in mentioned(document).items()] == [
        ("Samoa", True)
    ]


async def test_a_surname_means_its_bearer_in_the_document_and_is_no_alias() -> None:
    document = await extracted(
        "Howard Winchester Hawks (1896 – 1977) was a director. We saw Hawks there.", "Howard Hawks"
    )
    assert mentioned(document)["Howard Hawks"]["offsets"] == [0, 61]
    assert [e["aliases"] for e in document["entities"]] == [["Howard Winchester Hawks"]]


async def test_every_mention_has_its_entity() -> None:
    text = "# The Boat\n\nThe Boat and the boat of Jan De Vries. THE BOAT sank off Iceland."
    document = await extracted(text, "The Boat")
    entities = {(entity["name"], entity["type"]) for entity in document["entities"]}
    assert len(entities) == len(document["entities"])
    for chunk in document["chunks"]:
        assert {(m["name"], m["type"]) for m in chunk["mentions"]} <= entities
