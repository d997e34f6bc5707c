-- Entities whose names mean nearly the same, each pair from both its ends. It takes a search for each
-- name to find them, so they are found once, after ingestion, in the order of ids.
create table alike (
    entity_id bigint not null references entities (id) on delete cascade,
    other_id bigint not null references entities (id) on delete cascade,
    cosine real not null check (cosine > 0),
    primary key (entity_id, other_id)
);
create index on alike (other_id);

-- The last entity that was compared with all others; the next ingestion begins behind it.
alter table namespaces add column compared bigint not null default 0;
