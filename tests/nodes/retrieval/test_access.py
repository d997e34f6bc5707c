"""Two tenants and private documents through the whole graph: nothing of the other is ever said."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from clew.graph import retrieval
from clew.models.embeddings import SentenceEmbedder
from clew.services import Services
from clew.stores.access import acting_as
from clew.tests.graph.scene import (
    Faulty,
    StandInReranker,
    fails,
    giving,
    gone,
    ingest,
    patient,
    world,
)

OPEN = {
    "id": "open.md",
    "title": "Ada Lovelace",
    "text": "Ada Lovelace worked with Charles Babbage in London. Ada Lovelace met Mary Somerville.",
}
SECRETS = {
    "alice": {
        "id": "alicekey.md",
        "title": "Alicetitle Quarrington",
        "text": (
            "Ada Lovelace secretly paid Alicename Vanterpool. Alicename Vanterpool works with "
            "Charles Babbage at Aliceplace Hollow. Mary Somerville told Alicename Vanterpool."
        ),
        "category": "alicecategory",
        "metadata": {"note": "alicemeta", "related": ["Ada Lovelace", "Alicerelated Thing"]},
        "acl": ["alice"],
    },
    "bob": {
        "id": "bobkey.md",
        "title": "Bobtitle Xenakis",
        "text": (
            "Ada Lovelace wrote to Bobname Wetherell about Charles Babbage. Bobname Wetherell "
            "keeps Bobplace Grange with Mary Somerville."
        ),
        "category": "bobcategory",
        "metadata": {"note": "bobmeta", "related": ["Charles Babbage"]},
        "acl": ["bob"],
    },
}
TENANT = {
    "id": "tenantkey.md",
    "title": "Tenanttitle Ostrander",
    "text": "Ada Lovelace founded Tenantname Holdings with Charles Babbage in Tenantplace Bay.",
}
WORDS = ("alice", "bob", "tenant")
QUESTIONS = (
    "Whom did Ada Lovelace work with?",
    "What do Alicename Vanterpool, Bobname Wetherell and Tenantname Holdings have in common?",
    "Who lives in Aliceplace Hollow near Bobplace Grange and Tenantplace Bay?",
    "Alicename Vanterpol", "bobname", "quarrington", "tenanttitle ostrandr",
)  # fmt: skip
MODES: Any = ["updates", "values", "custom"]


@pytest.fixture(scope="module")
async def services(template: str, embedder: SentenceEmbedder) -> AsyncIterator[Services]:
    async with world(template, [OPEN, *SECRETS.values()]) as opened:
        await ingest(opened, [TENANT], namespace="elsewhere")
        yield opened


async def everything(
    services: Services, question: str, saver: InMemorySaver | None = None, **fields: Any
) -> list[str]:
    """All that a run lets out, as JSON: each streamed piece, the output, the stored states."""
    graph = retrieval.build(giving(services)).compile(checkpointer=saver)
    config: Any = {"configurable": {"thread_id": "shared"}} if saver else {}
    context = patient(graph_expansion_hops=3, top_k=50, **fields)
    asked = {"question": question}
    out = [
        said(piece)
        async for piece in graph.astream(
            asked, config, context=context, stream_mode=MODES, output_keys=list(graph.channels)
        )
    ]
    out.append(said(await graph.ainvoke(asked, config, context=context)))
    if saver:
        out.append(said((await graph.aget_state(config)).values))
    return out


def said(piece: Any) -> str:
    return json.dumps(piece, default=repr, ensure_ascii=False).casefold()


def check(out: list[str], question: str, foreign: set[str]) -> None:
    """No foreign word, beyond those that stand in the question itself."""
    echoed = question.casefold()
    for text in out:
        for word in foreign:
            for secret in secrets_of(word):
                if secret not in echoed:
                    assert secret not in text, (secret, text[:2000])


def secrets_of(word: str) -> list[str]:
    document = SECRETS.get(word, TENANT)
    words = json.dumps(document).casefold().replace('"', " ").replace(".", " ").replace(",", " ")
    found = {one for one in words.split() if one.startswith(word) and one != word}
    return sorted(found | ({"quarrington"} if word == "alice" else set()))


@pytest.mark.parametrize("strategy", ["fused", "rrf", "additive"])
@pytest.mark.parametrize("who", [None, "alice", "bob"])
async def test_nothing_of_another_is_said_in_any_answer_or_update(
    services: Services, who: str | None, strategy: str
) -> None:
    foreign = set(WORDS) - {who}
    for question in QUESTIONS:
        with acting_as(*([who] if who else [])):
            out = await everything(services, question, strategy=strategy)
        check(out, question, {str(word) for word in foreign})
        assert "open.md" in out[-1]
        if who:
            assert f"{who}key.md" in out[-1], "one's own is found"


async def test_a_question_that_names_the_hidden_finds_neither_it_nor_a_sign_of_it(
    services: Services,
) -> None:
    hidden = await everything(services, "Who is Alicename Vanterpool?")
    absent = await everything(services, "Who is Zorbaname Wutherford?")
    for word in secrets_of("alice"):
        assert word == "alicename" or word not in " ".join(hidden)
    first, second = (json.loads(out[-1]) for out in (hidden, absent))
    for name in ("entities", "relationships", "documents"):
        assert len(first[name]) == len(second[name])
    for counted in ("seeds", "anchors", "hits", "candidates"):
        assert first["diagnostics"]["counts"][counted] == second["diagnostics"]["counts"][counted]


async def test_one_thread_used_by_two_callers_keeps_nothing_of_the_first(
    services: Services,
) -> None:
    saver = InMemorySaver()
    with acting_as("alice"):
        first = await everything(services, QUESTIONS[0], saver)
    assert "alicename" in first[-1]
    with acting_as("bob"):
        out = await everything(services, QUESTIONS[0], saver)
    # What streams first is the thread as it stood before the door forgot it.
    began = next(i for i, piece in enumerate(out) if "admit" in piece and "updates" in piece[:12])
    check(out[began:], QUESTIONS[0], {"alice", "tenant"})


@pytest.mark.parametrize("broken", ["find_exact", "similarity", "mentions_in"])
async def test_degraded_runs_say_nothing_more(services: Services, broken: str) -> None:
    entities = Faulty(services.entities, **{broken: fails(gone())})
    for faulty in (
        replace(services, entities=entities),
        replace(services, chunks=Faulty(services.chunks, links=fails(gone()))),
        replace(services, graph=Faulty(services.graph, expand=fails(gone()))),
        replace(services, reranker=StandInReranker()),
    ):
        with acting_as("bob"):
            check(await everything(faulty, QUESTIONS[0]), QUESTIONS[0], {"alice", "tenant"})


async def test_a_tenant_sees_its_own_and_the_open_of_no_other(services: Services) -> None:
    graph = retrieval.build(giving(services)).compile()
    with acting_as("alice", namespaces=("elsewhere",)):
        asked = {"question": QUESTIONS[0], "namespaces": ["elsewhere"]}
        output = await graph.ainvoke(asked, context=patient())
    assert [d.metadata["document_id"] for d in output["documents"]] == ["tenantkey.md"]
    check([said(output)], QUESTIONS[0], {"alice", "bob"})
    assert "somerville" not in said(output)
