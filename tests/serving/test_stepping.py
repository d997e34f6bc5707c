"""`clew trace` as a table, a tree and JSON; stopped after each step, and begun in the middle."""

from __future__ import annotations

import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from langgraph.types import Overwrite

from clew.serving.cli import render
from clew.serving.cli.editing import assigned, chosen
from clew.stores.errors import InvalidInput, StoreUnavailable
from clew.stores.postgres.entities import PostgresEntityStore
from clew.tests.graph.scene import WORLD

from .conftest import Command

ASKED = "Whom did Katherine Mansfield marry?"
PATIENT = tuple(f"-s{name}=60000" for name in ("budget_ms", "llm_ms", "graph_ms", "search_ms"))
TRACE = ("trace", ASKED, "-n", "world", *PATIENT)
NODES = [
    "admit", "search_passages", "extract_entities", "link_entities", "expand_graph",
    "rerank_entities", "retrieve_entity_chunks", "merge_results", "filter_access",
    "link_passages", "rerank_passages", "map_relationships", "build_context",
]  # fmt: skip


@pytest.fixture
def world(clew: Command, tmp_path: Path) -> Command:
    """`clew` with the small world taken in."""
    source = tmp_path / "world.jsonl"
    source.write_text("\n".join(map(json.dumps, WORLD)), encoding="utf-8")
    done = clew("ingest", str(source), "-n", "world", "--json")
    assert done.returncode == 0, done.stderr
    return clew


@pytest.fixture
def saved(world: Command, tmp_path: Path) -> str:
    """The id of a saved run; the data folder is the test's."""
    done = world(*TRACE, "--save", CLEW_DATA_DIR=str(tmp_path))
    found = re.search(r"--replay (\S+)", done.stdout)
    assert found, done.stderr
    return found[1]


def told(said: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in said.splitlines()]


def typed(patch: pytest.MonkeyPatch, *lines: str) -> None:
    """What stands in the pipe to the next command."""
    patch.setattr("sys.stdin", io.StringIO("".join(f"{line}\n" for line in lines)))


def nodes(said: str) -> list[str]:
    return [line["node"] for line in told(said)]


def test_each_step_is_an_object_with_time_budget_in_out_and_branch(world: Command) -> None:
    lines = told(world(*TRACE, "--json").stdout)
    assert sorted(line["node"] for line in lines) == sorted(NODES)
    together = {line["node"] for line in lines if line["superstep"] == 2}
    assert together == {"search_passages", "extract_entities"}
    linked = next(line for line in lines if line["node"] == "link_entities")
    assert linked["in"].endswith(f", {len(WORLD)} hits")
    assert linked["out"][0].startswith("Katherine Mansfield (exact, in ")
    assert linked["edges"] == [{"reason": "seeds", "to": "expand_graph"}]
    assert "seeds" in linked["wrote"]
    assert linked["degraded"] == []
    assert 0 < linked["ms"] < 60_000
    assert lines[0]["left_ms"] > linked["left_ms"] > lines[-1]["left_ms"] > 0


@pytest.mark.parametrize("width", [80, 200])
@pytest.mark.parametrize("how", [[], ["--tree"]], ids=["table", "tree"])
def test_people_see_the_same_as_a_table_or_a_tree_in_any_width(
    world: Command, monkeypatch: pytest.MonkeyPatch, width: int, how: list[str]
) -> None:
    monkeypatch.setattr(render._console, "width", width)
    said = world(*TRACE, *how).stdout
    assert max(map(len, said.splitlines())) <= width
    shown = " ".join(said.split())
    places = [shown.find(node) for node in ("admit", "merge_results", "build_context")]
    assert -1 not in places
    assert places == sorted(places)
    for part in (f"{len(WORLD)} hits", "Katherine Mansfield (exact, in", "↳ seeds → expand_graph"):
        assert part in shown
    assert ("side by side" in said) is bool(how)


