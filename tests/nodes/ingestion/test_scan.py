"""What is to be read is settled, and bad input refused, before anything is written."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from langgraph.runtime import Runtime
from langgraph.types import Overwrite

from clew.nodes.ingestion.scan import scan
from clew.settings import Settings
from clew.state import IngestionInput, IngestionUpdate, SourceDocument
from clew.stores.errors import InvalidInput

SERVED: Any = SimpleNamespace(assistant_id="a", graph_id="g", user=None)


def write(folder: Path, name: str, content: str | bytes) -> str:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return str(path)


def graph_row(graph: object) -> str:
    return json.dumps({"id": "1", "text": "t", "graph": graph})


async def scanned(*paths: object, served: bool = False, **given: Any) -> IngestionUpdate:
    settings = Settings(**given.pop("settings", {}))
    runtime: Runtime[Any] = Runtime(server_info=SERVED if served else None)
    state = IngestionInput(paths=[str(path) for path in paths], **given)
    return await scan(state, runtime, settings=settings)


def skipped(update: IngestionUpdate) -> list[dict[str, str]]:
    channel: Any = update["skipped"]
    assert isinstance(channel, Overwrite)
    return list(channel.value)


async def test_a_folder_is_read_in_a_fixed_order_without_what_is_hidden(tmp_path: Path) -> None:
    for name in ("b.md", "a/c.txt", ".git/x.md", ".hidden.md", "image.png", "a/d.jsonl"):
        write(tmp_path, name, '{"id": "1", "text": "t"}' if name.endswith("jsonl") else "text")
    update = await scanned(tmp_path)
    assert [source["key"] for source in update["sources"]] == ["a/c.txt", "a/d.jsonl", "b.md"]
    assert update["total"] == 3
    assert update["cursor"] == {"source": 0, "offset": 0, "line": 0}


async def test_a_folder_may_hold_what_cannot_be_read(tmp_path: Path) -> None:
    write(tmp_path, "good.md", "text")
    write(tmp_path, "empty.txt", "  \n")
    write(tmp_path, "binary.md", b"a\x00b")
    write(tmp_path, "latin.txt", b"caf\xe9")
    update = await scanned(tmp_path)
    assert [source["key"] for source in update["sources"]] == ["good.md"]
    reasons = {one["source"]: one["reason"] for one in skipped(update)}
    assert set(reasons) == {"empty.txt", "binary.md", "latin.txt"}
    assert "empty" in reasons["empty.txt"]
    assert "null bytes" in reasons["binary.md"]
    assert "UTF-8" in reasons["latin.txt"]


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("empty.md", "", r"empty\.md cannot be taken in: it is empty"),
        ("binary.md", b"\x00\x01", r"binary\.md .* null bytes"),
        ("latin.txt", b"caf\xe9", r"latin\.txt .* not UTF-8 .*3"),
        ("paper.pdf", "x", r"paper\.pdf .* \.md, \.markdown, \.txt, \.jsonl"),
        ("empty.jsonl", "\n\n", r"empty\.jsonl .* empty"),
        ("a.jsonl", '{"id": "1", "text": "t"}\n{oops', r"a\.jsonl, line 2 .* not JSON"),
        ("a.jsonl", "[1]", r"line 1 .* not list"),
        ("a.jsonl", '{"text": "t"}', r"line 1 .* 'id'"),
        ("a.jsonl", '{"id": "1"}', r"line 1 .* 'text'"),
        ("a.jsonl", '\n{"id": 7, "text": "t"}', r"line 2 .* 'id'.* string"),
        ("a.jsonl", '{"id": "1", "text": ["t"]}', r"line 1 .* 'text'.* string"),
        ("a.jsonl", '{"id": "1", "text": " "}', r"'text' is empty"),
        ("a.jsonl", '{"id": "1", "text": "a\\u0000"}', r"'text' has a null byte"),
        ("a.jsonl", '{"id": "1", "text": "\\ud800"}', r"surrogate"),
        ("a.jsonl", '{"id": "1", "text": "t", "date": "May"}', r"'date'"),
        ("a.jsonl", '{"id": "1", "text": "t", "metadata": []}', r"'metadata'"),
        ("a.jsonl", '{"id": "1", "text": "a"}\n{"id": "1", "text": "b"}', r"'1'.*line 1.*line 2"),
        ("a.jsonl", graph_row([]), r"line 1 .* 'graph'"),
        ("a.jsonl", graph_row({"entities": "Ann"}), r"line 1 .* 'graph.entities'"),
        ("a.jsonl", graph_row({"entities": ["Ann", " "]}), r"line 1 .* 'graph.entities.1'"),
        ("a.jsonl", graph_row({"entities": [7]}), r"line 1 .* 'graph.entities.0'.* string"),
        ("a.jsonl", graph_row({"entities": ["a" * 501]}), r"line 1 .* 500"),
        ("a.jsonl", graph_row({"triples": [["a", "b"]]}), r"line 1 .* 'graph.triples.0'.* 3"),
        ("a.jsonl", graph_row({"triples": [["a", "", "b"]]}), r"line 1 .* 'graph.triples.0.1'"),
        ("a.jsonl", graph_row({"edges": []}), r"line 1 .* 'graph.edges'"),
        ("a.jsonl", graph_row({"entities": ["a\x00"]}), r"line 1 .* 'graph' has a null byte"),
        ("a.jsonl", b'{"id": "1", "text": "\xe9"}', r"line 1 .* UTF-8"),
        ("a.md", "---\ntitle: [\n---\ntext", r"a\.md .* front matter .*line"),
        ("a.md", "---\nrelated: Bob\n---\ntext", r"'related' must be a list"),
    ],
)
async def test_what_is_named_must_be_good(
    tmp_path: Path, name: str, content: str | bytes, reason: str
) -> None:
    with pytest.raises(InvalidInput, match=f"(?s){reason}"):
        await scanned(write(tmp_path, name, content))


async def test_a_missing_path_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"nowhere\.md does not exist"):
        await scanned(tmp_path / "nowhere.md")


async def test_malformed_lines_are_left_out_when_asked(tmp_path: Path) -> None:
    lines = [
        '{"id": "1", "text": "t"}',
        "{oops",
        '{"id": 2, "text": "t"}',
        '{"id": "3", "text": "u"}',
    ]
    update = await scanned(write(tmp_path, "a.jsonl", "\n".join(lines)), skip_malformed=True)
    assert update["total"] == 2
    assert [one["source"] for one in skipped(update)] == ["a.jsonl, line 2", "a.jsonl, line 3"]
    assert all(one["reason"] for one in skipped(update))


async def test_only_malformed_lines_leave_nothing_to_read(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="nothing to read: 1 left out"):
        await scanned(write(tmp_path, "a.jsonl", "{oops"), skip_malformed=True)


async def test_nothing_to_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="give `paths` or `documents`"):
        await scanned()
    with pytest.raises(InvalidInput, match=r"no \.md"):
        await scanned(tmp_path)


async def test_the_same_id_from_two_places_is_refused(tmp_path: Path) -> None:
    write(tmp_path, "one/a.md", "x")
    write(tmp_path, "two/a.md", "y")
    with pytest.raises(InvalidInput, match=r"a\.md"):
        await scanned(tmp_path / "one", tmp_path / "two")


async def test_a_file_named_twice_is_read_once(tmp_path: Path) -> None:
    path = write(tmp_path, "a.md", "x")
    assert (await scanned(path, path))["total"] == 1


@pytest.mark.parametrize("namespace", [" ", "a b", "a/b", "x" * 64, "a\n", "ü"])
async def test_odd_namespaces_are_refused(namespace: str) -> None:
    with pytest.raises(InvalidInput, match="namespace"):
        await scanned(namespace=namespace, documents=[SourceDocument(id="1", text="t")])


async def test_the_configured_namespace_stands_in() -> None:
    documents = [SourceDocument(id="1", text="t")]
    assert (await scanned(documents=documents))["target"] == "default"
    assert (await scanned(documents=documents, namespace="a.B_c-1"))["target"] == "a.B_c-1"
    with pytest.raises(InvalidInput, match="namespace"):
        await scanned(documents=documents, settings={"namespace": ""})


async def test_given_documents_are_checked_too() -> None:
    with pytest.raises(InvalidInput, match=r"document 'x' .* null byte"):
        await scanned(documents=[SourceDocument(id="x", text="a\x00")])
    odd: Any = {"entities": ["a\x00"]}
    with pytest.raises(InvalidInput, match=r"document 'x' .* null byte"):
        await scanned(documents=[SourceDocument(id="x", text="a", graph=odd)])
    with pytest.raises(InvalidInput, match="access list"):
        await scanned(documents=[SourceDocument(id="x", text="a")], acl=[" "])


async def test_a_server_reads_only_below_its_root(tmp_path: Path) -> None:
    inside = write(tmp_path / "root", "a.md", "x")
    outside = write(tmp_path, "secret.md", "y")
    root = {"ingest_root": tmp_path / "root"}
    assert (await scanned(inside, served=True, settings=root))["total"] == 1
    for path in (outside, tmp_path / "root" / ".." / "secret.md"):
        with pytest.raises(InvalidInput, match="outside"):
            await scanned(path, served=True, settings=root)
    (tmp_path / "root" / "link.md").symlink_to(outside)
    with pytest.raises(InvalidInput, match="outside"):
        await scanned(tmp_path / "root" / "link.md", served=True, settings=root)
    update = await scanned(tmp_path / "root", served=True, settings=root)
    assert [source["key"] for source in update["sources"]] == ["a.md"]
    assert skipped(update)[0]["source"] == "link.md"


async def test_a_server_without_root_takes_only_given_documents(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="CLEW_INGEST_ROOT"):
        await scanned(write(tmp_path, "a.md", "x"), served=True)
    update = await scanned(documents=[SourceDocument(id="1", text="t")], served=True)
    assert update["sources"][0]["kind"] == "inline"


async def test_what_an_earlier_run_left_is_emptied() -> None:
    update: Any = await scanned(documents=[SourceDocument(id="1", text="t")])
    emptied = ("written", "replaced", "unchanged", "skipped", "encoded", "degraded", "steps")
    for channel in (*emptied, "asked", "unfinished"):
        assert update.pop(channel) == Overwrite([])
    assert update["ready"] == []
    assert (update["batch"], update["report"], update["exhausted"]) == ([], {}, False)
    json.dumps(update)
