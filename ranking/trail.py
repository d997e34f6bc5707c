"""What put a passage where it stands, from what a run knows anyway: nothing is asked for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from typing_extensions import TypedDict

from ..state import (
    Candidate,
    EntityPassage,
    LinkTrail,
    RankedPassage,
    RetrievalState,
    Signals,
    Standing,
    SynonymTried,
)
from ..stores.records import LinkedEntity, PathStep, ReachedEntity
from .strategies import RANKINGS

__all__ = [
    "CROSS_ENCODER",
    "FIRST_STAGE",
    "FUSED",
    "Known",
    "Trail",
    "known_of",
    "label",
    "standings",
    "thread_of",
    "trail_of",
]

MATCHED = 5
"""Paths shown a passage."""

FIRST_STAGE, FUSED, CROSS_ENCODER = "first_stage", "fused", "cross_encoder"
STAGES = (*RANKINGS, FIRST_STAGE, FUSED, CROSS_ENCODER)
LABELS = {
    "dense": "vector",
    "bm25": "BM25",
    FIRST_STAGE: "first stage",
    FUSED: "fused with links",
    CROSS_ENCODER: "cross-encoder",
}


class Origin(TypedDict):
    """How the walk got its seed.

    `words`: of the question, or a synonym that stands for `synonym_of`. An anchor has none: it
    comes from a good search hit, `title`, which is document number `rank` if it was returned.
    """

    name: str
    via: str
    score: float
    words: str | None
    synonym_of: str | None
    rank: int | None
    title: str | None


class EntityTrail(TypedDict):
    """An entity that led here: from its origin over the relations walked, as they are stored.

    `count`: how often the passage mentions it; `subject`: the passage is about it. None: not known.
    """

    name: str
    hop: int
    score: float
    origin: Origin | None
    path: list[PathStep]
    subject: bool | None
    count: int | None


class RankedLink(LinkTrail):
    """A link with its source's number among the documents, if it was returned."""

    rank: int | None


class Trail(TypedDict):
    """Everything that put a passage where it stands; plain JSON, every list short.

    `rank`: its final place, from 1. `stages`: place and score at each stage, in their order; None
    where a stage did not see it. `signals`: the raw values. `scaled`, `weights`, `contributions`:
    what `strategy` made of them, by signal; a contribution is scaled × weight, and their sum is the
    fused score. `entities`: best path first. `links`: strongest first. `thread`: all in one line.
    """

    rank: int | None
    stages: dict[str, Standing | None]
    strategy: str | None
    signals: Signals
    scaled: dict[str, float]
    weights: dict[str, float]
    contributions: dict[str, float]
    reranker: float | None
    entities: list[EntityTrail]
    links: list[RankedLink]
    thread: str


class Known(NamedTuple):
    """What a run knows of how its passages were found; all by id, synonyms by their text."""

    entities: Mapping[int, ReachedEntity]
    seeds: Mapping[int, LinkedEntity]
    synonyms: Mapping[str, SynonymTried]
    passages: Mapping[int, EntityPassage]
    titles: Mapping[int, str]
    numbers: Mapping[int, int]


def known_of(state: RetrievalState, kept: Sequence[RankedPassage]) -> Known:
    """What the trails of the kept passages are made of; `kept` gives the numbers."""
    return Known(
        entities={entity["id"]: entity for entity in state["entities"]},
        seeds={seed["id"]: seed for seed in state["seeds"]},
        synonyms={s["text"]: s for s in state["synonyms"] if s["kept"]},
        passages={passage["id"]: passage for passage in state["entity_passages"]},
        titles={r["passage"]["id"]: r["passage"]["title"] for r in state["ranked"]},
        numbers={r["passage"]["id"]: number for number, r in enumerate(kept, start=1)},
    )


def trail_of(ranked: RankedPassage, known: Known) -> Trail:
    """Everything that put this passage where it stands."""
    found = [e for e in ranked["matched"] if e in known.entities][:MATCHED]
    passage = known.passages.get(ranked["passage"]["id"])
    return Trail(
        rank=known.numbers.get(ranked["passage"]["id"]),
        stages={stage: ranked["stages"].get(stage) for stage in STAGES},
        strategy=ranked["strategy"],
        signals=ranked["signals"],
        scaled=ranked["scaled"],
        weights=ranked["weights"],
        contributions=ranked["contributions"],
        reranker=ranked["reranker"],
        entities=[_entity(known.entities[e], passage, known) for e in found],
        links=[
            RankedLink(**link, rank=known.numbers.get(link["source"])) for link in ranked["links"]
        ],
        thread=thread_of(ranked, known.entities, known.numbers),
    )


def standings(candidate: Candidate, rank: int) -> dict[str, Standing]:
    """Where the searches and the first stage put a candidate."""
    signals: Mapping[str, Any] = candidate["signals"]
    stages = {
        name: Standing(rank=place, score=round(signals[name], 6))
        for name in RANKINGS
        if (place := signals[f"{name}_rank"]) is not None
    }
    return {**stages, FIRST_STAGE: Standing(rank=rank, score=round(candidate["stage"], 6))}


def thread_of(
    ranked: RankedPassage, entities: Mapping[int, ReachedEntity], numbers: Mapping[int, int]
) -> str:
    """In a few words: the searches that found it, the walk or the link that led to it."""
    stages = ranked["stages"]
    parts = [f"{label(name)} #{stages[name]['rank']}" for name in RANKINGS if name in stages]
    walked = [entities[e] for e in ranked["matched"] if e in entities and entities[e]["path"]]
    if walked:
        parts.append("walked " + _path(walked[0]["path"]))
    if ranked["links"]:
        link = ranked["links"][0]
        number = numbers.get(link["source"])
        origin = f"[{number}]" if number else link["title"] or "a passage"
        parts.append(f"from {origin} through {link['entity']}")
    return " · ".join(parts)


def label(stage: str) -> str:
    """A stage's name for people."""
    return LABELS.get(stage, stage)


def _entity(entity: ReachedEntity, passage: EntityPassage | None, known: Known) -> EntityTrail:
    seed = known.seeds.get(entity["seed"])
    count, subject = _mention(entity["id"], passage)
    return EntityTrail(
        name=entity["name"],
        hop=entity["hop"],
        score=round(entity["score"], 4),
        origin=_origin(seed, known) if seed else None,
        path=entity["path"],
        subject=subject,
        count=count,
    )


def _origin(seed: LinkedEntity, known: Known) -> Origin:
    synonym = known.synonyms.get(seed["mention"]) if seed["via"] == "synonym" else None
    # An anchor is named after the passage it comes from, by its id: "passage 17".
    hit = int(seed["mention"].rpartition(" ")[2]) if seed["via"] == "anchor" else None
    return Origin(
        name=seed["name"],
        via=seed["via"],
        score=round(seed["score"], 4),
        words=seed["mention"] if hit is None else None,
        synonym_of=synonym["seed"] if synonym else None,
        rank=None if hit is None else known.numbers.get(hit),
        title=None if hit is None else known.titles.get(hit),
    )


def _mention(entity: int, passage: EntityPassage | None) -> tuple[int | None, bool | None]:
    """How often the passage mentions the entity and whether it is about it, where that is known."""
    if passage is None:
        return None, None
    count = dict(zip(passage["matched"], passage["counts"], strict=True)).get(entity)
    return count, entity in passage["subjects"]


def _path(steps: Sequence[PathStep]) -> str:
    return ", ".join(f"{s['source']} —{s['type']}→ {s['target']}" for s in steps)
