"""A victim and attackers in one database.

Everything of the victim's contains `vex`, and every one of its rows has an id of at least `FIRST`.
"""

from __future__ import annotations

from collections.abc import Sequence

from clew.stores.access import Access, Identity
from clew.stores.records import DocumentDraft, Filters

from .conftest import Stores
from .drafts import chunk, document, mention, relation, section, unit

__all__ = [
    "ATTACKERS",
    "FILTERS",
    "FIRST",
    "IDS",
    "NAMES",
    "TEXTS",
    "VECTORS",
    "VICTIM",
    "crowd",
    "own",
    "secret",
]

FIRST = 10_000_000
IDS = list(range(1, 60)) + list(range(FIRST, FIRST + 60))
"""More ids than there are rows in any table, the attacker's and the victim's."""

TEXTS = ["vexed alpha beta", "alpha common vexing", "common"]
NAMES = [
    *("vexa", "vexalias", "vexadmiral", "vexo", "vexadmirall", "vexadmirol", "vex corp"),
    *("common", "commom", "common vexalias", "secret vexalias", "the vexa"),
]
FILTERS: list[Filters] = [
    {},
    {"category": ["vexcat", "open"]},
    {"metadata": {"vexkey": "vexvalue"}},
    {"date_from": "1800-01-01", "date_to": "2100-01-01"},
]
VECTORS = [unit(text) for text in TEXTS] + [unit("Vexa"), unit("Common")]

NUMBERED = (
    *("documents", "chunks", "sections", "audiences"),
    *("entities", "relationships", "terms"),
)

VICTIM = Access(("shared", "vexland"), ("victim",))
ATTACKERS = {
    "nobody": Access(("shared", "mine")),
    "the attacker": Access(("mine", "shared"), ("attacker",)),
    "who spells principals": Access(
        ("shared",), ("Victim", "victim ", "{victim}", "public,victim", "vic%", "", "*")
    ),
    "who spells namespaces": Access(("vexlan", "Vexland", "vex%", "shared,vexland", "", "*")),
    "who asks beyond what he may": Identity(("attacker",), ("mine", "shared")).access(
        ("shared", "vexland", "mine")
    ),
    "who may enter nothing": Access((), ("victim",)),
}


def secret(key: str, acl: Sequence[str]) -> DocumentDraft:
    """What the victim wrote, tied to names that the attacker may see."""
    draft = document(
        f"vex/{key}",
        chunk(
            TEXTS[0],
            [mention("Vexa", subject=True), "Common", "Vexadmiral", "Other"],
            header="Vex",
        ),
        chunk(TEXTS[1], [mention("Common", subject=True, count=9), "Vex Corp"], header="Vex"),
        title="Vex title",
        acl=acl,
        category="vexcat",
        date="2000-01-01",
        metadata={"vexkey": "vexvalue"},
        aliases={"Common": ["Vexalias", "Secret Vexalias"], "Vexa": ["Vexo"]},
        relations=[
            relation("Common", "VEXES", "Vexa"),
            relation("Vexadmiral", "VEXES", "Other", evidence=[0, 1]),
            relation("Common", "VEXES", "Other", evidence=[0, 1]),
            relation("Common", "KNOWS", "Other", evidence=[0, 1]),
        ],
    )
    if key != "undivided":
        draft["sections"] = [section(0, 0, 1, "vexed section"), section(1, 1, 1, TEXTS[1])]
    return draft


def own(key: str, acl: Sequence[str] = ("public",)) -> DocumentDraft:
    draft = document(
        key,
        chunk("alpha common things", ["Common", "Other"]),
        chunk("other common things", [mention("Other", subject=True), "Common"]),
        acl=acl,
        category="open",
        date="2001-01-01",
        relations=[relation("Common", "KNOWS", "Other")],
    )
    if key != "open":
        draft["sections"] = [section(0, 0, 1, f"section of {key}")]
    return draft


async def crowd(stores: Stores) -> None:
    """Fill what the attacker may enter, and put the victim's rows in it and beside it."""
    await stores.write(own("open"), own("attackers", ["attacker"]), namespace="shared")
    await stores.write(own("mine"), namespace="mine")
    for table in NUMBERED:
        restart = f"alter table {table} alter column id restart with {FIRST}"
        async with stores.database.connection() as connection:
            await connection.execute(restart.encode())
    await stores.write(
        secret("private", ["victim"]), secret("undivided", ["victim", "friend"]), namespace="shared"
    )
    await stores.write(secret("tenant", ["public"]), namespace="vexland")
