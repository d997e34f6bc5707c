"""The door for LangChain: a retriever."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langchain_core.callbacks import (
    AsyncCallbackManagerForRetrieverRun,
    CallbackManagerForRetrieverRun,
    Callbacks,
)
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import Field

from ..context import RetrievalContext
from ..state import FilterInput
from .asking import retrieve
from .blocking import wait_for

__all__ = ["ClewRetriever"]


class ClewRetriever(BaseRetriever):
    """The documents of the graph's output, best first, with their metadata and thread.

    A call may say how many and which: `retriever.ainvoke(question, k=3, filter={"category":
    ["person"]})`. `k`: 1 to 100; unset, the context's `top_k`. `filter`: as the graph's `filters`.
    Who is asking is told by `acting_as`. Raises pydantic's `ValidationError` and what `retrieve`
    raises.
    """

    namespaces: list[str] = Field(
        default_factory=list, description="Where to look; empty: the configured default."
    )
    context: RetrievalContext = Field(
        default_factory=RetrievalContext, description="What each run is set to."
    )

    async def _aget_relevant_documents(
        self,
        query: str,
        *,
        run_manager: AsyncCallbackManagerForRetrieverRun,
        k: int | None = None,
        filter: Mapping[str, Any] | None = None,
    ) -> list[Document]:
        return await self._find(query, k, filter, run_manager.get_child())

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,
        k: int | None = None,
        filter: Mapping[str, Any] | None = None,
    ) -> list[Document]:
        return wait_for(self._find(query, k, filter, run_manager.get_child()))

    async def _find(
        self, query: str, k: int | None, conditions: Mapping[str, Any] | None, callbacks: Callbacks
    ) -> list[Document]:
        asked = {
            "question": query,
            "namespaces": self.namespaces,
            "filters": FilterInput.model_validate(conditions or {}),
        }
        context = self.context
        if k is not None:
            # Only what was set is set: a persona gives way to it.
            chosen = context.model_dump(exclude_unset=True)
            context = RetrievalContext.model_validate({**chosen, "top_k": k})
        output = await retrieve(asked, context, callbacks=callbacks)
        return output["documents"]
