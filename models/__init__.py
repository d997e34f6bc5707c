"""Models: text to vectors, passages to order, questions to structure, text to names and tokens."""
