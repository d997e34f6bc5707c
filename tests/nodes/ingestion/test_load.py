"""Documents are read batch by batch, and what is stored unchanged is left out."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from langgraph.runtime import Runtime

from clew.models.recognizer import CuratedEntity, Recognizer
from clew.nodes.ingestion import load as loading
from clew.nodes.ingestion.load import load
from clew.nodes.ingestion.scan import scan
from clew.settings import Settings
from clew.state import IngestionInput, IngestionState, SourceDocument
from clew.stores.access import Access
from clew.stores.records import DocumentDraft, GivenGraph

from .stand_ins import WhitespaceEmbedder


class Shelf:
    """Remembers hashes, as a store would after writing."""

    def __init__(self) -> None:
        self.kept: dict[str, str] = {}

    async def hashes(
        self, keys: Sequence[str], *, sectioned: bool = False, access: Access
    ) -> dict[str, str]:
        return {key: self.kept[key] for key in keys if key in self.kept}


async def started(*paths: object, **given: Any) -> IngestionState:
    state = IngestionInput(paths=[str(path) for path in paths], **given)
    return await scan(state, Runtime(), settings=Settings())


async def step(
    state: IngestionState,
    shelf: Any = None,
    *,
    settings: Settings | None = None,
    recognizer: Recognizer | None = None,
    events: list[Any] | None = None,
) -> IngestionState:
    update = await load(
        state,
        Runtime(stream_writer=(events if events is not None else []).append),
        documents=shelf or Shelf(),  # type: ignore[arg-type]
        access=Access(("default",)),
        embedder=WhitespaceEmbedder(),
        recognizer=recognizer or Recognizer(),
        settings=settings or Settings(),
    )
    return {**state, **update}


async def everything(state: IngestionState, **given: Any) -> list[DocumentDraft]:
    found: list[DocumentDraft] = []
    while not state["exhausted"]:
        state = await step(state, **given)
        found += state["batch"]
    return found


async def test_front_matter_fills_in_the_document(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text(
        "---\nid: 7\ntitle: Alice\ncategory: film\ndate: 2010-05-01\ntags: [x, y]\n"
        "acl: staff\nseen: 2011-01-02\n---\n\n# Other\n\nText.\n",
        encoding="utf-8",
    )
    (draft,) = await everything(await started(tmp_path))
    assert (draft["key"], draft["title"], draft["category"]) == ("7", "Alice", "film")
    assert (draft["date"], draft["acl"], draft["source"]) == ("2010-05-01", ["staff"], "a.md")
    assert draft["metadata"] == {"tags": ["x", "y"], "seen": "2011-01-02"}
    assert draft["text"] == "# Other\n\nText.\n"


@pytest.mark.parametrize(
    ("name", "text", "title"),
    [
        ("a.md", "intro\n\n# *The* Title #\n\nx", "The Title"),
        ("a.md", "```\n# no title\n```\n\nx", "a"),
        ("a.md", "## second\n\nx", "a"),
        ("a.txt", "# no Markdown\n", "a"),
        ("a.md", "---\nnot front matter", "a"),
        ("a.md", "\ufeff# Bom\r\n\r\nx", "Bom"),
    ],
)
async def test_the_title_is_the_first_heading_or_the_file(
    tmp_path: Path, name: str, text: str, title: str
) -> None:
    (tmp_path / name).write_bytes(text.encode())
    (draft,) = await everything(await started(tmp_path))
    assert draft["title"] == title


async def test_jsonl_lines_are_documents(tmp_path: Path) -> None:
    rows = [
        {"id": "1", "title": "One", "text": "first", "url": "u", "metadata": {"k": 1}},
        {"id": "2", "text": "second", "acl": ["a"], "category": "c", "date": "2020-01-01"},
    ]
    path = tmp_path / "rows.jsonl"
    path.write_text("\n\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    one, two = await everything(await started(path, acl=["b"]))
    assert (one["title"], one["metadata"], one["acl"]) == ("One", {"k": 1, "url": "u"}, ["b"])
    assert (two["title"], two["acl"], two["category"]) == ("2", ["a"], "c")


async def test_every_document_is_read_once_over_many_batches(tmp_path: Path) -> None:
    rows = [json.dumps({"id": f"é{i}", "text": f"text {i}"}) for i in range(300)]
    rows.insert(150, "")
    rows.insert(200, "{broken")
    (tmp_path / "rows.jsonl").write_text("\n".join(rows), encoding="utf-8")
    (tmp_path / "z.md").write_text("last", encoding="utf-8")
    state = await started(
        tmp_path, skip_malformed=True, documents=[SourceDocument(id="in", text="t")]
    )
    keys: list[str] = []
    events: list[Any] = []
    while not state["exhausted"]:
        state = json.loads(json.dumps(state, default=str))  # as a checkpoint would give it back
        state = await step(state, events=events)
        assert len(state["batch"]) <= 128
        keys += [draft["key"] for draft in state["batch"]]
        assert state["skipped"] == []
    assert keys == ["in", *(f"é{i}" for i in range(300)), "z.md"]
    done = [event["done"] for event in events]
    assert done == sorted(done)
    assert events[-1] == {"event": "loaded", "done": 302, "total": 302}


async def test_a_batch_is_bounded_in_characters(tmp_path: Path) -> None:
    for i in range(5):
        (tmp_path / f"{i}.txt").write_text("x" * 50_000, encoding="utf-8")
    state = await step(await started(tmp_path))
    assert len(state["batch"]) == 3


async def test_what_is_stored_unchanged_is_left_out(tmp_path: Path) -> None:
    for name in ("a.md", "b.md"):
        (tmp_path / name).write_text(f"text of {name}", encoding="utf-8")
    shelf = Shelf()
    shelf.kept = {d["key"]: d["content_hash"] for d in await everything(await started(tmp_path))}
    (tmp_path / "b.md").write_text("changed", encoding="utf-8")
    state = await step(await started(tmp_path), shelf)
    assert [draft["key"] for draft in state["batch"]] == ["b.md"]
    assert state["unchanged"] == ["a.md"]


async def test_whatever_shapes_a_document_is_in_its_hash(monkeypatch: pytest.MonkeyPatch) -> None:
    async def digest(acl: tuple[str, ...] = ("public",), **given: Any) -> str:
        fields = {"id": "1", "text": "t"} | given.pop("fields", {})
        state = await started(documents=[SourceDocument(**fields)], acl=list(acl))
        return (await everything(state, **given))[0]["content_hash"]

    same = [await digest(), await digest(acl=("public", "public"))]
    others = [
        await digest(fields={"text": "u"}),
        await digest(fields={"title": "T"}),
        await digest(fields={"category": "c"}),
        await digest(fields={"date": "2020-01-01"}),
        await digest(fields={"metadata": {"a": 1}}),
        await digest(acl=("staff",)),
        await digest(settings=Settings(chunk_tokens=48)),
        await digest(settings=Settings(chunk_overlap=0.1)),
        await digest(recognizer=Recognizer([CuratedEntity(name="a", type="b")])),
    ]
    others.append(await digest(fields={"graph": {"entities": ["Ann"]}}))
    others.append(await digest(fields={"graph": {"entities": ["Bob"]}}))
    monkeypatch.setattr(loading, "PIPELINE_VERSION", loading.PIPELINE_VERSION + 1)
    others.append(await digest())
    assert len(set(same)) == 1
    assert len({*same, *others}) == 1 + len(others)


async def test_a_document_without_a_graph_hashes_as_before_there_were_any() -> None:
    """The canonical content of such a document, written out: no key for the graph."""
    settings, embedder = Settings(), WhitespaceEmbedder()
    setup = {
        "pipeline": loading.PIPELINE_VERSION,
        "model": embedder.name,
        "chunks": [min(settings.chunk_tokens, embedder.max_tokens), settings.chunk_overlap],
        "curated": Recognizer().digest,
        "language": settings.language,
    }
    content = {
        "text": "t", "title": "", "category": None, "date": None, "metadata": {},
        "acl": ["public"], "setup": setup,
    }  # fmt: skip
    canon = json.dumps(content, sort_keys=True, ensure_ascii=False)
    state = await started(documents=[SourceDocument(id="1", text="t")])
    (draft,) = await everything(state)
    assert draft["content_hash"] == sha256(canon.encode()).hexdigest()
    assert "graph" not in draft


async def test_a_row_may_bring_its_own_graph(tmp_path: Path) -> None:
    graph = {"entities": [" Ann "], "triples": [["Ann", "met", "Bob"]]}
    rows = [{"id": "1", "text": "t", "graph": graph}, {"id": "2", "text": "t", "graph": None}]
    path = tmp_path / "rows.jsonl"
    path.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    one, two = await everything(await started(path))
    assert one["graph"] == {"entities": ["Ann"], "triples": [["Ann", "met", "Bob"]]}
    assert "graph" not in two


async def test_a_given_document_keeps_its_graph_through_a_checkpoint() -> None:
    given = SourceDocument.model_validate(
        {"id": "1", "text": "t", "graph": {"triples": [["a", "b", "c"]]}}
    )
    state = json.loads(json.dumps(await started(documents=[given]), default=str))
    (draft,) = (await step(state))["batch"]
    assert draft["graph"] == GivenGraph(entities=[], triples=[["a", "b", "c"]])


async def test_a_file_that_changed_or_vanished_is_reported(tmp_path: Path) -> None:
    for name in ("a.md", "b.md", "c.md"):
        (tmp_path / name).write_text("text", encoding="utf-8")
    (tmp_path / "d.jsonl").write_text('{"id": "d", "text": "t"}', encoding="utf-8")
    state = await started(tmp_path)
    (tmp_path / "a.md").write_text("other text", encoding="utf-8")
    (tmp_path / "b.md").unlink()
    os.utime(tmp_path / "d.jsonl", ns=(1, 1))
    state = await step(state)
    assert [draft["key"] for draft in state["batch"]] == ["c.md"]
    reasons = {one["source"]: one["reason"] for one in state["skipped"]}
    assert set(reasons) == {"a.md", "b.md", "d.jsonl"}
    assert "changed" in reasons["a.md"]
    assert "No such file" in reasons["b.md"]
    assert state["exhausted"]
