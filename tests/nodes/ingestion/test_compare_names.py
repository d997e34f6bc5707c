"""Names that mean nearly the same: found when a run has landed, and followed by a question."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from clew.graph import ingestion
from clew.nodes.ingestion import compare_names as node
from clew.services import Services
from clew.tests.graph.scene import Faulty, ask, fails, giving, gone, ingest, patient

KING = {
    "id": "king",
    "title": "George of Greece",
    "text": "George of Greece wed Grand Duchess Olga Constantinovna of Russia in a palace.",
}
QUEEN = {
    "id": "queen",
    "title": "Olga Constantinovna of Russia",
    "text": "Olga Constantinovna of Russia founded the hospital Evangelismos.",
}
QUESTION = "What did the wife of George of Greece found?"
ALIKE = ("George of Greece", "Olga Constantinovna of Russia", "alike")


async def links(services: Services) -> list[tuple[str, str, str]]:
    """From which page, through which name and how something led to the page about the queen."""
    state = await ask(services, QUESTION, patient())
    found = {d.metadata["document_id"]: d.metadata["trail"]["links"] for d in state["documents"]}
    assert {*found} == {"king", "queen"}
    return [(link["title"], link["entity"], link["kind"]) for link in found["queen"]]


async def progress(services: Services, *documents: dict[str, Any]) -> list[dict[str, Any]]:
    """What a run tells of its comparing."""
    graph = ingestion.build(giving(services)).compile()
    told = [
        event async for event in graph.astream({"documents": [*documents]}, stream_mode="custom")
    ]
    return [event for event in told if event["event"] == "compared"]


async def names_in(services: Services) -> int:
    async with services.database.connection() as connection:
        row = await (await connection.execute("select count(*) as n from entities")).fetchone()
    assert row is not None
    return int(row["n"])


async def test_a_question_gets_from_a_mention_to_the_page_about_a_name_like_it(
    services: Services,
) -> None:
    report = await ingest(services, [KING, QUEEN])
    assert report["degraded"] == []
    assert await links(services) == [ALIKE]


async def test_a_page_that_comes_in_a_later_run_is_found_as_well(services: Services) -> None:
    await ingest(services, [QUEEN])
    await ingest(services, [KING])
    assert await links(services) == [ALIKE]


async def test_a_run_tells_how_many_names_it_has_compared(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(node, "BATCH", 2)
    told = await progress(services, KING, QUEEN)
    names = await names_in(services)
    assert names > 2
    assert [event["names"] for event in told] == [*range(2, names, 2), names]
    assert await progress(services, KING, QUEEN) == [], "nothing is compared twice"
    assert await links(services) == [ALIKE]


@pytest.mark.parametrize("after", [0, 1])
async def test_a_comparing_that_fails_loses_no_document_and_is_made_up_for(
    services: Services, monkeypatch: pytest.MonkeyPatch, after: int
) -> None:
    monkeypatch.setattr(node, "BATCH", 1)
    fault = fails(gone(), after=after)
    dying = replace(services, documents=Faulty(services.documents, compare_names=fault))
    report = await ingest(dying, [KING, QUEEN])
    assert report["written"] == 2
    (lost,) = report["degraded"]
    assert (lost["stage"], lost["reason"]) == ("compare_names", "Nobody answers.")
    assert lost["effect"] == "names that mean nearly the same do not link passages yet"
    assert ALIKE not in await links(services)
    # What the next run finds unchanged is compared all the same.
    told = await progress(services, KING, QUEEN)
    assert len(told) == await names_in(services) - after
    assert await links(services) == [ALIKE]
