"""`clew mcp`: the tools for a desktop client, over standard input and output."""

from __future__ import annotations

from .options import As, Namespaces, Overrides, Persona, context_from

__all__ = ["mcp"]


def mcp(
    namespace: Namespaces = None,
    persona: Persona = None,
    overrides: Overrides = None,
    principals: As = None,
) -> None:
    """Serve retrieve, discover and path to an MCP client that starts this command.

    Who asks is said here, by --as, and a client can look nowhere but in the namespaces named here
    (any, when none is). [bold]clew mcp -n demo[/bold]
    """
    context = context_from(overrides, persona=persona)
    from ...stores.access import Identity
    from ...stores.errors import InvalidInput

    try:
        from ..mcp.stdio import serve
    except ModuleNotFoundError as error:
        if error.name not in {"mcp", "mcp_types"}:
            raise
        raise InvalidInput("`clew mcp` needs the package mcp; pip install 'clew[mcp]'.") from error
    from ..mcp.tools import Defaults

    spaces = tuple(namespace) if namespace else None
    serve(Identity(tuple(principals or ()), spaces), Defaults(context, spaces or ()))
