"""The tree behind `clew ask --why`: true to the trail, readable on 80 columns, safe to print."""

from __future__ import annotations

import json
from copy import deepcopy
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from clew.serving.cli.why import trail_tree

from .conftest import Command

EVIL = "Ada [red]Lovelace[/red]\n2. forged\x1b[31m\u202e"
STAGE = {"rank": 4, "score": 0.5}
DOCUMENT: dict[str, Any] = {
    "rank": 2,
    "score": 4.1,
    "title": "Marion Byron",
    "source": "marion-byron.md",
    "trail": {
        "rank": 2,
        "stages": {
            "dense": {"rank": 26, "score": 0.3063},
            "bm25": None,
            "graph": {"rank": 2, "score": 0.0088},
            "first_stage": {"rank": 21, "score": 0.0667},
            "fused": {"rank": 5, "score": 4.1},
            "cross_encoder": {"rank": 2, "score": 0.9},
        },
        "strategy": "fused",
        "signals": {
            "dense": 0.3063, "bm25": 0.0, "graph": 0.0088, "link": 1.0, "walk": 0.45,
            "named": True, "dense_rank": 26, "bm25_rank": None, "graph_rank": 2,
        },
        "scaled": {"dense": -0.1, "bm25": -1.0, "graph": 0.0, "link": 6.0},
        "weights": {"dense": 0.5, "bm25": 0.2, "graph": 0.49, "link": 0.725},
        "contributions": {"dense": -0.05, "bm25": -0.2, "graph": 0.0, "link": 4.35},
        "reranker": 0.9,
        "entities": [
            {
                "name": "Marion Byron", "hop": 2, "score": 0.225, "subject": True, "count": 3,
                "origin": {
                    "name": "Lou Breslow", "via": "alias", "score": 1.0, "words": "Louis Breslow",
                    "synonym_of": None, "rank": None, "title": None,
                },
                "path": [
                    {"source": "Lou Breslow", "type": "MARRIED", "target": "Marion", "weight": 0.5},
                    {"source": "Marion Byron", "type": "IS", "target": "Marion", "weight": 0.45},
                ],
            },
        ],
        "links": [
            {
                "source": 9, "title": "Lou Breslow", "entity": "Marion Byron", "kind": "titled",
                "strength": 1.0, "rank": 1,
            },
        ],
        "thread": "",
    },
}  # fmt: skip


def shown(document: dict[str, Any], width: int = 80) -> str:
    console = Console(width=width, color_system=None)
    with console.capture() as capture:
        console.print(trail_tree(SimpleNamespace(metadata=document)))
    return capture.get()


def unwrapped(document: dict[str, Any]) -> str:
    return " ".join(shown(document, width=500).split())


def changed(**trail: Any) -> dict[str, Any]:
    return {**deepcopy(DOCUMENT), "trail": {**deepcopy(DOCUMENT["trail"]), **trail}}


def test_the_tree_tells_everything_from_top_to_bottom() -> None:
    said = unwrapped(DOCUMENT)
    told = [
        "2. Marion Byron marion-byron.md 4.100",
        "Found by: vector (place 26), graph (place 2)",
        "“Louis Breslow” (alias) ⇒ Lou Breslow —MARRIED 0.50→ Marion ←IS 0.45— Marion Byron "
        "worth 0.225, what this passage is about",
        "[1] Lou Breslow through Marion Byron (titled, 1.0) it mentions what this passage is about",
        "link 1.0000 +6.0000 0.72 +4.3500",
        "graph 0.0088 +0.0000 0.49 +0.0000",
        "dense 0.3063 -0.1000 0.50 -0.0500",
        "bm25 0.0000 -1.0000 0.20 -0.2000",
        "sum +4.1000",
        "not counted: walk 0.4500, named yes",
        "vector 26 0.3063",
        "BM25 absent",
        "first stage 21 0.0667",
        "fused with links 5 4.1000",
        "cross-encoder 2 0.9000",
        "Fusion put it at 5, up from 21 at the first stage; for it speaks link (+4.35); against it "
        "speak bm25 (-0.20) and dense (-0.05). The cross-encoder moved it from 5 to 2.",
    ]
    places = [said.find(part) for part in told]
    assert -1 not in places, told[places.index(-1)]
    assert places == sorted(places)


