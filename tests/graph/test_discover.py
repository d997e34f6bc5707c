"""What is connected with a text: other documents' passages with their thread, never its own."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest

from clew.context import RetrievalContext
from clew.models.embeddings import SentenceEmbedder
from clew.services import Services
from clew.stores.access import acting_as
from clew.stores.errors import InvalidInput

from .scene import ask, ingest, patient, world

STORY = (
    "Bertram Hollis kept the lighthouse of Skerryvore for thirty years. In the last of them he met "
    "Ada Quill, who had come to mend the great chronometer. Bertram Hollis married Ada Quill in "
    "the spring. What they said to each other that winter nobody on the rock ever learned.\n\n"
    "Ada Quill never spoke of her brother. Bertram Hollis never asked."
)
OTHERS: dict[str, tuple[str, str]] = {
    "brother": (
        "Silas Quill",
        "Silas Quill was the brother of Ada Quill. Silas Quill sailed with the Northern Star and "
        "lost his chronometer in Riga.",
    ),
    "ship": ("Northern Star", "The Northern Star was a barque of Riga. Jonas Berg commanded it."),
    "light": ("Skerryvore", "Skerryvore was lit in 1844. Alan Stevenson built Skerryvore."),
    "wedding": (
        "Oban Register",
        "Bertram Hollis and Ada Quill were married before the Reverend Moir in Oban.",
    ),
    "bread": ("Bread", "A baker kneads dough with flour and yeast and bakes loaves."),
}
COPY = STORY.replace("thirty", "forty").replace("spring", "summer")


def pages(documents: Mapping[str, tuple[str, str]]) -> list[dict[str, Any]]:
    return [{"id": key, "title": title, "text": text} for key, (title, text) in documents.items()]


@pytest.fixture(scope="module")
async def services(template: str, embedder: SentenceEmbedder) -> AsyncIterator[Services]:
    story = {"id": "story", "title": "The Keeper", "text": STORY}
    secret = {
        "id": "secret",
        "title": "Ada Quill",
        "text": "Ada Quill forged the chronometer of Bertram Hollis.",
        "acl": ["warden"],
    }
    async with world(template, [*pages(OTHERS), secret]) as opened:
        await ingest(opened, [*pages(OTHERS), secret, story], namespace="told")
        await ingest(
            opened,
            [*pages(OTHERS), story, {"id": "draft", "title": "Draft", "text": COPY}],
            namespace="copied",
        )
        foreign = {"id": "foreign", "title": "Ada Quill", "text": "Ada Quill owns Zorblax Mill."}
        await ingest(opened, [foreign], namespace="tenant")
        yield opened


async def discover(
    services: Services,
    namespace: str = "default",
    context: RetrievalContext | None = None,
    **asked: Any,
) -> dict[str, Any]:
    return await ask(services, "", context, namespaces=[namespace], **asked)


def found(state: Mapping[str, Any]) -> list[str]:
    return [document.metadata["document_id"] for document in state["documents"]]


def connected(state: Mapping[str, Any]) -> None:
    """The passages are others', each has a thread, and the text itself is nowhere."""
    assert {"brother", "light", "wedding"} <= {*found(state)}
    assert not {"story", "secret", "foreign"} & {*found(state)}
    assert all(document.metadata["trail"]["thread"] for document in state["documents"])
    assert "Zorblax" not in state["context"]
    assert "What they said to each other" not in state["context"]
    assert "forged" not in state["context"]


async def test_a_text_that_is_not_stored_finds_what_is_connected_with_it(
    services: Services,
) -> None:
    state = await discover(services, passage=STORY)
    connected(state)
    assert state["degraded"] == []
    assert found(state)[-1] == "bread" or "bread" not in found(state)
    brother = next(d for d in state["documents"] if d.metadata["document_id"] == "brother")
    assert "Ada Quill" in brother.metadata["trail"]["thread"]


async def test_two_hops_lead_on_to_what_the_author_has_not_named(services: Services) -> None:
    state = await discover(services, context=patient(graph_expansion_hops=2), passage=STORY)
    assert "ship" in found(state)
    assert "Northern Star" in {entity["name"] for entity in state["entities"]}


async def test_a_stored_document_finds_others_and_none_of_its_own_passages(
    services: Services,
) -> None:
    connected(await discover(services, "told", document_id="story"))


async def test_the_text_of_a_stored_document_finds_none_of_its_passages_either(
    services: Services,
) -> None:
    """Whoever has the text does not always know under which id it is stored."""
    connected(await discover(services, "told", passage=STORY))


async def test_a_near_copy_of_the_text_is_dropped(services: Services) -> None:
    for state in (
        await discover(services, "copied", passage=STORY),
        await discover(services, "copied", document_id="story"),
    ):
        connected(state)
        assert "draft" not in found(state)


async def test_the_map_holds_what_the_author_did_not_say(services: Services) -> None:
    def pairs(state: Mapping[str, Any]) -> set[frozenset[str]]:
        return {frozenset((edge["source"], edge["target"])) for edge in state["relationships"]}

    lovers = frozenset(("Bertram Hollis", "Ada Quill"))
    kin = frozenset(("Silas Quill", "Ada Quill"))
    mended = frozenset(("Bertram Hollis", "Skerryvore"))
    told = pairs(await discover(services, "told", document_id="story"))
    asked = pairs(await ask(services, "Who was Bertram Hollis?", namespaces=["told"]))
    assert mended in asked, "the story says so"
    assert mended not in told, "and only the story"
    assert {lovers, kin} <= told, "others say so as well"


async def test_who_may_read_more_finds_more(services: Services) -> None:
    assert "secret" not in found(await discover(services, passage=STORY))
    with acting_as("warden"):
        assert "secret" in found(await discover(services, passage=STORY))


async def test_another_tenants_passages_are_never_found(services: Services) -> None:
    with acting_as("warden", namespaces=("default",)):
        state = await discover(services, passage=STORY)
    assert "foreign" not in found(state)
    assert "Zorblax" not in repr(state)
    with acting_as(namespaces=("default",)), pytest.raises(InvalidInput, match="no namespace"):
        await discover(services, "tenant", passage=STORY)


async def test_a_document_that_may_not_be_read_is_as_if_it_were_not_there(
    services: Services,
) -> None:
    for key in ("secret", "nothing"):
        with pytest.raises(InvalidInput, match=f"There is no document '{key}'"):
            await discover(services, document_id=key)


async def test_a_text_of_five_thousand_words_is_read_like_a_short_one(services: Services) -> None:
    words = " ".join(f"The {n}th wave broke over the rock and nobody saw it." for n in range(450))
    long = f"{STORY}\n\n{words}"
    assert len(long.split()) > 4900
    state = await discover(services, passage=long)
    connected(state)
    assert state["embedded"]
    assert state["degraded"] == []
    assert len(state["request"]["words"].split()) == 48


async def test_two_runs_find_the_same(services: Services) -> None:
    first, second = [await discover(services, passage=STORY) for _ in range(2)]
    assert first["context"] == second["context"]
