"""The statements that find and read passages."""

from __future__ import annotations

from functools import cache
from typing import Final

from .queries import FILTER, READABLE, READABLE_IDS

__all__: list[str] = []

# Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009), with the
# idf of Lucene, which is never negative: ln(1 + (N - df + 0.5) / (df + 0.5)); k1 = 1.2, b = 0.75.
_QUESTION_TERMS: Final = """
    select t.id as term_id, n.name as namespace,
           ln(1 + (n.chunks - t.df + 0.5) / (t.df + 0.5))::float8 as idf,
           greatest(n.terms, 1)::float8 / greatest(n.chunks, 1) as average
      from namespaces n
     cross join lateral unnest(to_tsvector(n.language, %(question)s)) as w (lexeme, places, weights)
      join terms t on t.namespace = n.name and t.term = w.lexeme
     where n.name = any(%(namespaces)s) and t.df > 0
"""
_BM25: Final = """
    (select sum(q.idf * p.tf * 2.2 / (p.tf + 1.2 * (0.25 + 0.75 * c.term_count / q.average)))
       from postings p join q on q.term_id = p.term_id
      where p.chunk_id = c.id and p.term_id = any(array(select term_id from q)))
"""
_READABLE_CHUNK: Final = f"c.audience = any{READABLE_IDS}"

COUNT_READABLE: Final = """
    select coalesce(sum(a.chunks), 0)::bigint as chunks,
           (select c.reltuples from pg_class c where c.oid = 'chunks'::regclass)::float8 as stored
      from audiences a
     where a.namespace = any(%(namespaces)s) and a.principals && %(principals)s
"""

COUNT_FILTERED: Final = f"""
    select count(*) as chunks
      from (select from chunks c where {_READABLE_CHUNK} and {FILTER} limit %(most)s) found
"""

# The inner limit is never reached; it keeps the planner on the index by audience.
SEARCH_VECTOR_EXACT: Final = f"""
    with {READABLE}, matching as materialized (
        select c.id, c.embedding <=> %(embedding)s::halfvec as distance
          from readable a
         cross join lateral (
            select c.id, c.embedding from chunks c
             where c.audience = a.id and {FILTER}
             limit %(most)s
         ) c
    )
    select id, (1 - distance)::float8 as score from matching order by distance, id limit %(limit)s
"""

# The sum keeps the planner on the vectors' index: it cannot know how many rows the audiences hold.
_SEARCH_VECTOR: Final = f"""
    with nearest as materialized (
        select c.id, c.embedding <=> %(embedding)s::halfvec as distance
          from chunks c
         where c.audience + 0 = any{READABLE_IDS} {{where}}
         order by distance
         limit {{limit}}
    )
    select id, (1 - distance)::float8 as score from nearest order by score desc, id
"""


@cache
def search_vector(limit: int, *, filtered: bool) -> str:
    """The search by index. With a limit it does not know and conditions that may not be meant, a
    generic plan would rather sort everything.
    """
    return _SEARCH_VECTOR.format(limit=int(limit), where=f"and {FILTER}" if filtered else "")


# Candidates are the heaviest postings of the rarest terms; they are then scored over all terms.
_SEARCH_TEXT: Final = f"""
    with {READABLE}, q as materialized ({_QUESTION_TERMS}), rarest as (
        select * from (
            select q.*, row_number() over (partition by namespace order by idf desc, term_id) as nth
              from q) ranked
         where nth <= %(leading)s
    ), candidates as materialized (
        select p.chunk_id, sum(q.idf * p.impact) as likely
          from rarest q
          join readable a on a.namespace = q.namespace
         cross join lateral (
            select p.chunk_id, p.impact
              from postings p {{join}}
             where p.term_id = q.term_id and p.audience = a.id {{where}}
             order by p.impact desc, p.chunk_id
             limit (select greatest(%(depth)s / count(*), %(limit)s) from readable)
         ) p
         group by p.chunk_id
         order by likely desc, p.chunk_id
         limit %(candidates)s
    )
    select c.id, {_BM25}::float8 as score
      from candidates x
      join chunks c on c.id = x.chunk_id
     order by score desc, c.id
     limit %(limit)s
"""
SEARCH_TEXT: Final = _SEARCH_TEXT.format(join="", where="")
SEARCH_TEXT_FILTERED: Final = _SEARCH_TEXT.format(
    join="join chunks c on c.id = p.chunk_id", where=f"and {FILTER}"
)

