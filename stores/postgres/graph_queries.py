"""The statements that walk the graph and lead from it to passages."""

from __future__ import annotations

from functools import cache
from typing import Final, LiteralString

from .queries import READABLE, READABLE_ENTITY, READABLE_IDS

__all__ = ["MENTIONS_OF", "READ_ENTITIES", "RELATIONSHIPS_AMONG", "expand_query"]

_ENTITY: Final = "e.id, e.name, e.type, e.df"

READ_ENTITIES: Final = f"""
    select {_ENTITY} from entities e where e.id = any(%(ids)s) and {READABLE_ENTITY} order by e.id
"""

# A probe reads the `fanout` heaviest relations of one node in one audience. What it left unread
# stands behind its last row; the foremost of those last rows is told, for the caller to judge.
_EXPAND: Final = f"""
    with {READABLE}, frontier as materialized (
        select f.id, f.score * %(ratio)s as score, n.namespace
          from unnest(%(ids)s::bigint[], %(scores)s::float8[]) as f (id, score)
          join entities n on n.id = f.id
    ), probed as materialized ({{probes}}), step as (
        select distinct on (p.other) p.*
          from probed p
         order by p.other, p.score desc, p.parent, p.type, p.forward desc
    ), cut as (
        select score, other from probed where place = %(fanout)s order by score desc, other limit 1
    )
    select best.*, cut.score as cut_score, cut.other as cut_id
      from (select 1) always
      left join cut on true
      left join (
        select {_ENTITY}, kept.parent, kept.type as relation, kept.weight::float8 as weight,
               kept.forward, kept.score
          from (
            select step.*
              from step
              left join unnest(%(seeds)s::bigint[], %(worth)s::float8[]) as s (id, score)
                on s.id = step.other
             where step.score > coalesce(s.score, 0) and step.score >= %(floor)s
             order by step.score desc, step.other
             limit %(limit)s
          ) kept
          join entities e on e.id = kept.other
         where {READABLE_ENTITY}
      ) best on true
     order by best.score desc, best.id
"""

# A hair below the bound, since a weight is kept in single precision.
_PROBE: Final = """
    select r.*, f.id as parent, f.score * r.weight * {factor} as score
      from frontier f
      join readable a on a.namespace = f.namespace
      {types}
     cross join lateral (
        select r.*, row_number() over () as place
          from (
            select r.other, r.type, r.weight, r.forward
              from edges r
             where r.node = f.id and r.audience = a.id
               and r.weight >= least(
                   %(floor)s * 0.999999 / greatest(f.score * {factor}, 1e-300), 2)::real
               {kind} {period}
             order by r.weight desc, r.other
             limit %(fanout)s
          ) r
     ) r
     where f.score * {factor} >= %(floor)s * 0.999999
"""
_PERIOD: Final = """
    and (%(date_from)s::date is null or r.last_seen >= %(date_from)s)
    and (%(date_to)s::date is null or r.first_seen <= %(date_to)s)
    and r.first_seen is not null and r.last_seen is not null
"""


@cache
def expand_query(*, named: bool, others: bool, dated: bool) -> LiteralString:
    """One hop along the types that have a weight of their own, along all others, or both.

    With type weights the heaviest relations of a node are not its best ones, so each named type is
    probed for itself.
    """
    period: LiteralString = _PERIOD if dated else ""
    probes: list[LiteralString] = []
    if named:
        probes.append(
            _PROBE.format(
                factor="t.factor",
                types="cross join unnest(%(types)s::text[], %(factors)s::float8[])"
                " as t (type, factor)",
                kind="and r.type = t.type",
                period=period,
            )
        )
    if others:
        probes.append(
            _PROBE.format(
                factor="%(default)s::float8",
                types="",
                kind="and r.type <> all(%(closed)s::text[])",
                period=period,
            )
        )
    return _EXPAND.format(probes=" union all ".join(probes))


# The best mentions of the weightiest entities make candidates, entity after entity until there are
# enough; what each candidate weighs in full is then read off the chunk itself.
MENTIONS_OF: Final = f"""
    with {READABLE}, asked as materialized (
        select w.id, w.weight, n.namespace
          from unnest(%(ids)s::bigint[], %(weights)s::float8[]) as w (id, weight)
          join entities n on n.id = w.id
    ), drawn as materialized (
        select m.chunk_id, e.weight
          from (select * from asked order by weight desc, id) e
         cross join lateral (
            select m.chunk_id
              from readable a
             cross join lateral (
                select m.chunk_id
                  from mentions m
                 where m.entity_id = e.id and m.audience = a.id
                 order by m.subject desc, m.count desc, m.chunk_id
                 limit (select greatest(%(depth)s / count(*), 25) from readable)
             ) m
             where a.namespace = e.namespace
         ) m
         limit %(drawn)s
    ), candidates as materialized (
        select chunk_id, sum(weight) as likely
          from drawn
         group by chunk_id
         order by likely desc, chunk_id
         limit %(candidates)s
    ), found as materialized (
        select m.chunk_id, m.entity_id, m.count, m.subject, e.weight
          from (select chunk_id from candidates
                 union select unnest(%(always)s::bigint[])) x
          join mentions m on m.chunk_id = x.chunk_id
          join asked e on e.id = m.entity_id
         where m.audience = any(array(select id from readable))
    ), weighed as (
        select f.*, sum(f.weight) over (partition by f.chunk_id) as total from found f
    ), ranked as (
        select w.*, dense_rank() over (order by w.total desc, w.chunk_id) as place from weighed w
    )
    select r.entity_id as entity, r.chunk_id as chunk, r.count, r.subject,
           c.entity_count as chunk_entities
      from ranked r
      join chunks c on c.id = r.chunk_id
     where r.place <= %(limit)s or r.chunk_id = any(%(always)s)
     order by r.chunk_id, r.entity_id
"""

RELATIONSHIPS_AMONG: Final = f"""
    select r.id, r.source, r.target, r.type, r.weight::float8, r.confidence::float8, r.count,
           array(select v.chunk_id from evidence v join chunks c on c.id = v.chunk_id
                  where v.relationship_id = r.id and c.audience = any{READABLE_IDS}
                  order by v.chunk_id limit 20) as evidence
      from relationships r
     where r.source = any(%(ids)s) and r.target = any(%(ids)s) and exists (
        select from edges seen
         where seen.relationship_id = r.id and seen.audience = any{READABLE_IDS})
     order by r.weight desc, r.id
     limit %(limit)s
"""
