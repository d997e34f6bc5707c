"""Documents in memory, and the numbers by which what is in them is known."""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass

from ..access import Access
from ..prepared import EntityKey, Prepared, Preparer
from ..protocols import Vector
from ..records import CO_OCCURS
from ..weights import outgrown
from .view import STOP_WORDS, View

__all__ = [
    "EntityName",
    "MemoryRecord",
    "RelationName",
    "StoredDocument",
    "StoredEntity",
    "StoredRelation",
]

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


@dataclass(slots=True)
class StoredRelation:
    """What a relation keeps: its weight in (0, 1] is that of when it was last touched or weighed.

    0: not weighed yet.
    """

    id: int
    weight: float = 0.0


class MemoryRecord:
    """Everything that was written, by namespace; the stores of this package read it.

    Only documents are kept, with the ids and weights given out; the rest is derived from them by
    `View` whenever they have changed, so that nothing can go stale. `normalise` and `unpack` are
    the drafts' maker's, and vectors must have `dimension` elements. `stop_words` are no terms.
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
        self.namespaces: dict[str, int] = {}
        """Those in which a document ever landed, with their chunks when they were last weighed."""
        self.documents: dict[tuple[str, str], StoredDocument] = {}
        """By namespace and key."""
        self.entities: dict[EntityName, StoredEntity] = {}
        self.relations: dict[RelationName, StoredRelation] = {}
        self.alike: defaultdict[int, dict[int, float]] = defaultdict(dict)
        """Cosines of names that mean nearly the same, by the ids of both, from both ends."""
        self.compared: defaultdict[str, int] = defaultdict(int)
        """By namespace: the last entity that was compared with the others."""
        self.versions: Counter[str] = Counter()
        """By namespace: how often what a search or a walk may return has changed."""
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
        before = self._remove(namespace, key)
        document = StoredDocument(
            id=next(self._numbers),
            namespace=namespace,
            prepared=prepared,
            chunk_ids={c["index"]: next(self._numbers) for c in prepared.draft["chunks"]},
            section_ids={s["index"]: next(self._numbers) for s in prepared.sections},
        )
        self.namespaces.setdefault(namespace, 0)
        self.documents[namespace, key] = document
        self.versions[namespace] += 1
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
                self.relations[relation] = StoredRelation(next(self._numbers))
        self._settle(before, document)
        return before is not None

    def take_out(self, namespace: str, key: str) -> bool:
        """Delete a document and what only it bore out; returns whether there was one."""
        before = self._remove(namespace, key)
        self._settle(before)
        return before is not None

    def weigh(self, namespace: str) -> int:
        """Weigh co-occurrences anew if the namespace has outgrown them; how many changed."""
        chunks = self.view.counts[namespace].chunks
        if not outgrown(chunks, self.namespaces.get(namespace, 0)):
            return 0
        self.namespaces[namespace] = chunks
        changed = self._weigh(
            {
                relation.id
                for (where, *_, kind), relation in self.relations.items()
                if where == namespace and kind == CO_OCCURS
            }
        )
        self.versions[namespace] += bool(changed)
        return changed

    def forget_view(self) -> None:
        """Have the next reader derive everything anew."""
        self._view = None

    def _remove(self, namespace: str, key: str) -> StoredDocument | None:
        document = self.documents.pop((namespace, key), None)
        if document is None:
            return None
        self.versions[namespace] += 1
        rest = self.documents.values()
        named = {(one.namespace, entity) for one in rest for entity in one.prepared.entities}
        for entity in document.prepared.entities:
            if (namespace, entity) not in named:
                del self.entities[namespace, entity]
        borne_out = {relation for one in rest for relation in one.relations}
        for relation in document.relations:
            if relation not in borne_out:
                del self.relations[relation]
        return document

    def _settle(self, *touched: StoredDocument | None) -> None:
        """After a change, weigh the relations that these documents bear out, or did."""
        self.forget_view()
        self._weigh(
            {
                self.relations[name].id
                for document in touched
                if document is not None
                for name in document.relations
                if name in self.relations
            }
        )

    def _weigh(self, ids: Collection[int]) -> int:
        changed = 0
        for relation in map(self.view.relations.__getitem__, ids):
            weight = relation.present_weight(self.view.counts[relation.source.namespace].chunks)
            changed += weight != relation.stored.weight
            relation.stored.weight = weight
        return changed
