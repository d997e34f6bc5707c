"""`clew trace`: a run, step by step."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .options import As, Hops, Json, Namespaces, Overrides, Persona, TopK, context_from

if TYPE_CHECKING:
    from ...context import RetrievalContext
    from ...services import Services
    from ..saved import SavedRun
    from .running import Seen
    from .traces import Trace

__all__ = ["trace"]


def trace(
    question: Annotated[str, typer.Argument(help="The question, in your own words.")] = "",
    namespace: Namespaces = None,
    hops: Hops = None,
    top_k: TopK = None,
    persona: Persona = None,
    overrides: Overrides = None,
    principals: As = None,
    as_tree: Annotated[
        bool, typer.Option("--tree", help="Print a tree when the run has ended.")
    ] = False,
    as_json: Json = False,
    step: Annotated[
        bool, typer.Option("--step", help="Stop after each step: look at the state, change it.")
    ] = False,
    save: Annotated[
        bool,
        typer.Option("--save", help="Keep the run: what models said and what each step wrote."),
    ] = False,
    replay: Annotated[
        str | None,
        typer.Option(
            "--replay",
            metavar="RUN",
            help="Repeat a saved run, by its id or file, without asking a language model.",
        ),
    ] = None,
    start: Annotated[
        str | None,
        typer.Option("--from", metavar="NODE", help="Begin a saved run (--run) anew at this step."),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option("--run", metavar="RUN", help="The saved run, by its id or file, for --from."),
    ] = None,
    changes: Annotated[
        list[str] | None,
        typer.Option(
            "--set-state",
            metavar="KEY=VALUE",
            help="Change what the steps before --from left, such as traversal.hops=2.",
        ),
    ] = None,
) -> None:
    """Ask a question and print each step: how long, what came out, which edge and why.

    [bold]clew trace "Where was the wife of Lou Breslow born?" -n demo --save[/bold]
    """
    from ...stores.errors import InvalidInput

    shown = _shown(as_tree, as_json)
    asked = bool(question or namespace or principals)
    settings = bool(hops or top_k or persona or overrides)
    if replay is not None:
        if asked or settings or save or step or start or name or changes:
            raise InvalidInput(
                "--replay repeats a run as it was saved; leave out the question and other options."
            )
        return _repeat(replay, shown)
    if (start or name or changes) and not (start and name):
        raise InvalidInput("--from, --run and --set-state belong together: name NODE and RUN.")
    if save and (start or step):
        raise InvalidInput(
            "--save keeps runs that nobody has changed by hand; leave out --step or --from."
        )
    if start and name:
        if asked:
            raise InvalidInput("--from asks as the saved run did; leave out question, -n and --as.")
        saved = _load(name)
        context = context_from(
            overrides, hops=hops, top_k=top_k, persona=persona, base=saved.context
        )
        return _fork(saved, start, changes or [], context, shown, step)
    context = context_from(overrides, hops=hops, top_k=top_k, persona=persona)
    return _ask(question, namespace, context, principals or [], shown, step=step, save=save)


def _shown(as_tree: bool, as_json: bool) -> Trace:
    from ...stores.errors import InvalidInput
    from . import traces

    if as_tree and as_json:
        raise InvalidInput("--tree is for people and --json for programs; leave one out.")
    if as_json:
        return traces.Lines()
    return traces.Twigs() if as_tree else traces.Rows()


def _load(name: str) -> SavedRun:
    from ...settings import load_settings
    from ..saved import load_run

    return load_run(name, load_settings())


async def _follow(steps: AsyncIterator[Seen], shown: Trace) -> None:
    try:
        async for seen in steps:
            shown.step(seen)
    finally:
        shown.finish()


def _ask(
    question: str,
    namespaces: list[str] | None,
    context: RetrievalContext,
    principals: list[str],
    shown: Trace,
    *,
    step: bool,
    save: bool,
) -> None:
    from ...services import current_services
    from ..saved import save_run
    from .running import Thread, given, run, supersteps, watch
    from .stepping import step_through

    asked = given(question, namespaces)

    async def show() -> None:
        steps = step_through(Thread(context), asked) if step else watch(asked, context)
        await _follow(steps, shown)
        if save:
            settings = (await current_services()).settings
            kept = save_run(
                supersteps(shown.seen), shown.state, asked, context, principals, settings
            )
            shown.note(f"Saved; repeat it with: clew trace --replay {kept.id}")

    run(show, principals)


def _fork(
    saved: SavedRun,
    node: str,
    changes: list[str],
    context: RetrievalContext,
    shown: Trace,
    step: bool,
) -> None:
    from .editing import assigned
    from .running import Thread, run
    from .stepping import step_through

    async def show() -> None:
        thread = Thread(context)
        before = saved.until(node)
        await thread.repeat(before)
        for change in changes:
            await thread.change(assigned(await thread.state(), change))
        asked: dict[str, Any] | None = None if before else saved.asked
        steps = step_through(thread, asked) if step else thread.go(asked)
        await _follow(steps, shown)
        if not await thread.next():
            shown.note(saved.verdict(shown.state))

    run(show, saved.principals)


def _repeat(name: str, shown: Trace) -> None:
    from ...services import current_services
    from ..saved import replaying
    from .running import run, watch

    saved = _load(name)

    async def opened() -> Services:
        return replaying(await current_services(), saved)

    async def steps() -> AsyncIterator[Seen]:
        async for seen in watch(saved.asked, saved.settings, opened):
            yield seen
            if seen.node == "admit":
                for said in saved.changes(seen.after):
                    shown.note(said)

    async def show() -> None:
        await _follow(steps(), shown)
        shown.note(saved.verdict(shown.state))

    run(show, saved.principals)
