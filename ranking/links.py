"""What a link from a good passage is worth to the passage it leads to."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from ..stores.records import PassageLink

__all__ = ["link_signals", "link_strength"]

TITLED, TITLES, ALIKE = 1.0, 0.8, 0.5


def link_strength(link: PassageLink) -> float:
    """In (0, 1]: a mention of the target's subject, the reverse, a mention of a name like the
    subject's, or a shared name by its rarity.
    """
    if link["kind"] == "titled":
        return TITLED
    if link["kind"] == "titles":
        return TITLES
    if link["kind"] == "alike":
        return ALIKE
    return 1.0 / math.log2(1 + max(link["df"], 2))


def link_signals(
    links: Iterable[PassageLink], sources: Mapping[int, float]
) -> tuple[dict[int, float], dict[int, float]]:
    """Two signals a target: the best link to what it is about, and the best of any kind.

    A link is worth its source's score (in [0, 1]) times its strength.
    """
    titled: dict[int, float] = {}
    linked: dict[int, float] = {}
    for link in links:
        worth = sources.get(link["source"], 0.0) * link_strength(link)
        target = link["target"]
        linked[target] = max(linked.get(target, 0.0), worth)
        if link["kind"] in ("titled", "alike"):
            titled[target] = max(titled.get(target, 0.0), worth)
    return titled, linked
