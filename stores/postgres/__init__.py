"""PostgreSQL with pgvector: the record, and the default walk."""