def test_what_a_step_went_without_stands_with_it_and_with_no_other(
    world: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def nobody(*_: object, **__: object) -> None:
        raise StoreUnavailable("Nobody answers.")

    monkeypatch.setattr(PostgresEntityStore, "find_exact", nobody)
    lines = told(world(*TRACE, "--json").stdout)
    lost = {line["node"]: line["degraded"] for line in lines if line["degraded"]}
    assert list(lost) == ["link_entities"]
    assert lost["link_entities"][0]["reason"] == "Nobody answers."
    linked = next(line for line in lines if line["node"] == "link_entities")
    assert linked["edges"] == [{"reason": "linking failed", "to": "merge_results"}]


def test_a_run_is_stepped_through_looked_at_and_changed_from_a_pipe(
    world: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    typed(monkeypatch, "", "", "s", "s seeds.0", "e seeds=[]", "?", "", "c")
    done = world(*TRACE, "--step", "--json")
    assert done.returncode == 0, done.stderr
    ran = nodes(done.stdout)
    assert ran[3:] == ["link_entities", *NODES[7:]], "without seeds there is nothing to walk from"
    assert [line["superstep"] for line in told(done.stdout)][2:] == list(range(2, 10))
    said = done.stderr
    assert re.search(r"^next: .*search_passages", said, re.MULTILINE)
    assert re.search(r"^hits +5 entries$", said, re.MULTILINE)
    assert "name: Katherine Mansfield" in said
    assert "e KEY=VALUE" in said
    assert said.index("next: expand_graph") < said.index("next: merge_results")


@pytest.mark.parametrize("end", [["q"], []], ids=["q", "the end of the pipe"])
def test_stepping_stops_where_it_is_told_to(
    world: Command, monkeypatch: pytest.MonkeyPatch, end: list[str]
) -> None:
    typed(monkeypatch, "", *end)
    done = world(*TRACE, "--step", "--json")
    assert done.returncode == 0, done.stderr
    assert sorted(nodes(done.stdout)) == sorted(NODES[:3])


def test_a_value_is_changed_in_an_editor_and_what_does_not_fit_is_refused(
    world: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    wide = ("e traversal", "", "", "s entities", "q")
    typed(monkeypatch, "", *wide)
    far = world(*TRACE, "--step", "--json", EDITOR="sed -i 's/^hops:.*/hops: 3/'")
    assert "hop: 3" in far.stderr
    typed(monkeypatch, "", *wide)
    none = world(*TRACE, "--step", "--json", EDITOR="sed -i 's/^hops:.*/hops: far/'")
    assert "traversal.hops: Input should be a valid integer (it is 'far')." in none.stderr
    assert "hop: 3" not in none.stderr
    for editor, sentence in (
        ("false", "The editor ended with 1; nothing is changed."),
        ("/no/such/editor", "The editor '/no/such/editor' cannot be run; set EDITOR."),
        ("", "No editor is known; set EDITOR, or write e traversal=VALUE."),
    ):
        typed(monkeypatch, "e traversal", "q")
        assert sentence in world(*TRACE, "--step", EDITOR=editor, VISUAL="").stderr


def test_the_clock_stands_still_at_the_prompt(
    world: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Slow(io.StringIO):
        def readline(self, *_: object) -> str:  # type: ignore[override]
            time.sleep(0.5)
            return "\n"

    monkeypatch.setattr("sys.stdin", Slow())
    hasty = ("-s", "budget_ms=4000")
    lines = told(world(*TRACE, *hasty, "--step", "--json").stdout)
    assert len(lines) == len(NODES), "all optional steps ran, though looking took 5.5 s"
    assert [line["degraded"] for line in lines] == [[]] * len(NODES)


def test_a_saved_run_begins_anew_in_the_middle_and_comes_to_the_same(
    world: Command, saved: str, tmp_path: Path
) -> None:
    kept = {"CLEW_DATA_DIR": str(tmp_path)}
    for node in ("admit", "search_passages", "link_entities", "build_context"):
        done = world("trace", "--from", node, "--run", saved, "--json", **kept)
        assert done.returncode == 0, done.stderr
        assert sorted(nodes(done.stdout)) == sorted(NODES[NODES.index(node) :])
        assert "It came to the same passages and scores." in done.stderr


def test_a_fork_uses_what_was_changed_and_can_be_stepped_through(
    world: Command, saved: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = {"CLEW_DATA_DIR": str(tmp_path)}
    fork = ("trace", "--run", saved, "--json", "--from")
    setting = told(world(*fork, "build_context", "-s", "top_k=2", **kept).stdout)[-1]
    assert setting["out"][0].endswith(" 2 passages cited")
    bare = world(*fork, "expand_graph", "--set-state", "seeds=[]", **kept)
    assert nodes(bare.stdout) == NODES[7:], "the edges after link_entities were asked again"
    ranked = world(
        *fork, "filter_access", "--set-state", "candidates=[]",
        "--set-state", "plan.mode=search_only", **kept,
    )  # fmt: skip
    assert nodes(ranked.stdout)[-1] == "build_context"
    assert "It returned other passages" in ranked.stderr
    typed(monkeypatch, "q")
    assert nodes(world(*fork, "merge_results", "--step", **kept).stdout) == ["merge_results"]


def test_a_saved_run_is_begun_anew_as_who_it_was_saved(world: Command, tmp_path: Path) -> None:
    secret = tmp_path / "secret.md"
    secret.write_text("# Hidden Person\n\nKatherine Mansfield met Hidden Person.")
    assert world("ingest", str(secret), "-n", "world", "--acl", "staff").returncode == 0
    kept = {"CLEW_DATA_DIR": str(tmp_path)}
    for principal, sees in (("staff", True), ("guest", False)):
        said = world(*TRACE, "--as", principal, "--save", **kept).stdout
        run = said.split("--replay ")[1].strip()
        again = world("trace", "--from", "search_passages", "--run", run, **kept).stdout
        assert ("Hidden Person" in again) is sees


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--from", "admit"], "--from, --run and --set-state belong together"),
        (["--set-state", "a=1"], "--from, --run and --set-state belong together"),
        (["--from", "admit", "--run", "nobody"], "There is no saved run 'nobody'"),
        (["Who?", "--from", "admit", "--run", "x"], "--from asks as the saved run did"),
        (["Who?", "--step", "--save"], "--save keeps runs that nobody has changed by hand"),
        (["Who?", "--tree", "--json"], "--tree is for people and --json for programs"),
        (["--replay", "x", "--step"], "--replay repeats a run as it was saved"),
    ],
)
def test_options_that_do_not_go_together_are_refused_in_a_sentence(
    clew: Command, tmp_path: Path, arguments: list[str], sentence: str
) -> None:
    done = clew("trace", *arguments, CLEW_DATA_DIR=str(tmp_path))
    assert done.returncode == 2
    assert sentence in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_node_that_never_ran_or_a_value_that_does_not_fit_is_refused(
    world: Command, saved: str, tmp_path: Path
) -> None:
    kept = {"CLEW_DATA_DIR": str(tmp_path)}
    for arguments, sentence in (
        (["generate_synonyms"], f"The saved run {saved} did not come to 'generate_synonyms'"),
        (["link_entities", "--set-state", "plan"], "'plan' has no '='; write KEY=VALUE."),
        (["link_entities", "--set-state", "plan.mode=fast"], "plan.mode: Input should be 'hybrid'"),
    ):
        done = world("trace", "--run", saved, "--from", *arguments, **kept)
        assert (done.returncode, done.stdout) == (2, "")
        assert sentence in done.stderr
        assert done.stderr.count("\n") == 1


def test_paths_lead_into_dictionaries_and_lists_only() -> None:
    state = {"plan": {"mode": "hybrid", "reason": "why"}, "hits": [], "degraded": []}
    assert chosen(state, "plan.mode") == "hybrid"
    assert assigned(state, "plan.mode=search_only") == {
        "plan": {"mode": "search_only", "reason": "why"}
    }
    assert state["plan"] == {"mode": "hybrid", "reason": "why"}, "the state itself is not touched"
    for path, sentence in (
        ("plam", "There is no 'plam' in 'plam'; it is one of plan, hits, degraded."),
        ("plan.mode.x", "There is nothing below 'x' in 'plan.mode.x'; it is a value."),
        ("hits.0", "'0' in 'hits.0' is no place in a list of 0, from 0."),
    ):
        with pytest.raises(InvalidInput, match=re.escape(sentence)):
            chosen(state, path)
    with pytest.raises(InvalidInput, match="That is not YAML"):
        assigned(state, "plan={")
    [lost] = assigned(state, "degraded=[]").values()
    assert isinstance(lost, Overwrite), "steps add to it, so the old entries would stand"


def test_ctrl_c_at_the_prompt_ends_the_run(dsn: str, world: Command) -> None:
    bare = {key: value for key, value in os.environ.items() if not key.startswith("CLEW_")}
    process = subprocess.Popen(
        [sys.executable, "-c", "from clew.serving.cli import main; main()", *TRACE, "--step"],
        env={**bare, "HF_HUB_OFFLINE": "1", "CLEW_DATABASE_URL": dsn},
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    for line in process.stderr:
        if line.startswith("next: "):
            break
    process.send_signal(signal.SIGINT)
    assert process.wait(30) == 130
