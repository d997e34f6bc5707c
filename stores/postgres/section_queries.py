"""The statements of two-tier search."""

from __future__ import annotations

from typing import Final

from .queries import FILTER, READABLE_IDS

__all__: list[str] = []

# A section is meant when its document is; the document stands in for the chunk `c` of the filter.
_SECTION_MEANT: Final = f"""
    (%(category)s::text[] is null and %(date_from)s::date is null and %(date_to)s::date is null
     and %(metadata)s::jsonb is null and %(exclude)s::text[] is null
     or exists (
        select from (select id as document_id, category, document_date
                       from documents where id = s.document_id) c
         where {FILTER}))
"""

COUNT_SECTIONS: Final = f"""
    select count(*) as held
      from (select from sections s where s.audience = any{READABLE_IDS} and {_SECTION_MEANT}
             limit %(most)s) found
"""

SEARCH_SECTIONS_EXACT: Final = f"""
    with matching as materialized (
        select s.id, s.document_id as document, s.span_start, s.span_end,
               (1 - (s.embedding <=> %(embedding)s::halfvec))::float8 as score
          from sections s
         where s.audience = any{READABLE_IDS} and {_SECTION_MEANT}
    )
    select * from matching order by score desc, id limit %(limit)s
"""

# As for chunks, the sum keeps the planner on the vectors' index.
SEARCH_SECTIONS: Final = f"""
    with nearest as materialized (
        select s.id, s.document_id as document, s.span_start, s.span_end,
               s.embedding <=> %(embedding)s::halfvec as distance
          from sections s
         where s.audience + 0 = any{READABLE_IDS} and {_SECTION_MEANT}
         order by distance
         limit %(limit)s
    )
    select id, document, span_start, span_end, (1 - distance)::float8 as score
      from nearest order by score desc, id
"""

# The documents without sections, by the partial index that holds only them.
_UNSECTIONED: Final = f"""
    (select c.document_id, c.total_chunks
       from (select id as document_id, category, document_date, total_chunks
               from documents
              where sections = 0 and total_chunks > 0 and audience = any{READABLE_IDS}) c
      where {FILTER})
"""

COUNT_UNSECTIONED: Final = f"""
    select coalesce(sum(total_chunks), 0)::bigint as held
      from (select u.total_chunks from {_UNSECTIONED} u limit %(most)s) found
"""

_INSIDE: Final = f"""
    select c.id, c.embedding <=> %(embedding)s::halfvec as distance
      from sections s
      join chunks c on c.document_id = s.document_id
       and c.chunk_index between s.span_start and s.span_end
     where s.id = any(%(sections)s) and s.audience = any{READABLE_IDS}
       and c.audience = any{READABLE_IDS} and {FILTER}
"""

# `union` also joins what two sections share.
_SEARCH_SPANS: Final = f"""
    with outside as materialized ({{outside}}), matching as (
        {_INSIDE} union select id, distance from outside
    )
    select id, (1 - distance)::float8 as score
      from matching order by score desc, id limit %(limit)s
"""

SEARCH_SPANS_ALONE: Final = f"""
    with matching as ({_INSIDE})
    select distinct id, (1 - distance)::float8 as score
      from matching order by score desc, id limit %(limit)s
"""

SEARCH_SPANS_EXACT: Final = _SEARCH_SPANS.format(
    outside=f"""
        select c.id, c.embedding <=> %(embedding)s::halfvec as distance
          from {_UNSECTIONED} u join chunks c on c.document_id = u.document_id
         where c.audience = any{READABLE_IDS}
    """
)

# The document of each chunk is looked up as the vectors' index comes to it: a join could be turned,
# and `(select …) = 0` would pass for so rare that the planner leaves the index for all the chunks.
SEARCH_SPANS: Final = _SEARCH_SPANS.format(
    outside=f"""
        select c.id, c.embedding <=> %(embedding)s::halfvec as distance
          from chunks c
         where c.audience + 0 = any{READABLE_IDS} and {FILTER}
           and (select d.sections = 0 from documents d where d.id = c.document_id)
         order by distance
         limit %(limit)s
    """
)

UNSECTIONED_DOCUMENTS: Final = """
    select count(*) as held
      from audiences a join documents d on d.audience = a.id and d.sections = 0
     where a.namespace = any(%(namespaces)s) and d.total_chunks > 0
"""
