-- Co-occurrences weigh by association: names that stand together because both stand everywhere
-- hardly belong together. The formulas are those of stores/weights.py, which names their source.

create function npmi(together float8, one float8, other float8, chunks float8) returns float8
    language sql immutable parallel safe
    return case when together >= chunks then 1
                else greatest(-1, least(1, ln(together * chunks / (one * other))
                                           / -ln(together / chunks))) end;

create function relation_weight(kind text, confidence real, count bigint, source_df bigint,
                                target_df bigint, chunks bigint) returns real
    language sql immutable parallel safe
    return (case when kind = 'CO_OCCURS_WITH'
                 then greatest(0.01, confidence * least(count, source_df, target_df)
                                     / (least(count, source_df, target_df) + 1)
                                     * (1 + npmi(least(count, source_df, target_df), source_df,
                                                 target_df, chunks)) / 2)
                 else confidence * count / (count + 1) end)::real;

-- How many chunks the namespace had when all its co-occurrences were last weighed.
alter table namespaces add column weighed_chunks bigint not null default 0;

with weighed as (
    select r.id, relation_weight(r.type, r.confidence, r.count, s.df, t.df, n.chunks) as weight
      from relationships r
      join entities s on s.id = r.source
      join entities t on t.id = r.target
      join namespaces n on n.name = r.namespace
     where r.type = 'CO_OCCURS_WITH'
)
update relationships r set weight = weighed.weight, updated_at = now()
  from weighed where r.id = weighed.id;

-- Making these two again is faster than telling them of every row.
drop index edges_heaviest, edges_typed;
update edges g set weight = r.weight
  from relationships r
 where r.id = g.relationship_id and r.type = 'CO_OCCURS_WITH';
create index edges_heaviest on edges (node, audience, weight desc, other)
    include (type, forward, first_seen, last_seen);
create index edges_typed on edges (node, audience, type, weight desc, other)
    include (forward, first_seen, last_seen);

update namespaces set weighed_chunks = chunks;
insert into outbox (kind, ref)
select 'relationship', id from relationships
 where type = 'CO_OCCURS_WITH' and exists (select from projections)
 order by id;

analyze relationships, edges;
