"""What ingestion has left in a database, and whether any of it is half."""

from __future__ import annotations

from typing import Any

import psycopg

__all__ = ["content", "same", "whole"]

# What does not hang on when, or in which order, a row was written.
CONTENT = {
    "namespaces": """
        select n.name, n.language, n.documents, n.chunks, n.terms, n.entities, n.relationships,
               n.weighed_chunks,
               n.compared >= (select max(e.id) from clew.entities e
                               where e.namespace = n.name and e.embedding is not null)
          from clew.namespaces n""",
    "documents": """
        select d.key, d.title, d.source, d.category, d.document_date, d.metadata, d.acl,
               a.principals, d.content_hash, d.total_chunks, d.sections, d.enrichment
          from clew.documents d join clew.audiences a on a.id = d.audience""",
    "chunks": """
        select d.key, c.chunk_index, c.char_start, c.header, c.text, c.text_hash, c.tokens,
               a.principals, c.term_count, c.entity_count, c.search_terms::text,
               c.embedding is not null
          from clew.chunks c join clew.documents d on d.id = c.document_id
          join clew.audiences a on a.id = c.audience""",
    "audiences": "select namespace, principals, chunks from clew.audiences",
    "terms": "select namespace, term, df from clew.terms",
    "postings": """
        select t.term, d.key, c.chunk_index, p.tf, p.impact, a.principals
          from clew.postings p join clew.terms t on t.id = p.term_id
          join clew.audiences a on a.id = p.audience
          join clew.chunks c on c.id = p.chunk_id join clew.documents d on d.id = c.document_id""",
    "entities": """
        select norm, type, df, words, properties, confidence, embedding is not null
          from clew.entities""",
    "aliases": """
        select e.norm, d.key, a.norm, r.principals
          from clew.aliases a join clew.entities e on e.id = a.entity_id
          join clew.audiences r on r.id = a.audience
          join clew.documents d on d.id = a.document_id""",
    "name_words": "select namespace, word, deletes from clew.name_words",
    "mentions": """
        select e.norm, e.type, d.key, c.chunk_index, m.count, m.offsets, m.subject,
               a.principals
          from clew.mentions m join clew.entities e on e.id = m.entity_id
          join clew.audiences a on a.id = m.audience
          join clew.chunks c on c.id = m.chunk_id join clew.documents d on d.id = c.document_id""",
    "relationships": """
        select s.norm, t.norm, r.type, r.weight, r.confidence, r.count, r.first_seen,
               r.last_seen
          from clew.relationships r join clew.entities s on s.id = r.source
          join clew.entities t on t.id = r.target""",
    "evidence": """
        select s.norm, t.norm, r.type, d.key, c.chunk_index, v.confidence
          from clew.evidence v join clew.relationships r on r.id = v.relationship_id
          join clew.entities s on s.id = r.source join clew.entities t on t.id = r.target
          join clew.chunks c on c.id = v.chunk_id join clew.documents d on d.id = c.document_id""",
    "edges": """
        select n.norm, o.norm, g.type, g.forward, g.weight, g.first_seen, g.last_seen, a.principals
          from clew.edges g join clew.entities n on n.id = g.node
          join clew.entities o on o.id = g.other join clew.audiences a on a.id = g.audience""",
}

# How many documents there are, and every way in which what is there could be half.
LANDED = """
    select (select count(*) from clew.documents),
           (select count(*) from clew.documents d
             where total_chunks <> (select count(*) from clew.chunks where document_id = d.id)),
           (select count(*) from clew.chunks c
             where entity_count = 0
                or entity_count <> (select count(*) from clew.mentions
                                     where chunk_id = c.id and audience = c.audience)
                or term_count <> (select sum(tf) from clew.postings
                                   where chunk_id = c.id and audience = c.audience)),
           (select count(*) from clew.audiences a
             where chunks = 0
                or chunks <> (select count(*) from clew.chunks where audience = a.id)),
           (select count(*) from clew.relationships r
             where count <> (select count(*) from clew.evidence where relationship_id = r.id)
                or (select count(*) from clew.edges g
                     where g.relationship_id = r.id and g.weight = r.weight)
                   <> (select 2 * count(distinct c.audience)
                         from clew.evidence v join clew.chunks c on c.id = v.chunk_id
                        where v.relationship_id = r.id)),
           (select count(*) from clew.entities e
             where df <> (select count(*) from clew.mentions where entity_id = e.id)),
           (select count(*) from clew.namespaces
             where documents <> (select count(*) from clew.documents)
                or chunks <> (select count(*) from clew.chunks)
                or entities <> (select count(*) from clew.entities)
                or relationships <> (select count(*) from clew.relationships)
                or terms <> (select sum(tf) from clew.postings))
"""


def content(dsn: str) -> dict[str, list[Any]]:
    with psycopg.connect(dsn) as connection:
        return {
            table: sorted(connection.execute(query.encode()).fetchall(), key=repr)
            for table, query in CONTENT.items()
        }


def whole(connection: psycopg.Connection[Any]) -> int:
    row = connection.execute(LANDED.encode()).fetchone()
    assert row is not None
    landed, *half = row
    assert not any(half), row
    return int(landed)


def same(left: dict[str, list[Any]], right: dict[str, list[Any]]) -> None:
    for table in CONTENT:
        assert left[table] == right[table], table
        assert left[table], table