SCORE_CHUNKS: Final = f"""
    with q as materialized ({_QUESTION_TERMS})
    select c.id,
           coalesce(1 - (c.embedding <=> %(embedding)s::halfvec), 0)::float8 as dense,
           coalesce({_BM25}, 0)::float8 as bm25
      from chunks c
     where c.id = any(%(ids)s) and {_READABLE_CHUNK} and {FILTER}
     order by c.id
"""

_PASSAGE: Final = """
    c.id, c.namespace, c.document_id as document, d.key as document_id, d.title, d.source,
    d.category, d.document_date::text as date, d.metadata, c.chunk_index, d.total_chunks,
    c.char_start, c.header, c.text, c.text_hash
"""

# The last word on access: the document's own list, beside the audience that the indexes go by.
FETCH_PASSAGES: Final = f"""
    select {_PASSAGE}
      from unnest(%(ids)s::bigint[]) with ordinality as asked (id, place)
      join chunks c on c.id = asked.id
      join documents d on d.id = c.document_id
     where {_READABLE_CHUNK} and d.acl && %(principals)s
     order by asked.place
"""

DOCUMENT_PASSAGES: Final = f"""
    select {_PASSAGE}
      from documents d
      join chunks c on c.document_id = d.id
     where d.namespace = any(%(namespaces)s) and d.key = %(key)s
       and {_READABLE_CHUNK} and d.acl && %(principals)s
     order by d.namespace, c.chunk_index
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

LINKS: Final = f"""
    with {READABLE}, given as materialized (
        select m.chunk_id, m.entity_id, m.subject, e.df, e.name, e.namespace
          from mentions m join entities e on e.id = m.entity_id
         where m.chunk_id = any(%(ids)s) and m.audience = any(array(select id from readable))
    ), wanted as materialized (
        select distinct entity_id, namespace from given
    ), near as materialized (
        select w.entity_id, w.namespace, a.other_id
          from wanted w
         cross join lateral (
            select a.other_id from alike a
             where a.entity_id = w.entity_id and exists (
                select from mentions seen
                 where seen.entity_id = a.other_id
                   and seen.audience = any(array(select id from readable)))
             order by a.cosine desc, a.other_id
             limit %(followed)s
         ) a
    ), ends as materialized (
        select w.entity_id, far.chunk_id, far.subject
          from (select entity_id, namespace from wanted
                 union select other_id, namespace from near) w
         cross join lateral (
            select m.chunk_id, m.subject
              from readable a
             cross join lateral (
                select m.chunk_id, m.subject, m.count
                  from mentions m
                 where m.entity_id = w.entity_id and m.audience = a.id
                 order by m.subject desc, m.count desc, m.chunk_id
                 limit %(fanout)s
             ) m
             where a.namespace = w.namespace
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
     where case when far.subject or g.subject then far.subject <> g.subject
                else g.df <= %(max_df)s end
    union
    select g.chunk_id, far.chunk_id, o.id, o.name, o.df, 'alike'
      from given g
      join near n on n.entity_id = g.entity_id
      join ends far on far.entity_id = n.other_id and far.subject and far.chunk_id <> g.chunk_id
      join entities o on o.id = n.other_id
     where not g.subject and not exists (
        select from given own
         where own.chunk_id = g.chunk_id and own.entity_id = n.other_id)
     order by source, target, entity, kind
"""
