"""What Prometheus is told."""

from __future__ import annotations

import pytest
from prometheus_client import REGISTRY, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from clew.metrics import watch
from clew.stores.breaker import Breaker
from clew.stores.cache import Cache


class Owner:
    """Whoever holds breakers and caches."""


def scraped() -> dict[tuple[str, str], float]:
    text = generate_latest(REGISTRY).decode()
    return {
        (sample.name, ",".join(sample.labels.values())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name.startswith("clew_")
    }


async def test_circuits_and_lookups_are_told_while_their_owner_lives() -> None:
    breaker = Breaker("a test", failures=(OSError,), threshold=1)
    cache = Cache[int]("tests", 10)
    owner, second = Owner(), Owner()
    watch(owner, [breaker], [cache])
    assert scraped()["clew_circuit_state", "a test"] == 0
    with pytest.raises(OSError, match="gone"):
        async with breaker.call():
            raise OSError("gone")
    cache.put("a", 1)
    assert [cache.get("a"), cache.get("b"), cache.get("a")] == [1, None, 1]
    found = scraped()
    assert found["clew_circuit_state", "a test"] == 1
    assert found["clew_circuit_changes_total", "a test,open"] == 1
    assert found["clew_cache_lookups_total", "tests,yes"] == 2
    assert found["clew_cache_lookups_total", "tests,no"] == 1

    watch(second, [], [cache])
    assert scraped()["clew_cache_lookups_total", "tests,yes"] == 4, "owners add up"
    del owner, second
    assert ("clew_circuit_state", "a test") not in scraped()
