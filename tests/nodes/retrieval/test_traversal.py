"""What decides how the graph is walked: the caller, else the persona, else the intent."""

from __future__ import annotations

from datetime import date
from typing import Any, get_args

import pytest

from clew.context import RetrievalContext
from clew.models.personas import Personas
from clew.nodes.retrieval._traversal import plan_traversal
from clew.prompts.understand_question import Intent
from clew.state import Period, Traversal, Understanding
from clew.stores.records import CO_OCCURS

TODAY = date(2026, 11, 22)
PERSONAS = Personas.load(None)


def understood(
    intent: Intent, *, confidence: float = 0.9, period: tuple[str | None, str | None] | None = None
) -> Understanding:
    return Understanding(
        rung="lexical",
        intent=intent,
        confidence=confidence,
        mentions=[],
        time=None,
        period=Period(date_from=period[0], date_to=period[1]) if period else None,
        place=None,
    )


def plan(understanding: Understanding | None = None, **fields: Any) -> Traversal:
    context = RetrievalContext(**fields)
    persona = PERSONAS.named(context.persona)
    return plan_traversal(understanding, context, persona, today=TODAY)


def test_without_a_question_and_a_persona_it_is_the_default() -> None:
    assert plan() == Traversal(
        intent="general",
        persona="neutral",
        hops=1,
        entity_limit=200,
        relation_weights={},
        default_weight=1.0,
        date_from=None,
        date_to=None,
        relax=True,
        crosses=False,
        passages=100,
        why=[],
    )


@pytest.mark.parametrize(
    ("intent", "changes"),
    [
        ("relational", {"hops": 2, "relation_weights": {CO_OCCURS: 0.5}}),
        ("temporal", {"date_from": "1980-01-01", "date_to": "1989-12-31"}),
        ("entity_focused", {"entity_limit": 50}),
        ("general", {}),
        ("cross_namespace", {"hops": 2, "crosses": True}),
    ],
)
def test_each_intent_changes_the_walk_in_its_own_way(
    intent: Intent, changes: dict[str, Any]
) -> None:
    found = plan(understood(intent, period=("1980-01-01", "1989-12-31")))
    expected = {**plan(), "intent": intent, **changes}
    assert {**found, "why": []} == expected
    assert bool(found["why"]) == bool(changes)


def test_a_spatial_question_prefers_relations_of_place() -> None:
    found = plan(understood("spatial"))
    assert found["default_weight"] == 0.6
    assert found["relation_weights"]["TOOK_PLACE_AT"] == 1.0
    assert set(found["relation_weights"].values()) == {1.0}
    assert found["why"] == ["relations of place × 1.0, others × 0.6: the question is spatial"]


def test_an_intent_that_is_hardly_sure_is_general() -> None:
    assert plan(understood("relational", confidence=0.49)) == plan()
    assert plan(understood("relational", confidence=0.5))["hops"] == 2


def test_the_callers_intent_needs_no_confidence() -> None:
    found = plan(understood("temporal", confidence=0.9), intent="relational")
    assert (found["intent"], found["hops"]) == ("relational", 2)


@pytest.mark.parametrize("intent", get_args(Intent))
@pytest.mark.parametrize("persona", PERSONAS.names)
def test_the_caller_comes_before_persona_and_intent(intent: Intent, persona: str) -> None:
    found = plan(
        understood(intent, period=("1980-01-01", "1989-12-31")),
        persona=persona,
        graph_expansion_hops=3,
        graph_entity_limit=77,
        entity_passages=33,
        relation_weights={"KNEW": 0.25},
        default_relation_weight=0.75,
        relations_from="1900-01-01",
        cross_namespace=False,
    )
    why = found.pop("why")  # type: ignore[misc]  # compared apart
    assert found == {
        "intent": intent,
        "persona": persona,
        "hops": 3,
        "entity_limit": 77,
        "relation_weights": {"KNEW": 0.25},
        "default_weight": 0.75,
        "date_from": "1900-01-01",
        "date_to": None,
        "relax": False,
        "crosses": False,
        "passages": 33,
    }
    assert {reason.partition(": ")[2] for reason in why} == {"set by the caller"}


