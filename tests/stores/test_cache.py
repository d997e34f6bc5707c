"""What a cache keeps, and that its keys tell apart whatever may be answered differently."""

from __future__ import annotations

from clew.stores.access import Access
from clew.stores.cache import Cache, scope_of


def test_what_was_put_is_found_and_counted() -> None:
    """A hit and a miss are told apart."""
    cache = Cache[str]("names", 2)
    cache.put("one", "a")
    assert (cache.get("one"), cache.get("two")) == ("a", None)
    assert (cache.name, cache.hits, cache.misses) == ("names", 1, 1)


def test_the_value_used_longest_ago_gives_way() -> None:
    """Reading counts as use."""
    cache = Cache[int]("names", 2)
    cache.put("one", 1)
    cache.put("two", 2)
    cache.get("one")
    cache.put("three", 3)
    assert [cache.get(key) for key in ("one", "two", "three")] == [1, None, 3]


def test_an_empty_answer_is_an_answer() -> None:
    """That nothing was found is worth remembering."""
    cache = Cache[tuple[str, ...]]("names", 2)
    cache.put("one", ())
    assert cache.get("one") == ()
    assert cache.hits == 1


def test_a_cache_of_size_zero_keeps_nothing() -> None:
    """It can be turned off without another path through the code."""
    cache = Cache[int]("names", 0)
    cache.put("one", 1)
    assert cache.get("one") is None


def test_a_scope_is_another_after_a_change_and_for_another_caller() -> None:
    """So no answer outlives what it was made of, and none reaches who may not read it."""
    access = Access(("main",), ("ada", "bob"))
    assert scope_of(access, [1]) == scope_of(Access(("main",), ("bob", "ada")), [1])
    others = [
        scope_of(access, [2]),
        scope_of(Access(("main",), ("ada",)), [1]),
        scope_of(Access(("other",), ("ada", "bob")), [1]),
        scope_of(Access(("main", "other"), ("ada", "bob")), [1, 1]),
    ]
    assert scope_of(access, [1]) not in others
