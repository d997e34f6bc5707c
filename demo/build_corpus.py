"""Build the demo corpus: python demo/build_corpus.py PATH_TO_2WIKI_FOLDER [--out DIR].

The folder holds corpus.jsonl {id, title, text} and queries.jsonl {id, question, gold, answer,
type}: 2WikiMultihopQA questions (Ho et al., COLING 2020, Apache-2.0) over the passages published
with HippoRAG (OSU-NLP-Group, MIT); the text is from Wikipedia (CC BY-SA). See LICENSE-DATA.md.
"""

import argparse
import json
import math
import re
import sys
import unicodedata
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

QUOTAS = {"compositional": 40, "inference": 9, "comparison": 8, "bridge_comparison": 4}
SIZE, FIT = 300, r"(?s)(?!.*may refer to).{60,1600}$"
HEADS = {  # the first of these words after "is", "was" ... decides the category
    "film": "films?(?! (?:director|produ|act|edit|maker|critic|score|composer|writer))|movie",
    "music": "song|single|album|soundtrack|band|opera|musical|symphony|music group",
    "book": "book|novel|play|poem|magazine|newspaper|journal|periodical|comic|chronicle",
    "organization": "company|university|college|school|club|party|organi[sz]ation|conglomerate",
    "place": "village|town|city|island|river|lake|mountain|district|region|castle|museum",
    "person": "act(?:or|ress)|director|producer|(?:screen|song)?writer|author|poet|composer|singer"
    "|[a-z]{3,}(?:ologist|onist|arist|alist)|artist|musician|politician|king|queen|duke|founder"
    "|prince(?:ss)?|emp(?:eror|ress)|count(?:ess)?|lord|bishop|noble|businessman|chief|player|officer"
    "|painter|philosopher|son|daughter|wife|editor|driver|boxer|footballer|teacher|peer|professor|caliph",
}
HEAD = re.compile("|".join(rf"(?P<{k}>\b(?:{v}))\b" for k, v in HEADS.items()), re.IGNORECASE)
# badly worded; a nationality as the answer to "where"; a wrong label
ODD = r"\w'[A-Z]|^Which (?:country|award)|^What nationality of|^Where.+(?:an|ish|ese)$|Uncle Silas"
KEYS = ("id", "question", "gold", "answer", "type")
FILE = "---\nid: {}\ncategory: {}\n---\n\n# {}\n\n{}\n"
Row = dict[str, Any]


def _read(path: Path, *keys: str) -> list[Row]:
    try:
        lines = filter(None, path.read_text(encoding="utf-8").split("\n"))
        return [{key: row[key] for key in keys} for row in map(json.loads, lines)]
    except (OSError, ValueError, LookupError, TypeError) as err:
        sys.exit(f"error: {path}: need JSON lines with {', '.join(keys)}: {err!r}")


def _clean(text: str) -> str:
    """Undo tokenisation noise; only white space may change (checked)."""
    out = re.sub(r" {2,}", " ", re.sub(r" *\n\s*", "\n\n", text.strip()))
    out = re.sub(r"([\w\".;])\(", r"\1 (", out)
    out = re.sub(r"(?<=\w)- (?!(?:and|or|to|nor|but)\b)(?=\w)", "-", out)
    out = re.sub(r"(?<=\w)([&+=]) (?=\w)", r" \1 ", out)
    out = re.sub(r" (?=[’']s\b|n't\b|[,;)\]”]|[.:](?:\s|$))|(?<=[(\[“]) ", "", out)
    if out.count('"') % 2 == 0:  # book" Title" is -> book "Title" is
        pair = r'([\w,:;.)])?"( *)([^"]*?) *"'
        out = re.sub(pair, lambda m: f'{m[1] or ""}{" " if m[1] and m[2] else ""}"{m[3]}"', out)
    if "".join(out.split()) != "".join(text.split()):
        sys.exit(f"error: cleaning changed more than white space in: {text[:80]}")
    return out


def _words(*texts: str) -> set[str]:
    return set(re.findall(r"\w{4,}", " ".join(texts).casefold()))


def _category(title: str, text: str) -> str:
    found = HEAD.search(title[title.find("(") :]) if title.endswith(")") else None
    if not found and re.match(r"[^(]{0,80}\([^)]*?(\bborn|\bdied|\d{4}\s*[–-][^)]*\d{4})\b", text):
        return "person"
    found = found or HEAD.search(re.split(r"\b(?:is|was)\b", text[:300] + " is", maxsplit=1)[1])
    return found.lastgroup or "other" if found else "other"


