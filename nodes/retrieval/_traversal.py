"""How the graph is walked for a question: explicit over persona over intent over default."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from types import MappingProxyType
from typing import NamedTuple

from ...context import RetrievalContext
from ...models.intents import LEAST_CONFIDENCE
from ...models.periods import DateRange
from ...models.personas import Persona
from ...prompts.understand_question import Intent
from ...state import Traversal, Understanding
from ...stores.records import CO_OCCURS

__all__ = ["plan_traversal", "spoken"]

BY_CALLER = "set by the caller"

FEW_ENTITIES = 50
"""Of a walk that is about one entity and its passages."""

OF_PLACE = (
    *("TOOK_PLACE_AT", "LOCATED_IN", "LOCATED_AT", "BORN_IN", "DIED_IN", "LIVED_IN", "BASED_IN"),
    *("PART_OF", "CAPITAL_OF", "NEAR"),
)
"""Relations that lead to a place, as graphs that come with documents tend to call them."""


class Strategy(NamedTuple):
    """What an intent makes of the walk; none leaves the default.

    `weights` and `default_weight`: factors in [0, 1]; `prefers` says them to people. `dated`:
    within the period that the question names. `crosses`: from one namespace into another.
    """

    reason: str
    hops: int | None = None
    entity_limit: int | None = None
    weights: Mapping[str, float] = MappingProxyType({})
    default_weight: float = 1.0
    prefers: str = ""
    dated: bool = False
    crosses: bool = False


STRATEGIES: dict[Intent, Strategy] = {
    "relational": Strategy(
        "the question is relational",
        hops=2,
        weights={CO_OCCURS: 0.5},
        prefers="mere co-occurrence × 0.5",
    ),
    "temporal": Strategy("the question is temporal", hops=1, dated=True),
    "spatial": Strategy(
        "the question is spatial",
        weights=dict.fromkeys(OF_PLACE, 1.0),
        default_weight=0.6,
        prefers="relations of place × 1.0, others × 0.6",
    ),
    "entity_focused": Strategy(
        "the question is about one entity", hops=1, entity_limit=FEW_ENTITIES
    ),
    "general": Strategy("the question is general"),
    "cross_namespace": Strategy("the question is about several namespaces", hops=2, crosses=True),
}


def plan_traversal(
    understanding: Understanding | None,
    context: RetrievalContext,
    persona: Persona,
    *,
    today: date,
) -> Traversal:
    """The walk for a question: what the caller set, else the persona, else the intent, else 1 hop.

    Factors of relation types are those of persona and intent multiplied, unless the caller set
    them. The walk keeps to the period of a temporal question and to the persona's, or, when these
    do not meet, to the question's. Both may be relaxed; the caller's own dates may not. `persona`
    is the one that `context` names.
    """
    plan = _Plan(_intent(understanding, context), context, persona)
    hops = plan.number("graph_expansion_hops", "{} hops", persona.max_hops, plan.strategy.hops)
    limit = plan.number("graph_entity_limit", "{} entities", None, plan.strategy.entity_limit)
    passages = plan.number("entity_passages", "{} passages", persona.max_graph_results, None)
    default_weight = plan.default_weight()
    weights = plan.weights(default_weight)
    dates = plan.dates(understanding["period"] if understanding else None, today)
    return Traversal(
        intent=plan.intent,
        persona=context.persona,
        hops=hops,
        entity_limit=limit,
        relation_weights=weights,
        default_weight=default_weight,
        date_from=dates["date_from"],
        date_to=dates["date_to"],
        relax=not plan.given("relations_from", "relations_to"),
        crosses=plan.crosses(),
        passages=passages,
        why=plan.why,
    )


def _intent(understanding: Understanding | None, context: RetrievalContext) -> Intent:
    if context.intent is not None:
        return context.intent
    if understanding is None or understanding["confidence"] < LEAST_CONFIDENCE:
        return "general"
    return understanding["intent"]


class _Plan:
    """A walk in the making; `why` gathers what differs from the default, and on whose account."""

    def __init__(self, intent: Intent, context: RetrievalContext, persona: Persona) -> None:
        self.intent = intent
        self.strategy = STRATEGIES[intent]
        self.why: list[str] = []
        self._context = context
        self._persona = persona
        self._by_persona = f"persona {context.persona}"

    def given(self, *fields: str) -> bool:
        """Whether the caller set any of these."""
        return not self._context.model_fields_set.isdisjoint(fields)

    def number(self, field: str, words: str, persona: int | None, intent: int | None) -> int:
        """The caller's number, else the persona's, else the intent's, else the default."""
        default: int = RetrievalContext.model_fields[field].default
        number, reason = default, ""
        if self.given(field):
            number, reason = getattr(self._context, field), BY_CALLER
        elif persona is not None:
            number, reason = persona, self._by_persona
        elif intent is not None:
            number, reason = intent, self.strategy.reason
        if number != default:
            self.why.append(f"{words.format(number)}: {reason}")
        return number

    def default_weight(self) -> float:
        """What a relation counts whose type nobody named."""
        if self.given("default_relation_weight"):
            weight = self._context.default_relation_weight
            self.why.append(f"other relations × {weight}: {BY_CALLER}")
            return weight
        return round(self._persona.default_relation_weight * self.strategy.default_weight, 4)

    def weights(self, default: float) -> dict[str, float]:
        """What relations count by type; those that count like any other need no mention."""
        if self.given("relation_weights"):
            said = _factors(self._context.relation_weights) or "no factors"
            self.why.append(f"{said}: {BY_CALLER}")
            return dict(self._context.relation_weights)
        persona, intent = self._persona, self.strategy
        if said := _factors(persona.relation_weights, persona.default_relation_weight):
            self.why.append(f"{said}: {self._by_persona}")
        if intent.prefers:
            self.why.append(f"{intent.prefers}: {intent.reason}")
        weights = {
            name: round(
                persona.relation_weights.get(name, persona.default_relation_weight)
                * intent.weights.get(name, intent.default_weight),
                4,
            )
            for name in sorted({*persona.relation_weights, *intent.weights})
        }
        return {name: weight for name, weight in weights.items() if weight != default}

    def dates(self, asked: DateRange | None, today: date) -> DateRange:
        """Within which relations are walked."""
        if self.given("relations_from", "relations_to"):
            context = self._context
            dates = DateRange(date_from=context.relations_from, date_to=context.relations_to)
            return self._told(dates, BY_CALLER)
        liked = self._persona.temporal_range.dates(today)
        if not self.strategy.dated or asked is None:
            return self._told(liked, self._by_persona)
        both = _overlap(asked, liked)
        if both is None or both == asked:
            return self._told(asked, "the question names this period")
        return self._told(both, f"the question names a period, and {self._by_persona}")

    def _told(self, dates: DateRange, reason: str) -> DateRange:
        if span := spoken(dates):
            self.why.append(f"{span}: {reason}")
        return dates

    def crosses(self) -> bool:
        """Whether names lead from one namespace into another."""
        wanted = self._context.cross_namespace
        crosses = self._persona.cross_namespace and self.strategy.crosses
        if wanted is not None:
            crosses = wanted
        if crosses:
            reason = self.strategy.reason if wanted is None else BY_CALLER
            self.why.append(f"names lead into other namespaces: {reason}")
        return crosses


def _factors(weights: Mapping[str, float], default: float = 1.0) -> str:
    factors = {**weights, "others": default} if default != 1 else weights
    return ", ".join(f"{name} × {weight}" for name, weight in factors.items())


def _overlap(one: DateRange, other: DateRange) -> DateRange | None:
    """What lies within both; none when nothing does."""
    first = max(one["date_from"] or "", other["date_from"] or "") or None
    ends = [end for end in (one["date_to"], other["date_to"]) if end]
    last = min(ends) if ends else None
    if first and last and first > last:
        return None
    return DateRange(date_from=first, date_to=last)


def spoken(dates: DateRange) -> str:
    """The period in words; empty when it is open at both ends."""
    parts = (("from", dates["date_from"]), ("to", dates["date_to"]))
    return " ".join(f"{word} {day}" for word, day in parts if day)
