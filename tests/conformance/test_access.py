"""An attacker who knows every string and every id of the victim learns nothing from any store.

Everything of the victim's contains `vex`. What the attacker is told is compared with what there was
to be told before the victim wrote anything.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest

from clew.stores import protocols
from clew.stores.access import Access
from clew.stores.errors import InvalidInput
from clew.stores.records import DocumentDraft

from .attack import ATTACKERS, CALLS, IDS, VICTIM, Call, crowd, divided, join, own, secret
from .backends import Backend

GRAPH_CALLS = {name: call for name, call in CALLS.items() if name.startswith("GraphStore")}
# What names a row of the store, as against a number that counts.
ID_FIELDS = {"id", "chunk", "document", "entity", "evidence", "seed", "source", "target"}


def test_no_method_of_any_store_is_forgotten() -> None:
    stores = ("ChunkStore", "SectionStore", "EntityStore", "GraphStore", "DocumentStore")
    public = {
        f"{name}.{method}"
        for name in stores
        for method in vars(getattr(protocols, name))
        if not method.startswith("_")
    }
    writing = {
        f"DocumentStore.{method}" for method in ("write", "delete", "compare_names", "weigh")
    }
    assert public == {*CALLS, *writing, "GraphStore.healthy"}


def strings(answer: object) -> Iterator[str]:
    """Every text anywhere in an answer."""
    if isinstance(answer, Mapping):
        yield from strings([*answer.keys(), *answer.values()])
    elif isinstance(answer, list | tuple | set):
        for part in answer:
            yield from strings(part)
    elif isinstance(answer, str):
        yield answer
    elif not isinstance(answer, bool | float | int | None):
        pytest.fail(f"nobody has looked for secrets in a {type(answer).__name__}")


def ids(answer: object, field: str = "") -> Iterator[tuple[str, int]]:
    """Every id anywhere in an answer, with the field it stands in."""
    if isinstance(answer, Mapping):
        for key, value in answer.items():
            yield from ids(value, str(key))
    elif isinstance(answer, list):
        for part in answer:
            yield from ids(part, field)
    elif isinstance(answer, int) and field in ID_FIELDS:
        yield field, answer


async def learned(backend: Backend, calls: Mapping[str, Call]) -> list[str]:
    """What the victim's coming lets any attacker see."""
    await crowd(backend)
    before = {
        (who, name): {*ids(await call(backend, access))}
        for who, access in ATTACKERS.items()
        for name, call in calls.items()
    }
    await join(backend)
    leaks = []
    for who, access in ATTACKERS.items():
        for name, call in calls.items():
            answer = await call(backend, access)
            if {*ids(answer)} - before[who, name]:
                leaks.append(f"{who} is told of new rows by {name}")
            if any("vex" in text.lower() for text in strings(answer)):
                namespaces = {*access.namespaces} if name == "EntityStore.stats" else set[str]()
                if not {text for text in strings(answer) if "vex" in text.lower()} <= namespaces:
                    leaks.append(f"{who} reads a secret in {name}")
    return leaks


async def test_an_attacker_learns_nothing(backend: Backend) -> None:
    assert await learned(backend, CALLS) == []


async def test_an_attacker_learns_nothing_by_walking(graph_backend: Backend) -> None:
    assert await learned(graph_backend, GRAPH_CALLS) == []


async def test_a_tenant_changes_nothing_at_all_for_another(backend: Backend) -> None:
    await crowd(backend)
    access = ATTACKERS["the attacker"]
    before = {name: await call(backend, access) for name, call in CALLS.items()}
    await backend.write(
        secret("tenant", ["public"]), divided(secret("house", ["attacker"])), namespace="vexland"
    )
    assert await backend.compare(namespace="vexland") > 0
    for name, call in CALLS.items():
        assert await call(backend, access) == before[name], name


def nothing(answer: object) -> bool:
    return all(map(nothing, answer)) if isinstance(answer, list) else not answer


async def test_the_victim_sees_what_the_attacker_must_not(backend: Backend) -> None:
    await crowd(backend)
    before = {name: {*ids(await call(backend, VICTIM))} for name, call in CALLS.items()}
    await join(backend)
    for name, call in CALLS.items():
        told = await call(backend, VICTIM)
        assert not nothing(told), name
        secrets = [text for text in strings(told) if "vex" in text.lower()]
        # How many documents lack sections is nobody's secret within a namespace.
        if name != "SectionStore.unsectioned":
            assert {*ids(told)} - before[name] or secrets, name
    links = await backend.chunks.links(IDS, max_df=99, fanout=99, access=VICTIM)
    assert ("Vexa", "alike") in {(link["name"], link["kind"]) for link in links}


async def test_who_may_enter_no_namespace_is_told_nothing_at_all(backend: Backend) -> None:
    await crowd(backend)
    await join(backend)
    for name, call in CALLS.items():
        assert nothing(await call(backend, Access((), ("victim", "public")))), name


async def test_the_attacker_still_sees_his_own(backend: Backend) -> None:
    await crowd(backend)
    await join(backend)
    passages = await backend.chunks.fetch(IDS, access=ATTACKERS["the attacker"])
    assert {one["document_id"] for one in passages} == {"open", "attackers", "mine"}
    passages = await backend.chunks.fetch(IDS, access=ATTACKERS["nobody"])
    assert {one["document_id"] for one in passages} == {"open", "mine"}


async def test_a_public_relation_shows_only_the_evidence_that_may_be_read(
    graph_backend: Backend,
) -> None:
    await crowd(graph_backend)
    await join(graph_backend)
    access = Access(("shared",))
    (known,) = await graph_backend.graph.relationships_among(IDS, limit=9, access=access)
    readable = [one["id"] for one in await graph_backend.chunks.fetch(IDS, access=access)]
    assert (known["type"], known["count"]) == ("KNOWS", 6)
    assert known["evidence"] == [min(readable)]


async def test_writing_and_deleting_do_not_reach_beyond_their_namespace(backend: Backend) -> None:
    await crowd(backend)
    await join(backend)
    before = {name: await call(backend, VICTIM) for name, call in CALLS.items()}
    keys = ["vex/private", "vex/tenant"]
    for name in ("mine", "Vexland", "vex%", ""):
        access = Access((name,), ("attacker",))
        stolen: DocumentDraft = {**secret("tenant", ["attacker"]), "title": "Mine now"}
        report = await backend.documents.write([stolen], access=access)
        assert not report["failed"]
        await backend.documents.weigh(access=access)
        assert await backend.documents.compare_names(limit=99, access=access) > 0
        assert await backend.documents.delete(keys, access=access) == 1
    for access in (ATTACKERS["the attacker"], ATTACKERS["who may enter nothing"]):
        with pytest.raises(InvalidInput):
            await backend.documents.delete(keys, access=access)
        with pytest.raises(InvalidInput):
            await backend.documents.write([own("mine")], access=access)
        with pytest.raises(InvalidInput):
            await backend.documents.weigh(access=access)
        with pytest.raises(InvalidInput):
            await backend.documents.compare_names(limit=99, access=access)
    for name, call in CALLS.items():
        assert await call(backend, VICTIM) == before[name], name
