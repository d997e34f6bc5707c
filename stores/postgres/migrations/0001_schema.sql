-- The record: documents, what was found in them, and the statistics that search needs.
-- {dimension} is the embedding model's, fixed when the database is first prepared.

create table namespaces (
    name text collate "C" primary key,
    language regconfig not null,
    documents bigint not null default 0,
    chunks bigint not null default 0,
    terms bigint not null default 0,
    entities bigint not null default 0,
    relationships bigint not null default 0
);

create table documents (
    id bigint generated always as identity primary key,
    namespace text collate "C" not null references namespaces (name),
    key text collate "C" not null,
    title text not null,
    source text not null,
    category text,
    document_date date,
    metadata jsonb not null default '{}',
    acl text[] not null check (cardinality(acl) > 0),
    content_hash text not null,
    total_chunks int not null,
    enrichment text not null check (enrichment in ('complete', 'pending')),
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    unique (namespace, key)
);
create index on documents (namespace, category, document_date);
create index on documents (namespace) where enrichment = 'pending';

create table chunks (
    id bigint generated always as identity primary key,
    document_id bigint not null references documents (id) on delete cascade,
    namespace text collate "C" not null,
    acl text[] not null,
    category text,
    document_date date,
    chunk_index int not null,
    char_start int not null,
    header text not null,
    text text not null,
    text_hash text not null,
    tokens int not null,
    language regconfig not null,
    search_terms tsvector not null
        generated always as (to_tsvector(language, header || ' ' || text)) stored,
    term_count int not null default 0,
    entity_count int not null default 0,
    embedding halfvec({dimension}) not null,
    created_at timestamptz not null default now(),
    unique (document_id, chunk_index)
);
create index on chunks (namespace, category, document_date);
create index chunks_embedding on chunks using hnsw (embedding halfvec_cosine_ops)
    with (m = 16, ef_construction = 64);

create table sections (
    id bigint generated always as identity primary key,
    document_id bigint not null references documents (id) on delete cascade,
    namespace text collate "C" not null,
    acl text[] not null,
    section_index int not null,
    span_start int not null,
    span_end int not null check (span_end >= span_start),
    text text not null,
    embedding halfvec({dimension}) not null,
    metadata jsonb not null default '{}',
    created_at timestamptz not null default now(),
    unique (document_id, section_index)
);
create index sections_embedding on sections using hnsw (embedding halfvec_cosine_ops)
    with (m = 16, ef_construction = 64);

-- BM25: document frequencies are kept for each namespace, so that none shows in another's ranking.
create table terms (
    id bigint generated always as identity primary key,
    namespace text collate "C" not null references namespaces (name),
    term text collate "C" not null,
    df bigint not null check (df >= 0),
    unique (namespace, term)
);
create table postings (
    term_id bigint not null references terms (id),
    chunk_id bigint not null references chunks (id) on delete cascade,
    tf int not null,
    primary key (term_id, chunk_id)
);
create index on postings (chunk_id);

-- An entity's access list is the union of those of the chunks that mention it.
create table entities (
    id bigint generated always as identity primary key,
    namespace text collate "C" not null references namespaces (name),
    name text not null,
    norm text collate "C" not null,
    type text collate "C" not null,
    method text not null,
    confidence real not null check (confidence between 0 and 1),
    properties jsonb not null default '{}',
    acl text[] not null,
    df bigint not null default 0,
    name_terms tsvector not null generated always as (to_tsvector('simple', norm)) stored,
    embedding halfvec({dimension}),
    created_at timestamptz not null default now(),
    unique (namespace, norm, type)
);
create index on entities (namespace, type);
create index on entities using gin (name_terms);
create index on entities using gin (properties jsonb_path_ops);
create index entities_embedding on entities using hnsw (embedding halfvec_cosine_ops)
    with (m = 16, ef_construction = 64);

-- An alias belongs to the document that gave it and is as secret as that document.
create table aliases (
    entity_id bigint not null references entities (id) on delete cascade,
    document_id bigint not null references documents (id) on delete cascade,
    namespace text collate "C" not null,
    norm text collate "C" not null,
    acl text[] not null,
    primary key (entity_id, norm, document_id)
);
create index on aliases (namespace, norm);
create index on aliases (document_id);

-- Words of entity names with every form that lacks one letter: two words one typo apart share one.
create table name_words (
    namespace text collate "C" not null references namespaces (name),
    word text collate "C" not null,
    deletes text[] not null,
    primary key (namespace, word)
);
create index on name_words using gin (deletes);

create table mentions (
    entity_id bigint not null references entities (id) on delete cascade,
    chunk_id bigint not null references chunks (id) on delete cascade,
    namespace text collate "C" not null,
    acl text[] not null,
    count int not null check (count > 0),
    offsets int[] not null,
    subject boolean not null,
    primary key (entity_id, chunk_id)
);
create index on mentions (chunk_id);

create table relationships (
    id bigint generated always as identity primary key,
    namespace text collate "C" not null references namespaces (name),
    source bigint not null references entities (id) on delete cascade,
    target bigint not null references entities (id) on delete cascade,
    type text collate "C" not null,
    subtype text,
    weight real not null check (weight > 0 and weight <= 1),
    confidence real not null check (confidence between 0 and 1),
    count bigint not null,
    acl text[] not null,
    context text,
    attributes jsonb not null default '{}',
    first_seen date,
    last_seen date,
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    unique (source, target, type)
);
create index on relationships (source, weight desc) include (target);
create index on relationships (target, weight desc) include (source);

create table evidence (
    relationship_id bigint not null references relationships (id) on delete cascade,
    chunk_id bigint not null references chunks (id) on delete cascade,
    primary key (relationship_id, chunk_id)
);
create index on evidence (chunk_id);
