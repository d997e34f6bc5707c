"""What holds for the whole house."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
HEAVY = {"torch", "transformers", "sentence_transformers", "neo4j", "langgraph", "langchain_core"}


def sources(*folders: str) -> list[Path]:
    """The package's own Python files below these folders, or all of them."""
    found = [p for f in folders for p in sorted((ROOT / f).rglob("*.py"))]
    return [path for path in found if path.name != "__init__.py"]


def test_importing_clew_loads_nothing_heavy_and_opens_nothing() -> None:
    script = (
        "import sys, threading; import clew; clew.Access; clew.acting_as; "
        "import clew.serving.cli; "
        f"print(sorted(set(sys.modules) & {HEAVY!r}), threading.active_count())"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[] 1"


def test_importing_the_graphs_loads_no_model_library_and_opens_nothing() -> None:
    script = (
        "import sys, threading; import clew.graph.retrieval, clew.graph.ingestion; "
        "print('torch' in sys.modules, threading.active_count())"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "False 1"


def test_a_node_is_one_public_async_function_in_a_file_of_its_name() -> None:
    for path in sources("nodes"):
        if path.name.startswith("_"):
            continue
        body = ast.parse(path.read_text("utf-8")).body
        public = [
            node.name
            for node in body
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
            and not node.name.startswith("_")
        ]
        assert public == [path.stem], path
        [main] = [node for node in body if getattr(node, "name", None) == path.stem]
        assert isinstance(main, ast.AsyncFunctionDef), path


def test_every_store_method_takes_access_keyword_only_and_without_default() -> None:
    [tree] = [ast.parse(p.read_text("utf-8")) for p in sources("stores") if p.stem == "protocols"]
    # A projection is written by the process alone, and whether a store answers is no secret.
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    methods = [
        node
        for one in classes
        if one.name != "GraphProjection"
        for node in one.body
        if isinstance(node, ast.AsyncFunctionDef)
    ]
    assert len(methods) > 10
    for method in methods:
        if method.name == "healthy":
            continue
        names = [argument.arg for argument in method.args.kwonlyargs]
        assert "access" in names, method.name
        assert method.args.kw_defaults[names.index("access")] is None, method.name


def test_only_settings_reads_the_environment() -> None:
    floors = ("graph", "nodes", "ranking", "models", "stores", "prompts", "evaluation", "serving")
    for path in sources(*floors):
        text = path.read_text("utf-8")
        assert "os.environ" not in text, path
        assert "getenv" not in text, path


def test_the_wheel_holds_every_floor() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    folders = {
        ".".join(("clew", *path.parent.relative_to(ROOT).parts))
        for path in ROOT.rglob("__init__.py")
        if not {".venv", ".types", "tests", "build"} & set(path.relative_to(ROOT).parts)
    }
    assert set(declared["tool"]["setuptools"]["packages"]) == folders


def test_the_server_s_file_names_graphs_that_exist_with_descriptions() -> None:
    declared = json.loads((ROOT / "langgraph.json").read_text("utf-8"))["graphs"]
    assert set(declared) == {"retrieval", "ingestion"}
    for graph in declared.values():
        module, _, name = graph["path"].partition(":")
        assert (ROOT / Path(*module.split(".")[1:])).with_suffix(".py").exists()
        assert name == "graph"
        assert graph["description"]
