"""`clew trace --step`: stop after each step, look at the state, change it, go on."""

from __future__ import annotations

import shlex
import signal
import subprocess
import tempfile
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from ...settings import editor
from ...stores.errors import InvalidInput
from . import render
from .editing import assigned, chosen, edited, read_yaml
from .running import Seen, Thread

__all__ = ["step_through"]

HELP = """\
Enter          go on to the next step
c              go on to the end
s              list the keys of the state
s KEY          show a key, or a part of it such as traversal.hops
e KEY=VALUE    change it; the value is YAML
e KEY          change it in $EDITOR
q              stop here"""


async def step_through(thread: Thread, asked: Mapping[str, Any] | None) -> AsyncIterator[Seen]:
    """Each step of a run, which waits at a prompt after each superstep.

    The clock of the run stands still meanwhile. The end of standard input stops the run.
    """
    stopping = True
    while True:
        async for seen in thread.go(asked, stopping=stopping):
            yield seen
        if not await thread.next():
            return
        asked = None
        answer = await _pause(thread)
        if answer == "q":
            return
        stopping = answer != "c"


async def _pause(thread: Thread) -> str:
    """Do as told until told to go on: returns an empty string, `c` or `q`."""
    while True:
        # Nothing else is going on in this loop, so that waiting in it holds nobody up.
        said = _asked(f"next: {', '.join(await thread.next())}  [Enter, s, e, c, q, ?]")
        command, _, what = said.partition(" ")
        if said in ("", "c", "q"):
            return said
        try:
            match command:
                case "s":
                    _show(await thread.state(), what)
                case "e" if what:
                    state = await thread.state()
                    update = assigned(state, what) if "=" in what else _in_editor(state, what)
                    await thread.change(update)
                case _:
                    render.aside(HELP)
        except InvalidInput as error:
            render.aside(str(error))


def _asked(prompt: str) -> str:
    try:
        with _interruptible():
            render.aside(prompt)
            return input().strip()
    except EOFError:
        return "q"


@contextmanager
def _interruptible() -> Iterator[None]:
    """Let Ctrl-C end the waiting: asyncio's own handler would only be heard after it."""
    former = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, former)


def _show(state: Mapping[str, Any], path: str) -> None:
    if path:
        render.aside(_printable(_as_yaml(chosen(state, path))))
        return
    for key, value in state.items():
        size = f"{len(value)} entries" if isinstance(value, list | dict) else _as_yaml(value)
        render.aside(f"{key:<18}{size}")


def _in_editor(state: Mapping[str, Any], path: str) -> dict[str, Any]:
    """The update that comes out of $EDITOR. Raises `InvalidInput`."""
    command = editor()
    if command is None:
        raise InvalidInput(f"No editor is known; set EDITOR, or write e {path}=VALUE.")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / f"{path}.yaml"
        file.write_text(_as_yaml(chosen(state, path)), encoding="utf-8")
        try:
            done = subprocess.run([*shlex.split(command), str(file)], check=False)
        except OSError as error:
            raise InvalidInput(f"The editor {command!r} cannot be run; set EDITOR.") from error
        if done.returncode:
            raise InvalidInput(f"The editor ended with {done.returncode}; nothing is changed.")
        return edited(state, path, read_yaml(file.read_text(encoding="utf-8")))


def _as_yaml(value: Any) -> str:
    text: str = yaml.safe_dump(value, allow_unicode=True, sort_keys=False)
    return text.removesuffix("...\n").rstrip("\n")


def _printable(text: str) -> str:
    """Without what would move a terminal's cursor or turn its text round."""
    return "".join(c if c.isprintable() or c == "\n" else " " for c in text)
