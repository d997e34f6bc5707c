"""What a step did, in a line or a few: what came in and what went out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sized
from typing import Any

__all__ = ["came_in", "summarise"]

State = Mapping[str, Any]
LISTED = 5


def summarise(node: str, update: State, after: State) -> list[str]:
    """Lines for people about one step; none when it did nothing."""
    entries = update.get("degraded", [])
    # The first step empties the list with a mark that is not itself a list.
    lost = [f"{e['reason']} So: {e['effect']}." for e in entries] if type(entries) is list else []
    silent = not set(update) - {"steps", "degraded"}
    return lost if silent else _SUMMARIES[node](update, after) + lost


def came_in(node: str, before: State) -> str:
    """What a step had to work on, in a few words."""
    return _READ[node](before)


def _asked(before: State) -> str:
    request = before["request"]
    what = "a text" if request["discover"] else "the question"
    return f"{what}, {len(request['question']):,} characters"


def _input(before: State) -> str:
    given = [key for key in ("question", "passage", "document_id", "history") if before.get(key)]
    return ", ".join(given) or "nothing"


def _words(before: State) -> str:
    understood = before["understanding"]
    words = _count(understood["mentions"], "word group") if understood else "nothing understood"
    tried = [one for one in before["synonyms"] if one["kept"]]
    return f"{words}, " + (_count(tried, "synonym") if tried else _count(before["hits"], "hit"))


def _counts(**keys: str) -> Callable[[State], str]:
    return lambda before: ", ".join(_count(before[key], one) for key, one in keys.items())


def _count(entries: Sized, one: str) -> str:
    many = f"{one[:-1]}ies" if one.endswith("y") else f"{one}s"
    return f"{len(entries):,} {one if len(entries) == 1 else many}"


_READ: Mapping[str, Callable[[State], str]] = {
    "admit": _input,
    "search_passages": _asked,
    "extract_entities": _asked,
    "link_entities": _words,
    "expand_graph": _counts(seeds="seed"),
    "generate_synonyms": _counts(seeds="seed"),
    "rerank_entities": _counts(entities="entity"),
    "retrieve_entity_chunks": _counts(entities="entity", hits="hit"),
    "merge_results": _counts(hits="hit", entity_passages="passage"),
    "filter_access": _counts(candidates="candidate"),
    "link_passages": _counts(ranked="passage"),
    "rerank_passages": _counts(ranked="passage"),
    "map_relationships": _counts(ranked="passage", entities="entity"),
    "build_context": _counts(ranked="passage", relationships="relation"),
}


def _admit(update: State, _: State) -> list[str]:
    plan, request = update["plan"], update["request"]
    lines = [f"{plan['mode']}: {plan['reason']}; in {', '.join(request['namespaces'])}"]
    if request["discover"]:
        size = len(request["question"])
        lines.append(f"a text of {size:,} characters; BM25 looks for: {request['words'][:80]}")
    return [*lines, *update["traversal"]["why"]]


def _search(update: State, _: State) -> list[str]:
    hits = update["hits"]
    dense = sum(hit["dense_rank"] is not None for hit in hits)
    bm25 = sum(hit["bm25_rank"] is not None for hit in hits)
    return [f"{dense} by vector, {bm25} by BM25, {len(hits)} passages together"]


def _extract(update: State, _: State) -> list[str]:
    found = update["understanding"]
    names = [m["text"] for m in found["mentions"] if m["kind"] != "ngram"]
    others = len(found["mentions"]) - len(names)
    intent = f"{found['intent']} ({found['confidence']:.2f})"
    lines = [f"{found['rung']}, {intent}: {_listed(names)}; {others} other word groups"]
    where = [f"{key}: {found[key]}" for key in ("time", "place") if found[key]]
    return [*lines, *where, *update["traversal"]["why"]]


def _link(update: State, _: State) -> list[str]:
    seeds = update["seeds"]
    named = [f"{s['name']} ({s['via']}, in {s['df']})" for s in seeds if s["via"] != "anchor"]
    anchors = sum(s["via"] == "anchor" for s in seeds)
    return [f"{_listed(named)}; {anchors} anchors from the best passages"]


def _expand(update: State, _: State) -> list[str]:
    walked = [e for e in update["entities"] if e["path"]]
    lines = [f"{len(walked)} entities reached" + (", sparse" if update["sparse"] else "")]
    lines += [why for why in update["traversal"]["why"] if why.startswith("walked without dates")]
    for entity in walked[:LISTED]:
        path = ", ".join(f"{s['source']} —{s['type']}→ {s['target']}" for s in entity["path"])
        lines.append(f"hop {entity['hop']}  {entity['score']:.3f}  {path}")
    return lines


def _synonyms(update: State, _: State) -> list[str]:
    return [
        f"{s['seed']} ~ {s['text']}  cosine {s['cosine']:.2f}"
        + ("" if s["kept"] else "  rejected: drifted")
        for s in update.get("synonyms", [])
    ]


def _rerank_entities(update: State, _: State) -> list[str]:
    return [f"{len(update['entities'])} kept: {_listed([e['name'] for e in update['entities']])}"]


def _entity_chunks(update: State, _: State) -> list[str]:
    passages = update["entity_passages"]
    most = max((p["entity_count"] for p in passages), default=0)
    return [f"{len(passages)} passages through entities, up to {most} entities in one"]


def _merge(update: State, _: State) -> list[str]:
    both = sum(
        bool(c["matched"]) and bool(c["signals"]["dense_rank"] or c["signals"]["bm25_rank"])
        for c in update["candidates"]
    )
    return [f"{len(update['candidates'])} candidates, {both} found both ways"]


def _ranked(update: State, _: State) -> list[str]:
    if "ranked" not in update:
        return []
    lines = [f"{len(update['ranked'])} passages"]
    for number, entry in enumerate(update["ranked"][:LISTED], start=1):
        link = entry["links"][0] if entry["links"] else None
        via = f"  ← {link['title']} through {link['entity']}" if link and link["title"] else ""
        lines.append(f"{number}. {entry['passage']['title']}  {entry['score']:.3f}{via}")
    return lines


def _filter(update: State, after: State) -> list[str]:
    return [f"{len(update['ranked'])} of {len(after['candidates'])} candidates read and allowed"]


def _map(update: State, _: State) -> list[str]:
    return [f"{len(update['relationships'])} relations among the passages' entities"]


def _context(update: State, _: State) -> list[str]:
    found = update["diagnostics"]
    return [f"{found['context_tokens']} tokens, {found['counts']['cited']} passages cited"]


_SUMMARIES: Mapping[str, Callable[[State, State], list[str]]] = {
    "admit": _admit,
    "search_passages": _search,
    "extract_entities": _extract,
    "link_entities": _link,
    "expand_graph": _expand,
    "generate_synonyms": _synonyms,
    "rerank_entities": _rerank_entities,
    "retrieve_entity_chunks": _entity_chunks,
    "merge_results": _merge,
    "filter_access": _filter,
    "link_passages": _ranked,
    "rerank_passages": _ranked,
    "map_relationships": _map,
    "build_context": _context,
}


def _listed(names: list[str]) -> str:
    shown = ", ".join(names[:LISTED]) or "none"
    return shown + (f" and {len(names) - LISTED} more" if len(names) > LISTED else "")
