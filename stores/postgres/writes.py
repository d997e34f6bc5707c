"""The statements that write one document, run in order inside one transaction.

They are sent without waiting for one another, so none needs a value that another returns: rows
find each other by namespace, key, index and normalised name. The advisory lock makes writers of
one namespace take turns, which keeps its statistics exact and free of deadlocks.
"""

from __future__ import annotations

from typing import Final

__all__ = ["ENSURE_NAMESPACE", "LOCK", "REMOVE", "TOUCHED", "WRITE"]

_DOCUMENT: Final = "(select id from documents where namespace = %(namespace)s and key = %(key)s)"
_WEIGHT: Final = "(confidence * count / (count + 1))::real"
"""Of a relation: sure when it is certain and often seen; in (0, 1]."""

LOCK: Final = "select pg_advisory_xact_lock(hashtextextended('clew/' || %(namespace)s, 0))"

ENSURE_NAMESPACE: Final = """
    insert into namespaces (name, language) values (%(namespace)s, %(language)s::regconfig)
    on conflict (name) do nothing
"""

TOUCHED: Final = f"""
    select array(select distinct m.entity_id
                   from chunks c join mentions m on m.chunk_id = c.id
                  where c.document_id = {_DOCUMENT}) as entities,
           array(select distinct v.relationship_id
                   from chunks c join evidence v on v.chunk_id = c.id
                  where c.document_id = {_DOCUMENT}) as relationships
"""
"""What will lose a source of its counts and access list; asked before the cascade forgets it."""

REMOVE: Final = (
    f"""
    update terms t set df = t.df - gone.df
      from (select p.term_id, count(*) as df
              from chunks c join postings p on p.chunk_id = c.id
             where c.document_id = {_DOCUMENT} group by p.term_id) gone
     where t.id = gone.term_id
    """,
    f"""
    update namespaces n
       set documents = n.documents - gone.documents, chunks = n.chunks - gone.chunks,
           terms = n.terms - gone.terms
      from (select count(distinct d.id) as documents, count(c.id) as chunks,
                   coalesce(sum(c.term_count), 0) as terms
              from documents d left join chunks c on c.document_id = d.id
             where d.id = {_DOCUMENT}) gone
     where n.name = %(namespace)s
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
        select v.relationship_id as id, count(distinct v.chunk_id) as count,
               array_agg(distinct p order by p) as acl,
               min(c.document_date) as first_seen, max(c.document_date) as last_seen
          from evidence v join chunks c on c.id = v.chunk_id cross join unnest(c.acl) as p
         where v.relationship_id = any(%(relationships)s)
         group by v.relationship_id
    )
    update relationships r
       set count = kept.count, acl = kept.acl, updated_at = now(),
           first_seen = kept.first_seen, last_seen = kept.last_seen,
           weight = (r.confidence * kept.count / (kept.count + 1))::real
      from kept where r.id = kept.id
    """,
    """
    with gone as (
        delete from entities e
         where e.id = any(%(entities)s)
           and not exists (select from mentions m where m.entity_id = e.id)
        returning e.id, e.norm
    ), words as (
        delete from name_words w
         using (select distinct unnest(string_to_array(norm, ' ')) as word from gone) lost
         where w.namespace = %(namespace)s and w.word = lost.word
           and not exists (
               select from entities e
                where e.namespace = %(namespace)s and e.id not in (select id from gone)
                  and e.name_terms @@ plainto_tsquery('simple', lost.word)
                  and lost.word = any(string_to_array(e.norm, ' ')))
    )
    update namespaces set entities = entities - (select count(*) from gone)
     where name = %(namespace)s
    """,
    """
    with kept as (
        select m.entity_id as id, count(distinct m.chunk_id) as df,
               array_agg(distinct p order by p) as acl
          from mentions m cross join unnest(m.acl) as p
         where m.entity_id = any(%(entities)s)
         group by m.entity_id
    )
    update entities e set df = kept.df, acl = kept.acl from kept where e.id = kept.id
    """,
)
"""Take a document out, with every entity and relation that only it bore out."""

