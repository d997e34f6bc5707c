"""Chunks, sections and entity names become vectors, a batch at a time."""

from __future__ import annotations

import time
from itertools import takewhile

from ...models.embeddings import Embedder, ModelUnavailable, pack
from ...models.recognizer import PATTERN
from ...state import Degradation, Encoded, IngestionState, IngestionUpdate
from ...stores.records import DocumentDraft, SectionDraft

__all__ = ["embed"]


async def embed(state: IngestionState, *, embedder: Embedder) -> IngestionUpdate:
    """Embed each chunk under its header, each name once, and the sections if there are any.

    What a pattern found (a date, an address, a version) is only ever looked up as written; the
    meaning of its name would say nothing. What was stored before has its vector. A document can
    do without its sections: they are left out, and the run says so, when the encoder fails at them.

    Reads: batch. Writes: ready, encoded, degraded. Raises: ModelUnavailable.
    """
    batch = state["batch"]
    texts = [
        f"{chunk['header']}\n{chunk['text']}"
        for draft in batch
        for chunk in draft["chunks"]
        if not chunk["embedding"]
    ]
    names = list(
        dict.fromkeys(
            entity["name"]
            for draft in batch
            for entity in draft["entities"]
            if not entity["embedding"] and entity["method"] != PATTERN
        )
    )
    begun = time.perf_counter()
    vectors = iter(await embedder.embed(texts))
    ms = (time.perf_counter() - begun) * 1000
    by_name = dict(zip(names, map(pack, await embedder.embed(names)), strict=True))
    ready: list[DocumentDraft] = [
        {
            **draft,
            "chunks": [
                {**c, "embedding": c["embedding"] or pack(next(vectors))} for c in draft["chunks"]
            ],
            "entities": [
                {**e, "embedding": e["embedding"] or by_name.get(e["name"], "")}
                for e in draft["entities"]
            ],
        }
        for draft in batch
    ]
    ready, lost = await _with_sections(ready, embedder)
    sections = sum(len(draft.get("sections", [])) for draft in ready)
    return IngestionUpdate(
        ready=ready,
        encoded=[Encoded(chunks=len(texts), ms=ms, sections=sections)],
        degraded=lost,
    )


async def _with_sections(
    drafts: list[DocumentDraft], embedder: Embedder
) -> tuple[list[DocumentDraft], list[Degradation]]:
    """The drafts with vectors for their sections; or without sections, and why."""
    texts = [
        f"{_header(draft, section)}\n{section['text']}"
        for draft in drafts
        for section in draft.get("sections", [])
        if not section["embedding"]
    ]
    if not texts:
        return drafts, []
    try:
        vectors = iter(await embedder.embed(texts))
    except (ModelUnavailable, TimeoutError) as error:
        for draft in drafts:
            draft.pop("sections", None)
        late = isinstance(error, TimeoutError)
        lost = Degradation(
            stage="build_sections",
            reason="The encoder did not finish in time." if late else str(error),
            effect="some documents have no sections and are found by their chunks alone",
            failed=False,
        )
        return drafts, [lost]
    for draft in drafts:
        if "sections" in draft:
            draft["sections"] = [
                {**section, "embedding": section["embedding"] or pack(next(vectors))}
                for section in draft["sections"]
            ]
    return drafts, []


def _header(draft: DocumentDraft, section: SectionDraft) -> str:
    """The title and headings under which all chunks of the section stand."""
    inside = draft["chunks"][section["span_start"] : section["span_end"] + 1]
    levels = zip(*(chunk["header"].split(" > ") for chunk in inside), strict=False)
    return " > ".join(level[0] for level in takewhile(lambda level: len({*level}) == 1, levels))
