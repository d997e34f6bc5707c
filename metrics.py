"""What the processes of Clew tell Prometheus about their breakers and caches.

Read when it is scraped, from the services that are open then. The LangGraph server exposes the
default registry at `/metrics`.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any
from weakref import WeakKeyDictionary

from prometheus_client import REGISTRY
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from .stores.breaker import Breaker
from .stores.cache import Cache

__all__ = ["watch"]

STATES = {"closed": 0, "open": 1, "half_open": 2}


class _Watched(Collector):
    """The breakers and caches of every owner that still lives; several event loops add up."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._owners: WeakKeyDictionary[Any, tuple[list[Breaker], list[Cache[Any]]]]
        self._owners = WeakKeyDictionary()

    def add(self, owner: Any, breakers: Iterable[Breaker], caches: Iterable[Cache[Any]]) -> None:
        with self._lock:
            self._owners[owner] = (list(breakers), list(caches))

    def collect(self) -> Iterator[Metric]:
        with self._lock:
            held = list(self._owners.values())
        yield from _of_breakers([breaker for breakers, _ in held for breaker in breakers])
        yield from _of_caches([cache for _, caches in held for cache in caches])


def _of_breakers(breakers: Iterable[Breaker]) -> Iterator[Metric]:
    state = GaugeMetricFamily(
        "clew_circuit_state",
        "The circuit around a dependency: 0 closed, 1 open, 2 half-open.",
        labels=["dependency"],
    )
    entered = CounterMetricFamily(
        "clew_circuit_changes",
        "How often a circuit entered a state.",
        labels=["dependency", "state"],
    )
    worst: dict[str, int] = {}
    changes: Counter[tuple[str, str]] = Counter()
    for breaker in breakers:
        worst[breaker.name] = max(worst.get(breaker.name, 0), STATES[breaker.state])
        changes.update({(breaker.name, name): n for name, n in breaker.changes.items()})
    for name, value in worst.items():
        state.add_metric([name], value)
    for labels, count in changes.items():
        entered.add_metric(list(labels), count)
    yield state
    yield entered


def _of_caches(caches: Iterable[Cache[Any]]) -> Iterator[Metric]:
    lookups = CounterMetricFamily(
        "clew_cache_lookups", "Lookups in a cache, by whether it knew.", labels=["cache", "found"]
    )
    counts: Counter[tuple[str, str]] = Counter()
    for cache in caches:
        counts.update({(cache.name, "yes"): cache.hits, (cache.name, "no"): cache.misses})
    for labels, count in counts.items():
        lookups.add_metric(list(labels), count)
    yield lookups


_watched = _Watched()
REGISTRY.register(_watched)


def watch(owner: Any, breakers: Iterable[Breaker], caches: Iterable[Cache[Any]]) -> None:
    """Tell of these for as long as their owner lives."""
    _watched.add(owner, breakers, caches)
