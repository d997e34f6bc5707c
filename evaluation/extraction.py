"""What the offline extraction finds, held against a graph that somebody else extracted."""

from __future__ import annotations

import json
import re
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args

from pydantic import BaseModel, Field, ValidationError

from ..models.names import normalise
from ..models.recognizer import Recognizer
from ..models.words import CALENDAR
from ..nodes.ingestion.detect_relationships import detect_relationships
from ..nodes.ingestion.extract import extract
from ..stores.errors import InvalidInput
from ..stores.records import ChunkDraft, DocumentDraft

__all__ = ["Extracted", "Passage", "kind_of", "load_passages", "measure_extraction"]

Kind = Literal["name", "date", "number", "common noun"]
KINDS = get_args(Kind)
Match = Literal["none", "partial", "exact"]
_RANK = get_args(Match)

EXAMPLES = 20
_TIME = re.compile(r"\d{1,2}(?:st|nd|rd|th)?|\d{3,4}s?|century|centuries|early|late|mid|of|to|and")
_YEAR = re.compile(r"\b\d{3,4}s?\b|\bcentur")
_BATCH = 256


class Passage(BaseModel):
    """A passage of a corpus."""

    id: str
    title: str = ""
    text: str = Field(min_length=1)


class Extracted(BaseModel):
    """What was extracted from a passage: names, and [subject, predicate, object] each."""

    passage_id: str
    entities: list[str]
    triples: list[tuple[str, str, str]]


_Row = TypeVar("_Row", Passage, Extracted)


def kind_of(name: str) -> Kind:
    """What a name is by its form.

    A date is made of months, days, years and centuries; a number begins with a digit and has no
    capital letter; a common noun has no capital letter either; everything else is a name.
    """
    words = [word.strip(".()") for word in re.split(r"[\s,–-]+", name.casefold()) if word]
    timely = all(word in CALENDAR or _TIME.fullmatch(word) for word in words)
    if timely and (any(word in CALENDAR for word in words) or _YEAR.search(" ".join(words))):
        return "date"
    if any(char.isupper() for char in name):
        return "name"
    return "number" if name.strip()[:1].isdigit() else "common noun"


def load_passages(folder: Path) -> list[tuple[Passage, Extracted]]:
    """The passages of `corpus.jsonl` that `kg.jsonl` lists, in its order. Raises `InvalidInput`."""
    corpus = {passage.id: passage for _, passage in _rows(folder / "corpus.jsonl", Passage)}
    pairs = []
    for number, row in _rows(folder / "kg.jsonl", Extracted):
        if row.passage_id not in corpus:
            raise InvalidInput(
                f"{folder / 'kg.jsonl'}, line {number}: corpus.jsonl has no passage "
                f"{row.passage_id!r}; leave the line out, or add the passage."
            )
        pairs.append((corpus[row.passage_id], row))
    if not pairs:
        raise InvalidInput(f"{folder / 'kg.jsonl'} is empty; there is nothing to compare with.")
    return pairs


def _rows(path: Path, model: type[_Row]) -> Iterator[tuple[int, _Row]]:
    if not path.is_file():
        raise InvalidInput(f"{path} does not exist; comparing extractions needs it.")
    with path.open(encoding="utf-8") as file:
        for number, line in enumerate(file, start=1):
            if not line.strip():
                continue
            try:
                yield number, model.model_validate(json.loads(line))
            except (ValueError, ValidationError) as error:
                problem = str(error).splitlines()[0]
                raise InvalidInput(f"{path}, line {number}: {problem}; mend that line.") from error


async def measure_extraction(
    pairs: Sequence[tuple[Passage, Extracted]],
    recognizer: Recognizer,
    progress: Callable[[int], None] = lambda _: None,
) -> dict[str, Any]:
    """Recall and precision of entities by kind, and the share of triples that are related.

    Each passage is read as one chunk. Two names are the same if they are equal when normalised,
    or one's alias is; partial, if one contains the other as whole words. All shares in [0, 1].
    """
    tally = _Tally()
    begun = time.perf_counter()
    for start in range(0, len(pairs), _BATCH):
        batch = pairs[start : start + _BATCH]
        state = await extract(
            {"batch": [_draft(passage) for passage, _ in batch]}, recognizer=recognizer
        )
        for draft, (_, given) in zip(
            (await detect_relationships(state))["batch"], batch, strict=True
        ):
            tally.add(_Ours(draft), given)
        progress(start + len(batch))
    seconds = time.perf_counter() - begun
    return {"passages": len(pairs), "seconds": seconds, **tally.report()}


