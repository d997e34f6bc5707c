"""The statements that find entities by name and meaning."""

from __future__ import annotations

from typing import Final

from .queries import READABLE_ENTITY, READABLE_IDS

__all__: list[str] = []

_ENTITY: Final = "e.id, e.name, e.type, e.df"

_SEEN: Final = f"""
    (select true from mentions seen
      where seen.entity_id = e.id and seen.audience = any{READABLE_IDS} limit 1)
"""
"""A readable entity, asked in the order of the answer and so a few times only: the limit keeps the
planner from making a join of it, which would also keep it off the vectors' index."""

FIND_EXACT: Final = f"""
    select e.norm as query, {_ENTITY}, 'exact' as via
      from entities e
     where e.norm = any(%(names)s) and {READABLE_ENTITY}
    union
    select a.norm, {_ENTITY}, 'alias'
      from aliases a join entities e on e.id = a.entity_id
     where a.norm = any(%(names)s) and a.norm <> e.norm
       and a.namespace = any(%(namespaces)s) and a.audience = any{READABLE_IDS}
       and {READABLE_ENTITY}
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

FIND_SPELLINGS: Final = f"""
    select asked.place, found.*
      from unnest(%(places)s::int[], %(spellings)s::jsonb[]) as asked (place, spellings)
     cross join lateral (
        select {_ENTITY}
          from entities e
         where e.norm = any(array(select jsonb_array_elements_text(asked.spellings)))
           and {READABLE_ENTITY}
         order by e.df desc, e.id
         limit %(limit)s
     ) found
     order by asked.place, found.df desc, found.id
"""

FIND_ALL_WORDS: Final = f"""
    select asked.place, found.*
      from unnest(%(places)s::int[], %(words)s::jsonb[]) as asked (place, words)
     cross join lateral (
        select {_ENTITY}, e.length
          from (
            select {_ENTITY}, cardinality(e.words) as length
              from entities e
             where e.words @> array(select jsonb_array_elements_text(asked.words))
               and e.namespace = any(%(namespaces)s)
             order by length, e.df desc, e.id
            offset 0
          ) e
         where {_SEEN}
         order by e.length, e.df desc, e.id
         limit %(limit)s
     ) found
     order by asked.place, found.length, found.df desc, found.id
"""

COUNT_ENTITIES: Final = """
    select coalesce(sum(n.entities), 0)::bigint as entities
      from namespaces n where n.name = any(%(namespaces)s)
"""

FIND_NEAREST: Final = f"""
    select asked.place, found.*
      from unnest(%(embeddings)s::text[]::halfvec[]) with ordinality
           as asked (embedding, place)
     cross join lateral (
        select {_ENTITY}, (1 - (e.embedding <=> asked.embedding))::float8 as cosine
          from entities e
         where e.namespace = any(%(namespaces)s) and {_SEEN}
         order by e.embedding <=> asked.embedding
         limit %(limit)s
     ) found
     where found.cosine >= %(min_cosine)s
     order by asked.place, found.cosine desc, found.id
"""
# The inner limit is never reached; it keeps the planner on the index by namespace.
FIND_NEAREST_EXACT: Final = f"""
    select asked.place, found.*
      from unnest(%(embeddings)s::text[]::halfvec[]) with ordinality
           as asked (embedding, place)
     cross join lateral (
        select {_ENTITY}, (1 - e.distance)::float8 as cosine
          from (
            select {_ENTITY}, e.embedding <=> asked.embedding as distance
              from unnest(%(namespaces)s::text[]) as n (name)
             cross join lateral (
                select e.* from entities e
                 where e.namespace = n.name and e.embedding is not null
                 limit %(most)s
             ) e
             order by distance, e.id
            offset 0
          ) e
         where {_SEEN}
         order by e.distance, e.id
         limit %(limit)s
     ) found
     where found.cosine >= %(min_cosine)s
     order by asked.place, found.cosine desc, found.id
"""

SIMILARITY: Final = f"""
    select e.id, (1 - (e.embedding <=> %(embedding)s::halfvec))::float8 as score
      from entities e
     where e.id = any(%(ids)s) and e.embedding is not null and {READABLE_ENTITY}
     order by score desc, e.id
"""

MENTIONS_IN: Final = f"""
    select m.chunk_id as chunk, m.count, m.subject, {_ENTITY}
      from mentions m join entities e on e.id = m.entity_id
     where m.chunk_id = any(%(ids)s) and m.audience = any{READABLE_IDS}
     order by m.chunk_id, m.subject desc, m.count desc, e.id
"""

NEAR_CHUNKS: Final = f"""
    select given.id as chunk, 0 as count, false as subject, found.id, found.name, found.type,
           found.df
      from chunks given
     cross join lateral (
        select {_ENTITY}, (1 - (e.embedding <=> given.embedding))::float8 as cosine
          from entities e
         where e.namespace = given.namespace and {_SEEN}
         order by e.embedding <=> given.embedding
         limit %(limit)s
     ) found
     where given.id = any(%(ids)s) and given.audience = any{READABLE_IDS}
       and found.cosine >= %(min_cosine)s
     order by given.id, found.cosine desc, found.id
"""
NEAR_CHUNKS_EXACT: Final = f"""
    select given.id as chunk, 0 as count, false as subject, found.id, found.name, found.type,
           found.df
      from chunks given
     cross join lateral (
        select {_ENTITY}, (1 - e.distance)::float8 as cosine
          from (
            select {_ENTITY}, e.embedding <=> given.embedding as distance
              from (
                select e.* from entities e
                 where e.namespace = given.namespace and e.embedding is not null
                 limit %(most)s
              ) e
             order by distance, e.id
            offset 0
          ) e
         where {_SEEN}
         order by e.distance, e.id
         limit %(limit)s
     ) found
     where given.id = any(%(ids)s) and given.audience = any{READABLE_IDS}
       and found.cosine >= %(min_cosine)s
     order by given.id, found.cosine desc, found.id
"""

STATS: Final = """
    select n.name as namespace, n.version, n.documents, n.chunks, n.entities, n.relationships
      from namespaces n where n.name = any(%(namespaces)s) order by n.name
"""
