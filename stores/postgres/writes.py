"""The statements that write one document, run in order inside one transaction.

They are sent without waiting for one another, so none needs a value that another returns: rows
find each other by namespace, key, index and normalised name. The advisory lock makes writers of
one namespace take turns, which keeps its statistics exact and free of deadlocks.
"""

from __future__ import annotations

from typing import Final

__all__ = ["ENSURE_NAMESPACE", "LOCK", "REMOVE", "TOUCHED", "WRITE"]

_DOCUMENT: Final = "(select id from documents where namespace = %(namespace)s and key = %(key)s)"
_AUDIENCE: Final = """
    (select id from audiences where namespace = %(namespace)s and principals = %(readers)s)
"""

LOCK: Final = "select pg_advisory_xact_lock(hashtextextended('clew/' || %(namespace)s, 0))"

ENSURE_NAMESPACE: Final = """
    insert into namespaces (name, language) values (%(namespace)s, %(language)s::regconfig)
    on conflict (name) do nothing
"""

TOUCHED: Final = f"""
    select {_DOCUMENT} as document,
           array(select distinct m.entity_id
                   from chunks c join mentions m on m.chunk_id = c.id
                  where c.document_id = {_DOCUMENT}) as entities,
           array(select distinct v.relationship_id
                   from chunks c join evidence v on v.chunk_id = c.id
                  where c.document_id = {_DOCUMENT}) as relationships
"""
"""What will lose a source of its counts; asked before the cascade forgets it."""

REMOVE: Final = (
    f"""
    update terms t set df = t.df - gone.df
      from (select p.term_id, count(*) as df
              from chunks c join postings p on p.chunk_id = c.id
             where c.document_id = {_DOCUMENT} group by p.term_id) gone
     where t.id = gone.term_id
    """,
    f"""
    with gone as (
        select d.audience, count(c.id) as chunks, coalesce(sum(c.term_count), 0) as terms
          from documents d left join chunks c on c.document_id = d.id
         where d.id = {_DOCUMENT} group by d.audience
    ), left_over as (
        update audiences a set chunks = a.chunks - gone.chunks from gone where a.id = gone.audience
    )
    update namespaces n
       set documents = n.documents - 1, chunks = n.chunks - gone.chunks,
           terms = n.terms - gone.terms, version = n.version + 1
      from gone where n.name = %(namespace)s
    """,
    "delete from documents where namespace = %(namespace)s and key = %(key)s",
    "delete from terms where namespace = %(namespace)s and df = 0",
    """
    with gone as (
        delete from relationships r
         where r.id = any(%(relationships)s)
           and not exists (select from evidence v where v.relationship_id = r.id)
        returning r.id
    )
    update namespaces set relationships = relationships - (select count(*) from gone)
     where name = %(namespace)s
    """,
    """
    with kept as (
        select v.relationship_id as id, count(*) as count, max(v.confidence) as confidence,
               min(c.document_date) as first_seen, max(c.document_date) as last_seen
          from evidence v join chunks c on c.id = v.chunk_id
         where v.relationship_id = any(%(relationships)s)
         group by v.relationship_id
    )
    update relationships r
       set count = kept.count, confidence = kept.confidence, updated_at = now(),
           first_seen = kept.first_seen, last_seen = kept.last_seen
      from kept where r.id = kept.id
    """,
    """
    delete from edges g
     where g.relationship_id = any(%(relationships)s) and not exists (
        select from evidence v join chunks c on c.id = v.chunk_id
         where v.relationship_id = g.relationship_id and c.audience = g.audience)
    """,
    """
    with gone as (
        delete from entities e
         where e.id = any(%(entities)s)
           and not exists (select from mentions m where m.entity_id = e.id)
        returning e.id, e.words
    ), lost as (
        delete from name_words w
         using (select distinct unnest(words) as word from gone) lost
         where w.namespace = %(namespace)s and w.word = lost.word
           and not exists (
               select from entities e
                where e.namespace = %(namespace)s and e.words @> array[lost.word]
                  and e.id not in (select id from gone))
    )
    update namespaces set entities = entities - (select count(*) from gone)
     where name = %(namespace)s
    """,
    """
    update entities e set df = kept.df
      from (select entity_id, count(*) as df from mentions
             where entity_id = any(%(entities)s) group by entity_id) kept
     where e.id = kept.entity_id and e.df <> kept.df
    """,
    """
    with gone as (
        delete from audiences a
         where a.namespace = %(namespace)s and a.chunks = 0
           and not exists (select from documents d where d.audience = a.id)
        returning a.id
    )
    insert into outbox (kind, ref)
    select 'audience', id from gone where exists (select from projections)
    """,
    """
    insert into outbox (kind, ref)
    select kind, ref
      from (select 'document' as kind, %(document)s::bigint as ref
            union all select 'entity', unnest(%(entities)s::bigint[])
            union all select 'relationship', unnest(%(relationships)s::bigint[])) changed
     where exists (select from projections)
    """,
)
"""Take a document out, with every entity and relation that only it bore out.

What is left of other relations is counted here and weighed by `weight_queries.SETTLE`.
"""

