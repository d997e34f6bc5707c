"""Documents in memory, and the numbers by which what is in them is known."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass

from ..access import Access
from ..prepared import EntityKey, Prepared, Preparer
from ..protocols import Vector
from .view import STOP_WORDS, View

__all__ = ["EntityName", "MemoryRecord", "RelationName", "StoredDocument", "StoredEntity"]

EntityName = tuple[str, EntityKey]
"""A namespace and what makes an entity within it."""
RelationName = tuple[str, EntityKey, EntityKey, str]
"""A namespace, source, target and type: what makes a relation."""


@dataclass(slots=True)
class StoredDocument:
    """A document as it was written. Its chunks and sections have their ids by their index."""

    id: int
    namespace: str
    prepared: Prepared
    chunk_ids: dict[int, int]
    section_ids: dict[int, int]

    def open_to(self, access: Access) -> bool:
        """Whether this caller may read it, and with it everything that is derived from it."""
        return self.namespace in access.namespaces and not {*self.prepared.readers}.isdisjoint(
            access.principals
        )

    @property
    def lacks_sections(self) -> bool:
        """Whether it has none though it has chunks to make them of."""
        return bool(self.chunk_ids) and not self.section_ids

    @property
    def relations(self) -> Iterator[RelationName]:
        """The relations that it bears out."""
        for one in self.prepared.relationships:
            if any(place in self.chunk_ids for place in one.evidence):
                yield self.namespace, one.source, one.target, one.type


@dataclass(slots=True)
class StoredEntity:
    """What an entity keeps for as long as any chunk mentions it: the first spelling and vector."""

    id: int
    name: str
    vector: Vector | None


class MemoryRecord:
    """Everything that was written, by namespace; the stores of this package read it.

    Only documents are kept, with the ids given out; the rest is derived from them by `View`
    whenever they have changed, so that nothing can go stale. `normalise` and `unpack` are the
    drafts' maker's, and vectors must have `dimension` elements. `stop_words` are no terms.
    """

    def __init__(
        self,
        *,
        normalise: Callable[[str], str],
        unpack: Callable[[str], Vector],
        dimension: int,
        stop_words: Collection[str] = STOP_WORDS,
    ) -> None:
        self.preparer = Preparer(normalise=normalise, unpack=unpack, dimension=dimension)
        self.dimension = dimension
        self.stop_words = frozenset(stop_words)
        self.namespaces: set[str] = set()
        """Those in which a document ever landed."""
        self.documents: dict[tuple[str, str], StoredDocument] = {}
        """By namespace and key."""
        self.entities: dict[EntityName, StoredEntity] = {}
        self.relations: dict[RelationName, int] = {}
        self._numbers = itertools.count(1)
        self._view: View | None = None

    @property
    def view(self) -> View:
        """What the documents amount to as they are now."""
        if self._view is None:
            self._view = View(self)
        return self._view

    def put(self, namespace: str, prepared: Prepared) -> bool:
        """Write or replace a document; returns whether there was one."""
        key = prepared.draft["key"]
        replaced = self.take_out(namespace, key)
        document = StoredDocument(
            id=next(self._numbers),
            namespace=namespace,
            prepared=prepared,
            chunk_ids={c["index"]: next(self._numbers) for c in prepared.draft["chunks"]},
            section_ids={s["index"]: next(self._numbers) for s in prepared.sections},
        )
        self.namespaces.add(namespace)
        self.documents[namespace, key] = document
        for entity, draft in prepared.entities.items():
            vector = prepared.entity_vectors.get(entity)
            known = self.entities.get((namespace, entity))
            if known is None:
                self.entities[namespace, entity] = StoredEntity(
                    next(self._numbers), draft["name"], vector
                )
            elif known.vector is None:
                known.vector = vector
        for relation in document.relations:
            if relation not in self.relations:
                self.relations[relation] = next(self._numbers)
        self.forget_view()
        return replaced

    def take_out(self, namespace: str, key: str) -> bool:
        """Delete a document and what only it bore out; returns whether there was one."""
        document = self.documents.pop((namespace, key), None)
        if document is None:
            return False
        rest = self.documents.values()
        named = {(one.namespace, entity) for one in rest for entity in one.prepared.entities}
        for entity in document.prepared.entities:
            if (namespace, entity) not in named:
                del self.entities[namespace, entity]
        borne_out = {relation for one in rest for relation in one.relations}
        for relation in document.relations:
            if relation not in borne_out:
                del self.relations[relation]
        self.forget_view()
        return True

    def forget_view(self) -> None:
        """Have the next reader derive everything anew."""
        self._view = None
