"""Every way through the retrieval graph, one after another on one checkpointed thread."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from clew.context import RetrievalContext
from clew.graph import retrieval
from clew.models.chat import ChatModel
from clew.models.embeddings import ModelUnavailable, SentenceEmbedder
from clew.services import Services
from clew.stores.errors import InvalidInput, StoreUnavailable
from clew.tests.models.chat_server import (
    SYNONYMS,
    ChatServer,
    Reply,
    chat_breaker,
    chat_server,
    open_chat,
    synonyms,
)

from .scene import Fault, Faulty, StandInReranker, breaker, fails, gone, sleeps, world

THREAD: Any = {"configurable": {"thread_id": "one"}}
NAMED, UNNAMED = "Whom did Katherine Mansfield marry?", "Who was Zorblax Quuxley?"
REPLIES = {
    "none": synonyms(),
    "accepted": synonyms(
        Katherine_Mansfield=["Kathleen Mansfield"], Zorblax_Quuxley=["Zorblax Quibble"]
    ),
    "rejected": synonyms(Katherine_Mansfield=["volcano"], Zorblax_Quuxley=["volcano"]),
    "down": Reply(status=500),
}
FAULTS: dict[str, tuple[str, str]] = {
    "search_passages": ("chunks", "search_vector"),
    "link_entities": ("entities", "find_exact"),
    "expand_graph": ("graph", "expand"),
    "rerank_entities": ("entities", "similarity"),
    "retrieve_entity_chunks": ("graph", "mentions_of"),
    "link_passages": ("chunks", "links"),
    "map_relationships": ("graph", "relationships_among"),
}
"""For each step that may fail, the store and the method that make it fail."""


@dataclass(frozen=True)
class Case:
    question: str = NAMED
    mode: Literal["hybrid", "search_only"] = "hybrid"
    namespace: str = "default"
    synonyms: str = "off"
    broken: tuple[str, ...] = ()
    late: tuple[str, ...] = ()
    relink_fails: bool = False
    reranker: str = "absent"
    breaker_open: bool = False
    filters: dict[str, Any] = field(default_factory=dict)

    @property
    def lost(self) -> set[str]:
        return {*self.broken, *self.late, *({"rerank_passages"} & {self.reranker})}


def expected(case: Case) -> tuple[list[str], set[str], bool]:
    """The edge table in other words: the steps, what `degraded` names, if there is an answer."""
    path, lost, through_graph = ["admit", "search_passages"], {"search_passages"} & case.lost, False
    hybrid = case.mode == "hybrid" and case.namespace != "nameless" and not case.breaker_open
    if hybrid:
        path += ["extract_entities", "link_entities"]
        # Without anchors, only the question's names are walked from.
        seeds, tried = case.question == NAMED, case.synonyms == "off"
        if stop := "link_entities" in case.lost:
            lost.add("link_entities")
        if not stop and not seeds and not tried:
            tried, seeds, stop = _synonyms(case, path, lost, seeds)
        if not stop and seeds:
            path.append("expand_graph")
            if stop := "expand_graph" in case.lost:
                lost.add("expand_graph")
            elif not tried:
                # What was walked stays, whatever becomes of the synonyms.
                tried, seeds, _ = _synonyms(case, path, lost, seeds)
        if not stop and seeds:
            path += ["rerank_entities", "retrieve_entity_chunks"]
            lost |= {"rerank_entities", "retrieve_entity_chunks"} & case.lost
            through_graph = "retrieve_entity_chunks" not in lost
    path.append("merge_results")
    # A vector search that is late leaves the words.
    if "search_passages" in case.broken and not through_graph:
        return path[:-1], lost, False
    path += ["filter_access", "link_passages", "rerank_passages"]
    lost |= {"link_passages", "rerank_passages"} & case.lost
    if hybrid and not case.filters:  # the filter lets nothing through that could be mapped
        path.append("map_relationships")
        lost |= {"map_relationships"} & case.lost
    return [*path, "build_context"], lost, True


def _synonyms(case: Case, path: list[str], lost: set[str], seeds: bool) -> tuple[bool, bool, bool]:
    path += ["generate_synonyms", "link_entities"]
    if case.synonyms == "down":
        lost.add("generate_synonyms")
    if case.relink_fails:
        lost.add("link_entities")
    return True, seeds or case.synonyms == "accepted", case.relink_fails


def cases() -> list[Case]:
    """What can go wrong by itself and in pairs, for each way of asking."""
    found = [Case(namespace=n) for n in ("default", "nameless")]
    found += [replace(case, mode="search_only") for case in found]
    found += [Case(breaker_open=True), Case(breaker_open=True, broken=("search_passages",))]
    for question in (NAMED, UNNAMED):
        for words in ("off", *REPLIES):
            asked = Case(question, synonyms=words)
            found += [asked, replace(asked, late=("search_passages",))]
            found += [replace(asked, broken=(step,)) for step in FAULTS]
            found += [replace(asked, relink_fails=True)] if words != "off" else []
    steps = list(FAULTS)
    found += [Case(broken=(one, other)) for i, one in enumerate(steps) for other in steps[i + 1 :]]
    found += [Case(broken=tuple(steps)), Case(mode="search_only", broken=tuple(steps))]
    found += [Case(reranker=how) for how in ("ok", "rerank_passages")]
    found += [Case(late=("expand_graph",)), Case(filters={"category": ["none such"]})]
    return found


class Thread:
    """One compiled graph and one thread, whose services change from run to run."""

    def __init__(self, services: Services, chat: ChatModel, server: ChatServer) -> None:
        self.services = self.whole = services
        self.also: dict[str, dict[str, Fault]] = {}
        self.chat, self.server = chat, server
        self.graph = retrieval.build(self._open).compile(checkpointer=InMemorySaver())

    async def _open(self) -> Services:
        return self.services

    async def run(self, case: Case, config: Any = THREAD) -> list[str]:
        """Ask; returns the steps that ended, the two of the first superstep in a fixed order."""
        self._arrange(case)
        asked: dict[str, Any] = {"question": case.question}
        if case.namespace != "default":
            asked["namespaces"] = [case.namespace]
        if case.filters:
            asked["filters"] = case.filters
        ran: list[str] = []
        context = RetrievalContext(
            mode=case.mode,
            extraction="lexical",
            anchor_passages=0,
            graph_min_entities_threshold=20,
            synonyms="off" if case.synonyms == "off" else "sparse",
            search_ms=80 if "search_passages" in case.late else 5000,
            graph_ms=80 if "expand_graph" in case.late else 5000,
            llm_ms=5000,
            budget_ms=60_000,
            # Each case is to ask for itself.
            caches=False,
        )
        try:
            async for update in self.graph.astream(
                asked, config, context=context, stream_mode="updates"
            ):
                ran += update
        finally:
            ran[1:3] = sorted(ran[1:3], key=lambda node: node == "extract_entities")
            self.ran = ran
        return ran

    def _arrange(self, case: Case) -> None:
        faults: dict[str, dict[str, Fault]] = {"chunks": {}, "entities": {}, "graph": {}}
        for step in case.broken:
            store, method = FAULTS[step]
            faults[store][method] = fails(gone())
        for step in case.late:
            store, method = FAULTS[step]
            faults[store][method] = sleeps(60)
        if case.relink_fails:
            faults["entities"]["find_exact"] = fails(gone(), after=1)
        self.server.says(SYNONYMS, REPLIES.get(case.synonyms, Reply(status=400)))
        self.chat.providers[0].breaker = chat_breaker()
        broken = ModelUnavailable("The cross-encoder is gone.")
        stores: dict[str, Any] = {
            name: Faulty(getattr(self.whole, name), **how) for name, how in faults.items()
        }
        stores |= {
            name: Faulty(getattr(self.whole, name), **how) for name, how in self.also.items()
        }
        self.services = replace(
            self.whole,
            chat=None if case.synonyms == "off" else self.chat,
            graph_breaker=breaker(is_open=case.breaker_open),
            reranker=None
            if case.reranker == "absent"
            else StandInReranker(None if case.reranker == "ok" else broken),
            **stores,
        )

    async def state(self, config: Any = THREAD) -> dict[str, Any]:
        return (await self.graph.aget_state(config)).values


@pytest.fixture(scope="module")
async def services(template: str, embedder: SentenceEmbedder) -> AsyncIterator[Services]:
    async with world(template) as opened:
        yield opened


@pytest.fixture
def llm() -> Iterator[ChatServer]:
    with chat_server() as started:
        yield started


@pytest.fixture
async def thread(services: Services, llm: ChatServer, monkeypatch: pytest.MonkeyPatch) -> Thread:
    return Thread(services, await open_chat(llm, monkeypatch), llm)


async def test_every_path_is_the_one_in_the_table_run_after_run(thread: Thread) -> None:
    paths: set[tuple[str, ...]] = set()
    for case in cases():
        path, lost, answerable = expected(case)
        if answerable:
            assert await thread.run(case) == path, case
        else:
            with pytest.raises(StoreUnavailable, match="Neither the search nor the graph"):
                await thread.run(case)
            assert thread.ran == path, case
        state = await thread.state()
        assert {entry["stage"] for entry in state["degraded"]} == lost, case
        assert sorted(step["node"] for step in state["steps"]) == sorted(path), case
        assert all(entry["effect"] and entry["reason"] for entry in state["degraded"]), case
        assert thread.ran.count("merge_results") == thread.ran.count("build_context") <= 1
        assert thread.ran.count("generate_synonyms") <= 1
        assert thread.ran.count("link_entities") <= 2
        paths.add(tuple(path))
    assert len(paths) >= 14


async def test_nothing_is_left_of_the_run_before(thread: Thread) -> None:
    order = cases()
    random.Random(7).shuffle(order)
    for number, case in enumerate(order[:60]):
        alone: Any = {"configurable": {"thread_id": f"alone {number}"}}
        states = []
        for config in (THREAD, alone):
            if expected(case)[2]:
                await thread.run(case, config)
            else:
                with pytest.raises(StoreUnavailable):
                    await thread.run(case, config)
            states.append(comparable(await thread.state(config)))
        assert states[0] == states[1], case


async def test_filters_and_namespaces_of_an_earlier_question_are_forgotten(thread: Thread) -> None:
    await thread.run(Case(filters={"category": ["none such"]}, namespace="nameless"))
    await thread.run(Case())
    request = (await thread.state())["request"]
    assert (request["filters"], request["namespaces"]) == ({}, ["default"])
    assert (await thread.state())["documents"]


@pytest.mark.parametrize("step", [*FAULTS, "merge_results", "filter_access", "build_context"])
async def test_a_bug_in_a_store_is_never_swallowed(thread: Thread, step: str) -> None:
    more = {"merge_results": "score", "filter_access": "fetch", "build_context": "neighbours"}
    store, method = FAULTS.get(step) or ("chunks", more[step])
    for error in (KeyError("a bug"), InvalidInput("a mistake")):
        thread.also = {store: {method: fails(error)}}
        with pytest.raises(type(error), match=r"a bug|a mistake"):
            await thread.run(Case())
    thread.also = {}
    assert await thread.run(Case()) == expected(Case())[0]
    assert (await thread.state())["degraded"] == []


async def test_a_fault_that_the_run_cannot_do_without_reaches_the_caller(thread: Thread) -> None:
    for method in ("score", "fetch"):
        thread.also = {"chunks": {method: fails(gone())}}
        with pytest.raises(StoreUnavailable):
            await thread.run(Case())


async def test_passages_that_were_read_are_the_answer_without_their_neighbours(
    thread: Thread,
) -> None:
    thread.also = {"chunks": {"neighbours": fails(gone())}}
    assert await thread.run(Case()) == expected(Case())[0]
    state = await thread.state()
    assert state["documents"]
    assert [entry["stage"] for entry in state["degraded"]] == ["build_context"]


async def test_synonyms_that_cannot_even_be_judged_are_asked_for_once(thread: Thread) -> None:
    # Names nobody knows are looked up by meaning once; the second call judges the synonyms.
    thread.also = {"embedder": {"embed": fails(ModelUnavailable("gone"), after=1)}}
    ran = await thread.run(Case(UNNAMED, synonyms="accepted"))
    assert ran.count("generate_synonyms") == 1
    assert [e["stage"] for e in (await thread.state())["degraded"]] == ["generate_synonyms"]


def comparable(state: dict[str, Any]) -> dict[str, Any]:
    """A state without its times; parallel steps may end in either order."""
    diagnostics = {key: value for key, value in state["diagnostics"].items() if key != "ms"}
    diagnostics["ledger"] = {**diagnostics.get("ledger", {}), "ms": 0}
    steps = sorted(step["node"] for step in state["steps"])
    calls = [{**call, "ms": 0} for call in state["calls"]]
    return {**state, "calls": calls, "diagnostics": diagnostics, "steps": steps}
