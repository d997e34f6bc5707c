"""The statements, in Neo4j 5's Cypher. Every value is a parameter; ties are broken by id.

`$readable` are the ids of the audiences the caller belongs to, `$audiences` the same as they
compare with those in a relation's list. What a subquery with LIMIT 1 finds is a condition: an
entity may be read when one of its mentions may.
"""

from __future__ import annotations

from typing import Final

__all__ = [
    "AUDIENCES",
    "ENDS_OF_RELATIONSHIPS",
    "EXPAND",
    "EXPAND_IN_PERIOD",
    "MENTIONS_OF",
    "PING",
    "PUT_AUDIENCES",
    "PUT_CHUNKS",
    "PUT_DOCUMENTS",
    "PUT_ENTITIES",
    "PUT_MENTIONS",
    "PUT_RELATIONSHIPS",
    "READ_AUDIENCES",
    "READ_DOCUMENTS",
    "READ_ENTITIES",
    "READ_MENTIONS",
    "READ_RELATIONSHIPS",
    "READ_SEEDS",
    "RELATIONSHIPS_AMONG",
    "REMOVE",
    "REMOVE_CHUNKS",
    "REMOVE_CHUNKS_OF",
    "SCHEMA",
]

PING: Final = "RETURN 1 AS answer"

SCHEMA: Final = (
    "CREATE CONSTRAINT clew_<prefix>entity IF NOT EXISTS FOR (n:Entity) REQUIRE n.id IS UNIQUE",
    "CREATE CONSTRAINT clew_<prefix>chunk IF NOT EXISTS FOR (n:Chunk) REQUIRE n.id IS UNIQUE",
    "CREATE CONSTRAINT clew_<prefix>audience IF NOT EXISTS FOR (n:Audience) REQUIRE n.id IS UNIQUE",
    "CREATE CONSTRAINT clew_<prefix>document IF NOT EXISTS FOR (n:Document) REQUIRE n.id IS UNIQUE",
    "CREATE INDEX clew_<prefix>chunk_document IF NOT EXISTS FOR (n:Chunk) ON (n.document)",
    "CREATE INDEX clew_<prefix>audience_of IF NOT EXISTS FOR (n:Audience) ON (n.namespace)",
    "CREATE INDEX clew_<prefix>relates_to IF NOT EXISTS FOR ()-[r:RELATES_TO]-() ON (r.id)",
)

AUDIENCES: Final = """
    MATCH (a:Audience)
    WHERE a.namespace IN $namespaces
      AND size([principal IN a.principals WHERE principal IN $principals]) > 0
    RETURN a.id AS id
    ORDER BY id
"""

READ_SEEDS: Final = """
    UNWIND $ids AS wanted
    MATCH (e:Entity {id: wanted})
    WHERE e.namespace IN $namespaces
    CALL (e) {
        MATCH (e)-[:MENTIONED_IN]->(c:Chunk)
        WHERE c.audience IN $readable
        RETURN true AS readable LIMIT 1
    }
    RETURN e.id AS id, e.name AS name, e.type AS type, e.df AS df
    ORDER BY id
"""

_FACTOR: Final = """
    coalesce(head([given IN $factors WHERE given.type = r.type | given.weight]), $default)
""".strip()
_PERIOD: Final = "AND r.first_seen <= $date_to AND r.last_seen >= $date_from"
_EXPAND: Final = """
    UNWIND $frontier AS f
    MATCH (s:Entity {id: f.id})
    CALL (f, s) {
        MATCH (s)-[r:RELATES_TO]-(t:Entity)
        WHERE r.weight >= f.bound
          AND r.weight * <factor> >= f.bound
          AND r.weight * <factor> > 0
          AND t.id <> s.id
          AND t.namespace IN $namespaces AND r.namespace IN $namespaces
          <period>
          AND size([audience IN r.audiences WHERE audience IN $audiences]) > 0
        WITH t, max(r.weight * <factor>) AS best,
             collect({id: r.id, type: r.type, weight: r.weight, source: r.source,
                      worth: r.weight * <factor>}) AS ways
        CALL (t) {
            MATCH (t)-[:MENTIONED_IN]->(c:Chunk)
            WHERE c.audience IN $readable
            RETURN true AS readable LIMIT 1
        }
        WITH t, best, ways
        ORDER BY best DESC, t.id
        LIMIT $fanout
        RETURN t, best, [way IN ways WHERE way.worth = best] AS best_ways
    }
    WITH t, max(f.product * best * $factor) AS score,
         collect({parent: f.id, product: f.product * best, ways: best_ways,
                  score: f.product * best * $factor}) AS arrivals
    ORDER BY score DESC, t.id
    LIMIT $fanout
    RETURN t.id AS id, t.name AS name, t.type AS type, t.df AS df, score,
           [arrival IN arrivals WHERE arrival.score = score] AS arrivals
"""
EXPAND: Final = _EXPAND.replace("<factor>", _FACTOR).replace("<period>", "")
EXPAND_IN_PERIOD: Final = _EXPAND.replace("<factor>", _FACTOR).replace("<period>", _PERIOD)

