"""Files in; documents, chunks, entities and relations out, once, whole and for whom they are."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from clew.graph import ingestion
from clew.services import Services
from clew.stores.access import acting_as
from clew.stores.errors import InvalidInput

from .scene import Faulty, ask, fails, giving, gone, ingest, patient

MANSFIELD = """---
title: Katherine Mansfield
category: people
date: 1923-01-09
related: [Virginia Woolf]
---
# Katherine Mansfield

Katherine Mansfield was born in Wellington.

## Marriage

She married [John Middleton Murry](people/murry.md) in London.
"""
MURRY = "# John Middleton Murry\n\nJohn Middleton Murry edited the Athenaeum.\n"
ROWS = '{"id": "row-1", "text": "Virginia Woolf lived in Richmond.", "title": "Virginia Woolf"}\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "people").mkdir()
    (tmp_path / "mansfield.md").write_text(MANSFIELD, "utf-8")
    (tmp_path / "people" / "murry.md").write_text(MURRY, "utf-8")
    (tmp_path / "rows.jsonl").write_text(ROWS, "utf-8")
    return tmp_path


async def take_in(services: Services, folder: Path, **asked: Any) -> dict[str, Any]:
    return await ingest(services, [], paths=[str(folder)], **asked)


async def rows(services: Services, query: str) -> list[tuple[Any, ...]]:
    async with services.database.connection() as connection:
        cursor = await connection.execute(query.encode())
        return [tuple(row.values()) for row in await cursor.fetchall()]


async def contents(services: Services) -> dict[str, list[tuple[Any, ...]]]:
    """What stands in the database, without ids and times."""
    return {
        "documents": await rows(services, "select key, content_hash from documents order by 1"),
        "chunks": await rows(
            services,
            "select header, text, principals from chunks"
            " join audiences a on a.id = audience order by 1, 2",
        ),
        "entities": await rows(services, "select name, type, df from entities order by 1, 2"),
        "relations": await rows(
            services,
            "select a.name as source, r.type, b.name as target, r.weight from relationships r"
            " join entities a on a.id = r.source join entities b on b.id = r.target"
            " order by 1, 2, 3",
        ),
        "words": await rows(services, "select term, df from terms order by 1"),
    }


async def test_files_become_documents_chunks_entities_and_relations(
    services: Services, folder: Path
) -> None:
    report = await take_in(services, folder, namespace="people")
    assert (report["namespace"], report["written"], report["skipped_count"]) == ("people", 3, 0)
    assert set(report["ms"]) == {step.name for step in ingestion.STEPS} - {"report"}
    found = await contents(services)
    assert [key for key, _ in found["documents"]] == ["mansfield.md", "people/murry.md", "row-1"]
    assert [header for header, _, _ in found["chunks"]] == [
        "John Middleton Murry", "Katherine Mansfield", "Katherine Mansfield > Marriage",
        "Virginia Woolf",
    ]  # fmt: skip
    names = {name for name, *_ in found["entities"]}
    assert {"Katherine Mansfield", "John Middleton Murry", "Wellington", "Athenaeum"} <= names
    ways = {(a, kind, b) for a, kind, b, _ in found["relations"]}
    assert ("Katherine Mansfield", "LINKS_TO", "John Middleton Murry") in ways
    assert ("Katherine Mansfield", "RELATED_TO", "Virginia Woolf") in ways
    state = await ask(services, "Whom did Katherine Mansfield marry?", namespaces=["people"])
    first = state["documents"][0].metadata
    assert (first["category"], first["date"]) == ("people", "1923-01-09")


async def test_the_second_run_finds_everything_unchanged(services: Services, folder: Path) -> None:
    await take_in(services, folder)
    before = await contents(services)
    report = await take_in(services, folder)
    assert (report["unchanged"], report["written"], report["replaced"]) == (3, 0, 0)
    assert "embed" not in report["ms"], "nothing is encoded again"
    assert await contents(services) == before


async def test_a_changed_file_replaces_the_old_one_and_what_only_it_bore_out(
    services: Services, folder: Path
) -> None:
    await take_in(services, folder)
    (folder / "people" / "murry.md").write_text(MURRY.replace("the Athenaeum", "Adelphi"), "utf-8")
    report = await take_in(services, folder)
    assert (report["unchanged"], report["written"], report["replaced"]) == (2, 0, 1)
    names = {name for name, *_ in (await contents(services))["entities"]}
    assert "Athenaeum" not in names
    assert "Adelphi" in names


async def test_taking_in_a_change_and_its_undoing_leaves_no_trace(
    services: Services, folder: Path
) -> None:
    await take_in(services, folder)
    before = await contents(services)
    file = folder / "mansfield.md"
    file.write_text(MANSFIELD + "\nShe met Leonard Woolf at Garsington Manor.\n", "utf-8")
    await take_in(services, folder)
    assert await contents(services) != before
    file.write_text(MANSFIELD, "utf-8")
    await take_in(services, folder)
    assert await contents(services) == before


async def test_sources_that_are_left_out_are_named_with_the_reason(
    services: Services, folder: Path
) -> None:
    (folder / "empty.md").write_text("", "utf-8")
    (folder / "binary.txt").write_bytes(b"a\x00b")
    (folder / "bad.md").write_text("---\ntitle: [\n---\ntext\n", "utf-8")
    with pytest.raises(InvalidInput, match=r"bad\.md is malformed"):
        await take_in(services, folder)
    assert (await contents(services))["documents"] == [], "nothing was written before"
    report = await take_in(services, folder, skip_malformed=True)
    assert report["written"] == 3
    assert {entry["source"]: entry["reason"] for entry in report["skipped"]} == {
        "empty.md": "it is empty",
        "binary.txt": "it is binary (it has null bytes), not text",
        "bad.md": "its front matter is not YAML (line 2)",
    }
    assert report["skipped_count"] == 3


async def test_what_the_database_refuses_is_skipped_and_the_rest_lands(services: Services) -> None:
    documents = [
        {"id": "good", "text": "Ada Lovelace wrote notes."},
        {"id": "bad", "text": "Ada Lovelace.", "date": "2024-02-31"},
    ]
    report = await ingest(services, documents)
    assert report["written"] == 1
    (skipped,) = report["skipped"]
    assert skipped["source"] == "bad"
    assert skipped["reason"] == "'2024-02-31' is not a date; write YYYY-MM-DD."


async def test_a_document_is_for_those_on_its_list_else_on_the_runs(services: Services) -> None:
    documents: list[dict[str, Any]] = [
        {"id": "own", "text": "Ada Lovelace met Mary Somerville.", "acl": ["ada"]},
        {"id": "run", "text": "Ada Lovelace met Charles Wheatstone."},
    ]
    await ingest(services, documents, acl=["staff"])
    seen = {}
    for who in ("ada", "staff", "nobody"):
        with acting_as(who):
            state = await ask(services, "Whom did Ada Lovelace meet?")
            seen[who] = [d.metadata["document_id"] for d in state["documents"]]
    assert seen == {"ada": ["own"], "staff": ["run"], "nobody": []}


async def test_a_new_access_list_alone_counts_as_a_change(services: Services) -> None:
    documents = [{"id": "one", "text": "Ada Lovelace met Mary Somerville."}]
    await ingest(services, documents)
    report = await ingest(services, documents, acl=["staff"])
    assert report["replaced"] == 1
    assert (await ask(services, "Ada Lovelace?"))["documents"] == []


async def test_more_than_one_batch_goes_through_and_nothing_is_counted_twice(
    services: Services,
) -> None:
    documents = [
        {"id": f"page-{n}", "text": f"Page {n} says that Ada Lovelace met Luigi Menabrea."}
        for n in range(150)
    ]
    assert (await ingest(services, documents))["written"] == 150
    report = await ingest(services, [*documents, {"id": "new", "text": "Ada Lovelace."}])
    assert (report["written"], report["unchanged"]) == (1, 150)
    ((count,),) = await rows(services, "select df from entities where name = 'Luigi Menabrea'")
    assert count == 150


MET = [{"id": f"met-{n}", "text": "Ada Lovelace met Luigi Menabrea."} for n in range(3)]
ALONE = [{"id": f"alone-{n}", "text": "Ada Lovelace wrote notes."} for n in range(20)]


async def met(services: Services) -> float:
    """What the co-occurrence in `MET` weighs."""
    query = "select weight from relationships where type = 'CO_OCCURS_WITH'"
    ((weight,),) = await rows(services, query)
    return float(weight)


async def test_co_occurrences_weigh_what_they_do_among_all_that_has_landed(
    services: Services,
) -> None:
    await ingest(services, MET)
    alone = await met(services)
    assert (await ingest(services, ALONE))["degraded"] == []
    # In 3 chunks of 23: all of the one name's, and 3 of the other's 23.
    assert alone == pytest.approx(0.8 * 3 / 4)
    assert await met(services) == pytest.approx(alone / 2)


async def test_a_weighing_that_fails_loses_no_document_and_is_made_up_for(
    services: Services,
) -> None:
    dying = replace(services, documents=Faulty(services.documents, weigh=fails(gone())))
    await ingest(services, MET)
    alone = await met(services)
    report = await ingest(dying, ALONE)
    assert report["written"] == len(ALONE)
    (lost,) = report["degraded"]
    assert (lost["stage"], lost["reason"]) == ("weigh_relationships", "Nobody answers.")
    assert await met(services) == alone
    assert (await ingest(services, ALONE))["degraded"] == []
    assert await met(services) == pytest.approx(alone / 2)


async def test_runs_on_one_thread_start_afresh(services: Services, folder: Path) -> None:
    graph = ingestion.build(giving(services)).compile(checkpointer=InMemorySaver())
    thread: Any = {"configurable": {"thread_id": "one"}}
    first = await graph.ainvoke({"paths": [str(folder)], "namespace": "a", "acl": ["x"]}, thread)
    assert (first["report"]["written"], first["report"]["namespace"]) == (3, "a")
    given = {"documents": [{"id": "one", "text": "Ada Lovelace met Mary Somerville."}]}
    second = await graph.ainvoke(given, thread)
    assert second["report"]["written"] == 1
    assert second["report"]["namespace"] == "default"
    assert (await ask(services, "Ada Lovelace?", patient(mode="search_only")))["documents"]
