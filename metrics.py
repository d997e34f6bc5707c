"""What a process tells Prometheus, all of it beginning with `clew_`.

Breakers, caches, fallbacks and pools are read when it is scraped, from the services that are open
then; everything else is counted as it happens. No label holds what a caller, a document or a tenant
has written. The LangGraph server exposes the default registry at `/metrics`.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

from prometheus_client import REGISTRY, Histogram
from prometheus_client import Counter as Count
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from .stores.breaker import Breaker
from .stores.cache import Cache
from .stores.fallback import FallbackRate

__all__ = [
    "CHUNKS",
    "DEGRADED",
    "DOCUMENTS",
    "ENTITIES",
    "MODEL_CALLS",
    "MODEL_MONEY",
    "MODEL_SECONDS",
    "MODEL_TOKENS",
    "RESULTS",
    "RUNS",
    "RUN_SECONDS",
    "STEP_SECONDS",
    "STORE_SECONDS",
    "Held",
    "watch",
]

STATES = {"closed": 0, "open": 1, "half_open": 2}
SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0)

RUNS = Count("clew_runs", "Runs that ended.", ["graph", "outcome"])
RUN_SECONDS = Histogram("clew_run_seconds", "A whole run.", ["graph"], buckets=SECONDS)
STEP_SECONDS = Histogram(
    "clew_step_seconds", "One step of a run.", ["graph", "step"], buckets=SECONDS
)
DEGRADED = Count("clew_degraded", "What runs went without, by step.", ["graph", "step"])
RESULTS = Count(
    "clew_results", "Passages returned: found by search, by the graph, or by both.", ["source"]
)
STORE_SECONDS = Histogram(
    "clew_store_seconds", "One question to a store.", ["store", "query"], buckets=SECONDS
)
MODEL_CALLS = Count("clew_model_calls", "Questions to a chat model.", ["model", "outcome"])
MODEL_SECONDS = Histogram(
    "clew_model_seconds", "One question to a chat model.", ["model"], buckets=SECONDS
)
MODEL_TOKENS = Count("clew_model_tokens", "What a chat model read and wrote.", ["model", "kind"])
MODEL_MONEY = Count(
    "clew_model_money_dollars", "What a chat model cost, as far as its price is known.", ["model"]
)
DOCUMENTS = Count("clew_documents", "Documents taken in, by what became of them.", ["outcome"])
CHUNKS = Count("clew_chunks", "Chunks embedded by ingestion.")
ENTITIES = Count(
    "clew_entities_extracted", "Entities of the documents that were written.", ["type"]
)


@dataclass(frozen=True)
class Held:
    """What an owner holds that is looked at when Prometheus asks.

    `fallbacks` by what fell back; `pool` gives the statistics of psycopg's pool.
    """

    breakers: Iterable[Breaker] = ()
    caches: Iterable[Cache[Any]] = ()
    fallbacks: Mapping[str, FallbackRate] = field(default_factory=dict)
    pool: Callable[[], Mapping[str, int]] = dict


class _Watched(Collector):
    """What every owner that still lives holds; several event loops add up."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._owners: WeakKeyDictionary[Any, Held] = WeakKeyDictionary()

    def add(self, owner: Any, held: Held) -> None:
        with self._lock:
            self._owners[owner] = held

    def collect(self) -> Iterator[Metric]:
        with self._lock:
            held = list(self._owners.values())
        yield from _of_breakers([breaker for one in held for breaker in one.breakers])
        yield from _of_caches([cache for one in held for cache in one.caches])
        yield _of_fallbacks([one.fallbacks for one in held])
        yield from _of_pools([one.pool() for one in held])


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


def _of_fallbacks(held: Iterable[Mapping[str, FallbackRate]]) -> Metric:
    rate = GaugeMetricFamily(
        "clew_fallback_rate",
        "Of the latest attempts, the share for which the cheap way was not enough.",
        labels=["what"],
    )
    worst: dict[str, float] = {}
    for fallbacks in held:
        for what, fallback in fallbacks.items():
            worst[what] = max(worst.get(what, 0.0), fallback.rate)
    for what, share in worst.items():
        rate.add_metric([what], share)
    return rate


def _of_pools(held: Iterable[Mapping[str, int]]) -> Iterator[Metric]:
    connections = GaugeMetricFamily(
        "clew_pool_connections", "Connections to the database.", labels=["state"]
    )
    waiting = GaugeMetricFamily("clew_pool_waiting", "Who waits for a connection.")
    total: Counter[str] = Counter()
    for statistics in held:
        total.update(statistics)
    connections.add_metric(["idle"], total["pool_available"])
    connections.add_metric(["used"], total["pool_size"] - total["pool_available"])
    waiting.add_metric([], total["requests_waiting"])
    yield connections
    yield waiting


_watched = _Watched()
REGISTRY.register(_watched)


def watch(owner: Any, held: Held) -> None:
    """Tell of these for as long as their owner lives."""
    _watched.add(owner, held)
