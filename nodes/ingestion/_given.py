"""The graph that a document brings along: where its names stand, and what its triples relate."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence

from ...models.names import normalise
from ...models.recognizer import NAME, Found, folded_words
from ...stores.records import ChunkDraft, GivenGraph

__all__ = ["GIVEN", "given_names", "places_of_the_unwritten", "relation_type", "stand_in_text"]

GIVEN = "given"
"""The method of what a document brought along instead of leaving it to be found."""

LONGEST_TYPE = 60
"""Characters of a relation's type; stores take a hundred."""


def relation_type(predicate: str) -> str:
    """A predicate as a type of relation, in upper snake case; empty if it holds no letter."""
    words = [word for word in re.split(r"[\W_]+", predicate.upper()) if word]
    if not any(char.isalpha() for word in words for char in word):
        return ""
    if not words[0][0].isalpha():  # a type begins with a letter: "4th largest city in"
        words.insert(0, "IS")
    return "_".join(words)[:LONGEST_TYPE].rstrip("_")


def given_names(graph: GivenGraph) -> dict[str, str]:
    """The graph's names by their normalised form, each as it was written first."""
    ends = (name for subject, _, object_ in graph["triples"] for name in (subject, object_))
    names: dict[str, str] = {}
    for name in (*graph["entities"], *ends):
        names.setdefault(normalise(name), name)
    return names


def stand_in_text(names: Mapping[str, str], text: str) -> list[Found]:
    """The names (by normalised form) wherever their words stand, one inside another too."""
    places = folded_words(text)
    starts: dict[str, list[int]] = defaultdict(list)
    for at, (word, _, _) in enumerate(places):
        starts[word].append(at)
    found = []
    for norm, name in names.items():
        words = norm.split()
        for at in starts.get(words[0], ()):
            run = places[at : at + len(words)]
            if [word for word, _, _ in run] == words:
                found.append(Found(name, NAME, run[0][1], run[-1][2], GIVEN, 1.0))
    return sorted(found, key=lambda one: (one.start, -one.end))


def places_of_the_unwritten(graph: GivenGraph, chunks: Sequence[ChunkDraft]) -> dict[str, set[int]]:
    """Chunk indexes for the names (normalised) that no chunk mentions.

    A triple's end belongs where its other end is mentioned first, all else to the first chunk.
    """
    written: dict[str, int] = {}
    for chunk in chunks:
        for mention in chunk["mentions"]:
            written.setdefault(normalise(mention["name"]), chunk["index"])
    places: dict[str, set[int]] = {
        norm: set() for norm in given_names(graph) if norm not in written
    }
    for subject, _, object_ in graph["triples"]:
        one, other = normalise(subject), normalise(object_)
        for lost, beside in ((one, other), (other, one)):
            if lost in places and beside in written:
                places[lost].add(written[beside])
    return {norm: indexes or {chunks[0]["index"]} for norm, indexes in places.items()}
