"""Sections through the whole ingestion: only when asked for, never at the cost of a document."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import StateGraph

from clew.context import RetrievalContext
from clew.graph import ingestion
from clew.graph.steps import Step, wire
from clew.models.embeddings import ModelUnavailable, Vector
from clew.services import Services
from clew.state import IngestionInput, IngestionOutput, IngestionState
from clew.stores.errors import StoreUnavailable
from clew.stores.records import DocumentDraft
from clew.tests.conftest import OpenTestServices
from clew.tests.nodes.ingestion.stand_ins import WhitespaceEmbedder
from clew.tests.stores.postgres.conftest import SNAPSHOT
from clew.tests.stores.postgres.drafts import unit

from .scene import Faulty, ask, fails, giving, gone, ingest, patient

BIRDS = ["lark", "wren", "crane", "heron", "finch", "swift", "stork", "robin", "raven"]
DOCUMENTS: list[dict[str, Any]] = [
    {
        "id": name,
        "title": name,
        "text": " ".join(
            f"{name} met Ada Lovelace near the river where the {bird} sang in year {n} of the song."
            for n, bird in enumerate(BIRDS)
        ),
    }
    for name in ("Mary Somerville", "Charles Babbage")
]
SMALL = {"chunk_tokens": 48, "node_group_size": 3}


class Fake(WhitespaceEmbedder):
    """Every text has a direction of its own; a text with `broken` in it fails."""

    name, dimension = "fake", 384

    def __init__(self, broken: tuple[str, str] | None = None) -> None:
        super().__init__()
        self._broken = broken

    async def embed(self, texts: Sequence[str]) -> Vector:
        if self._broken and any(all(w in text for w in self._broken) for text in texts):
            raise ModelUnavailable("The encoder does not answer.")
        return np.array([unit(text) for text in texts], dtype=np.float32).reshape(-1, 384)

    async def embed_question(self, question: str) -> Vector:
        return unit(question)


@pytest.fixture
async def services(open_test_services: OpenTestServices) -> Services:
    return await open_test_services(**SMALL)


async def rows(services: Services, query: str, space: str = "default") -> list[tuple[Any, ...]]:
    async with services.database.connection() as connection:
        cursor = await connection.execute(query.encode(), {"namespace": space})
        return [tuple(row.values()) for row in await cursor.fetchall()]


async def contents(services: Services, space: str) -> dict[str, list[tuple[Any, ...]]]:
    """Everything of a namespace but ids and times."""
    kept = {
        table: sorted(await rows(services, query, space), key=repr)
        for table, query in SNAPSHOT.items()
    }
    held = "select key, sections from documents where namespace = %(namespace)s order by 1"
    return {**kept, "held": await rows(services, held, space)}


async def spans(services: Services, space: str = "default") -> list[tuple[Any, ...]]:
    return await rows(
        services,
        "select d.key, s.span_start, s.span_end, s.text, s.embedding::text from sections s"
        " join documents d on d.id = s.document_id where d.namespace = %(namespace)s"
        " order by d.key, s.section_index",
        space,
    )


def without_the_step(services: Services) -> Any:
    """The ingestion graph as it would be had nobody thought of sections."""
    builder: StateGraph[IngestionState, RetrievalContext, Any, IngestionOutput] = StateGraph(
        IngestionState, RetrievalContext, input_schema=IngestionInput, output_schema=IngestionOutput
    )
    steps: list[Step] = [step for step in ingestion.STEPS if step.name != "build_sections"]
    edges = [
        (source.replace("build_sections", "detect_relationships"), target)
        for source, target in ingestion.EDGES
        if target != "build_sections"
    ]
    wire(builder, steps, edges, ingestion.BRANCHES, giving(services))
    return builder.compile()


async def test_when_off_the_database_holds_what_it_would_hold_without_the_step(
    services: Services,
) -> None:
    seen: list[DocumentDraft] = []

    async def watched(answer: Any, drafts: Sequence[DocumentDraft], **more: Any) -> Any:
        seen.extend(drafts)
        return await answer(drafts, **more)

    watching = replace(services, documents=Faulty(services.documents, write=watched))
    report = await ingest(watching, DOCUMENTS, namespace="off")
    await without_the_step(services).ainvoke({"documents": DOCUMENTS, "namespace": "bare"})
    assert len(seen) == 2
    assert not any("sections" in draft for draft in seen)
    off, bare = await contents(services, "off"), await contents(services, "bare")
    assert off == bare
    assert (off["sections"], {held for _, held in off["held"]}) == ([], {0})
    assert not {"sections", "without_sections"} & set(report)


async def test_when_on_only_the_sections_are_new(services: Services) -> None:
    await ingest(services, DOCUMENTS, namespace="off")
    report = await ingest(services, DOCUMENTS, namespace="on", sections=True)
    off, on = await contents(services, "off"), await contents(services, "on")
    assert {table for table in on if on[table] != off[table]} == {"sections", "held"}
    assert report["sections"] == len(on["sections"]) == sum(held for _, held in on["held"]) > 2
    assert (report["without_sections"], report["degraded"]) == (0, [])
    for key, first, last, text, _ in await spans(services, "on"):
        assert text.startswith(key) or first > 0
        assert 0 <= last - first < SMALL["node_group_size"]
        assert len(text) <= 2000
    for key, total in await rows(services, "select key, total_chunks from documents"):
        covered = [n for k, a, b, *_ in await spans(services, "on") if k == key
                   for n in range(a, b + 1)]  # fmt: skip
        assert covered == list(range(total)), "each chunk lies in one section"


async def test_the_setting_decides_unless_the_run_says_otherwise(
    open_test_services: OpenTestServices,
) -> None:
    services = await open_test_services(sections=True, **SMALL)
    await ingest(services, DOCUMENTS, namespace="as-set")
    await ingest(services, DOCUMENTS, namespace="not-here", sections=False)
    assert await spans(services, "as-set")
    assert await spans(services, "not-here") == []


async def test_a_fake_encoder_makes_the_same_sections_and_the_same_answers_each_time(
    services: Services,
) -> None:
    fake = replace(services, embedder=Fake())
    question, both = "Who heard the heron?", patient(two_tier=True, node_top_k=2)
    found = []
    for space in ("one", "two"):
        await ingest(fake, DOCUMENTS, namespace=space, sections=True)
        state = await ask(fake, question, both, namespaces=[space])
        found.append([(d.metadata["document_id"], d.page_content) for d in state["documents"]])
    assert await contents(services, "one") == await contents(services, "two")
    assert found[0] == found[1] != []


async def test_when_sections_cannot_be_embedded_the_documents_land_without_and_the_report_says_so(
    services: Services,
) -> None:
    # No chunk reaches from the first bird to the third, but a section does.
    broken = replace(services, embedder=Fake(broken=("lark", "crane")))
    report = await ingest(broken, DOCUMENTS, sections=True)
    await ingest(replace(services, embedder=Fake()), DOCUMENTS, namespace="off")
    assert (report["written"], report["sections"], report["without_sections"]) == (2, 0, 2)
    (lost,) = report["degraded"]
    assert (lost["stage"], lost["reason"]) == ("build_sections", "The encoder does not answer.")
    assert await contents(services, "default") == await contents(services, "off")


async def test_what_was_stored_without_sections_gets_them_when_it_is_taken_in_again(
    services: Services,
) -> None:
    await ingest(services, DOCUMENTS)
    report = await ingest(services, DOCUMENTS[:1], sections=True)
    assert (report["replaced"], report["without_sections"]) == (1, 1)
    assert {key for key, *_ in await spans(services)} == {DOCUMENTS[0]["id"]}
    report = await ingest(services, DOCUMENTS, sections=True)
    assert (report["unchanged"], report["replaced"], report["without_sections"]) == (1, 1, 0)
    report = await ingest(services, DOCUMENTS)
    assert (report["unchanged"], report["replaced"]) == (2, 0), "nobody asked for sections"


async def test_a_change_taken_in_without_sections_leaves_none_of_the_old(
    services: Services,
) -> None:
    await ingest(services, DOCUMENTS, sections=True)
    changed = [{**one, "text": f"{one['text']} The end."} for one in DOCUMENTS]
    await ingest(services, changed)
    assert await spans(services) == []


async def test_a_database_that_dies_at_the_count_spoils_nothing(services: Services) -> None:
    dying = replace(services, sections=Faulty(services.sections, unsectioned=fails(gone())))
    report = await ingest(dying, DOCUMENTS, sections=True)
    assert (report["written"], report["without_sections"]) == (2, None)


async def test_a_run_does_not_inherit_the_wish_of_one_that_died_on_its_thread(
    services: Services,
) -> None:
    dying = replace(services, documents=Faulty(services.documents, write=fails(gone())))
    saver, thread = InMemorySaver(), {"configurable": {"thread_id": "one"}}
    first: Any = ingestion.build(giving(dying)).compile(checkpointer=saver)
    with pytest.raises(StoreUnavailable):
        await first.ainvoke({"documents": DOCUMENTS, "sections": True}, thread)
    second: Any = ingestion.build(giving(services)).compile(checkpointer=saver)
    await second.ainvoke({"documents": DOCUMENTS}, thread)
    assert await spans(services) == []
    # What is resumed goes on as it was asked for.
    with pytest.raises(StoreUnavailable):
        await first.ainvoke({"documents": [{**DOCUMENTS[0], "id": "x"}], "sections": True}, thread)
    await second.ainvoke(None, thread)
    assert {key for key, *_ in await spans(services)} == {"x"}
