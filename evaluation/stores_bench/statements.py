"""From what was drawn to the tables, inside the database."""

from __future__ import annotations

from typing import LiteralString

__all__ = [
    "CHUNKS",
    "DOCUMENTS",
    "EDGES",
    "ENTITIES",
    "EVIDENCE",
    "FINISH",
    "MENTIONS",
    "RELATIONSHIPS",
    "TERMS",
]

DOCUMENTS: LiteralString = """
    insert into documents (id, namespace, key, title, source, category, document_date, acl,
                           audience, content_hash, total_chunks, enrichment)
    overriding system value
    select x.id, a.namespace, 'd' || x.id, 'd' || x.id, 'd' || x.id, 'c' || x.id % 50,
           date '2000-01-01' + (x.id * 7919 % 9000)::int, a.principals, a.id, '', 10, 'complete'
      from drawn_documents x join audiences a on a.id = x.audience
"""
CHUNKS: LiteralString = """
    insert into chunks (id, document_id, namespace, audience, category, document_date, chunk_index,
                        char_start, header, text, text_hash, tokens, term_count, entity_count,
                        language, embedding)
    overriding system value
    select x.id, d.id, d.namespace, d.audience, d.category, d.document_date, (x.id - 1) % 10, 0,
           '', x.text, md5(x.text), 40,
           (select sum(cardinality(positions)) from unnest(to_tsvector('english', x.text))),
           coalesce(m.entities, 0), 'english', v.embedding
      from drawn_texts x join drawn_vectors v using (id)
      left join (select chunk as id, count(*) as entities from drawn_mentions group by chunk) m
        using (id)
      join documents d on d.id = (x.id - 1) / 10 + 1
     order by x.id
"""
TERMS: tuple[LiteralString, ...] = (
    """
    create unlogged table drawn_terms as
    select c.id as chunk, c.namespace, c.audience, w.lexeme, cardinality(w.positions) as tf,
           c.term_count as length
      from chunks c cross join lateral unnest(c.search_terms) as w
    """,
    """
    insert into terms (namespace, term, df)
    select namespace, lexeme, count(*) from drawn_terms group by namespace, lexeme
    """,
    "analyze terms",
    """
    insert into postings (chunk_id, term_id, tf, audience, impact)
    select x.chunk, t.id, x.tf, x.audience,
           x.tf * 2.2 / (x.tf + 1.2 * (0.25 + 0.75 * x.length / 128.0))
      from drawn_terms x join terms t on t.namespace = x.namespace and t.term = x.lexeme
     order by x.chunk
    """,
    "drop table drawn_terms",
)
ENTITIES: LiteralString = """
    insert into entities (id, namespace, name, norm, type, method, confidence, df, embedding)
    overriding system value
    select x.id, case when x.id <= %(main)s then 'main' else 'small' end, x.text, x.text, 'NAME',
           'bench', 1, coalesce(m.df, 0), v.embedding
      from drawn_names x
      left join (select entity, count(*) as df from drawn_mentions group by entity) m
        on m.entity = x.id
      left join drawn_vectors v on v.id * %(step)s = x.id
     order by x.id
"""
MENTIONS: LiteralString = """
    insert into mentions (chunk_id, entity_id, audience, count, subject, offsets)
    select x.chunk, x.entity, c.audience, x.count, x.subject = 1, '{}'
      from drawn_mentions x join chunks c on c.id = x.chunk
     order by x.chunk, x.entity
"""
RELATIONSHIPS: LiteralString = """
    insert into relationships (id, namespace, source, target, type, weight, confidence, count,
                               first_seen, last_seen)
    overriding system value
    select x.id, case when x.source <= %(main)s then 'main' else 'small' end, x.source, x.target,
           (%(types)s::text[])[x.type + 1],
           ((%(confidences)s::real[])[x.type + 1] * x.count / (x.count + 1))::real,
           (%(confidences)s::real[])[x.type + 1], x.count, seen.first, seen.last
      from drawn_relations x
      join (select v.relation, min(c.document_date) as first, max(c.document_date) as last
              from drawn_evidence v join chunks c on c.id = v.chunk group by v.relation) seen
        on seen.relation = x.id
"""
EVIDENCE: LiteralString = """
    insert into evidence (relationship_id, chunk_id, confidence)
    select v.relation, v.chunk, r.confidence
      from drawn_evidence v join relationships r on r.id = v.relation
"""
EDGES: LiteralString = """
    insert into edges (relationship_id, audience, forward, node, other, type, weight, first_seen,
                       last_seen)
    select r.id, found.audience, way.forward,
           case when way.forward then r.source else r.target end,
           case when way.forward then r.target else r.source end,
           r.type, r.weight, r.first_seen, r.last_seen
      from relationships r
      join (select distinct v.relationship_id, c.audience
              from evidence v join chunks c on c.id = v.chunk_id) found
        on found.relationship_id = r.id
     cross join (values (true), (false)) as way (forward)
"""
FINISH: tuple[LiteralString, ...] = (
    """
    update audiences a set chunks = held.chunks
      from (select audience, count(*) as chunks from chunks group by audience) held
     where a.id = held.audience
    """,
    """
    update namespaces n
       set terms = (select sum(c.term_count) from chunks c where c.namespace = n.name),
           relationships = (select count(*) from relationships r where r.namespace = n.name)
    """,
    "drop table drawn_names, drawn_vectors, drawn_documents, drawn_relations, drawn_evidence",
)
