"""The steps of the ingestion graph, in the order of `graph/ingestion.py`."""
