"""A language model reads what was found offline once more: types, further names, relations."""

from __future__ import annotations

import asyncio

from langgraph.runtime import Runtime

from ...context import RetrievalContext
from ...models.chat import Chat
from ...models.ledger import ModelCall
from ...settings import Settings
from ...state import Asked, Degradation, IngestionState, IngestionUpdate, Skipped
from ...stores.records import DocumentDraft
from ._by_llm import Asking
from ._enriched import Reading, enriched

__all__ = ["enrich"]

EFFECT = "some documents have only what was found offline until `clew backfill` has run"


async def enrich(
    state: IngestionState,
    runtime: Runtime[RetrievalContext],
    *,
    chat: Chat | None,
    settings: Settings,
) -> IngestionUpdate:
    """Add what a language model finds in each document of the batch, if one is to be asked.

    A document about which it gives no answer keeps what was found offline and is written as
    pending; one that is stored already stays as it is. A document that brings its own graph is
    not asked about.

    Reads: batch. Writes: batch, asked, unfinished, degraded. Raises: nothing.
    """
    if chat is None or settings.ingest_extraction == "offline":
        return IngestionUpdate()
    slots = asyncio.Semaphore(settings.chat_concurrency)
    asking = Asking(chat, settings.ingest_llm_seconds, slots)
    batch: list[DocumentDraft] = []
    unfinished: list[Skipped] = []
    done = 0

    async def read(document: DocumentDraft) -> list[Reading] | str:
        nonlocal done
        found = [] if "graph" in document else await asking.read(document)
        done += 1
        runtime.stream_writer({"event": "enriched", "done": done, "total": len(state["batch"])})
        return found

    answers = await asyncio.gather(*map(read, state["batch"]))
    for document, found in zip(state["batch"], answers, strict=True):
        if not isinstance(found, str):
            batch.append(await asyncio.to_thread(enriched, document, found))
            continue
        unfinished.append(Skipped(source=document["key"], reason=found))
        if "instead_of" not in document:
            batch.append({**document, "pending": True})
    return IngestionUpdate(
        batch=batch,
        asked=[*map(_asked, asking.calls)],
        unfinished=unfinished,
        degraded=[
            Degradation(stage="enrich", reason=reason, effect=EFFECT, failed=False)
            for reason in dict.fromkeys(one["reason"] for one in unfinished)
        ],
    )


def _asked(call: ModelCall) -> Asked:
    return Asked(
        failed=call["error"] is not None,
        input_tokens=call["input_tokens"],
        output_tokens=call["output_tokens"],
        money=call["money"],
    )
