"""`clew ask`: the passages that answer a question."""

from __future__ import annotations

from typing import Annotated

import typer

from .options import As, Hops, Json, Namespaces, Overrides, Persona, Question, TopK, context_from

__all__ = ["ask"]


def ask(
    question: Question,
    namespace: Namespaces = None,
    hops: Hops = None,
    top_k: TopK = None,
    persona: Persona = None,
    overrides: Overrides = None,
    principals: As = None,
    why: Annotated[
        int | None, typer.Option("--why", help="Print everything that put passage N there.")
    ] = None,
    show_context: Annotated[
        bool, typer.Option("--context", help="Print the context as a chat model would get it.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Find the passages that answer a question.

    [bold]clew ask "Where was the wife of Lou Breslow born?" -n demo[/bold]
    """
    context = context_from(overrides, hops=hops, top_k=top_k, persona=persona)
    from ...stores.errors import InvalidInput
    from . import render
    from .running import ask_once, run
    from .why import trail_tree

    output = run(lambda: ask_once(question, namespace, context), principals)
    if why is not None and not 1 <= why <= len(output["documents"]):
        raise InvalidInput(
            f"--why {why} names no passage; the answer has {len(output['documents'])}."
        )
    if as_json and why is not None:
        render.json_output(output["documents"][why - 1].metadata["trail"])
    elif as_json:
        render.json_output(output)
    elif show_context:
        render.plain(output["context"])
    elif why is not None:
        render.tree(trail_tree(output["documents"][why - 1]))
    else:
        render.answer(output)