WRITE: Final = (
    """
    insert into audiences (namespace, principals) values (%(namespace)s, %(readers)s)
    on conflict (namespace, principals) do nothing
    """,
    f"""
    insert into documents (namespace, key, title, source, category, document_date, metadata, acl,
                           audience, content_hash, total_chunks, sections, enrichment)
    values (%(namespace)s, %(key)s, %(title)s, %(source)s, %(category)s, %(date)s::date,
            %(metadata)s, %(acl)s, {_AUDIENCE}, %(content_hash)s, %(total_chunks)s,
            %(total_sections)s, %(enrichment)s)
    """,
    f"""
    insert into chunks (document_id, namespace, audience, category, document_date, chunk_index,
                        char_start, header, text, text_hash, tokens, language, embedding)
    select {_DOCUMENT}, %(namespace)s, {_AUDIENCE}, %(category)s, %(date)s::date, x.index, x.start,
           x.header, x.text, encode(sha256(convert_to(x.text, 'UTF8')), 'hex'), x.tokens,
           n.language, x.embedding::halfvec
      from jsonb_to_recordset(%(chunks)s) as x (index int, start int, header text, text text,
                                                tokens int, embedding text)
      join namespaces n on n.name = %(namespace)s
    """,
    f"""
    insert into sections (document_id, namespace, audience, section_index, span_start, span_end,
                          text, embedding)
    select {_DOCUMENT}, %(namespace)s, {_AUDIENCE}, x.index, x.span_start, x.span_end, x.text,
           x.embedding::halfvec
      from jsonb_to_recordset(%(sections)s) as x (index int, span_start int, span_end int,
                                                  text text, embedding text)
    """,
    f"""
    with found as materialized (
        select c.id as chunk, w.lexeme, cardinality(w.positions) as tf,
               sum(cardinality(w.positions)) over (partition by c.id) as length
          from chunks c cross join lateral unnest(c.search_terms) as w
         where c.document_id = {_DOCUMENT}
    ), known as (
        insert into terms (namespace, term, df)
        select %(namespace)s, lexeme, count(*) from found group by lexeme
        on conflict (namespace, term) do update set df = terms.df + excluded.df
        returning id, term
    ), posted as (
        insert into postings (chunk_id, term_id, tf, audience, impact)
        select found.chunk, known.id, found.tf, {_AUDIENCE},
               found.tf * 2.2 / (found.tf + 1.2 * (0.25 + 0.75 * found.length / 128.0))
          from found join known on known.term = found.lexeme
    ), counted as (
        update chunks c set term_count = total.terms
          from (select chunk, sum(tf) as terms from found group by chunk) total
         where c.id = total.chunk
    ), readable as (
        update audiences set chunks = chunks + %(total_chunks)s where id = {_AUDIENCE}
    )
    update namespaces
       set documents = documents + 1, chunks = chunks + %(total_chunks)s,
           terms = terms + coalesce((select sum(tf) from found), 0), version = version + 1
     where name = %(namespace)s
    """,
    """
    with put as (
        insert into entities (namespace, name, norm, type, method, confidence, properties, df,
                              embedding)
        select %(namespace)s, x.name, x.norm, x.type, x.method, x.confidence, x.properties,
               x.df, x.embedding::halfvec
          from jsonb_to_recordset(%(entities)s) as x (
               name text, norm text, type text, method text, confidence real, properties jsonb,
               df int, embedding text)
        on conflict (namespace, norm, type) do update
           set confidence = greatest(entities.confidence, excluded.confidence),
               properties = entities.properties || excluded.properties,
               df = entities.df + excluded.df,
               embedding = coalesce(entities.embedding, excluded.embedding)
        returning xmax = 0 as created
    )
    update namespaces set entities = entities + (select count(*) from put where created)
     where name = %(namespace)s
    """,
    """
    insert into name_words (namespace, word, deletes)
    select %(namespace)s, x.word, x.deletes
      from jsonb_to_recordset(%(words)s) as x (word text, deletes text[])
    on conflict do nothing
    """,
    f"""
    insert into aliases (entity_id, document_id, namespace, norm, audience)
    select e.id, {_DOCUMENT}, %(namespace)s, x.alias, {_AUDIENCE}
      from jsonb_to_recordset(%(aliases)s) as x (alias text, norm text, type text)
      join entities e on e.namespace = %(namespace)s and e.norm = x.norm and e.type = x.type
    on conflict do nothing
    """,
    f"""
    with put as (
        insert into mentions (chunk_id, entity_id, audience, count, subject, offsets)
        select c.id, e.id, {_AUDIENCE}, x.count, x.subject, x.offsets
          from jsonb_to_recordset(%(mentions)s) as x (
               index int, norm text, type text, count int, offsets int[], subject boolean)
          join entities e on e.namespace = %(namespace)s and e.norm = x.norm and e.type = x.type
          join chunks c on c.document_id = {_DOCUMENT} and c.chunk_index = x.index
        returning chunk_id
    )
    update chunks c set entity_count = total.entities
      from (select chunk_id, count(*) as entities from put group by chunk_id) total
     where c.id = total.chunk_id
    """,
    f"""
    with drafted as materialized (
        select s.id as source, t.id as target, s.df as source_df, t.df as target_df,
               x.type, x.places, x.confidences, cardinality(x.places) as count,
               (select max(c) from unnest(x.confidences) as c) as confidence
          from jsonb_to_recordset(%(relationships)s) as x (
               source_norm text, source_type text, target_norm text, target_type text,
               type text, places int[], confidences real[])
          join entities s on s.namespace = %(namespace)s and s.norm = x.source_norm
                         and s.type = x.source_type
          join entities t on t.namespace = %(namespace)s and t.norm = x.target_norm
                         and t.type = x.target_type
    ), put as (
        insert into relationships as r (namespace, source, target, type, weight, confidence, count,
                                        first_seen, last_seen)
        select n.name, source, target, type,
               relation_weight(type, confidence, count, source_df, target_df, n.chunks),
               confidence, count, %(date)s::date, %(date)s::date
          from drafted join namespaces n on n.name = %(namespace)s
        on conflict (source, target, type) do update
           set count = r.count + excluded.count,
               confidence = greatest(r.confidence, excluded.confidence),
               first_seen = least(r.first_seen, excluded.first_seen),
               last_seen = greatest(r.last_seen, excluded.last_seen),
               updated_at = now()
        returning id, source, target, type, weight, first_seen, last_seen, xmax = 0 as created
    ), proved as (
        insert into evidence (relationship_id, chunk_id, confidence)
        select put.id, c.id, found.confidence
          from put
          join drafted d on (d.source, d.target, d.type) = (put.source, put.target, put.type)
         cross join unnest(d.places, d.confidences) as found (place, confidence)
          join chunks c on c.document_id = {_DOCUMENT} and c.chunk_index = found.place
    ), seen as (
        insert into edges (relationship_id, audience, forward, node, other, type, weight,
                           first_seen, last_seen)
        select id, {_AUDIENCE}, way.forward, case when way.forward then source else target end,
               case when way.forward then target else source end, type, weight, first_seen,
               last_seen
          from put cross join (values (true), (false)) as way (forward)
        on conflict (relationship_id, audience, forward) do nothing
    )
    update namespaces set relationships = relationships + (select count(*) from put where created)
     where name = %(namespace)s
    """,
    f"""
    insert into outbox (kind, ref)
    select kind, ref
      from (select 'audience' as kind, {_AUDIENCE}::bigint as ref
            union all select 'document', {_DOCUMENT}
            union all select 'entity', m.entity_id
              from chunks c join mentions m on m.chunk_id = c.id where c.document_id = {_DOCUMENT}
             group by m.entity_id
            union all select 'relationship', v.relationship_id
              from chunks c join evidence v on v.chunk_id = c.id where c.document_id = {_DOCUMENT}
             group by v.relationship_id) changed
     where exists (select from projections)
    """,
)
"""Put a document in: its text, what search needs of it, what was found in it.

New relations are weighed here, known ones by `weight_queries.SETTLE`.
"""
