"""The reference's links between alike names against those told by the drafts of a history alone."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from hypothesis import given

from clew.models.embeddings import unpack
from clew.stores.access import Access
from clew.stores.alike import ALIKE, FOLLOWED
from clew.stores.protocols import Vector
from clew.stores.records import ChunkDraft, DocumentDraft
from clew.tests.stores.postgres.drafts import cosine

from .backends import memory_backend
from .reference import thorough
from .scenes import ACCESSES, NAMESPACES, Step, libraries, live


@dataclass(eq=False)
class Name:
    """A name from its first mention to its last, at its place among all that there ever were."""

    born: int
    vector: Vector | None
    like: dict[Name, float] = field(default_factory=dict)


Place = tuple[str, str, int]
"""A chunk by its namespace, document and index."""


class Link(NamedTuple):
    """Source and target, and the name that the target is about."""

    source: Place
    target: Place
    name: str


class Namespace:
    """What a history leaves of one namespace."""

    def __init__(self, namespace: str, steps: Sequence[Step]) -> None:
        self.namespace = namespace
        self.documents: dict[str, DocumentDraft] = {}
        self.names: dict[str, Name] = {}
        self._born = 0
        self._compared = -1
        for step in steps:
            if step.namespace != namespace:
                continue
            self.documents.pop(step.draft["key"], None)
            self._forget()
            if not step.delete:
                self._put(step.draft)
            self._compare(step.compare)

    def links(self, access: Access, fanout: int) -> Iterator[Link]:
        """From each mention to what is about the nearest names like it, as far as may be read."""
        chunks = [
            ((self.namespace, draft["key"], chunk["index"]), chunk)
            for draft in self.documents.values()
            if {*draft["acl"]} & {*access.principals}
            for chunk in draft["chunks"]
        ]
        readable = {mention["name"] for _, chunk in chunks for mention in chunk["mentions"]}
        for place, chunk in chunks:
            own = {mention["name"]: mention["subject"] for mention in chunk["mentions"]}
            for name in [name for name, subject in own.items() if not subject]:
                for other in self._nearest(name, readable):
                    for target in _about(other, chunks)[:fanout] if other not in own else ():
                        yield Link(place, target, other)

    def _nearest(self, name: str, readable: Collection[str]) -> list[str]:
        like = self.names[name].like
        found = [other for other, one in self.names.items() if one in like and other in readable]
        rank = {o: (-like[self.names[o]], self.names[o].born) for o in found}
        return sorted(found, key=rank.__getitem__)[:FOLLOWED]

    def _forget(self) -> None:
        left = {e["name"] for draft in self.documents.values() for e in draft["entities"]}
        self.names = {name: one for name, one in self.names.items() if name in left}

    def _put(self, draft: DocumentDraft) -> None:
        self.documents[draft["key"]] = draft
        for entity in draft["entities"]:
            vector = unpack(entity["embedding"]) if entity["embedding"] else None
            if entity["name"] not in self.names:
                self.names[entity["name"]] = Name(self._born, vector)
                self._born += 1
            elif self.names[entity["name"]].vector is None:
                self.names[entity["name"]].vector = vector

    def _compare(self, limit: int) -> None:
        held = sorted(
            (n for n in self.names.values() if n.vector is not None), key=lambda n: n.born
        )
        for one in [name for name in held if name.born > self._compared][:limit]:
            self._compared = one.born
            for other in held:
                if one.vector is not None and other.vector is not None and other is not one:
                    near = cosine(one.vector, other.vector)
                    if near >= ALIKE:
                        one.like[other] = other.like[one] = near


def _about(name: str, chunks: Sequence[tuple[Place, ChunkDraft]]) -> list[Place]:
    """The chunks that are about a name, those first that mention it most, then by age."""
    found = [
        (-len(mention["offsets"]), age, place)
        for age, (place, chunk) in enumerate(chunks)
        for mention in chunk["mentions"]
        if mention["name"] == name and mention["subject"]
    ]
    return [place for *_, place in sorted(found)]


@thorough(300)
@given(libraries())
def test_the_references_alike_links_are_those_that_the_drafts_tell(steps: list[Step]) -> None:
    with asyncio.Runner(loop_factory=asyncio.new_event_loop) as runner:
        runner.run(same_links(steps))


async def same_links(steps: list[Step]) -> None:
    backend = memory_backend()
    await live(backend, steps)
    spaces = {name: Namespace(name, steps) for name in NAMESPACES}
    places = {
        id_: (one["namespace"], one["document_id"], one["chunk_index"])
        for id_, one in (await backend.known(*NAMESPACES)).passages.items()
    }
    for access in ACCESSES:
        for fanout in (1, 9):
            links = await backend.chunks.links([*places], max_df=0, fanout=fanout, access=access)
            found = [
                Link(places[link["source"]], places[link["target"]], link["name"])
                for link in links
                if link["kind"] == "alike"
            ]
            readable = [space for name, space in spaces.items() if name in access.namespaces]
            expected = {link for space in readable for link in space.links(access, fanout)}
            assert {*found} == expected
