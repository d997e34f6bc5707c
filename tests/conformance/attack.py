"""A victim and who attacks it, with every question an attacker could ask.

Everything of the victim's contains `vex`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

import numpy as np

from clew.stores.access import Access, Identity
from clew.stores.records import DocumentDraft, Filters, SectionDraft
from clew.stores.walk import Walk
from clew.tests.stores.postgres.drafts import chunk, document, leaning, mention, relation, unit

from .backends import Backend

IDS = list(range(1, 200))
"""More ids than there are rows, the attacker's and the victim's."""
TEXTS = ["vexed alpha beta", "alpha common vexing", "common"]
NAMES = [
    *("vexa", "vexalias", "vexadmiral", "vexo", "vexadmirall", "vexadmirol", "vex corp"),
    *("common", "commom", "common vexalias", "secret vexalias", "the vexa"),
]
FILTERS: list[Filters] = [
    {},
    {"category": ["vexcat", "open"]},
    {"metadata": {"vexkey": "vexvalue"}},
    {"date_from": "1800-01-01", "date_to": "2100-01-01"},
    {"exclude": ["open"]},
]
VECTORS = [unit(text) for text in TEXTS] + [unit("Vexa"), unit("Common")]
MEANT = {"Common": leaning(64), "Vexa": leaning(60, 1), "Vex Corp": leaning(56, 2)}
"""Names that mean nearly the same, whoever may know them."""
VICTIM = Access(("shared", "vexland"), ("victim",))
ATTACKERS = {
    "nobody": Access(("shared", "mine")),
    "the attacker": Access(("mine", "shared"), ("attacker",)),
    "who spells principals": Access(
        ("shared",), ("Victim", "victim ", "{victim}", "public,victim", "vic%", "", "*")
    ),
    "who spells namespaces": Access(("vexlan", "Vexland", "vex%", "shared,vexland", "", "*")),
    "who asks beyond what he may": Identity(("attacker",), ("mine", "shared")).access(
        ("shared", "vexland", "mine")
    ),
    "who may enter nothing": Access((), ("victim",)),
}


def divided(draft: DocumentDraft) -> DocumentDraft:
    """With a section of all its chunks."""
    last = draft["chunks"][-1]
    section = SectionDraft(
        index=0, span_start=0, span_end=last["index"], text="all", embedding=last["embedding"]
    )
    return {**draft, "sections": [section]}


def secret(key: str, acl: Sequence[str]) -> DocumentDraft:
    """What the victim wrote, tied to names that the attacker may see."""
    return document(
        f"vex/{key}",
        chunk(
            TEXTS[0],
            [mention("Vexa", subject=True), "Common", "Vexadmiral", "Other"],
            header="Vex",
        ),
        chunk(TEXTS[1], [mention("Common", subject=True, count=9), "Vex Corp"], header="Vex"),
        title="Vex title",
        acl=acl,
        category="vexcat",
        date="2000-01-01",
        metadata={"vexkey": "vexvalue"},
        aliases={"Common": ["Vexalias", "Secret Vexalias"], "Vexa": ["Vexo"]},
        vectors=MEANT,
        relations=[
            relation("Common", "VEXES", "Vexa"),
            relation("Vexadmiral", "VEXES", "Other", evidence=[0, 1]),
            relation("Common", "VEXES", "Other", evidence=[0, 1]),
            relation("Common", "KNOWS", "Other", evidence=[0, 1]),
        ],
    )


def own(key: str, acl: Sequence[str] = ("public",)) -> DocumentDraft:
    return document(
        key,
        chunk("alpha common things", ["Common", "Other"]),
        chunk("other common things", [mention("Other", subject=True), "Common"]),
        acl=acl,
        category="open",
        date="2001-01-01",
        vectors=MEANT,
        relations=[relation("Common", "KNOWS", "Other")],
    )


async def crowd(backend: Backend) -> None:
    await backend.write(own("open"), own("attackers", ["attacker"]), namespace="shared")
    await backend.write(divided(own("mine")), namespace="mine")


async def join(backend: Backend) -> None:
    """The victim comes, in what the attacker may enter and beside it."""
    private = [secret("private", ["victim"]), divided(secret("whole", ["victim"]))]
    await backend.write(*private, namespace="shared")
    tenant = [secret("tenant", ["public"]), divided(secret("house", ["public"]))]
    await backend.write(*tenant, namespace="vexland")
    for name in ("shared", "vexland"):
        assert await backend.compare(namespace=name) > 0


async def by_vector(s: Backend, a: Access) -> object:
    return [
        await s.chunks.search_vector(vector, limit=99, filters=filters, access=a)
        for vector in VECTORS
        for filters in FILTERS
    ]


async def by_text(s: Backend, a: Access) -> object:
    return [
        await s.chunks.search_text(question, limit=99, filters=filters, access=a)
        for question in TEXTS
        for filters in FILTERS
    ]


async def in_sections(s: Backend, a: Access) -> object:
    return [
        await s.sections.search_sections(VECTORS[1], limit=99, filters=filters, access=a)
        for filters in FILTERS
    ]


async def in_spans(s: Backend, a: Access) -> object:
    return [
        await s.sections.search_spans(ids, VECTORS[1], limit=99, filters=filters, access=a)
        for ids in ([], IDS)
        for filters in FILTERS
    ]


async def walked(s: Backend, a: Access) -> object:
    weighted = Walk(hops=3, limit=99, type_weights={"VEXES": 1.0})
    walks = [Walk(limit=1), weighted, Walk(hops=2, limit=99, date_to="2000-06-01")]
    return [
        await s.graph.expand(dict.fromkeys(IDS, 0.5), walk=walk, access=a) for walk in walks
    ] + [await s.graph.expand({id_: 0.5}, walk=weighted, access=a) for id_ in IDS[:12]]


async def whole(s: Backend, a: Access) -> object:
    keys = ("vex/private", "vex/whole", "vex/tenant", "open")
    return [await s.chunks.of_document(key, access=a) for key in keys]


async def linked(s: Backend, a: Access) -> object:
    return [await s.chunks.links(IDS, max_df=99, fanout=n, access=a) for n in (1, 99)]


async def mentioned(s: Backend, a: Access) -> object:
    weights = dict.fromkeys(IDS, 0.5)
    return [await s.graph.mentions_of(weights, limit=99, always=ids, access=a) for ids in ([], IDS)]


async def nearest(s: Backend, a: Access) -> object:
    names = [str(n) for n in range(len(VECTORS))]
    return await s.entities.find_nearest(
        names, np.stack(VECTORS), limit=99, min_cosine=-1.0, access=a
    )


async def hashed(s: Backend, a: Access) -> object:
    """Whoever may write to a namespace is told what lies there: only the others are asked."""
    others = [name for name in a.namespaces if name != "shared"]
    return [
        await s.documents.hashes(["vex/private", "vex/tenant"], access=Access((name,)))
        for name in others
    ]


Call = Callable[[Backend, Access], Awaitable[object]]
# Every method that answers, with everything an attacker could hand over.
CALLS: dict[str, Call] = {
    "ChunkStore.search_vector": by_vector,
    "ChunkStore.search_text": by_text,
    "ChunkStore.score": lambda s, a: s.chunks.score(
        IDS, embedding=VECTORS[0], question=TEXTS[0], filters={}, access=a
    ),
    "ChunkStore.fetch": lambda s, a: s.chunks.fetch(IDS, access=a),
    "ChunkStore.of_document": whole,
    "ChunkStore.neighbours": lambda s, a: s.chunks.neighbours(IDS, reach=9, access=a),
    "ChunkStore.links": linked,
    "SectionStore.search_sections": in_sections,
    "SectionStore.search_spans": in_spans,
    "SectionStore.unsectioned": lambda s, a: s.sections.unsectioned(access=a),
    "EntityStore.find_exact": lambda s, a: s.entities.find_exact(NAMES, access=a),
    "EntityStore.find_similar": lambda s, a: s.entities.find_similar(NAMES, limit=99, access=a),
    "EntityStore.find_text": lambda s, a: s.entities.find_text(NAMES, limit=99, access=a),
    "EntityStore.find_nearest": nearest,
    "EntityStore.similarity": lambda s, a: s.entities.similarity(
        IDS, embedding=VECTORS[3], access=a
    ),
    "EntityStore.mentions_in": lambda s, a: s.entities.mentions_in(IDS, access=a),
    "EntityStore.near_chunks": lambda s, a: s.entities.near_chunks(
        IDS, limit=99, min_cosine=-1.0, access=a
    ),
    "EntityStore.stats": lambda s, a: s.entities.stats(access=a),
    "GraphStore.expand": walked,
    "GraphStore.mentions_of": mentioned,
    "GraphStore.relationships_among": lambda s, a: s.graph.relationships_among(
        IDS, limit=99, access=a
    ),
    "DocumentStore.hashes": hashed,
}