def _draft(passage: Passage) -> DocumentDraft:
    chunk = ChunkDraft(
        index=0,
        header=passage.title,
        headings=[],
        text=passage.text,
        start=0,
        tokens=0,
        embedding="",
        mentions=[],
    )
    return DocumentDraft(
        key=passage.id,
        title=passage.title or passage.id,
        source="corpus.jsonl",
        category=None,
        date=None,
        metadata={},
        acl=["public"],
        language="english",
        text=passage.text,
        content_hash="",
        chunks=[chunk],
        entities=[],
        relationships=[],
        links=[],
    )


class _Ours:
    """The entities of one passage by all their spellings, and which of them are related."""

    def __init__(self, draft: DocumentDraft) -> None:
        self.spellings = {
            entity["name"]: {normalise(name) for name in (entity["name"], *entity["aliases"])}
            for entity in draft["entities"]
        }
        self._related = {
            frozenset((one["source"][0], one["target"][0])) for one in draft["relationships"]
        }

    def called(self, name: str) -> list[str]:
        """The entities of that name; if there is none, those that match it partly."""
        matches = {one: _match({normalise(name)}, own) for one, own in self.spellings.items()}
        best = max(matches.values(), default="none", key=_RANK.index)
        return [one for one, match in matches.items() if match == best != "none"]

    def relates(self, ones: Iterable[str], others: Sequence[str]) -> bool:
        """Whether a relation joins one of the entities to one of the others."""
        return any(frozenset((a, b)) in self._related for a in ones for b in others)


def _match(one: Set[str], other: Set[str]) -> Match:
    """How two sets of normalised spellings agree: by a whole name, or by words of it."""
    if one & other:
        return "exact"
    parts = any(f" {a} " in f" {b} " or f" {b} " in f" {a} " for a in one for b in other)
    return "partial" if parts else "none"


class _Tally:
    """Adds passages up: what was wanted and found, by kind; what was ours and right, by kind."""

    def __init__(self) -> None:
        self._counts: dict[tuple[str, str], list[Counter[Match]]] = defaultdict(list)
        self._odd: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
        self._triples: dict[str, Counter[str]] = defaultdict(Counter)

    def add(self, ours: _Ours, given: Extracted) -> None:
        """Count one passage."""
        wanted = {normalise(name): name for name in given.entities}
        known = set().union(*ours.spellings.values())
        self._judge("recall", [(name, _match({norm}, known)) for norm, name in wanted.items()])
        norms = set(wanted)
        self._judge(
            "precision", [(name, _match(own, norms)) for name, own in ours.spellings.items()]
        )
        for subject, _, object_ in given.triples:
            ends = ours.called(subject), ours.called(object_)
            seen = {"triples": 1, "found": all(ends), "related": ours.relates(*ends)}
            self._triples["all"].update(seen)
            if kind_of(subject) == kind_of(object_) == "name":
                self._triples["between names"].update(seen)

    def _judge(self, measure: str, judged: Sequence[tuple[str, Match]]) -> None:
        counts: dict[str, Counter[Match]] = defaultdict(Counter)
        for name, match in judged:
            for kind in ("all", kind_of(name)):
                counts[kind][match] += 1
            if match == "none":
                self._odd[measure, kind_of(name)][name] += 1
        for kind, counter in counts.items():
            self._counts[measure, kind].append(counter)

    def report(self) -> dict[str, Any]:
        """Shares in [0, 1]; `examples` are the most frequent names that did not match at all."""
        report: dict[str, Any] = {"recall": {}, "precision": {}}
        for measure, kind in sorted(self._counts, key=lambda key: ("all", *KINDS).index(key[1])):
            report[measure][kind] = {
                **_shares(self._counts[measure, kind]),
                "examples": [name for name, _ in self._odd[measure, kind].most_common(EXAMPLES)],
            }
        report["triples"] = {
            group: {
                "count": counter["triples"],
                "found": counter["found"] / counter["triples"],
                "related": counter["related"] / counter["triples"],
            }
            for group, counter in self._triples.items()
        }
        return report


def _shares(passages: Sequence[Counter[Match]]) -> dict[str, float]:
    """Micro: over all entities. Macro: the mean over the passages that have any."""
    total = sum(passages, Counter[Match]())
    exact = [one["exact"] / one.total() for one in passages]
    partial = [(one["exact"] + one["partial"]) / one.total() for one in passages]
    return {
        "count": total.total(),
        "exact": total["exact"] / total.total(),
        "partial": (total["exact"] + total["partial"]) / total.total(),
        "macro exact": sum(exact) / len(exact),
        "macro partial": sum(partial) / len(partial),
    }
