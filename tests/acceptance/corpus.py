"""A few passages about one question, each with the graph it brings along."""

from __future__ import annotations

from typing import Any

__all__ = [
    "ASKED",
    "DOCUMENTS",
    "NAMED",
    "OFFERED",
    "SECOND_HOP",
    "SECRET",
    "SYNONYMS_LINKED",
    "WALKED",
]

ASKED = "What are the global implications of abortion?"

NAMED = ("global implications", "abortion", "reproductive rights", "Supreme Court")
"""What the model names; the question itself has only the first two."""
WALKED = {*NAMED, "Roe v. Wade", "World Health Organization", "maternal mortality"}
"""The named, and what is one relation away from them."""
SECOND_HOP = {"Dobbs v. Jackson", "Geneva"}

OFFERED = {
    "abortion": ["induced abortion", "elective abortion", "medical abortion"],
    "global implications": [
        "global consequences", "worldwide implications", "global repercussions",
    ],
}  # fmt: skip
"""Three other names for each of two seeds, all near enough to them."""
SYNONYMS_LINKED = {name for names in OFFERED.values() for name in names}

SECRET = "Project Nightingale"


def _document(name: str, text: str, *triples: tuple[str, str, str], **more: Any) -> dict[str, Any]:
    graph = {"entities": [], "triples": [list(triple) for triple in triples]}
    return {"id": name, "title": "", "text": text, "graph": graph, **more}


DOCUMENTS = [
    _document(
        "overview",
        "The global implications of abortion reach from reproductive rights to public health. "
        "The World Health Organization counts what it means where care is unsafe, and ties "
        "maternal mortality to laws that forbid it. Figures differ from country to country.",
        ("abortion", "has", "global implications"),
        ("World Health Organization", "studies", "abortion"),
        ("reproductive rights", "bear on", "maternal mortality"),
    ),
    _document(
        "court",
        "The Supreme Court decided Roe v. Wade in 1973. Dobbs v. Jackson overturned Roe v. Wade.",
        ("Supreme Court", "decided", "Roe v. Wade"),
        ("Dobbs v. Jackson", "overturned", "Roe v. Wade"),
    ),
    _document(
        "headquarters",
        "The World Health Organization has its seat in Geneva.",
        ("World Health Organization", "based in", "Geneva"),
    ),
    _document(
        "procedures",
        "Clinics tell an induced abortion from an elective abortion, and a medical abortion, which "
        "needs no surgery, from both.",
        ("induced abortion", "compared with", "elective abortion"),
        ("medical abortion", "compared with", "elective abortion"),
    ),
    _document(
        "outlook",
        "Economists write of global consequences, worldwide implications and global repercussions "
        "and mean the same.",
        ("global consequences", "means", "worldwide implications"),
        ("global repercussions", "means", "worldwide implications"),
    ),
    _document(
        "too broad",
        "Reproductive health is a field of medicine of its own.",
        ("reproductive health", "part of", "medicine"),
    ),
    _document(
        "secret",
        f"{SECRET} follows abortion figures for the ministry.",
        (SECRET, "follows", "abortion"),
        acl=["ministry"],
    ),
]
"""What anybody may read, and one document that only the ministry may."""
