"""The statements that answer questions. Access is part of each; ties are broken by id.

Parameters by name: `namespaces` and `principals` come from `Access`, the filters from `Filters`.
"""

from __future__ import annotations

from typing import Any, Final

from psycopg.types.json import Jsonb

from ..access import Access
from ..records import Filters

__all__: list[str] = []

# Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009), with the
# idf of Lucene, which is never negative: ln(1 + (N - df + 0.5) / (df + 0.5)); k1 = 1.2, b = 0.75.
_QUESTION_TERMS: Final = """
    select t.id as term_id,
           ln(1 + (n.chunks - t.df + 0.5) / (t.df + 0.5)) as idf,
           greatest(n.terms, 1)::float8 / greatest(n.chunks, 1) as average
      from namespaces n
     cross join lateral unnest(to_tsvector(n.language, %(question)s)) as w (lexeme, places, weights)
      join terms t on t.namespace = n.name and t.term = w.lexeme
     where n.name = any(%(namespaces)s) and t.df > 0
"""
_BM25: Final = """
    sum(q.idf * p.tf * 2.2 / (p.tf + 1.2 * (0.25 + 0.75 * c.term_count / q.average)))
"""
_READABLE_CHUNK: Final = """
    c.namespace = any(%(namespaces)s) and c.acl && %(principals)s
"""
_FILTERED_CHUNK: Final = (
    _READABLE_CHUNK
    + """
    and (%(category)s::text[] is null or c.category = any(%(category)s))
    and (%(date_from)s::date is null or c.document_date >= %(date_from)s)
    and (%(date_to)s::date is null or c.document_date <= %(date_to)s)
    and (%(metadata)s::jsonb is null or exists (
        select from documents d where d.id = c.document_id and d.metadata @> %(metadata)s))
"""
)

SEARCH_VECTOR: Final = f"""
    with nearest as materialized (
        select c.id, c.embedding <=> %(embedding)s::halfvec as distance
          from chunks c
         where {_FILTERED_CHUNK}
         order by distance
         limit %(limit)s
    )
    select id, (1 - distance)::float8 as score from nearest order by score desc, id
"""

SEARCH_TEXT: Final = f"""
    with q as materialized ({_QUESTION_TERMS})
    select c.id, ({_BM25})::float8 as score
      from q
      join postings p on p.term_id = q.term_id
      join chunks c on c.id = p.chunk_id
     where {_FILTERED_CHUNK}
     group by c.id
     order by score desc, c.id
     limit %(limit)s
"""

SCORE_CHUNKS: Final = f"""
    with q as materialized ({_QUESTION_TERMS})
    select c.id,
           (1 - (c.embedding <=> %(embedding)s::halfvec))::float8 as dense,
           coalesce((
               select {_BM25} from q
                 join postings p on p.term_id = q.term_id and p.chunk_id = c.id
           ), 0)::float8 as bm25
      from chunks c
     where c.id = any(%(ids)s) and {_FILTERED_CHUNK}
     order by c.id
"""

_PASSAGE: Final = """
    c.id, c.namespace, c.document_id as document, d.key as document_id, d.title, d.source,
    d.category, d.document_date::text as date, d.metadata, c.chunk_index, d.total_chunks,
    c.char_start, c.header, c.text, c.text_hash
"""

FETCH_PASSAGES: Final = f"""
    select {_PASSAGE}
      from unnest(%(ids)s::bigint[]) with ordinality as asked (id, place)
      join chunks c on c.id = asked.id
      join documents d on d.id = c.document_id
     where {_READABLE_CHUNK} and d.acl && %(principals)s
     order by asked.place
"""

NEIGHBOURS: Final = f"""
    select distinct on (c.id) {_PASSAGE}
      from chunks given
      join chunks c on c.document_id = given.document_id and c.header = given.header
       and c.chunk_index between given.chunk_index - %(reach)s and given.chunk_index + %(reach)s
      join documents d on d.id = c.document_id
     where given.id = any(%(ids)s) and {_READABLE_CHUNK} and d.acl && %(principals)s
     order by c.id
"""

