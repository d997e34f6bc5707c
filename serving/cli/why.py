"""The trail of one passage as a tree that is read from top to bottom."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from ...ranking.strategies import SCALES
from ...ranking.trail import CROSS_ENCODER, FIRST_STAGE, FUSED, label

__all__ = ["trail_tree"]

Found = Mapping[str, Any]

SAID = 2
"""Signals named in the last line for and against a passage."""
BAR = 12
KINDS = {
    "titled": "it mentions what this passage is about",
    "titles": "this passage mentions what it is about",
    "shared": "both mention it, few others do",
}


def trail_tree(document: Any) -> Tree:
    """What found a passage, what led to it, what each signal added, its places, and why it ended
    where it is. Names come from documents: they are shown as text, on one line.
    """
    data = document.metadata
    trail = data["trail"]
    tree = Tree(
        Text.assemble(
            (f"{data['rank']}. {_line(data['title'])}", "bold"),
            (f"  {_line(data['source'])}", "dim"),
            f"  {data['score']:.3f}",
        )
    )
    tree.add(Text.assemble(("Found by: ", "bold"), _finders(trail)))
    _branch(tree, "Through entities", map(_walked, trail["entities"]))
    _branch(tree, "Linked from", map(_link, trail["links"]))
    _branch(tree, "What each signal adds", _sums(trail, data["score"]))
    _branch(tree, "Its place at each stage", [_places(trail)])
    tree.add(Text.assemble(("Why it stands here: ", "bold"), _verdict(trail, data["rank"])))
    return tree


def _branch(tree: Tree, title: str, leaves: Iterable[RenderableType]) -> None:
    held = list(leaves)
    if held:
        branch = tree.add(Text(title, "bold"))
        for leaf in held:
            branch.add(leaf)


def _finders(trail: Found) -> str:
    stages = trail["stages"]
    searches = [
        f"{label(name)} (place {standing['rank']})"
        for name, standing in stages.items()
        if name in trail["signals"] and standing
    ]
    return ", ".join(searches) or "no search: only a link leads here"


def _walked(entity: Found) -> Text:
    """From the question's words over the relations to the entity, and how the passage names it."""
    text = Text()
    at = entity["name"]
    if origin := entity["origin"]:
        at = origin["name"]
        text.append(_origin(origin), "green")
        text.append(" ⇒ ")
    text.append(_line(at), "cyan")
    for step in entity["path"]:
        onward = step["source"] == at
        at = step["target"] if onward else step["source"]
        said = f"{_line(step['type'])} {step['weight']:.2f}"
        text.append(f" —{said}→ " if onward else f" ←{said}— ", "dim")
        text.append(_line(at), "cyan")
    text.append(f"  worth {entity['score']:.3f}{_mention(entity)}", "dim")
    return text


def _origin(origin: Found) -> str:
    if origin["via"] == "anchor":
        passage = f"[{origin['rank']}]" if origin["rank"] else _line(origin["title"] or "")
        return f"in {passage}, found by search" if passage else "in a passage found by search"
    said = f"“{_line(origin['words'])}” ({origin['via']}"
    if origin["synonym_of"]:
        said += f" of {_line(origin['synonym_of'])}"
    return f"{said})"


def _mention(entity: Found) -> str:
    if entity["subject"]:
        return ", what this passage is about"
    return f", mentioned {entity['count']}×" if entity["count"] else ""


def _link(link: Found) -> Text:
    origin = f"[{link['rank']}] " if link["rank"] else ""
    name = _line(link["title"]) or "a passage"
    said = f"{link['kind']}, {link['strength']}"
    text = Text(f"{origin}{name} through {_line(link['entity'])} ({said})")
    return text.append(f" {KINDS.get(link['kind'], '')}", "dim")


def _sums(trail: Found, score: float) -> Iterator[RenderableType]:
    """A row a signal, strongest first, and their sum; then the signals that did not count."""
    added = trail["contributions"]
    if added:
        yield _sum_table(trail, added)
    idle = [
        f"{name} {_value(value)}"
        for name, value in trail["signals"].items()
        if name not in added and value and not name.endswith("_rank")
    ]
    if idle:
        yield Text(f"not counted: {', '.join(idle)}", "dim")
    if added and trail["stages"][FUSED]:
        yield Text(f"strategy {trail['strategy']}: their sum is the score {score:.3f}", "dim")


def _sum_table(trail: Found, added: Mapping[str, float]) -> Table:
    table = Table(box=None, pad_edge=False)
    for column in ("signal", "raw", SCALES[trail["strategy"]], "weight", "adds"):
        table.add_column(column, justify="left" if column == "signal" else "right", style="dim")
    table.add_column("")
    most = max(map(abs, added.values())) or 1.0
    for name, share in sorted(added.items(), key=lambda item: -item[1]):
        style = "green" if share > 0 else "red" if share < 0 else "dim"
        table.add_row(
            Text(name, "default"),
            _value(trail["signals"].get(name)),
            f"{trail['scaled'][name]:+.4f}",
            f"{trail['weights'][name]:.2f}",
            Text(f"{share:+.4f}", style),
            Text("█" * round(BAR * abs(share) / most), style),
        )
    table.add_row(Text("sum", "bold"), "", "", "", Text(f"{sum(added.values()):+.4f}", "bold"))
    return table


def _places(trail: Found) -> Table:
    table = Table(box=None, pad_edge=False)
    for column in ("stage", "place", "score"):
        table.add_column(column, justify="left" if column == "stage" else "right", style="dim")
    for name, standing in trail["stages"].items():
        if standing:
            shown = Text(str(standing["rank"]), "default"), f"{standing['score']:.4f}"
        else:
            shown = Text("absent"), ""
        table.add_row(Text(label(name), "default"), *shown)
    return table


def _verdict(trail: Found, rank: int) -> str:
    first, fused, read = (trail["stages"][s] for s in (FIRST_STAGE, FUSED, CROSS_ENCODER))
    if fused:
        said = f"Fusion put it at {fused['rank']}, {_moved(first, fused)}{_reasons(trail)}."
    else:
        said = "Links and fusion were left out, so the first stage's order stands."
    if not read:
        return said
    before = (fused or first)["rank"]
    if before == rank:
        return f"{said} The cross-encoder left it there."
    return f"{said} The cross-encoder moved it from {before} to {rank}."


def _moved(first: Found | None, fused: Found) -> str:
    if not first:
        return "which no earlier stage had seen"
    if first["rank"] == fused["rank"]:
        return "as the first stage had"
    way = "up" if first["rank"] > fused["rank"] else "down"
    return f"{way} from {first['rank']} at the first stage"


def _reasons(trail: Found) -> str:
    shares = sorted(trail["contributions"].items(), key=lambda item: -item[1])
    reasons = _named("for it", [s for s in shares if s[1] > 0][:SAID])
    against = _named("against it", [s for s in reversed(shares) if s[1] < 0][:SAID])
    return "".join(f"; {reason}" for reason in (reasons, against) if reason)


def _named(side: str, shares: Sequence[tuple[str, float]]) -> str:
    named = " and ".join(f"{name} ({share:+.2f})" for name, share in shares)
    return f"{side} {'speak' if len(shares) > 1 else 'speaks'} {named}" if shares else ""


def _value(value: float | bool | None) -> str:
    if value is None:
        return ""
    return ("yes" if value else "no") if isinstance(value, bool) else f"{value:.4f}"


def _line(text: str) -> str:
    """On one line, without what would move a terminal's cursor."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())
