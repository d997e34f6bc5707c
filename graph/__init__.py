"""The two state machines: their tables of steps and edges, routing, and how failures are met."""
