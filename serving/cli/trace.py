"""`clew trace`: a run, step by step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from .options import As, Hops, Namespaces, Overrides, Persona, TopK, context_from

if TYPE_CHECKING:
    from ...context import RetrievalContext
    from ...services import Services

__all__ = ["trace"]


def trace(
    question: Annotated[str, typer.Argument(help="The question, in your own words.")] = "",
    namespace: Namespaces = None,
    hops: Hops = None,
    top_k: TopK = None,
    persona: Persona = None,
    overrides: Overrides = None,
    principals: As = None,
    save: Annotated[
        bool, typer.Option("--save", help="Keep the run with all that a language model said.")
    ] = False,
    replay: Annotated[
        str | None,
        typer.Option(
            "--replay",
            metavar="RUN",
            help="Repeat a saved run, by its id or file, without asking a language model.",
        ),
    ] = None,
) -> None:
    """Ask a question and print each step: how long, what came out, which edge and why.

    [bold]clew trace "Where was the wife of Lou Breslow born?" -n demo --save[/bold]
    """
    from ...stores.errors import InvalidInput

    if replay is None:
        context = context_from(overrides, hops=hops, top_k=top_k, persona=persona)
        _show(question, namespace, context, principals or [], save)
        return
    if question or namespace or hops or top_k or persona or overrides or principals or save:
        raise InvalidInput(
            "--replay repeats a run as it was saved; leave out the question and other options."
        )
    _repeat(replay)


def _show(
    question: str,
    namespaces: list[str] | None,
    context: RetrievalContext,
    principals: list[str],
    save: bool,
) -> None:
    from ...services import current_services
    from ..saved import save_run
    from . import render
    from .running import given, run, watch

    asked = given(question, namespaces)

    async def show() -> None:
        table = render.Trace()
        async for seen in watch(asked, context):
            table.step(seen)
        table.finish()
        if save:
            services = await current_services()
            kept = save_run(table.state, asked, context, principals, services.settings)
            render.note(f"Saved; repeat it with: clew trace --replay {kept.id}")

    run(show, principals)


def _repeat(name: str) -> None:
    from ...services import current_services
    from ...settings import load_settings
    from ..saved import load_run, replaying
    from . import render
    from .running import run, watch

    saved = load_run(name, load_settings())

    async def opened() -> Services:
        return replaying(await current_services(), saved)

    async def show() -> None:
        table = render.Trace()
        async for seen in watch(saved.asked, saved.settings, opened):
            table.step(seen)
            if seen.node == "admit":
                for said in saved.changes(seen.after):
                    render.note(said)
        table.finish()
        render.note(saved.verdict(table.state))

    run(show, saved.principals)
