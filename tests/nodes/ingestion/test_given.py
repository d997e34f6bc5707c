"""A document may bring its own graph, which is then taken instead of what Clew would find."""

from __future__ import annotations

from typing import Any

import pytest

from clew.models.recognizer import Recognizer
from clew.nodes.ingestion._given import LONGEST_TYPE, relation_type
from clew.nodes.ingestion.detect_relationships import detect_relationships
from clew.nodes.ingestion.extract import extract
from clew.nodes.ingestion.split import split
from clew.settings import Settings
from clew.state import IngestionState
from clew.stores.checks import check_draft
from clew.stores.records import DocumentDraft, GivenGraph, MentionDraft

from .stand_ins import WhitespaceEmbedder


async def taken(
    text: str,
    *triples: tuple[str, str, str],
    entities: tuple[str, ...] = (),
    title: str = "Marie Curie (physicist)",
    window: int = 256,
    **metadata: Any,
) -> DocumentDraft:
    graph = GivenGraph(entities=list(entities), triples=[list(triple) for triple in triples])
    draft: Any = {
        "key": "d", "title": title, "source": "d.md", "text": text, "metadata": metadata,
        "graph": graph,
    }  # fmt: skip
    state: IngestionState = {"batch": [draft]}
    state = await split(state, embedder=WhitespaceEmbedder(window), settings=Settings())
    state = await extract(state, recognizer=Recognizer())
    return (await detect_relationships(state))["batch"][0]


def mentioned(document: DocumentDraft, chunk: int = 0) -> dict[str, MentionDraft]:
    return {mention["name"]: mention for mention in document["chunks"][chunk]["mentions"]}


def relations(document: DocumentDraft) -> list[tuple[str, str, str, list[int]]]:
    return [
        (one["source"][0], one["type"], one["target"][0], one["evidence"])
        for one in document["relationships"]
    ]


PARTS = (
    "# Marie Curie (physicist)\n\nShe met Pierre.\n\n## Work\n\nRadium was found.\n\n"
    "## Later\n\nRadium again, near Pierre and Paris.\n"
)


async def test_given_names_are_mentioned_where_their_words_stand() -> None:
    document = await taken("The café  Flore. CAFE FLORE, and Ann O'Neill's cat.",
                           entities=("Café Flore", "Ann O'Neill"))  # fmt: skip
    assert mentioned(document)["Café Flore"]["offsets"] == [4, 17]
    assert mentioned(document)["Ann O'Neill"]["offsets"] == [33]
    entity = next(e for e in document["entities"] if e["name"] == "Café Flore")
    assert (entity["type"], entity["method"], entity["confidence"]) == ("Name", "given", 1.0)


async def test_names_inside_names_and_names_in_lower_case_count_too() -> None:
    document = await taken(
        "She left the University of Paris for managing small companies.",
        entities=("University of Paris", "Paris", "small companies"),
    )
    assert [mentioned(document)[name]["offsets"] for name in ("Paris", "small companies")] == [
        [27], [46]
    ]  # fmt: skip


async def test_spellings_of_one_name_are_one_entity() -> None:
    document = await taken("The Sorbonne.", ("sorbonne", "in", "The Sorbonne!"),
                           entities=("The Sorbonne",))  # fmt: skip
    assert [e["name"] for e in document["entities"]] == ["Marie Curie", "The Sorbonne"]
    assert relations(document) == []


async def test_nothing_else_is_looked_for_or_inferred() -> None:
    document = await taken("Marie Curie met Zoe Lund on 4 July 1998 in Bath.",
                           entities=("Bath",))  # fmt: skip
    assert list(mentioned(document)) == ["Marie Curie", "Bath"]
    assert document["relationships"] == []


async def test_the_title_stays_the_subject_under_its_whole_name_too() -> None:
    document = await taken("Text.", ("Marie Curie (physicist)", "won", "Nobel Prize"))
    assert mentioned(document)["Marie Curie"]["subject"]
    assert relations(document) == [("Marie Curie", "WON", "Nobel Prize", [0])]
    assert [(e["name"], e["aliases"]) for e in document["entities"]] == [
        ("Marie Curie", ["Marie Curie (physicist)"]),
        ("Nobel Prize", []),
    ]


async def test_chunks_that_mention_both_ends_bear_a_triple_out() -> None:
    document = await taken(PARTS, ("Marie Curie", "found", "Radium"), ("Radium", "near", "Pierre"),
                           ("Paris", "far from", "Marie Curie"))  # fmt: skip
    assert relations(document) == [
        ("Marie Curie", "FOUND", "Radium", [1, 2]),
        ("Radium", "NEAR", "Pierre", [2]),
        ("Paris", "FAR_FROM", "Marie Curie", [2]),
    ]
    assert {one["confidence"] for one in document["relationships"]} == {1.0}


async def test_names_that_stand_apart_rest_on_the_first_chunk() -> None:
    text = "## One\n\nOnly Ann.\n\n## Two\n\nOnly Bob.\n"
    document = await taken(text, ("Ann", "knows", "Bob"))
    assert relations(document) == [("Ann", "KNOWS", "Bob", [0])]


async def test_a_name_that_stands_nowhere_is_mentioned_beside_the_other_end() -> None:
    document = await taken(PARTS, ("Paris", "is in", "the French Republic"), entities=("Warsaw",))
    assert mentioned(document)["Warsaw"]["offsets"] == []
    assert "the French Republic" not in mentioned(document)
    assert mentioned(document, 2)["the French Republic"]["offsets"] == []
    assert relations(document) == [("Paris", "IS_IN", "the French Republic", [2])]


async def test_headings_are_subjects_if_they_are_given() -> None:
    for given in (("Radium",), ()):
        document = await taken("# T\n\n## Radium\n\nIt glows.\n", title="T", entities=given)
        subjects = [m["name"] for m in document["chunks"][0]["mentions"] if m["subject"]]
        assert subjects == ["T", *given]


async def test_links_and_front_matter_still_count() -> None:
    document = await taken(
        "See [[Iron Gate]].", related=["Aachen"], relations=[{"type": "2nd in", "target": "Linz"}]
    )
    assert relations(document) == [
        ("Marie Curie", "LINKS_TO", "Iron Gate", [0]),
        ("Aachen", "RELATED_TO", "Marie Curie", [0]),
        ("Marie Curie", "IS_2ND_IN", "Linz", [0]),
    ]


async def test_what_stores_refuse_never_comes_of_a_predicate() -> None:
    odd = ("4th freest economy in", "→", "is: very; far (from)", "ΐ's", "a" * 400, "_")
    document = await taken("Ann and Bob.", *(("Ann", predicate, "Bob") for predicate in odd))
    assert len(document["relationships"]) == 5  # two of them say nothing
    check_draft({**document, "content_hash": "", "category": None, "date": None, "acl": ["a"]})


@pytest.mark.parametrize(
    ("predicate", "type_"),
    [
        ("located in", "LOCATED_IN"),
        ("is from / of", "IS_FROM_OF"),
        ("4th freest economy in", "IS_4TH_FREEST_ECONOMY_IN"),
        ("a" * 59 + " b", "A" * 59),
        ("→", ""),
        ("1963", ""),
    ],
)
def test_a_predicate_becomes_a_type(predicate: str, type_: str) -> None:
    assert relation_type(predicate) == type_
    assert len(type_) <= LONGEST_TYPE