LINKS: Final = """
    with given as materialized (
        select m.chunk_id, m.entity_id, m.subject, e.df, e.name
          from mentions m join entities e on e.id = m.entity_id
         where m.chunk_id = any(%(ids)s)
           and m.namespace = any(%(namespaces)s) and m.acl && %(principals)s
    ), wanted as materialized (
        select entity_id, name, df from given group by entity_id, name, df
    ), ends as materialized (
        select w.entity_id, far.chunk_id, far.subject
          from wanted w
         cross join lateral (
            select m.chunk_id, m.subject
              from mentions m
             where m.entity_id = w.entity_id
               and m.namespace = any(%(namespaces)s) and m.acl && %(principals)s
             order by m.subject desc, m.count desc, m.chunk_id
             limit %(fanout)s
         ) far
    )
    select g.chunk_id as source, far.chunk_id as target, g.entity_id as entity, g.name, g.df,
           case when far.subject then 'titled'
                when g.subject then 'titles'
                else 'shared' end as kind
      from given g
      join ends far on far.entity_id = g.entity_id and far.chunk_id <> g.chunk_id
     where far.subject or g.subject or g.df <= %(max_df)s
     order by source, target, entity
"""

_READABLE_ENTITY: Final = """
    e.namespace = any(%(namespaces)s) and e.acl && %(principals)s
"""
_ENTITY: Final = "e.id, e.name, e.type, e.df"

FIND_EXACT: Final = f"""
    select e.norm as query, {_ENTITY}, 'exact' as via
      from entities e
     where e.norm = any(%(names)s) and {_READABLE_ENTITY}
    union
    select a.norm, {_ENTITY}, 'alias'
      from aliases a join entities e on e.id = a.entity_id
     where a.norm = any(%(names)s) and a.norm <> e.norm
       and a.namespace = any(%(namespaces)s) and a.acl && %(principals)s and {_READABLE_ENTITY}
     order by query, via desc, id
"""

FIND_WORDS: Final = """
    select asked.word as word, array_agg(distinct w.word order by w.word) as known
      from unnest(%(words)s::text[]) as asked (word)
      join name_words w on w.deletes && string_to_array(
               (%(deletes)s::jsonb ->> asked.word), ' ')
     where w.namespace = any(%(namespaces)s)
     group by asked.word
"""

FIND_ALL_WORDS: Final = f"""
    select asked.place, found.*
      from unnest(%(queries)s::text[]) with ordinality as asked (query, place)
     cross join lateral (
        select {_ENTITY}, e.norm, ts_rank_cd(e.name_terms, asked.query::tsquery, 1) as rank
          from entities e
         where e.name_terms @@ asked.query::tsquery and {_READABLE_ENTITY}
         order by rank desc, e.df desc, e.id
         limit %(limit)s
     ) found
     order by asked.place, found.rank desc, found.df desc, found.id
"""

FIND_NEAREST: Final = f"""
    select asked.place, found.*
      from unnest(%(embeddings)s::text[]) with ordinality as asked (embedding, place)
     cross join lateral (
        select {_ENTITY}, (1 - (e.embedding <=> asked.embedding::halfvec))::float8 as cosine
          from entities e
         where {_READABLE_ENTITY}
         order by e.embedding <=> asked.embedding::halfvec
         limit %(limit)s
     ) found
     where found.cosine >= %(min_cosine)s
     order by asked.place, found.cosine desc, found.id
"""

SIMILARITY: Final = f"""
    select e.id, (1 - (e.embedding <=> %(embedding)s::halfvec))::float8 as score
      from entities e
     where e.id = any(%(ids)s) and e.embedding is not null and {_READABLE_ENTITY}
     order by score desc, e.id
"""