MENTIONS_OF: Final = """
    UNWIND $weights AS given
    MATCH (e:Entity {id: given.id})-[:MENTIONED_IN]->(c:Chunk)
    WHERE c.audience IN $readable AND e.namespace IN $namespaces
    WITH c.id AS chunk, sum(given.weight) AS weight
    ORDER BY weight DESC, chunk
    LIMIT $limit
    WITH collect(chunk) AS heaviest
    UNWIND heaviest + $always AS chunk
    WITH DISTINCT chunk
    MATCH (c:Chunk {id: chunk})<-[m:MENTIONED_IN]-(e:Entity)
    WHERE c.audience IN $readable AND e.id IN $ids AND e.namespace IN $namespaces
    RETURN e.id AS entity, chunk, m.count AS count, m.subject AS subject,
           c.entities AS chunk_entities
    ORDER BY chunk, entity
"""

RELATIONSHIPS_AMONG: Final = """
    UNWIND $ids AS wanted
    MATCH (s:Entity {id: wanted})-[r:RELATES_TO]->(t:Entity)
    WHERE t.id IN $ids AND r.namespace IN $namespaces
      AND size([audience IN r.audiences WHERE audience IN $audiences]) > 0
    RETURN r.id AS id, s.id AS source, t.id AS target, r.type AS type, r.weight AS weight,
           r.confidence AS confidence, r.count AS count, r.evidence AS evidence,
           r.evidence_audiences AS evidence_audiences
    ORDER BY weight DESC, id
    LIMIT $limit
"""

PUT_AUDIENCES: Final = """
    UNWIND $rows AS row
    MERGE (a:Audience {id: row.id})
    SET a.namespace = row.namespace, a.principals = row.principals
"""

PUT_ENTITIES: Final = """
    UNWIND $rows AS row
    MERGE (e:Entity {id: row.id})
    SET e.namespace = row.namespace, e.name = row.name, e.type = row.type, e.df = row.df
"""

ENDS_OF_RELATIONSHIPS: Final = """
    MATCH ()-[r:RELATES_TO]->()
    WHERE r.id IN $ids
    RETURN r.id AS id, r.source AS source, r.target AS target
    ORDER BY id
"""

PUT_RELATIONSHIPS: Final = """
    UNWIND $rows AS row
    MATCH (s:Entity {id: row.source})
    MATCH (t:Entity {id: row.target})
    MERGE (s)-[r:RELATES_TO {id: row.id}]->(t)
    SET r.namespace = row.namespace, r.source = row.source, r.target = row.target,
        r.type = row.type, r.weight = row.weight, r.confidence = row.confidence,
        r.count = row.count, r.first_seen = row.first_seen, r.last_seen = row.last_seen,
        r.audiences = row.audiences, r.evidence = row.evidence,
        r.evidence_audiences = row.evidence_audiences
"""

PUT_DOCUMENTS: Final = """
    UNWIND $rows AS row
    MERGE (d:Document {id: row.id})
    SET d.namespace = row.namespace, d.audience = row.audience
"""

PUT_CHUNKS: Final = """
    UNWIND $rows AS row
    MERGE (c:Chunk {id: row.id})
    SET c.document = row.document, c.audience = row.audience, c.entities = row.entities
"""

PUT_MENTIONS: Final = """
    UNWIND $rows AS row
    MATCH (e:Entity {id: row.entity})
    MATCH (c:Chunk {id: row.chunk})
    MERGE (e)-[m:MENTIONED_IN]->(c)
    SET m.count = row.count, m.subject = row.subject
"""

REMOVE_CHUNKS_OF: Final = """
    UNWIND $ids AS id
    MATCH (c:Chunk {document: id})
    DETACH DELETE c
"""

REMOVE_CHUNKS: Final = """
    UNWIND $ids AS id
    MATCH (c:Chunk {id: id})
    DETACH DELETE c
"""

REMOVE: Final = {
    "audience": "UNWIND $ids AS id MATCH (n:Audience {id: id}) DETACH DELETE n",
    "entity": "UNWIND $ids AS id MATCH (n:Entity {id: id}) DETACH DELETE n",
    "relationship": "MATCH ()-[r:RELATES_TO]->() WHERE r.id IN $ids DELETE r",
    "document": "UNWIND $ids AS id MATCH (n:Document {id: id}) DETACH DELETE n",
}

READ_AUDIENCES: Final = """
    MATCH (n:Audience) WHERE n.id > $after
    RETURN n.id AS id, n.namespace AS namespace, n.principals AS principals
    ORDER BY id LIMIT $limit
"""

READ_ENTITIES: Final = """
    MATCH (n:Entity) WHERE n.id > $after
    RETURN n.id AS id, n.namespace AS namespace, n.name AS name, n.type AS type, n.df AS df
    ORDER BY id LIMIT $limit
"""

READ_RELATIONSHIPS: Final = """
    MATCH ()-[r:RELATES_TO]->() WHERE r.id > $after
    RETURN r.id AS id, r.namespace AS namespace, r.source AS source, r.target AS target,
           r.type AS type, r.weight AS weight, r.confidence AS confidence, r.count AS count,
           r.first_seen AS first_seen, r.last_seen AS last_seen, r.audiences AS audiences,
           r.evidence AS evidence, r.evidence_audiences AS evidence_audiences
    ORDER BY id LIMIT $limit
"""

READ_DOCUMENTS: Final = """
    MATCH (n:Document) WHERE n.id > $after
    RETURN n.id AS id, n.namespace AS namespace, n.audience AS audience
    ORDER BY id LIMIT $limit
"""

READ_MENTIONS: Final = """
    UNWIND $ids AS id
    MATCH (c:Chunk {document: id})<-[m:MENTIONED_IN]-(e:Entity)
    RETURN id AS document, c.id AS chunk, e.id AS entity, m.count AS count,
           m.subject AS subject, c.entities AS chunk_entities
    ORDER BY document, chunk, entity
"""
