"""The thread that led to a passage, for programs and in one line for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..state import RankedPassage
from ..stores.records import PathStep, ReachedEntity

__all__ = ["thread_of", "trail_of"]

MATCHED = 5


def trail_of(
    ranked: RankedPassage, entities: Mapping[int, ReachedEntity], kept: Sequence[RankedPassage]
) -> dict[str, Any]:
    """Every signal with what it added, the entities and paths, and the links from passages."""
    numbers = {r["passage"]["id"]: number for number, r in enumerate(kept, start=1)}
    return {
        "signals": ranked["signals"],
        "contributions": ranked["contributions"],
        "reranker": ranked["reranker"],
        "entities": [
            {
                "name": entities[e]["name"],
                "hop": entities[e]["hop"],
                "score": round(entities[e]["score"], 4),
                "path": entities[e]["path"],
            }
            for e in ranked["matched"][:MATCHED]
            if e in entities
        ],
        "links": [{**link, "rank": numbers.get(link["source"])} for link in ranked["links"]],
        "thread": thread_of(ranked, entities, numbers),
    }


def thread_of(
    ranked: RankedPassage, entities: Mapping[int, ReachedEntity], numbers: Mapping[int, int]
) -> str:
    """In a few words: the searches that found it, the walk or the link that led to it."""
    signals = ranked["signals"]
    parts = []
    if signals["dense_rank"]:
        parts.append(f"vector #{signals['dense_rank']}")
    if signals["bm25_rank"]:
        parts.append(f"BM25 #{signals['bm25_rank']}")
    if signals["graph_rank"]:
        parts.append(f"graph #{signals['graph_rank']}")
    walked = [entities[e] for e in ranked["matched"] if e in entities and entities[e]["path"]]
    if walked:
        parts.append("walked " + _path(walked[0]["path"]))
    if ranked["links"]:
        link = ranked["links"][0]
        number = numbers.get(link["source"])
        origin = f"[{number}]" if number else link["title"] or "a passage"
        parts.append(f"from {origin} through {link['entity']}")
    return " · ".join(parts)


def _path(steps: Sequence[PathStep]) -> str:
    return ", ".join(f"{s['source']} —{s['type']}→ {s['target']}" for s in steps)
