"""What a run did and what it cost, for people and programs that want to know why."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from ...models.ledger import ModelCall, total_money
from ...state import RetrievalState

__all__ = ["diagnostics"]


def diagnostics(
    state: RetrievalState, *, tokens: int, cited: int, breakers: Mapping[str, str]
) -> dict[str, Any]:
    """Plan, intent, counts, milliseconds by node, and the ledger of the language model."""
    understanding = state["understanding"]
    spent: dict[str, float] = defaultdict(float)
    for step in state["steps"]:
        spent[step["node"]] += step["ms"]
    return {
        "plan": state["plan"],
        "extraction": understanding["rung"] if understanding else None,
        "intent": understanding["intent"] if understanding else None,
        "traversal": state["traversal"],
        "counts": {
            "hits": len(state["hits"]),
            "seeds": sum(seed["via"] != "anchor" for seed in state["seeds"]),
            "anchors": sum(seed["via"] == "anchor" for seed in state["seeds"]),
            "entities": len(state["entities"]),
            "entity_passages": len(state["entity_passages"]),
            "candidates": len(state["candidates"]),
            "cited": cited,
        },
        "sparse": state["sparse"],
        "synonyms": state["synonyms"],
        "context_tokens": tokens,
        "breakers": dict(breakers),
        "ledger": _ledger(state["calls"]),
        "ms": {node: round(ms, 2) for node, ms in spent.items()},
    }


def _ledger(calls: Sequence[ModelCall]) -> dict[str, Any]:
    """What the language model cost."""
    return {
        "calls": sum(not call["cached"] for call in calls),
        "from_cache": sum(call["cached"] for call in calls),
        "failed": sum(call["error"] is not None for call in calls),
        "input_tokens": sum(call["input_tokens"] for call in calls),
        "output_tokens": sum(call["output_tokens"] for call in calls),
        "money": total_money([call["money"] for call in calls]),
        "ms": round(sum(call["ms"] for call in calls), 2),
    }
