-- Rises with every change of what a search or a walk may return, in the transaction that makes it:
-- an answer that was kept is good for as long as the versions it was made at are those of today.
alter table namespaces add column version bigint not null default 0;
