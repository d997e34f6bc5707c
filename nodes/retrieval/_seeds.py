"""A seed as the walk would return it."""

from __future__ import annotations

from ...stores.records import LinkedEntity, ReachedEntity

__all__ = ["at_seed"]


def at_seed(seed: LinkedEntity) -> ReachedEntity:
    """The entity where a walk begins: no hop, no path."""
    return ReachedEntity(
        id=seed["id"],
        name=seed["name"],
        type=seed["type"],
        df=seed["df"],
        hop=0,
        score=seed["score"],
        seed=seed["id"],
        path=[],
    )
