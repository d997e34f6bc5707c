"""How passages are ranked and what led to them: pure functions that ask no store."""
