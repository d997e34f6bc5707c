"""Arithmetic of ranking: pure functions over numbers, without stores or state."""
