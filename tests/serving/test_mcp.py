"""The tools through a real MCP client: over the pipes of `clew mcp`, and at /mcp of a server."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import ClientSession, MCPError

from .conftest import Command
from .mcp_clients import call, finish, found, over_http, over_stdio, raw, refused, server, texts

PAGES = {
    "ada.md": "# Ada Quill\n\nAda Quill mended the chronometer of Bertram Hollis on Skerryvore.",
    "silas.md": "# Silas Quill\n\nSilas Quill was the brother of Ada Quill and sailed from Riga.",
    "þórsdóttir.md": "# Æsa Þórsdóttir\n\nÆsa Þórsdóttir wrote 日本の灯台 – “it's a light”.",
}
SECRET = "# Nightingale\n\nAda Quill is paid by Project Nightingale of Zebediah Crane."


@pytest.fixture
def told(clew: Command, tmp_path: Path) -> None:
    """Pages that all may read, and one for Alice alone."""
    for name, text in PAGES.items():
        (tmp_path / name).write_text(text, "utf-8")
    (tmp_path / "nightingale.md").write_text(SECRET)
    pages = [str(tmp_path / name) for name in PAGES]
    assert clew("ingest", *pages, "-n", "x").returncode == 0
    hidden = clew("ingest", str(tmp_path / "nightingale.md"), "-n", "x", "--acl", "alice")
    assert hidden.returncode == 0


async def test_each_tool_says_what_it_takes_within_which_bounds(dsn: str) -> None:
    async with over_stdio(dsn, "-n", "x", "-n", "y") as session:
        listed = {tool.name: tool for tool in (await session.list_tools()).tools}
    assert set(listed) == {"retrieve", "discover", "path"}
    for tool in listed.values():
        assert tool.description
        assert tool.annotations is not None
        assert tool.annotations.read_only_hint
        assert tool.input_schema["additionalProperties"] is False
        assert all(p.get("description") for p in tool.input_schema["properties"].values())
        assert tool.output_schema is not None
        assert tool.output_schema["type"] == "object"
    takes = {name: tool.input_schema for name, tool in listed.items()}
    assert set(takes["retrieve"]["properties"]) == {
        *("question", "history", "namespaces", "filters", "top_k"),
    }
    assert takes["retrieve"]["required"] == ["question"]
    assert takes["path"]["required"] == ["source", "target"]
    question = takes["retrieve"]["properties"]["question"]
    assert (question["minLength"], question["maxLength"]) == (1, 10_000)
    assert takes["discover"]["properties"]["passage"]["maxLength"] == 50_000
    hops = takes["path"]["properties"]["hops"]
    assert (hops["minimum"], hops["maximum"], hops["default"]) == (1, 6, 4)
    [number, _] = takes["retrieve"]["properties"]["top_k"]["anyOf"]
    assert (number["minimum"], number["maximum"]) == (1, 100)


@pytest.mark.usefixtures("told")
async def test_a_desktop_client_gets_cited_text_and_json_and_mistakes_in_one_sentence(
    dsn: str,
) -> None:
    async with over_stdio(dsn, "-n", "x") as session:
        asked = await call(session, "retrieve", question="Who was the brother of Ada Quill?")
        assert "silas.md" in found(asked)
        [context] = texts(asked)
        assert 'title="Silas Quill"' in context
        assert asked.structured_content is not None
        assert asked.structured_content["context"] == context
        assert asked.structured_content["passages"][0]["thread"] in context
        assert asked.structured_content["degraded"] == []

        one = await call(session, "retrieve", question="Who sailed?", top_k=1, namespaces='["x"]')
        assert len(found(one)) == 1
        earlier = [{"role": "user", "content": "Tell me about Silas Quill."}]
        followed = await call(session, "retrieve", question="Who is she?", history=earlier)
        assert found(followed)
        without = {"exclude": ["silas.md"]}
        rest = await call(session, "retrieve", question="Who sailed?", filters=without)
        assert "silas.md" not in found(rest)

        linked = await call(session, "discover", document_id="ada.md")
        assert "silas.md" in found(linked)
        assert "ada.md" not in found(linked)
        way = await call(session, "path", source="Silas Quill", target="Bertram Hollis")
        assert texts(way)[0].startswith("Silas Quill —")
        assert way.structured_content is not None
        assert way.structured_content["path"][-1]["target"] == "Bertram Hollis"
        apart = await call(session, "path", source="Silas Quill", target="Æsa Þórsdóttir")
        assert not apart.is_error
        assert apart.structured_content == {"connected": False, "path": []}

        first, second = await asyncio.gather(
            call(session, "retrieve", question="Hver er Æsa Þórsdóttir? 日本の灯台"),
            call(session, "retrieve", question="Who mended the chronometer?"),
        )
        assert found(first)[0] == "þórsdóttir.md"
        assert "日本の灯台" in texts(first)[0]
        assert "ada.md" in found(second)

        for tool, arguments, sentence in MISTAKES:
            assert sentence in await refused(session, tool, **arguments)
        with pytest.raises(MCPError, match="the tools are retrieve, discover, path"):
            await session.call_tool("ingest", {})


MISTAKES: tuple[tuple[str, dict[str, Any], str], ...] = (
    ("retrieve", {}, "question: Field required."),
    ("retrieve", {"question": " "}, "The question is empty; ask something."),
    ("retrieve", {"question": "Who?", "top_k": 101}, "less than or equal to 100."),
    ("retrieve", {"question": "Who?", "principals": ["alice"]}, "principals: Extra inputs are not"),
    (
        "retrieve",
        {"question": "?" * 10_001, "top_k": 0},
        "question: String should have at most 10000 characters; top_k: Input should be greater",
    ),
    (
        "retrieve",
        {"question": "Who?", "filters": {"date_from": "May"}},
        "filters.date_from: ",
    ),
    ("retrieve", {"question": "Who?", "namespaces": ["y"]}, "There is no namespace 'y'; ingest"),
    ("discover", {"passage": " "}, "There is nothing to discover from; give a passage or a"),
    ("discover", {"document_id": "none"}, "There is no document 'none' in these namespaces"),
    ("path", {"source": "Ada Quill", "target": "Nobody"}, "No entity is called 'Nobody'"),
    ("path", {"source": "Ada Quill", "target": "Riga", "hops": 7}, "hops: Input should be less"),
)


async def everything_about_the_secret(session: ClientSession) -> str:
    """All that comes back to someone who tries to reach it through every tool."""
    asked = "Who pays Ada Quill? Project Nightingale, Zebediah Crane"
    tries: list[tuple[str, dict[str, Any]]] = [
        ("retrieve", {"question": asked, "namespaces": ["x"]}),
        ("retrieve", {"question": asked, "namespaces": ["x"], "principals": ["alice"]}),
        ("discover", {"document_id": "ada.md", "namespaces": ["x"]}),
        ("discover", {"document_id": "nightingale.md", "namespaces": ["x"]}),
        ("path", {"source": "Ada Quill", "target": "zebediah crane", "namespaces": ["x"]}),
    ]
    results = [await call(session, tool, **arguments) for tool, arguments in tries]
    # What was asked comes back in sentences about it, in the words it was asked in.
    return "\n".join(result.model_dump_json() for result in results)


@pytest.mark.usefixtures("told")
async def test_over_stdio_who_asks_and_where_is_said_at_the_start_alone(dsn: str) -> None:
    async with over_stdio(dsn, "-n", "x") as session:
        assert "Zebediah Crane" not in await everything_about_the_secret(session)
    async with over_stdio(dsn, "-n", "x", "--as", "alice") as session:
        assert "Zebediah Crane" in await everything_about_the_secret(session)
    async with over_stdio(dsn, "-n", "other", "--as", "alice") as session:
        assert "Zebediah Crane" not in await everything_about_the_secret(session)
        sentence = await refused(session, "retrieve", question="Who?", namespaces=["x"])
        assert sentence.startswith("There is no namespace 'x'")


@pytest.mark.usefixtures("told")
async def test_a_client_that_wants_to_hears_of_each_step(dsn: str) -> None:
    reports: list[tuple[float, str | None]] = []

    async def keep(progress: float, total: float | None, message: str | None) -> None:
        reports.append((progress, message))

    async with over_stdio(dsn, "-n", "x") as session:
        await session.call_tool("retrieve", {"question": "Who sailed?"}, progress_callback=keep)
    assert reports[:2] == [(0, "opening the database and the models"), (1, "admit")]
    assert reports[-1][1] == "build context"


@pytest.mark.usefixtures("told")
def test_a_call_that_is_cancelled_stops_and_the_next_is_answered(dsn: str) -> None:
    with raw(dsn) as (say, hear, running):
        asked = {"name": "retrieve", "arguments": {"question": "Who?", "namespaces": ["x"]}}
        say(id=2, method="tools/call", params={**asked, "_meta": {"progressToken": "told"}})
        assert hear()["params"]["message"] == "opening the database and the models"
        say(method="notifications/cancelled", params={"requestId": 2})
        say(id=3, method="tools/call", params=asked)
        heard = [hear()]
        while heard[-1].get("id") != 3:
            heard.append(hear())
        assert not heard[-1]["result"]["isError"]
        assert [one for one in heard if "result" in one] == heard[-1:]
        assert not [one for one in heard if one.get("method") == "notifications/progress"]
        assert finish(running) == (0, "")


@pytest.mark.parametrize("ends", ["asking", "listening"])
def test_a_client_that_goes_away_ends_the_server_without_a_traceback(dsn: str, ends: str) -> None:
    with raw(dsn) as (say, _, running):
        if ends == "listening":
            assert running.stdout is not None
            running.stdout.close()
        say(
            id=2,
            method="tools/call",
            params={"name": "retrieve", "arguments": {"question": "Who?"}},
        )
        assert finish(running) == (0, "")


@pytest.mark.usefixtures("told")
async def test_over_http_the_authenticated_user_is_who_asks(dsn: str, tmp_path: Path) -> None:
    folder = tmp_path / "server"
    folder.mkdir()
    with server(dsn, folder) as url:
        async with over_http(url, None) as session:
            assert len((await session.list_tools()).tools) == 3
            assert "Zebediah Crane" not in await everything_about_the_secret(session)
            first, second = await asyncio.gather(
                call(session, "retrieve", question="日本の灯台?", namespaces=["x"]),
                call(session, "retrieve", question="Who sailed from Riga?", namespaces=["x"]),
            )
            assert "日本の灯台" in texts(first)[0]
            assert "silas.md" in found(second)
            assert "question: Field required" in await refused(session, "retrieve")
        async with over_http(url, "bob") as session:
            assert "Zebediah Crane" not in await everything_about_the_secret(session)
            sentence = await refused(session, "retrieve", question="Who?", namespaces=["y"])
            assert sentence.startswith("There is no namespace 'y'")
        async with over_http(url, "alice") as session:
            assert "Zebediah Crane" in await everything_about_the_secret(session)
        assert httpx2.get(url, timeout=5).status_code == 405
