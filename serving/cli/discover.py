"""`clew discover`: what is connected with a text, without the text itself."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from .options import As, Hops, Json, Namespaces, Overrides, Persona, TopK, context_from

__all__ = ["discover"]


def discover(
    file: Annotated[
        str | None, typer.Argument(help="A text file; - reads standard input.", metavar="FILE")
    ] = None,
    document: Annotated[
        str, typer.Option("--document", help="Instead: a stored document, by its id.")
    ] = "",
    namespace: Namespaces = None,
    hops: Hops = None,
    top_k: TopK = None,
    persona: Persona = None,
    overrides: Overrides = None,
    principals: As = None,
    show_context: Annotated[
        bool, typer.Option("--context", help="Print the context as a chat model would get it.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Find what is connected with a text: passages of other documents, and the thread to each.

    [bold]clew discover draft.md -n demo[/bold]
    """
    from ...stores.errors import InvalidInput

    if (file is None) == (not document):
        raise InvalidInput("Name a text file (- for standard input), or a --document; one of both.")
    from ...context import FOR_A_TEXT
    from .. import asking

    settings = [*(f"{name}={value}" for name, value in FOR_A_TEXT.items()), *(overrides or [])]
    context = context_from(settings, hops=hops, top_k=top_k, persona=persona)
    passage = "" if file is None else _text(file)
    from . import render
    from .running import run

    output = run(
        lambda: asking.discover(
            passage, document_id=document, namespaces=namespace or (), context=context
        ),
        principals,
    )
    if as_json:
        render.json_output(output)
    elif show_context:
        render.plain(output["context"])
    else:
        render.answer(output)


def _text(file: str) -> str:
    from ...nodes.ingestion._sources import Malformed, decode
    from ...stores.errors import InvalidInput

    standard = file == "-"
    try:
        return decode(sys.stdin.buffer.read() if standard else Path(file).read_bytes())
    except (OSError, Malformed) as error:
        name = "Standard input" if standard else file
        why = error.strerror if isinstance(error, OSError) else error
        raise InvalidInput(f"{name} cannot be read: {why}; name a text file.") from error
