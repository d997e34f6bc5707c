"""`clew trace`: a run, step by step."""

from __future__ import annotations

from .options import As, Hops, Namespaces, Overrides, Question, TopK, context_from

__all__ = ["trace"]


def trace(
    question: Question,
    namespace: Namespaces = None,
    hops: Hops = None,
    top_k: TopK = None,
    overrides: Overrides = None,
    principals: As = None,
) -> None:
    """Ask a question and print each step: how long, what came out, which edge and why."""
    context = context_from(overrides, hops=hops, top_k=top_k)
    from . import render
    from .running import run, watch

    async def show() -> None:
        table = render.Trace()
        async for seen in watch(question, namespace, context):
            table.step(seen)
        table.finish()

    run(show, principals)
