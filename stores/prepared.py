"""A document as every store writes it: checked, names normalised, what is said twice joined."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from .access import PUBLIC
from .checks import check_draft
from .errors import InvalidInput
from .protocols import Vector
from .records import ChunkDraft, DocumentDraft, EntityDraft, RelationshipDraft, SectionDraft

__all__ = ["EntityKey", "Prepared", "PreparedMention", "PreparedRelationship", "Preparer"]

EntityKey = tuple[str, str]
"""A normalised name and a type: what makes an entity within its namespace."""


@dataclass(slots=True)
class PreparedMention:
    """An entity in a chunk: its places in the chunk's text, ascending."""

    chunk: int
    entity: EntityKey
    offsets: list[int]
    subject: bool

    @property
    def count(self) -> int:
        """How often the chunk names it; once when the places are not known."""
        return max(len(self.offsets), 1)


@dataclass(slots=True)
class PreparedRelationship:
    """A relation with how sure each chunk that bears it out makes it."""

    source: EntityKey
    target: EntityKey
    type: str
    evidence: dict[int, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Prepared:
    """What of a draft is written. `readers`: its access list, which is `public` or does not say so.

    `vectors`, `entity_vectors` and `section_vectors` are unit length, in the order of what they
    belong to; an entity that is only ever looked up as written has none.
    """

    draft: DocumentDraft
    readers: list[str]
    vectors: list[Vector]
    entities: dict[EntityKey, EntityDraft]
    entity_vectors: dict[EntityKey, Vector]
    aliases: list[tuple[EntityKey, str]]
    mentions: list[PreparedMention]
    relationships: list[PreparedRelationship]
    sections: Sequence[SectionDraft]
    section_vectors: list[Vector]

    @property
    def frequency(self) -> Counter[EntityKey]:
        """How many of the document's chunks mention each entity."""
        return Counter(mention.entity for mention in self.mentions)


class Preparer:
    """Makes `Prepared` of drafts; `normalise` and `unpack` are the drafts' maker's."""

    def __init__(
        self, *, normalise: Callable[[str], str], unpack: Callable[[str], Vector], dimension: int
    ) -> None:
        self._normalise = normalise
        self._unpack = unpack
        self._dimension = dimension

    def prepare(self, draft: DocumentDraft) -> Prepared:
        """Check and join. Raises `InvalidInput` with what to change; nothing is written then."""
        check_draft(draft)
        vectors = [self._vector(c["embedding"], f"chunk {c['index']}") for c in draft["chunks"]]
        sections = draft.get("sections", [])
        section_vectors = [self._vector(s["embedding"], f"section {s['index']}") for s in sections]
        drafted: dict[EntityKey, EntityDraft] = {
            (self._normalise(e["name"]), e["type"]): e for e in draft["entities"]
        }
        mentions = self._mentions(draft["chunks"], drafted)
        named = {mention.entity for mention in mentions}
        # What no chunk mentions could be read by nobody, and nothing would ever take it out.
        entities = {key: entity for key, entity in drafted.items() if key in named}
        return Prepared(
            draft=draft,
            readers=_readers(draft["acl"]),
            vectors=vectors,
            entities=entities,
            entity_vectors={
                key: self._vector(entity["embedding"], f"the entity {entity['name']!r}")
                for key, entity in entities.items()
                if entity["embedding"]
            },
            aliases=[
                (key, alias)
                for key, entity in entities.items()
                for alias in dict.fromkeys(map(self._normalise, entity["aliases"]))
                if alias not in ("", key[0])
            ],
            mentions=mentions,
            relationships=self._relationships(
                draft["relationships"], entities, {chunk["index"] for chunk in draft["chunks"]}
            ),
            sections=sections,
            section_vectors=section_vectors,
        )

    def _mentions(
        self, chunks: Sequence[ChunkDraft], known: dict[EntityKey, EntityDraft]
    ) -> list[PreparedMention]:
        """One a chunk and entity, though a chunk may write a name in several ways."""
        joined: dict[tuple[int, EntityKey], PreparedMention] = {}
        for chunk in chunks:
            for mention in chunk["mentions"]:
                key = (self._normalise(mention["name"]), mention["type"])
                if key not in known:
                    continue
                made = joined.setdefault(
                    (chunk["index"], key), PreparedMention(chunk["index"], key, [], False)
                )
                made.offsets = sorted({*made.offsets, *mention["offsets"]})
                made.subject = made.subject or mention["subject"]
        return list(joined.values())

    def _relationships(
        self,
        drafts: Sequence[RelationshipDraft],
        known: dict[EntityKey, EntityDraft],
        chunks: set[int],
    ) -> list[PreparedRelationship]:
        """One a pair and type; what lacks an end or has but one is left out."""
        joined: dict[tuple[EntityKey, EntityKey, str], PreparedRelationship] = {}
        for draft in drafts:
            source, target = (
                (self._normalise(name), kind) for name, kind in (draft["source"], draft["target"])
            )
            if not draft["evidence"] or not chunks.issuperset(draft["evidence"]):
                raise InvalidInput(
                    f"The relation {draft['type']} rests on chunks {draft['evidence']}; name the "
                    f"indexes of at least one of the document's {len(chunks)} chunks."
                )
            if source == target or source not in known or target not in known:
                continue
            made = joined.setdefault(
                (source, target, draft["type"]),
                PreparedRelationship(source, target, draft["type"]),
            )
            for place in draft["evidence"]:
                made.evidence[place] = max(draft["confidence"], made.evidence.get(place, 0.0))
        return list(joined.values())

    def _vector(self, packed: str, whose: str) -> Vector:
        try:
            vector = self._unpack(packed)
        except ValueError as error:
            raise InvalidInput(f"The vector of {whose} cannot be decoded: {error}.") from error
        if vector.shape != (self._dimension,):
            raise InvalidInput(
                f"The vector of {whose} has {vector.size} dimensions; the model of this store "
                f"makes {self._dimension}."
            )
        if not np.isfinite(vector).all():
            raise InvalidInput(f"The vector of {whose} has an element that is not a number.")
        if not vector.any():
            raise InvalidInput(f"The vector of {whose} has no direction: all of it is 0.")
        return vector


def _readers(acl: Sequence[str]) -> list[str]:
    """What everyone may read is said so once, whoever else is named beside them."""
    if not acl:
        raise InvalidInput("The access list is empty; name who may read it, or `public`.")
    return [PUBLIC] if PUBLIC in acl else sorted(set(acl))