@pytest.mark.parametrize("intent", get_args(Intent))
@pytest.mark.parametrize(
    ("persona", "hops", "passages"),
    [("biographer", 2, 20), ("friend", 1, 15), ("colleague", 1, 15), ("family", 2, 20)],
)
def test_a_persona_comes_before_the_intent(
    intent: Intent, persona: str, hops: int, passages: int
) -> None:
    found = plan(understood(intent), persona=persona)
    assert (found["hops"], found["passages"]) == (hops, passages)


def test_a_default_that_the_caller_states_is_the_callers() -> None:
    found = plan(understood("relational"), persona="family", graph_expansion_hops=1)
    assert found["hops"] == 1
    undated = plan(persona="friend", relations_from=None)
    assert (undated["date_from"], undated["relax"]) == (None, False)


def test_factors_of_persona_and_intent_are_multiplied() -> None:
    found = plan(understood("spatial"), persona="colleague")
    assert found["default_weight"] == 0.3
    weights = found["relation_weights"]
    assert weights["WORKED_WITH"] == 0.6, "persona 1.0, intent 0.6"
    assert weights["FAMILY_OF"] == 0.12, "persona 0.2, intent 0.6"
    assert weights["BORN_IN"] == 0.5, "persona's default 0.5, intent 1.0"
    assert "FRIENDS_WITH" not in weights, "0.5 × 0.6 is what any other counts"


def test_weights_and_their_default_are_set_apart() -> None:
    weighted = plan(persona="colleague", relation_weights={"KNEW": 1.0})
    assert (weighted["relation_weights"], weighted["default_weight"]) == ({"KNEW": 1.0}, 0.5)
    closed = plan(persona="colleague", default_relation_weight=0.0)
    assert closed["default_weight"] == 0.0
    assert closed["relation_weights"] == PERSONAS.named("colleague").relation_weights


@pytest.mark.parametrize(
    ("persona", "asked", "walked"),
    [
        ("neutral", ("1980-01-01", "1989-12-31"), ("1980-01-01", "1989-12-31")),
        ("friend", None, ("2021-11-22", None)),
        ("friend", ("2020-01-01", "2023-12-31"), ("2021-11-22", "2023-12-31")),
        ("friend", (None, "2023-12-31"), ("2021-11-22", "2023-12-31")),
        ("friend", ("2022-01-01", None), ("2022-01-01", None)),
        ("friend", ("1980-01-01", "1989-12-31"), ("1980-01-01", "1989-12-31")),
        ("colleague", ("1980-01-01", "1989-12-31"), ("1986-11-22", "1989-12-31")),
    ],
)
def test_a_personas_range_narrows_the_period_unless_they_do_not_meet(
    persona: str,
    asked: tuple[str | None, str | None] | None,
    walked: tuple[str | None, str | None],
) -> None:
    found = plan(understood("temporal", period=asked), persona=persona)
    assert (found["date_from"], found["date_to"], found["relax"]) == (*walked, True)


def test_only_a_temporal_question_keeps_to_its_period() -> None:
    found = plan(understood("relational", period=("1980-01-01", "1989-12-31")))
    assert (found["date_from"], found["date_to"]) == (None, None)


@pytest.mark.parametrize(
    ("persona", "intent", "wanted", "crosses"),
    [
        ("neutral", "cross_namespace", None, True),
        ("neutral", "relational", None, False),
        ("colleague", "cross_namespace", None, False),
        ("colleague", "relational", True, True),
        ("neutral", "cross_namespace", False, False),
    ],
)
def test_crossing_is_the_callers_word_else_both_persona_and_intent_must_allow_it(
    persona: str, intent: Intent, wanted: bool | None, crosses: bool
) -> None:
    fields = {} if wanted is None else {"cross_namespace": wanted}
    assert plan(understood(intent), persona=persona, **fields)["crosses"] is crosses


def test_why_tells_what_differs_and_on_whose_account() -> None:
    found = plan(
        understood("relational"), persona="colleague", graph_expansion_hops=3, entity_passages=50
    )
    assert found["why"] == [
        "3 hops: set by the caller",
        "50 passages: set by the caller",
        "FAMILY_OF × 0.2, KNEW × 0.6, WORKED_WITH × 1.0, FRIENDS_WITH × 0.5, others × 0.5: "
        "persona colleague",
        "mere co-occurrence × 0.5: the question is relational",
        "from 1986-11-22: persona colleague",
    ]
