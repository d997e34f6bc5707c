"""Who may read what, before any database is asked."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.stores.access import PUBLIC, Access, Identity, acting_as, current_identity

NAMES = st.lists(st.sampled_from("abcdef"), max_size=6).map(tuple)


def test_everyone_holds_the_public_principal() -> None:
    assert Access(("main",)).principals == (PUBLIC,)
    assert Access(("main",), ("ada",)).principals == ("ada", PUBLIC)
    assert Access(("main",), ()).principals == (PUBLIC,)


def test_the_public_principal_is_not_added_twice() -> None:
    assert Access(("main",), (PUBLIC, "ada")).principals == (PUBLIC, "ada")


def test_an_access_cannot_be_widened_afterwards() -> None:
    access = Access(("main",))
    with pytest.raises(AttributeError):
        access.principals = ("ada",)  # type: ignore[misc]


def test_an_identity_without_namespaces_may_enter_any() -> None:
    assert Identity(("ada",)).access(("one", "two")) == Access(("one", "two"), ("ada",))


def test_an_identity_that_may_enter_nothing_is_not_one_that_may_enter_anything() -> None:
    assert Identity(namespaces=()).access(("one", "two")).namespaces == ()


@given(allowed=NAMES, asked=NAMES)
def test_asking_never_widens(allowed: tuple[str, ...], asked: tuple[str, ...]) -> None:
    access = Identity(("ada",), allowed).access(asked)
    assert access.namespaces == tuple(name for name in asked if name in allowed)
    assert access.principals == ("ada", PUBLIC)


def test_a_caller_who_says_nothing_is_nobody() -> None:
    assert current_identity() == Identity((), None)


def test_acting_as_ends_with_its_block_even_when_that_fails() -> None:
    with acting_as("ada", namespaces=("one",)):
        assert current_identity() == Identity(("ada",), ("one",))
        with pytest.raises(ZeroDivisionError), acting_as("bob"):
            assert current_identity() == Identity(("bob",), None)
            raise ZeroDivisionError
        assert current_identity() == Identity(("ada",), ("one",))
    assert current_identity() == Identity()


async def test_callers_of_one_loop_do_not_take_each_others_identity() -> None:
    both_inside = asyncio.Barrier(2)

    async def seen(name: str) -> tuple[str, ...]:
        with acting_as(name):
            await both_inside.wait()
            return current_identity().principals

    ada, bob = await asyncio.gather(seen("ada"), seen("bob"))
    assert (ada, bob) == (("ada",), ("bob",))
    assert current_identity() == Identity()
