"""The first step of a backfill: which documents a language model has yet to read."""

from __future__ import annotations

from ...settings import Settings
from ...state import BackfillState, BackfillUpdate
from ...stores.access import Access
from ...stores.errors import InvalidInput, UnknownNamespace
from ...stores.protocols import EntityStore
from ...stores.unfinished import UnfinishedDocuments
from ...stores.weights import outgrown
from ._by_llm import extraction
from ._given import GIVEN

__all__ = ["find_unfinished"]


async def find_unfinished(
    state: BackfillState,
    *,
    documents: UnfinishedDocuments,
    entities: EntityStore,
    settings: Settings,
    access: Access,
) -> BackfillUpdate:
    """Line up the pending documents; with `every` also those read offline or by another model.

    When they are many, all co-occurrences will be weighed anew: names that get a type are counted
    as other entities than before.

    Reads: every, limit. Writes: waiting, total. Raises: InvalidInput, UnknownNamespace,
    StoreUnavailable.
    """
    present = extraction(settings)
    if not present:
        raise InvalidInput(
            "There is no language model to read documents again; set CLEW_INGEST_EXTRACTION=llm "
            "and CLEW_CHAT_MODEL."
        )
    stats = await entities.stats(access=access)
    if not stats:
        raise UnknownNamespace(
            f"There is no namespace {state['target']!r}; ingest into it first, or correct its name."
        )
    settled = [present, GIVEN] if state["every"] else None
    found = await documents.unfinished(settled=settled, access=access)
    waiting = found[: state["limit"]]
    held = stats[0]["documents"]
    if outgrown(held, held - len(waiting)):
        await documents.forget_weights(access=access)
    return BackfillUpdate(waiting=waiting, total=len(waiting))
