"""The statements that find entities whose names mean nearly the same."""

from __future__ import annotations

from typing import Final

__all__ = ["COMPARE", "COMPARE_EXACT", "SIZE"]

SIZE: Final = """
    select n.entities,
           (select c.reltuples from pg_class c where c.oid = 'entities'::regclass)::float8 as stored
      from namespaces n where n.name = %(namespace)s
"""

_COMPARE: Final = """
    with fresh as materialized (
        select e.id, e.embedding
          from entities e
         where e.namespace = %(namespace)s and e.embedding is not null
           and e.id > (select compared from namespaces where name = %(namespace)s)
         order by e.id
         limit %(limit)s
    ), near as materialized (
        select f.id, o.id as other, (1 - o.distance)::real as cosine
          from fresh f
         cross join lateral ({nearest}) o
         where o.id <> f.id and 1 - o.distance >= %(alike)s
    ), put as (
        insert into alike (entity_id, other_id, cosine)
        select id, other, cosine from near union select other, id, cosine from near
        on conflict (entity_id, other_id) do nothing
    ), passed as (
        update namespaces
           set compared = greatest(compared, (select max(id) from fresh)), version = version + 1
         where name = %(namespace)s and exists (select from fresh)
    )
    select count(*) as names from fresh
"""
# One more than wanted, since a name is nearest to itself.
COMPARE: Final = _COMPARE.format(
    nearest="""
            select e.id, e.embedding <=> f.embedding as distance
              from entities e
             where e.namespace = %(namespace)s
             order by e.embedding <=> f.embedding
             limit %(nearest)s + 1
    """
)
COMPARE_EXACT: Final = _COMPARE.format(
    nearest="""
            select e.id, e.distance
              from (
                select e.id, e.embedding <=> f.embedding as distance
                  from entities e
                 where e.namespace = %(namespace)s and e.embedding is not null
                offset 0
              ) e
             order by e.id <> f.id, e.distance, e.id
             limit %(nearest)s + 1
    """
)