def _slug(title: str) -> str:
    title = title.casefold().translate(str.maketrans("øł–", "ol-", "'’"))
    plain = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode()
    return re.sub(r"[^a-z0-9]+", "-", plain)[:48].strip("-") or "passage"


def _choose_questions(queries: list[Row], docs: dict[str, Row]) -> list[Row]:
    """Take turns between question templates; the least obvious second hop comes first."""
    groups: dict[tuple[str, str], list[tuple[int, str, Row]]] = defaultdict(list)
    for query in (q for q in queries if all(re.match(FIT, docs[g]["text"]) for g in q["gold"])):
        gold = [docs[g] for g in query["gold"]]
        asked, goal = query["question"].casefold(), query["answer"].casefold()
        texts, names = [d["low"] for d in gold], [d["name"] for d in gold]
        # the question names the first passage only; that names the second, which has the answer
        hops = names[0] in asked and names[1] in texts[0] and names[1] not in asked
        hops &= goal in texts[1] and goal not in texts[0]
        if not (hops or "comparison" in query["type"]) or re.search(ODD, query["question"] + goal):
            continue
        template = re.sub("|".join(map(re.escape, names)), "X", re.sub(r" \([^)]*\)", "", asked))
        overlap = len(_words(asked) & gold[1]["words"])
        groups[query["type"], template].append((overlap, query["id"], query))
    turns = sorted((n, *row) for g in groups.values() for n, row in enumerate(sorted(g)))
    return [q for k, n in QUOTAS.items() for q in [t[3] for t in turns if t[3]["type"] == k][:n]]


def _choose_distractors(chosen: list[Row], queries: list[Row], docs: dict[str, Row]) -> set[str]:
    """Add passages that share names or rare words with the questions and their gold titles."""
    df = Counter(word for doc in docs.values() for word in doc["words"])
    kept = {g for q in chosen for g in q["gold"]}
    others = [set(q["gold"]) for q in queries if q not in chosen]  # must not come in whole
    fit = [d for d in docs.values() if re.match(FIT, d["text"])]
    lists: list[list[str]] = []
    for query in chosen:
        names = [docs[g]["name"] for g in query["gold"]]
        key, scores = _words(query["question"], *names), []
        for doc in fit:
            rarity = math.fsum(math.log(len(docs) / df[w]) for w in key & doc["words"])
            scores.append((-rarity - 5 * any(n in doc["low"] for n in names), doc["id"]))
        lists.append([i for _, i in sorted(scores)[:60]])
    for i in (i for row in zip(*lists, strict=True) for i in row):
        if len(kept) < SIZE and not any(i in o and o <= kept | {i} for o in others):
            kept.add(i)
    return kept


def _main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("source", type=Path, help="folder with corpus.jsonl and queries.jsonl")
    parser.add_argument("--out", type=Path, default=Path(__file__).resolve().parent)
    args = parser.parse_args()
    docs = {d["id"]: d for d in _read(args.source / "corpus.jsonl", "id", "title", "text")}
    for d in docs.values():
        d["low"], d["words"] = d["text"].casefold(), _words(d["title"], d["text"])
        d["name"] = re.sub(r"\s*\([^)]*\)$", "", d["title"]).casefold()
    queries = _read(args.source / "queries.jsonl", *KEYS)
    if unknown := {g for q in queries for g in q["gold"]} - docs.keys():
        sys.exit(f"error: gold passages missing from corpus.jsonl: {sorted(unknown)[:5]}")
    kept = _choose_distractors(_choose_questions(queries, docs), queries, docs)
    files: dict[str, str] = {}
    for i in sorted(kept, key=lambda i: (len(i), i)):
        title, text = docs[i]["title"].strip(), _clean(docs[i]["text"])
        name = _slug(title) + (f"-{i}" if f"{_slug(title)}.md" in files else "") + ".md"
        files[name] = FILE.format(i, _category(title, text), title, text)
    folder = args.out / "corpus"
    folder.mkdir(parents=True, exist_ok=True)
    if stale := sorted(p.name for p in folder.glob("*.md") if p.name not in files):
        sys.exit(f"error: {folder} holds other Markdown files; remove them first: {stale[:5]}")
    asked = [json.dumps(q, ensure_ascii=False) + "\n" for q in queries if set(q["gold"]) <= kept]
    sys.stdout.write(f"{len(files)} passages, {len(asked)} questions in {args.out}\n")
    files["../questions.jsonl"] = "".join(asked)
    for filename, content in files.items():
        (folder / filename).write_text(content, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    _main()
