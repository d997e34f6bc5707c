"""Datasets with gold passages, the measures, the runner, and what two reports differ in."""
