"""The statements that weigh relations: those that a document touches, or all of a namespace.

`relation_weight` is made by the migrations; stores/weights.py has its formula and source.
"""

from __future__ import annotations

from typing import Final

__all__ = ["CO_OCCURRENCES", "SETTLE", "SIZE", "WEIGH", "WEIGHED"]

_PRESENT: Final = """
    select r.id, relation_weight(r.type, r.confidence, r.count, s.df, t.df, n.chunks) as weight
      from relationships r
      join entities s on s.id = r.source
      join entities t on t.id = r.target
      join namespaces n on n.name = r.namespace
"""
_CONCERNED: Final = """
    (select unnest(%(before)s::bigint[])
     union
     select v.relationship_id
       from documents d
       join chunks c on c.document_id = d.id
       join evidence v on v.chunk_id = c.id
      where d.namespace = %(namespace)s and d.key = %(key)s)
"""

SETTLE: Final = (
    f"""
    with present as ({_PRESENT} where r.id in {_CONCERNED})
    update relationships r set weight = present.weight
      from present where r.id = present.id and r.weight <> present.weight
    """,
    f"""
    update edges g set weight = r.weight, first_seen = r.first_seen, last_seen = r.last_seen
      from relationships r
     where r.id in {_CONCERNED}
       and g.relationship_id = r.id
       and (g.weight, g.first_seen, g.last_seen)
           is distinct from (r.weight, r.first_seen, r.last_seen)
    """,
)
"""Weigh the relations that a document bears out, or did `before`; their edges follow.

Last in a writer's transaction, when the frequencies and sizes are those it leaves.
"""

SIZE: Final = "select chunks, weighed_chunks from namespaces where name = %(namespace)s"

CO_OCCURRENCES: Final = """
    select id from relationships
     where namespace = %(namespace)s and type = %(type)s and id > %(after)s
     order by id limit %(limit)s
"""

WEIGH: Final = (
    # As for writers: nobody may register a copy between what it would hear of and the notes.
    "lock table documents in row exclusive mode",
    f"""
    with present as ({_PRESENT} where r.id = any(%(ids)s)), changed as (
        update relationships r set weight = present.weight, updated_at = now()
          from present where r.id = present.id and r.weight <> present.weight
        returning r.id, r.weight
    ), seen as (
        update edges g set weight = changed.weight
          from changed where g.relationship_id = changed.id
    ), noted as (
        insert into outbox (kind, ref)
        select 'relationship', id from changed where exists (select from projections)
    ), risen as (
        update namespaces set version = version + 1
         where name = %(namespace)s and exists (select from changed)
    )
    select count(*) as changed from changed
    """,
)
"""Weigh these relations by what is there now; the last statement tells how many changed."""

WEIGHED: Final = """
    update namespaces set weighed_chunks = %(chunks)s where name = %(namespace)s
"""
