"""Names that mean nearly the same lead from a mention of one to what is written about the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from clew.stores.access import Access
from clew.stores.alike import FOLLOWED
from clew.stores.errors import InvalidInput
from clew.stores.protocols import Vector
from clew.stores.records import DocumentDraft
from clew.tests.stores.postgres.drafts import chunk, document, leaning, mention, reader

from .backends import EVERYONE, Backend

OLGA, DUCHESS = leaning(64), leaning(56, 1)
"""Their cosine is 0.875."""
MEANT = {"Olga": OLGA, "Duchess": DUCHESS}


def about(name: str, vector: Vector, **more: Any) -> DocumentDraft:
    text = f"about {name}"
    return document(
        text, chunk(text, [mention(name, subject=True)]), vectors={name: vector}, **more
    )


def naming(name: str, vector: Vector, **more: Any) -> DocumentDraft:
    """A page that mentions a name and is about nothing that has one."""
    return document(
        f"naming {name}", chunk(f"naming {name}", [name]), vectors={name: vector}, **more
    )


def bare(draft: DocumentDraft) -> DocumentDraft:
    """Its names are only ever looked up as written."""
    return {**draft, "entities": [{**entity, "embedding": ""} for entity in draft["entities"]]}


Way = tuple[str, str, str]
"""From a text, through a name that it does not mention, to a text."""
VISIT: Way = ("naming Duchess", "Olga", "about Olga")


async def ways(
    backend: Backend, *, access: Access | None = None, namespace: str = "main", fanout: int = 9
) -> set[Way]:
    """Where alike names lead from any passage there is, those included that may not be read."""
    known = await backend.known(namespace)
    links = await backend.chunks.links(
        [*known.passages], max_df=0, fanout=fanout, access=access or reader(namespace=namespace)
    )
    assert links == sorted(links, key=lambda k: (k["source"], k["target"], k["entity"], k["kind"]))
    return {
        (known.text(link["source"]), link["name"], known.text(link["target"]))
        for link in links
        if link["kind"] == "alike"
    }


async def test_a_mention_leads_to_the_passage_about_a_name_that_means_nearly_the_same(
    backend: Backend,
) -> None:
    await backend.write(about("Olga", OLGA), naming("Duchess", DUCHESS), naming("Olga", OLGA))
    known = await backend.known()
    source, target = known.chunk("naming Duchess"), known.chunk("about Olga")

    async def linked() -> list[Any]:
        return list(await backend.chunks.links([source], max_df=9, fanout=9, access=reader()))

    assert await linked() == [], "before they are compared"
    assert await backend.compare() == 2
    assert await linked() == [
        {
            "source": source,
            "target": target,
            "entity": known.entity("Olga"),
            "name": "Olga",
            "df": 2,
            "kind": "alike",
        }
    ]
    assert await backend.compare() == 0, "none is left"


@pytest.mark.parametrize("reverse", [False, True])
async def test_alike_names_lead_both_ways_whichever_came_first(
    backend: Backend, reverse: bool
) -> None:
    pages = [make(name, vector) for name, vector in MEANT.items() for make in (about, naming)]
    for page in reversed(pages) if reverse else pages:
        await backend.write(page)
        await backend.compare()
    assert await ways(backend) == {VISIT, ("naming Olga", "Duchess", "about Duchess")}


async def test_a_passage_that_mentions_the_other_name_itself_needs_no_alike_one(
    backend: Backend,
) -> None:
    both = document("both", chunk("both", ["Duchess", "Olga"]), vectors=MEANT)
    await backend.write(about("Olga", OLGA), naming("Duchess", DUCHESS), both)
    await backend.compare()
    assert await ways(backend) == {VISIT}


async def test_what_a_passage_is_about_does_not_lead_from_it_to_an_alike_name(
    backend: Backend,
) -> None:
    named = [mention("Duchess", subject=True), mention("Olga the Second")]
    meant = {"Duchess": DUCHESS, "Olga the Second": leaning(60, 2)}
    await backend.write(about("Olga", OLGA), document("two", chunk("two", named), vectors=meant))
    await backend.compare()
    # What it only mentions leads on to Olga; to the Duchess it would lead from itself to itself.
    found = await ways(backend)
    assert found == {("two", "Olga", "about Olga")}
    await backend.write(document("two", chunk("two", named[:1]), vectors=meant))
    await backend.compare()
    assert await ways(backend) == set()


async def test_an_alike_name_leads_only_to_what_is_about_it_and_to_no_more_than_fanout(
    backend: Backend,
) -> None:
    more = document("more", chunk("more", [mention("Olga", subject=True, count=2)]), vectors=MEANT)
    await backend.write(about("Olga", OLGA), more, naming("Olga", OLGA), naming("Duchess", DUCHESS))
    await backend.compare()
    assert await ways(backend) == {VISIT, ("naming Duchess", "Olga", "more")}
    assert await ways(backend, fanout=1) == {("naming Duchess", "Olga", "more")}


async def test_names_whose_cosine_is_below_the_bound_are_not_alike(backend: Backend) -> None:
    await backend.write(
        about("Olga", OLGA),
        naming("Duchess", leaning(52, 1)),
        naming("Oleg", leaning(48, 2)),
        naming("Volga", -OLGA),
    )
    assert await backend.compare() == 4
    assert await ways(backend) == {VISIT}, "0.8125 is enough, 0.75 is not"


async def test_only_the_nearest_names_are_followed(backend: Backend) -> None:
    order = [3, 6, 0, 5, 2, 4, 1]
    others = [about(f"n{n}", leaning(62 - n, n)) for n in order]
    # As near as another, but later.
    tied = about("tied", leaning(62 - FOLLOWED + 1, 9))
    await backend.write(*others, tied, naming("Olga", OLGA))
    await backend.compare()

    async def followed() -> list[str]:
        return sorted(name for _, name, _ in await ways(backend))

    assert await followed() == [f"n{n}" for n in range(FOLLOWED)]
    await backend.delete("about n1")
    assert await followed() == ["n0", "n2", "n3", "n4", "tied"]


async def test_names_that_may_not_be_read_take_no_place_among_the_nearest(backend: Backend) -> None:
    """Otherwise a secret would show by what it pushes out."""
    open_ = [about(f"n{n}", leaning(57 - n, n)) for n in range(FOLLOWED)]
    await backend.write(*open_, naming("Olga", OLGA))
    await backend.compare()
    before = await ways(backend)
    assert len(before) == FOLLOWED
    secret = [about(f"s{n}", leaning(62 - n, 9 + n), acl=["eve"]) for n in range(FOLLOWED)]
    await backend.write(*secret)
    await backend.compare()
    assert await ways(backend) == before
    assert await ways(backend, access=Access(("main",), EVERYONE)) != before


async def test_names_of_other_namespaces_are_never_alike(backend: Backend) -> None:
    await backend.write(about("Olga", OLGA), naming("Peter", leaning(48, 3)))
    await backend.write(naming("Duchess", DUCHESS), naming("Olga", OLGA), namespace="other")
    assert await backend.compare() == 2, "its own"
    assert await backend.compare(namespace="other") == 2
    both = Access(("main", "other"), EVERYONE)
    ids = [*(await backend.known("main", "other")).passages]
    assert len(ids) == 4
    assert await backend.chunks.links(ids, max_df=9, fanout=9, access=both) == []
    await backend.write(about("Olga", OLGA), namespace="other")
    assert await backend.compare(namespace="other") == 0, "it was compared as a mere mention"
    assert await ways(backend, namespace="other") == {VISIT}
    assert await ways(backend) == set()


async def test_names_without_a_vector_are_never_compared(backend: Backend) -> None:
    await backend.write(
        bare(about("Olga", OLGA)), naming("Duchess", DUCHESS), bare(naming("X", OLGA))
    )
    assert await backend.compare() == 1
    assert await ways(backend) == set()
    assert await backend.compare() == 0


async def test_a_pair_goes_with_the_document_that_bore_one_of_its_names(backend: Backend) -> None:
    await backend.write(about("Olga", OLGA), naming("Duchess", DUCHESS))
    assert await backend.compare() == 2
    await backend.delete("naming Duchess")
    assert await ways(backend) == set()
    assert await backend.compare() == 0
    await backend.write(naming("Duchess", DUCHESS))
    assert await ways(backend) == set(), "a name that comes again is a new one"
    assert await backend.compare() == 1
    assert await ways(backend) == {VISIT}
    # A name that another document also bears stays what it is.
    await backend.write(naming("Olga", OLGA))
    await backend.delete("about Olga")
    await backend.write(about("Olga", OLGA))
    assert await backend.compare() == 0
    assert await ways(backend) == {VISIT}


@pytest.mark.parametrize("limit", [1, 2, 3])
async def test_comparing_in_batches_is_comparing_at_once(backend: Backend, limit: int) -> None:
    vectors = {f"n{n}": leaning(64 - 2 * n, n) for n in range(5)}
    pages = [make(*item) for item in vectors.items() for make in (about, naming)]
    await backend.write(*pages)
    await backend.write(*pages, namespace="at once")
    batches = []
    while compared := await backend.compare(limit=limit):
        batches.append(compared)
    assert batches == {1: [1] * 5, 2: [2, 2, 1], 3: [3, 2]}[limit]
    assert await backend.compare(namespace="at once") == 5
    found = await ways(backend)
    assert found == await ways(backend, namespace="at once")
    assert len(found) == 5 * 4


async def test_a_name_that_comes_later_is_compared_with_all_that_came_before(
    backend: Backend,
) -> None:
    await backend.write(about("Olga", OLGA), naming("Peter", leaning(48, 3)))
    assert await backend.compare() == 2
    await backend.write(about("Duchess", DUCHESS), about("Peter", leaning(48, 3)))
    await backend.write(naming("Queen", leaning(60, 2)))
    assert await backend.compare() == 2, "those that are new"
    assert await ways(backend) == {
        ("naming Queen", "Olga", "about Olga"),
        ("naming Queen", "Duchess", "about Duchess"),
    }
    await backend.write(naming("Olga", OLGA), naming("Duchess", DUCHESS))
    assert await backend.compare() == 0
    assert {VISIT, ("naming Olga", "Duchess", "about Duchess")} <= await ways(backend)


@pytest.mark.parametrize("secret", ["about Olga", "naming Duchess"])
async def test_what_may_not_be_read_is_no_end_of_a_link(backend: Backend, secret: str) -> None:
    for make, name in ((about, "Olga"), (naming, "Duchess")):
        page = make(name, MEANT[name])
        page["acl"] = ["eve"] if page["key"] == secret else ["public"]
        await backend.write(page)
    # Who may write to a namespace compares all of it, what he may not read as well.
    assert await backend.compare() == 2
    assert await ways(backend) == set()
    assert await ways(backend, access=reader("bob")) == set()
    assert await ways(backend, access=reader("eve")) == {VISIT}


async def test_a_name_that_only_a_secret_bears_is_not_told_though_another_bears_one_like_it(
    backend: Backend,
) -> None:
    await backend.write(
        about("Olga", OLGA),
        about("Secret Olga", leaning(60, 2), acl=["eve"]),
        naming("Duchess", DUCHESS),
    )
    await backend.compare()
    assert await ways(backend) == {VISIT}
    more = ("naming Duchess", "Secret Olga", "about Secret Olga")
    assert await ways(backend, access=reader("eve")) == {VISIT, more}


async def test_there_is_nothing_to_compare_in_a_namespace_that_is_not_there(
    backend: Backend,
) -> None:
    assert await backend.compare(namespace="nowhere") == 0
    assert await backend.entities.stats(access=reader(namespace="nowhere")) == []


@pytest.mark.parametrize(
    ("namespaces", "sentence"),
    [((), "may not use that namespace"), (("one", "two"), "exactly one namespace, not 2")],
)
async def test_comparing_needs_exactly_one_namespace(
    backend: Backend, namespaces: Sequence[str], sentence: str
) -> None:
    with pytest.raises(InvalidInput, match=sentence):
        await backend.documents.compare_names(limit=1, access=Access(tuple(namespaces)))
