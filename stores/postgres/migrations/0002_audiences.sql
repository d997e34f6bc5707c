-- Reading rights become part of every index: an audience is a namespace and the principals who may
-- read, one small number on each row, and rows are found by what is asked and who asks together.

create table audiences (
    id int generated always as identity primary key,
    namespace text collate "C" not null references namespaces (name),
    principals text[] not null check (cardinality(principals) > 0),
    chunks bigint not null default 0 check (chunks >= 0),
    unique (namespace, principals)
);
create index on audiences using gin (principals);

-- What everyone may read has one audience, whoever else is named beside them.
alter table documents add column audience int references audiences (id);
with readers as (
    select id, namespace,
           case when 'public' = any(acl) then array['public']
                else array(select distinct p collate "C" as p from unnest(acl) as p order by p) end as principals
      from documents
), made as (
    insert into audiences (namespace, principals)
    select distinct namespace, principals from readers
    returning id, namespace, principals
)
update documents d
   set audience = made.id
  from readers r join made on made.namespace = r.namespace and made.principals = r.principals
 where d.id = r.id;
alter table documents alter column audience set not null;
create index on documents (audience);
create index on documents using gin (metadata jsonb_path_ops);

drop index chunks_namespace_category_document_date_idx;
alter table chunks drop column acl, add column audience int;
update chunks c set audience = d.audience from documents d where d.id = c.document_id;
alter table chunks alter column audience set not null;
create index on chunks (audience, category, document_date);
update audiences a set chunks = held.chunks
  from (select audience, count(*) as chunks from chunks group by audience) held
 where a.id = held.audience;

drop table sections;
create table sections (
    id bigint generated always as identity primary key,
    document_id bigint not null references documents (id) on delete cascade,
    namespace text collate "C" not null,
    audience int not null,
    section_index int not null,
    span_start int not null,
    span_end int not null check (span_end >= span_start),
    text text not null,
    embedding halfvec({dimension}) not null,
    metadata jsonb not null default '{}',
    created_at timestamptz not null default now(),
    unique (document_id, section_index)
);
create index on sections (audience);
create index sections_embedding on sections using hnsw (embedding halfvec_cosine_ops)
    with (m = 16, ef_construction = 64);
alter table documents add column sections int not null default 0;
create index on documents (audience) where sections = 0;

-- A posting is found by its term and audience, the heaviest first. `impact` is its BM25 weight in a
-- collection whose chunks have 128 terms on average: it only orders what is then scored exactly.
create table postings_new (
    chunk_id bigint not null references chunks (id) on delete cascade,
    term_id bigint not null references terms (id),
    tf int not null,
    audience int not null,
    impact real not null,
    primary key (chunk_id, term_id) include (tf)
);
insert into postings_new (chunk_id, term_id, tf, audience, impact)
select p.chunk_id, p.term_id, p.tf, c.audience,
       p.tf * 2.2 / (p.tf + 1.2 * (0.25 + 0.75 * c.term_count / 128.0))
  from postings p join chunks c on c.id = p.chunk_id;
drop table postings;
alter table postings_new rename to postings;
alter table postings rename constraint postings_new_pkey to postings_pkey;
create index postings_heaviest on postings (term_id, audience, impact desc, chunk_id);

-- An entity is readable through a mention that is; it needs no list of its own.
alter table entities drop column acl, drop column name_terms,
    add column words text[] not null generated always as (string_to_array(norm, ' ')) stored;
create index on entities using gin (words);
alter table aliases drop column acl, add column audience int;
update aliases a set audience = d.audience from documents d where d.id = a.document_id;
alter table aliases alter column audience set not null;

create table mentions_new (
    chunk_id bigint not null references chunks (id) on delete cascade,
    entity_id bigint not null references entities (id) on delete cascade,
    audience int not null,
    count int not null check (count > 0),
    subject boolean not null,
    offsets int[] not null,
    primary key (chunk_id, entity_id) include (audience, count, subject)
);
insert into mentions_new (chunk_id, entity_id, audience, count, subject, offsets)
select m.chunk_id, m.entity_id, c.audience, m.count, m.subject, m.offsets
  from mentions m join chunks c on c.id = m.chunk_id;
drop table mentions;
alter table mentions_new rename to mentions;
alter table mentions rename constraint mentions_new_pkey to mentions_pkey;
create index mentions_best on mentions (entity_id, audience, subject desc, count desc, chunk_id);

-- How sure a relation is where it was found, so that it is no surer than what is left of it.
alter table evidence add column confidence real not null default 1
    check (confidence > 0 and confidence <= 1);
update evidence v set confidence = greatest(r.confidence, 0.01)
  from relationships r where r.id = v.relationship_id;
alter table evidence alter column confidence drop default;

drop index relationships_source_weight_target_idx, relationships_target_weight_source_idx;
alter table relationships drop column acl;
create index on relationships (target);

-- A relation as seen from one of its ends, once for each audience of its evidence.
create table edges (
    relationship_id bigint not null references relationships (id) on delete cascade,
    audience int not null,
    forward boolean not null,
    node bigint not null,
    other bigint not null,
    type text collate "C" not null,
    weight real not null check (weight > 0 and weight <= 1),
    first_seen date,
    last_seen date,
    primary key (relationship_id, audience, forward)
);
insert into edges (relationship_id, audience, forward, node, other, type, weight, first_seen,
                   last_seen)
select r.id, found.audience, way.forward,
       case when way.forward then r.source else r.target end,
       case when way.forward then r.target else r.source end,
       r.type, r.weight, r.first_seen, r.last_seen
  from relationships r
  join (select distinct v.relationship_id, c.audience
          from evidence v join chunks c on c.id = v.chunk_id) found on found.relationship_id = r.id
 cross join (values (true), (false)) as way (forward);
create index edges_heaviest on edges (node, audience, weight desc, other)
    include (type, forward, first_seen, last_seen);
create index edges_typed on edges (node, audience, type, weight desc, other)
    include (forward, first_seen, last_seen);

-- What a copy of the graph elsewhere has not heard of yet: ids whose present state is to be copied.
create table projections (
    name text primary key,
    created_at timestamptz not null default now()
);
create table outbox (
    id bigint generated always as identity primary key,
    kind text collate "C" not null
        check (kind in ('audience', 'entity', 'relationship', 'document')),
    ref bigint not null,
    created_at timestamptz not null default now()
);
create index on outbox (kind, id);

analyze;
