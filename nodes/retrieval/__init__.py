"""The steps of the retrieval graph, in the order of `graph/retrieval.py`."""