@pytest.mark.parametrize(
    ("stages", "verdict"),
    [
        ({"first_stage": {"rank": 2, "score": 1}, "fused": {"rank": 2, "score": 4},
          "cross_encoder": None}, "Fusion put it at 2, as the first stage had; for"),
        ({"first_stage": {"rank": 1, "score": 1}, "fused": {"rank": 2, "score": 4},
          "cross_encoder": None}, "Fusion put it at 2, down from 1 at the first stage; for"),
        ({"first_stage": None, "fused": {"rank": 2, "score": 4}, "cross_encoder": STAGE},
         "Fusion put it at 2, which no earlier stage had seen; for"),
        ({"first_stage": {"rank": 2, "score": 1}, "fused": {"rank": 2, "score": 4},
          "cross_encoder": STAGE}, "The cross-encoder left it there."),
        ({"first_stage": {"rank": 2, "score": 1}, "fused": None, "cross_encoder": None},
         "Links and fusion were left out, so the first stage's order stands."),
        ({"first_stage": {"rank": 7, "score": 1}, "fused": None, "cross_encoder": STAGE},
         "order stands. The cross-encoder moved it from 7 to 2."),
    ],
)  # fmt: skip
def test_the_last_line_says_why_it_ends_where_it_is(stages: dict[str, Any], verdict: str) -> None:
    document = changed(stages={**DOCUMENT["trail"]["stages"], **stages})
    assert verdict in unwrapped(document).split("Why it stands here: ")[1]


def test_what_is_not_there_takes_no_room() -> None:
    nothing = dict.fromkeys(DOCUMENT["trail"]["stages"])
    said = unwrapped(
        changed(
            stages=nothing, entities=[], links=[], strategy=None, scaled={}, weights={},
            contributions={}, signals={"dense": 0.0, "named": False},
        )
    )  # fmt: skip
    assert "Found by: no search: only a link leads here" in said
    for title in ("Through entities", "Linked from", "What each signal adds"):
        assert title not in said


@pytest.mark.parametrize(
    ("origin", "said"),
    [
        ({"via": "anchor", "words": None, "rank": 3, "title": "T"}, "in [3], found by search ⇒"),
        ({"via": "anchor", "words": None, "rank": None, "title": "T"}, "in T, found by search ⇒"),
        ({"via": "anchor", "words": None}, "in a passage found by search ⇒"),
        ({"via": "synonym", "words": "wed", "synonym_of": "marry"}, "“wed” (synonym of marry) ⇒"),
    ],
)
def test_where_a_walk_began_is_said_in_words(origin: dict[str, Any], said: str) -> None:
    (entity,) = deepcopy(DOCUMENT["trail"]["entities"])
    entity["origin"] |= origin
    assert said in unwrapped(changed(entities=[entity]))
    assert "mentioned 3×" in unwrapped(changed(entities=[{**entity, "subject": False}]))
    assert "⇒" not in unwrapped(changed(entities=[{**entity, "origin": None}]))


def evil(value: Any) -> Any:
    """Every text of a trail replaced by a dangerous one."""
    if isinstance(value, dict):
        kept = ("strategy", "via", "kind")
        return {k: v if k in kept else evil(v) for k, v in value.items()}
    if isinstance(value, list):
        return [evil(entry) for entry in value]
    return EVIL * 3 if isinstance(value, str) else value


def test_names_from_documents_are_shown_as_they_are_on_one_line_each() -> None:
    said = shown(evil(DOCUMENT))
    assert "[red]Lovelace[/red]" in shown(evil(DOCUMENT), width=500)
    assert not any(ord(c) < 32 and c != "\n" for c in said)
    assert "\u202e" not in said
    assert not [line for line in said.splitlines() if line.startswith("2. forged")]
    assert max(map(len, said.splitlines())) <= 80


def test_eighty_columns_are_enough() -> None:
    assert max(map(len, shown(DOCUMENT).splitlines())) <= 80
    table = [line for line in shown(DOCUMENT).splitlines() if "+4.3500" in line]
    assert len(table) == 1
    assert table[0].rstrip().endswith("█")


def test_the_command_prints_the_tree_or_the_trail_alone(clew: Command, tmp_path: Path) -> None:
    lines = [
        {"id": "lou", "title": "Lou Breslow", "text": "Lou Breslow married Marion Byron in 1932."},
        {"id": "marion", "title": "Marion Byron", "text": "Marion Byron was born in Dayton, Ohio."},
        {"id": "evil", "title": EVIL, "text": f"{EVIL} met Lou Breslow."},
    ]
    corpus = tmp_path / "corpus.jsonl"
    corpus.write_text("\n".join(map(json.dumps, lines)), "utf-8")
    assert clew("ingest", str(corpus), "-n", "x").returncode == 0
    asked = ("ask", "Where was the wife of Lou Breslow born?", "-n", "x", "-s", "budget_ms=20000")
    documents = json.loads(clew(*asked, "--json").stdout)["documents"]
    assert len(documents) == 3
    for number, document in enumerate(documents, start=1):
        alone = clew(*asked, "--why", str(number), "--json")
        assert alone.returncode == 0
        assert json.loads(alone.stdout) == document["metadata"]["trail"]
        tree = clew(*asked, "--why", str(number))
        assert tree.returncode == 0, tree.stderr
        assert tree.stdout.startswith(f"{number}. ")
        assert "\x1b" not in tree.stdout
        assert f"Fusion put it at {number}" in " ".join(tree.stdout.split())
