"""Entities are related by sentence, subject, link and front matter."""

from __future__ import annotations

from typing import Any

from clew.models.recognizer import Recognizer
from clew.nodes.ingestion._relations import REACH
from clew.nodes.ingestion.detect_relationships import detect_relationships
from clew.nodes.ingestion.extract import extract
from clew.nodes.ingestion.split import split
from clew.settings import Settings
from clew.state import IngestionState
from clew.stores.records import DocumentDraft

from .stand_ins import WhitespaceEmbedder


async def related(*texts: str, **metadata: Any) -> list[DocumentDraft]:
    batch: Any = [
        {"key": f"d{i}", "title": f"Title {name}", "source": f"docs/{name}.md", "text": text,
         "metadata": metadata}
        for i, (name, text) in enumerate(zip("ABCD", texts, strict=False))
    ]  # fmt: skip
    state: IngestionState = {"batch": batch}
    state = await split(
        state, embedder=WhitespaceEmbedder(4096), settings=Settings(chunk_tokens=4096)
    )
    state = await extract(state, recognizer=Recognizer())
    return (await detect_relationships(state))["batch"]


def pairs(document: DocumentDraft, type_: str) -> list[tuple[str, str]]:
    return [
        (one["source"][0], one["target"][0])
        for one in document["relationships"]
        if one["type"] == type_
    ]


async def test_names_of_one_sentence_co_occur_whatever_their_order() -> None:
    (document,) = await related("We saw Zoe Lund with Ann Berg. Later came Ann Berg with Zoe Lund. "
                                "And Bob Hall left.")  # fmt: skip
    assert pairs(document, "CO_OCCURS_WITH") == [("Ann Berg", "Zoe Lund")]
    (one,) = [r for r in document["relationships"] if r["type"] == "CO_OCCURS_WITH"]
    assert (one["confidence"], one["evidence"]) == (0.8, [0])


async def test_the_subject_mentions_every_other_name() -> None:
    (document,) = await related("We saw Zoe Lund. We saw Bob Hall.")
    assert pairs(document, "MENTIONS") == [("Title A", "Zoe Lund"), ("Title A", "Bob Hall")]


async def test_a_long_list_does_not_relate_everyone_to_everyone() -> None:
    names = [f"Ann {letter}{other}rg" for letter in "BCDFGHJKLM" for other in "aeiouy"]
    (document,) = await related("We saw " + ", ".join(names) + ".")
    assert 0 < len(pairs(document, "CO_OCCURS_WITH")) <= REACH * len(names)


async def test_links_lead_to_documents_by_file_and_name() -> None:
    first, _ = await related(
        "See [the other](./B.md#top), [[Iron Gate|a gate]], ![no](x.md) and [web](https://x.y/z.md).",
        "Text.",
    )
    assert first["links"] == ["Iron Gate", "docs/B.md"]
    assert pairs(first, "LINKS_TO") == [("Title A", "Iron Gate"), ("Title A", "Title B")]
    assert all(r["confidence"] == 1.0 for r in first["relationships"] if r["type"] == "LINKS_TO")


async def test_front_matter_states_relations() -> None:
    (document,) = await related(
        "Text.",
        related=["Aachen"],
        relations=[{"type": "located in", "target": "Iron Gate"}],
    )
    assert pairs(document, "RELATED_TO") == [("Aachen", "Title A")]
    assert pairs(document, "LOCATED_IN") == [("Title A", "Iron Gate")]
    assert document["links"] == ["Aachen", "Iron Gate"]


async def test_both_ends_are_entities_that_a_chunk_mentions() -> None:
    (document,) = await related("We saw Zoe Lund in [[Iron Gate]].", related=["Aachen"])
    entities = {(entity["name"], entity["type"]) for entity in document["entities"]}
    mentions = {(m["name"], m["type"]) for c in document["chunks"] for m in c["mentions"]}
    ends = {end for one in document["relationships"] for end in (one["source"], one["target"])}
    assert ends <= entities == mentions
    assert all(one["source"] != one["target"] for one in document["relationships"])