MENTIONS_IN: Final = f"""
    select m.chunk_id as chunk, m.count, m.subject, {_ENTITY}
      from mentions m join entities e on e.id = m.entity_id
     where m.chunk_id = any(%(ids)s) and m.namespace = any(%(namespaces)s)
       and m.acl && %(principals)s and {_READABLE_ENTITY}
     order by m.chunk_id, m.subject desc, m.count desc, e.id
"""

STATS: Final = """
    select n.name as namespace, n.documents, n.chunks, n.entities, n.relationships
      from namespaces n where n.name = any(%(namespaces)s) order by n.name
"""

READ_ENTITIES: Final = f"""
    select {_ENTITY} from entities e where e.id = any(%(ids)s) and {_READABLE_ENTITY} order by e.id
"""

EXPAND: Final = f"""
    with step as (
        select distinct on (r.id) r.id, f.id as parent, r.type, r.weight, r.forward,
               (f.score * r.weight * coalesce((%(factors)s::jsonb ->> r.type)::real, 1)
                        * %(ratio)s)::real as score
          from unnest(%(ids)s::bigint[], %(scores)s::real[]) as f (id, score)
         cross join lateral (
            (select r.target as id, r.type, r.weight, true as forward
               from relationships r
              where r.source = f.id and r.weight >= (%(floor)s / (f.score * %(ratio)s))::real
                and r.namespace = any(%(namespaces)s) and r.acl && %(principals)s
              order by r.weight desc, r.target limit %(fanout)s)
            union all
            (select r.source, r.type, r.weight, false
               from relationships r
              where r.target = f.id and r.weight >= (%(floor)s / (f.score * %(ratio)s))::real
                and r.namespace = any(%(namespaces)s) and r.acl && %(principals)s
              order by r.weight desc, r.source limit %(fanout)s)
         ) r
         order by r.id, score desc, f.id, r.type, r.forward desc
    )
    select step.id, e.name, e.type, e.df, step.parent, step.type as relation, step.weight,
           step.forward, step.score
      from step join entities e on e.id = step.id
      left join unnest(%(seeds)s::bigint[], %(worth)s::real[]) as s (id, score) on s.id = step.id
     where step.score > coalesce(s.score, 0) and {_READABLE_ENTITY}
     order by step.score desc, step.id
     limit %(limit)s
"""

MENTIONS_OF: Final = """
    select m.entity, m.chunk, m.count, m.subject, c.entity_count as chunk_entities
      from unnest(%(ids)s::bigint[]) as asked (id)
     cross join lateral (
        select m.entity_id as entity, m.chunk_id as chunk, m.count, m.subject
          from mentions m
         where m.entity_id = asked.id
           and m.namespace = any(%(namespaces)s) and m.acl && %(principals)s
         order by m.subject desc, m.count desc, m.chunk_id
         limit %(fanout)s
     ) m
      join chunks c on c.id = m.chunk
     order by m.entity, m.subject desc, m.count desc, m.chunk
"""

RELATIONSHIPS_AMONG: Final = """
    select r.id, r.source, r.target, r.type, r.weight::float8, r.confidence::float8, r.count,
           array(select v.chunk_id from evidence v join chunks c on c.id = v.chunk_id
                  where v.relationship_id = r.id
                    and c.namespace = any(%(namespaces)s) and c.acl && %(principals)s
                  order by v.chunk_id limit 20) as evidence
      from relationships r
     where r.source = any(%(ids)s) and r.target = any(%(ids)s)
       and r.namespace = any(%(namespaces)s) and r.acl && %(principals)s
     order by r.weight desc, r.id
     limit %(limit)s
"""


def access_params(access: Access) -> dict[str, Any]:
    """`Access` as query parameters."""
    return {"namespaces": list(access.namespaces), "principals": list(access.principals)}


def filter_params(filters: Filters) -> dict[str, Any]:
    """`Filters` as query parameters; what is not given is null and holds for every row."""
    metadata = filters.get("metadata")
    return {
        "category": filters.get("category") or None,
        "date_from": filters.get("date_from"),
        "date_to": filters.get("date_to"),
        "metadata": Jsonb(metadata) if metadata else None,
    }