WRITE: Final = (
    """
    insert into documents (namespace, key, title, source, category, document_date, metadata, acl,
                           content_hash, total_chunks, enrichment)
    values (%(namespace)s, %(key)s, %(title)s, %(source)s, %(category)s, %(date)s::date,
            %(metadata)s, %(acl)s, %(content_hash)s, %(total_chunks)s, 'complete')
    """,
    f"""
    insert into chunks (document_id, namespace, acl, category, document_date, chunk_index,
                        char_start, header, text, text_hash, tokens, language, embedding)
    select {_DOCUMENT}, %(namespace)s, %(acl)s, %(category)s, %(date)s::date, x.index, x.start,
           x.header, x.text, encode(sha256(convert_to(x.text, 'UTF8')), 'hex'), x.tokens,
           n.language, x.embedding::halfvec
      from jsonb_to_recordset(%(chunks)s) as x (index int, start int, header text, text text,
                                                tokens int, embedding text)
      join namespaces n on n.name = %(namespace)s
    """,
    f"""
    with found as materialized (
        select c.id as chunk, w.lexeme, cardinality(w.positions) as tf
          from chunks c cross join lateral unnest(c.search_terms) as w
         where c.document_id = {_DOCUMENT}
    ), known as (
        insert into terms (namespace, term, df)
        select %(namespace)s, lexeme, count(*) from found group by lexeme
        on conflict (namespace, term) do update set df = terms.df + excluded.df
        returning id, term
    ), posted as (
        insert into postings (term_id, chunk_id, tf)
        select known.id, found.chunk, found.tf from found join known on known.term = found.lexeme
    ), counted as (
        update chunks c set term_count = total.terms
          from (select chunk, sum(tf) as terms from found group by chunk) total
         where c.id = total.chunk
    )
    update namespaces
       set documents = documents + 1, chunks = chunks + %(total_chunks)s,
           terms = terms + coalesce((select sum(tf) from found), 0)
     where name = %(namespace)s
    """,
    """
    with put as (
        insert into entities (namespace, name, norm, type, method, confidence, properties, acl, df,
                              embedding)
        select %(namespace)s, x.name, x.norm, x.type, x.method, x.confidence, x.properties,
               %(acl)s, x.df, x.embedding::halfvec
          from jsonb_to_recordset(%(entities)s) as x (
               name text, norm text, type text, method text, confidence real, properties jsonb,
               df int, embedding text)
        on conflict (namespace, norm, type) do update
           set confidence = greatest(entities.confidence, excluded.confidence),
               properties = entities.properties || excluded.properties,
               df = entities.df + excluded.df,
               embedding = coalesce(entities.embedding, excluded.embedding),
               acl = array(select distinct p from unnest(entities.acl || excluded.acl) as p
                            order by p)
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
    insert into aliases (entity_id, document_id, namespace, norm, acl)
    select e.id, {_DOCUMENT}, %(namespace)s, x.alias, %(acl)s
      from jsonb_to_recordset(%(aliases)s) as x (alias text, norm text, type text)
      join entities e on e.namespace = %(namespace)s and e.norm = x.norm and e.type = x.type
    on conflict do nothing
    """,
    f"""
    with put as (
        insert into mentions (entity_id, chunk_id, namespace, acl, count, offsets, subject)
        select e.id, c.id, %(namespace)s, %(acl)s, greatest(cardinality(x.offsets), 1), x.offsets,
               x.subject
          from jsonb_to_recordset(%(mentions)s) as x (
               index int, norm text, type text, offsets int[], subject boolean)
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
        select s.id as source, t.id as target, x.type, x.confidence, x.evidence
          from jsonb_to_recordset(%(relationships)s) as x (
               source_norm text, source_type text, target_norm text, target_type text,
               type text, confidence real, evidence int[])
          join entities s on s.namespace = %(namespace)s and s.norm = x.source_norm
                         and s.type = x.source_type
          join entities t on t.namespace = %(namespace)s and t.norm = x.target_norm
                         and t.type = x.target_type
    ), put as (
        insert into relationships as r (namespace, source, target, type, weight, confidence, count,
                                        acl, first_seen, last_seen)
        select %(namespace)s, source, target, type, {_WEIGHT}, confidence, count, %(acl)s,
               %(date)s::date, %(date)s::date
          from (select source, target, type, confidence, cardinality(evidence) as count
                  from drafted) counted
        on conflict (source, target, type) do update
           set count = r.count + excluded.count,
               confidence = greatest(r.confidence, excluded.confidence),
               weight = (greatest(r.confidence, excluded.confidence)
                         * (r.count + excluded.count) / (r.count + excluded.count + 1))::real,
               acl = array(select distinct p from unnest(r.acl || excluded.acl) as p order by p),
               first_seen = least(r.first_seen, excluded.first_seen),
               last_seen = greatest(r.last_seen, excluded.last_seen),
               updated_at = now()
        returning id, source, target, type, xmax = 0 as created
    ), proved as (
        insert into evidence (relationship_id, chunk_id)
        select put.id, c.id
          from put
          join drafted d on (d.source, d.target, d.type) = (put.source, put.target, put.type)
         cross join unnest(d.evidence) as place
          join chunks c on c.document_id = {_DOCUMENT} and c.chunk_index = place
    )
    update namespaces set relationships = relationships + (select count(*) from put where created)
     where name = %(namespace)s
    """,
)
"""Put a document in: its text, what search needs of it, what was found in it."""
