"""Documents read back as the drafts they were written from."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Sequence
from typing import Any, Final, cast

import numpy as np

from ..records import DocumentDraft
from .database import Database

__all__ = ["drafts", "unfinished"]

UNFINISHED: Final = """
    select key from documents
     where namespace = %(namespace)s
       and (enrichment = 'pending'
            or %(settled)s::text[] is not null
               and substr(content_hash, strpos(content_hash || '+', '+') + 1) <> all(%(settled)s))
     order by key
"""

# One statement, so that all of a document is of one moment.
DRAFTS: Final = """
    select d.id as instead_of, d.key, d.title, d.source, d.category,
           d.document_date::text as date, d.metadata, d.acl, n.language::text, d.content_hash,
           (select jsonb_agg(jsonb_build_object(
                       'index', c.chunk_index, 'header', c.header, 'text', c.text,
                       'start', c.char_start, 'tokens', c.tokens,
                       'embedding', c.embedding::text,
                       'mentions', (
                           select jsonb_agg(jsonb_build_object(
                                      'name', e.name, 'type', e.type, 'offsets', m.offsets,
                                      'subject', m.subject, 'method', e.method,
                                      'confidence', e.confidence)
                                  order by m.subject desc, e.norm, e.type)
                             from mentions m join entities e on e.id = m.entity_id
                            where m.chunk_id = c.id))
                   order by c.chunk_index)
              from chunks c where c.document_id = d.id) as chunks,
           (select jsonb_agg(jsonb_build_object(
                       'index', s.section_index, 'span_start', s.span_start,
                       'span_end', s.span_end, 'text', s.text, 'embedding', s.embedding::text)
                   order by s.section_index)
              from sections s where s.document_id = d.id) as sections,
           (select jsonb_agg(jsonb_build_object(
                       'name', e.name, 'type', e.type, 'method', e.method,
                       'confidence', e.confidence, 'properties', e.properties,
                       'embedding', e.embedding::text,
                       'aliases', (
                           select jsonb_agg(a.norm order by a.norm) from aliases a
                            where a.entity_id = e.id and a.document_id = d.id))
                   order by e.norm, e.type)
              from entities e
             where e.id in (select m.entity_id
                              from chunks c join mentions m on m.chunk_id = c.id
                             where c.document_id = d.id)) as entities,
           (select jsonb_agg(jsonb_build_object(
                       'source', jsonb_build_array(s.name, s.type),
                       'target', jsonb_build_array(t.name, t.type),
                       'type', r.type, 'confidence', v.confidence,
                       'evidence', jsonb_build_array(c.chunk_index))
                   order by s.norm, s.type, t.norm, t.type, r.type, c.chunk_index)
              from chunks c
              join evidence v on v.chunk_id = c.id
              join relationships r on r.id = v.relationship_id
              join entities s on s.id = r.source
              join entities t on t.id = r.target
             where c.document_id = d.id) as relationships
      from documents d join namespaces n on n.name = d.namespace
     where d.namespace = %(namespace)s and d.key = any(%(keys)s)
     order by array_position(%(keys)s, d.key)
"""


async def unfinished(
    database: Database, settled: Sequence[str] | None, namespace: str
) -> list[str]:
    """Keys of documents that are pending, or found in none of the settled ways, ascending."""
    params = {"namespace": namespace, "settled": None if settled is None else list(settled)}
    return [row["key"] for row in await database.fetch(UNFINISHED, params)]


async def drafts(database: Database, keys: Sequence[str], namespace: str) -> list[DocumentDraft]:
    """The documents that are there, in the order of `keys`, as they were written."""
    rows = await database.fetch(DRAFTS, {"namespace": namespace, "keys": list(keys)})
    return [_draft(row) for row in rows]


def _draft(row: dict[str, Any]) -> DocumentDraft:
    sections = _packed(row.pop("sections"))
    draft = {
        **row,
        "text": "",
        "links": [],
        "chunks": [
            {**one, "headings": [], "mentions": one["mentions"] or []}
            for one in _packed(row["chunks"])
        ],
        "entities": [{**one, "aliases": one["aliases"] or []} for one in _packed(row["entities"])],
        "relationships": [
            {**one, "source": tuple(one["source"]), "target": tuple(one["target"])}
            for one in row["relationships"] or []
        ],
    }
    # The statement names every part as a draft does.
    return cast("DocumentDraft", draft | ({"sections": sections} if sections else {}))


def _packed(rows: list[dict[str, Any]] | None) -> list[dict[str, Any]]:
    """The rows with their vectors as drafts hold them: base64 of little-endian float16."""
    return [{**row, "embedding": _vector(row["embedding"])} for row in rows or []]


def _vector(text: str | None) -> str:
    if text is None:
        return ""
    return b64encode(np.array(json.loads(text), dtype="<f2").tobytes()).decode("ascii")
