"""Datasets with gold passages, the measures, and the runner that prints them."""
