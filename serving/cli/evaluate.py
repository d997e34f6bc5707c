"""`clew eval`: how well and how fast questions whose passages are known are answered."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import ExitStack, aclosing, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from . import compare, extraction
from .default_command import DefaultCommandGroup
from .options import Hops, Json, Overrides
from .show import Markdown, show
from .variants import contexts_from, floors_from, require_place

if TYPE_CHECKING:
    from ...context import RetrievalContext
    from ...evaluation.corpora import Form
    from ...evaluation.datasets import Dataset, GoldQuestion
    from ...evaluation.report import Report, Variant
    from ...evaluation.runner import System

__all__ = ["app"]

app = typer.Typer(
    cls=DefaultCommandGroup,
    help="Measure how well and how fast the questions of a dataset are answered, or:",
)
app.command("compare")(compare.compare)
app.command("extraction")(extraction.extraction)

PATIENT = ["budget_ms=60000", "search_ms=30000", "graph_ms=30000", "top_k=20"]
"""Before what the user sets: a slow machine should not make runs degraded ones."""


@app.command("run", hidden=True)
def evaluate(
    dataset: Annotated[
        Path,
        typer.Argument(
            metavar="DATASET", help="Folder with corpus.jsonl and queries.jsonl.", exists=True
        ),
    ],
    namespace: Annotated[
        str,
        typer.Option(
            "--namespace",
            "-n",
            help="Default: eval-<folder name>, with -untitled and -given where that is so.",
        ),
    ] = "",
    limit: Annotated[int, typer.Option("--limit", min=0, help="Only the first N questions.")] = 0,
    hops: Hops = None,
    overrides: Overrides = None,
    variants: Annotated[
        list[str] | None,
        typer.Option(
            "--variant",
            metavar="NAME=SETTING=VALUE[,…]",
            help="Ask the base with these settings as well; may be given again.",
        ),
    ] = None,
    against: Annotated[
        str | None, typer.Option(help="URL of another retrieval system to ask as well.")
    ] = None,
    rate: Annotated[
        float, typer.Option(min=0.01, help="Requests a second to the other system.")
    ] = 5.0,
    local_only: Annotated[
        bool, typer.Option("--local-only", help="Send questions to this machine only.")
    ] = False,
    hide_titles: Annotated[
        bool, typer.Option("--hide-titles", help="Ingest the corpus without its titles.")
    ] = False,
    graph: Annotated[
        Literal["own", "given"],
        typer.Option(help="The graph: Clew's own extraction, or the dataset's kg.jsonl."),
    ] = "own",
    floors: Annotated[
        list[str] | None,
        typer.Option(
            "--at-least",
            metavar="MEASURE=VALUE",
            help="Exit 1 when the base is below this, in [0, 1]; may be given again.",
        ),
    ] = None,
    into: Annotated[
        Path | None, typer.Option(help="Save the report, with every answer, as JSON.")
    ] = None,
    as_markdown: Markdown = False,
    as_json: Json = False,
) -> None:
    """Ingest a dataset into a namespace of its own, ask its questions, measure the answers.

    [bold]clew eval path/to/dataset --variant far=graph_expansion_hops=2[/bold]
    """
    from ...evaluation import corpora
    from ...evaluation.datasets import load_dataset
    from ...evaluation.report import shortfalls
    from ...evaluation.tables import report_page, summary
    from .running import run

    asked_floors = floors_from(floors)
    contexts = contexts_from([*PATIENT, *(overrides or [])], hops, variants)
    require_place(into)
    data = load_dataset(dataset, limit or None)
    form = corpora.Form(titles=not hide_titles, graph=graph)
    space = namespace or corpora.namespace(data, form)

    async def work() -> Report:
        async with _other(against, rate, local_only) as others:
            return await _evaluate(data, form, space, contexts, others)

    report = run(work)
    if into is not None:
        report.save(into)
    show(report_page(report), summary(report), as_markdown=as_markdown, as_json=as_json)
    if short := shortfalls(report.base.quality, asked_floors):
        typer.echo(f"clew: {'; '.join(short)}.", err=True)
        raise typer.Exit(1)


@asynccontextmanager
async def _other(url: str | None, rate: float, local_only: bool) -> AsyncIterator[list[System]]:
    """The other system, if one was named."""
    from ...settings import load_settings

    if url is None:
        yield []
        return
    from ...evaluation.against import Against

    folder = load_settings().data_dir / "against"
    async with aclosing(Against(url, folder=folder, rate=rate, local_only=local_only)) as other:
        yield [other]


async def _evaluate(
    data: Dataset,
    form: Form,
    space: str,
    contexts: dict[str, RetrievalContext],
    others: list[System],
) -> Report:
    """Ingest, ask, and say under which versions that was."""
    from datetime import UTC, datetime

    from ...evaluation.corpora import corpus
    from ...evaluation.report import Report, unknown
    from ...evaluation.runner import Clew
    from ...evaluation.versions import digest, versions
    from ...services import current_services
    from ...stores.access import Access
    from ...stores.errors import InvalidInput
    from .ingest import take_in

    if taken := [other.name for other in others if other.name in contexts]:
        raise InvalidInput(f"{taken[0]!r} is what the other system is called; rename the variant.")
    with corpus(data, form) as path:
        ingestion = await take_in([str(path)], space, ["public"], False)
        ingested = digest(path)
    services = await current_services()
    ours = [Clew(name, context, space, services.embedder) for name, context in contexts.items()]
    answered = await _ask(data.questions, [*ours, *others])
    [stats] = await services.entities.stats(access=Access((space,)))
    return Report(
        dataset=data.name,
        namespace=space,
        titles=form.titles,
        graph=form.graph,
        date=datetime.now(UTC).isoformat(timespec="seconds"),
        versions={**versions(services), "corpus": ingested},
        stats={name: count for name, count in stats.items() if isinstance(count, int)},
        ingestion=ingestion,
        warnings=[
            *unknown(answered, data.documents),
            *_left_over(space, stats["documents"], len(data.documents)),
        ],
        questions=data.questions,
        variants=answered,
    )


async def _ask(questions: list[GoldQuestion], systems: list[System]) -> list[Variant]:
    """Ask under one bar a variant, the first on top."""
    from ...evaluation.runner import ask
    from . import render

    with ExitStack() as shown:
        bars = {
            system.name: shown.enter_context(render.progress(system.name))
            for system in reversed(systems)
        }
        return await ask(
            questions, systems, lambda name, done: bars[name](done, len(questions), name)
        )


def _left_over(space: str, landed: int, documents: int) -> list[str]:
    if landed == documents:
        return []
    return [
        f"{space} holds {landed} documents and the corpus {documents}: what an earlier corpus left "
        "there is found too; delete it, or evaluate in another --namespace."
    ]
