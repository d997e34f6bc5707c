"""The relations of one document as they are gathered, and those that its words let infer."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterator

from ...models.sentences import sentence_starts
from ...stores.records import CO_OCCURS, ChunkDraft, MentionDraft, RelationshipDraft

__all__ = ["LINKS", "MENTIONS", "RELATED", "End", "Relations", "end_of", "infer"]

MIN_CONFIDENCE = 0.7
MENTIONS, LINKS, RELATED = "MENTIONS", "LINKS_TO", "RELATED_TO"
SYMMETRIC = frozenset({CO_OCCURS, RELATED})
CONFIDENCE = {CO_OCCURS: 0.8, MENTIONS: 0.9}
"""Of the types that are inferred; a relation that somebody wrote down has 1.0."""

REACH = 5
"""How many names after it in its sentence a name is paired with: 100 names make 485 pairs."""

End = tuple[str, str]
"""The name and type of an entity."""


class Relations:
    """The relations of one document, one for each pair and type."""

    def __init__(self) -> None:
        self._drafts: dict[tuple[End, End, str], RelationshipDraft] = {}

    def add(
        self, source: End, target: End, type_: str, chunk: int, confidence: float = 1.0
    ) -> None:
        """Let a chunk bear a relation out; nothing is related to itself."""
        if source == target:
            return
        if type_ in SYMMETRIC:
            source, target = sorted((source, target))
        draft = self._drafts.setdefault(
            (source, target, type_),
            {
                "source": source,
                "target": target,
                "type": type_,
                "confidence": confidence,
                "evidence": [],
            },
        )
        if chunk not in draft["evidence"]:
            draft["evidence"].append(chunk)

    def kept(self) -> list[RelationshipDraft]:
        """Those that are sure enough, in the order in which they came."""
        return [one for one in self._drafts.values() if one["confidence"] >= MIN_CONFIDENCE]


def end_of(mention: MentionDraft) -> End:
    """The entity mentioned, as an end of a relation."""
    return mention["name"], mention["type"]


def infer(chunk: ChunkDraft, relations: Relations, among: Collection[End] | None = None) -> None:
    """Relate what shares a sentence, and the chunk's subjects to what it mentions.

    `among`: only what has at least one of these ends; none: everything.
    """
    index = chunk["index"]
    for one, other in _pairs(chunk):
        if among is None or one in among or other in among:
            relations.add(one, other, CO_OCCURS, index, CONFIDENCE[CO_OCCURS])
    ends = [end_of(mention) for mention in chunk["mentions"]]
    for subject in [end_of(mention) for mention in chunk["mentions"] if mention["subject"]]:
        for end in ends:
            if among is None or subject in among or end in among:
                relations.add(subject, end, MENTIONS, index, CONFIDENCE[MENTIONS])


def _pairs(chunk: ChunkDraft) -> Iterator[tuple[End, End]]:
    """Entities that share a sentence, each with the next few of it."""
    starts = sentence_starts(chunk["text"])
    sentences: dict[int, dict[End, None]] = {}
    places = sorted(
        (offset, end_of(mention)) for mention in chunk["mentions"] for offset in mention["offsets"]
    )
    for offset, end in places:
        sentences.setdefault(bisect_right(starts, offset), {})[end] = None
    for names in map(list, sentences.values()):
        for at, one in enumerate(names):
            for other in names[at + 1 : at + 1 + REACH]:
                yield one, other
