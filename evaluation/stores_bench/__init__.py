"""A synthetic power-law graph of any size, and how long the stores take on it."""
