"""A group of commands, one of which is meant when none is named."""

from __future__ import annotations

from typing import Any, ClassVar

from typer.core import TyperGroup

__all__ = ["DefaultCommandGroup"]


class DefaultCommandGroup(TyperGroup):
    """Runs `default` unless the first argument is a subcommand or asks for help."""

    default: ClassVar[str] = "run"

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Name the default command where no command is named."""
        if not args or args[0] not in {*self.commands, *ctx.help_option_names}:
            args = [self.default, *args]
        return super().parse_args(ctx, args)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """What the default command takes, then the other commands."""
        command = self.commands[self.default]
        named_like_the_group = type(ctx)(command, info_name=ctx.info_name, parent=ctx.parent)
        command.format_help(named_like_the_group, formatter)
        super().format_help(ctx, formatter)
