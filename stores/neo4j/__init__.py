"""The graph in Neo4j, or in Amazon Neptune over the same protocol."""
