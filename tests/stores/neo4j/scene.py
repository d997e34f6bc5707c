"""Small graphs made at random, and what a walk over them must bring, worked out path by path."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from clew.stores.access import Access
from clew.stores.neo4j.projection import Neo4jProjection
from clew.stores.projected import (
    ProjectedAudience,
    ProjectedDocument,
    ProjectedEntity,
    ProjectedMention,
    ProjectedRelationship,
)
from clew.stores.records import Mention
from clew.stores.walk import Walk

from .paths import Path

TYPES = ("works_for", "knows", "likes")
NAMESPACES = ("main", "other")
PRINCIPALS = ("public", "ada", "bob")
DAYS = (None, "2019-05-01", "2020-01-01", "2020-06-30", "2021-12-31")
# Powers of two multiply without rounding, so that ties are ties in any order.
WEIGHTS = (1.0, 0.5, 0.5, 0.25, 0.125)


@dataclass
class Scene:
    """What is put into a graph."""

    audiences: list[ProjectedAudience] = field(default_factory=list)
    entities: list[ProjectedEntity] = field(default_factory=list)
    relationships: list[ProjectedRelationship] = field(default_factory=list)
    documents: list[ProjectedDocument] = field(default_factory=list)

    async def put(self, projection: Neo4jProjection) -> None:
        """Write everything, in the order a projection asks for."""
        await projection.put_audiences(self.audiences)
        await projection.put_entities(self.entities)
        await projection.put_relationships(self.relationships)
        await projection.put_documents(self.documents)

    def readable(self, access: Access) -> set[int]:
        """The audiences a caller belongs to."""
        return {
            row["id"]
            for row in self.audiences
            if row["namespace"] in access.namespaces
            and set(row["principals"]) & set(access.principals)
        }

    def visible(self, access: Access) -> dict[int, ProjectedEntity]:
        """The entities with a mention the caller may read."""
        readable = self.readable(access)
        seen = {
            mention["entity"]
            for row in self.documents
            if row["audience"] in readable
            for mention in row["mentions"]
        }
        return {row["id"]: row for row in self.entities if row["id"] in seen}

    def expected_walk(
        self, seeds: Mapping[int, float], walk: Walk, access: Access
    ) -> list[tuple[int, int, float, int, list[tuple[str, str, str, float]]]]:
        """(id, hop, score, seed, path) as `expand` promises them, from every path there is."""
        visible = self.visible(access)
        steps = self._steps(walk, access, visible)
        roots = {id_: Path(id_, score) for id_, score in seeds.items() if id_ in visible}
        best: dict[int, Path] = {}
        paths = sorted(roots.values(), key=lambda path: path.at)
        for _ in range(walk.hops):
            paths = [
                Path(there, path.product * worth, path, step)
                for path in paths
                for there, worth, step in steps[path.at]
            ]
            for path in paths:
                known = best.get(path.at)
                if known is None or path.rank < known.rank:
                    best[path.at] = path
        reached = [
            path
            for path in best.values()
            if path.at not in roots or path.score > roots[path.at].score
        ]
        reached.sort(key=lambda path: (-path.score, path.at))
        kept = {path.at: path for path in reached[: walk.limit]}
        first = [kept.pop(id_, path) for id_, path in roots.items()]
        first.sort(key=lambda path: (-path.score, path.at))
        return [path.told for path in (*first, *kept.values())]

    def _steps(
        self, walk: Walk, access: Access, visible: Mapping[int, ProjectedEntity]
    ) -> dict[int, list[tuple[int, float, tuple[int, str, str, str, float]]]]:
        readable = self.readable(access)
        steps = defaultdict(list)
        for row in self.relationships:
            worth = row["weight"] * walk.factor(row["type"])
            source, target = visible.get(row["source"]), visible.get(row["target"])
            if (
                source is None
                or target is None
                or worth == 0
                or not readable & set(row["audiences"])
                or not walk.open_to(row["first_seen"], row["last_seen"])
            ):
                continue
            step = (row["id"], source["name"], row["type"], target["name"], row["weight"])
            steps[source["id"]].append((target["id"], worth, step))
            steps[target["id"]].append((source["id"], worth, step))
        return steps

    def expected_mentions(
        self, weights: Mapping[int, float], limit: int, always: Sequence[int], access: Access
    ) -> list[Mention]:
        """What `mentions_of` promises."""
        readable = self.readable(access)
        found = [
            Mention(**mention)
            for row in self.documents
            if row["audience"] in readable
            for mention in row["mentions"]
            if mention["entity"] in weights
        ]
        heavy: defaultdict[int, float] = defaultdict(float)
        for mention in found:
            heavy[mention["chunk"]] += weights[mention["entity"]]
        best = sorted(heavy, key=lambda chunk: (-heavy[chunk], chunk))[:limit]
        kept = {*best, *always}
        return sorted(
            (mention for mention in found if mention["chunk"] in kept),
            key=lambda mention: (mention["chunk"], mention["entity"]),
        )

    def expected_relationships(
        self, entities: Sequence[int], limit: int, access: Access
    ) -> list[dict[str, Any]]:
        """What `relationships_among` promises."""
        readable = self.readable(access)
        ends = set(entities) & set(self.visible(access))
        among = [
            row
            for row in self.relationships
            if row["source"] in ends and row["target"] in ends and readable & set(row["audiences"])
        ]
        among.sort(key=lambda row: (-row["weight"], row["id"]))
        return [
            {
                **{
                    key: row[key]
                    for key in ("id", "source", "target", "type", "weight", "confidence", "count")
                },
                "evidence": [
                    chunk
                    for chunk, audience in zip(
                        row["evidence"], row["evidence_audiences"], strict=True
                    )
                    if audience in readable
                ][:20],
            }
            for row in among[:limit]
        ]


def random_scene(seed: int, *, base: int = 0, entities: int = 14, relations: int = 40) -> Scene:
    """Two namespaces with hubs, cycles, loops, parallel relations and closed audiences.

    Even seeds make ties, odd ones weights of all digits.
    """
    pick = random.Random(seed)
    scene = Scene()
    rounded = seed % 2 == 0
    audiences = base * 1000
    for namespace in NAMESPACES:
        for principals in ([], ["public"], ["ada"], ["bob", "ada"]):
            audiences += 1
            scene.audiences.append(
                ProjectedAudience(id=audiences, namespace=namespace, principals=principals)
            )
    for number in range(entities):
        namespace = NAMESPACES[pick.random() < 0.25]
        scene.entities.append(
            ProjectedEntity(
                id=base * 1000 + number + 1,
                namespace=namespace,
                name=f"{namespace} {number}",
                type=pick.choice(["person", "place"]),
                df=pick.randint(1, 9),
            )
        )
    by_namespace = {
        namespace: [row["id"] for row in scene.entities if row["namespace"] == namespace]
        for namespace in NAMESPACES
    }
    for number in range(relations):
        row = pick.choice(scene.entities)
        others = by_namespace[row["namespace"]]
        # A hub now and then, and an end that is the other end as well.
        source = others[0] if pick.random() < 0.3 else row["id"]
        scene.relationships.append(
            _relationship(pick, base * 1000 + number + 1, row["namespace"], source, others, scene)
        )
        if not rounded:
            scene.relationships[-1]["weight"] = 1 - pick.random()
    for number in range(12):
        namespace = pick.choice(NAMESPACES)
        scene.documents.append(
            _document(pick, base * 1000 + number + 1, namespace, by_namespace[namespace], scene)
        )
    return scene


def audiences_of(scene: Scene, namespace: str) -> list[int]:
    """The ids of a namespace's audiences."""
    return [row["id"] for row in scene.audiences if row["namespace"] == namespace]


def _relationship(
    pick: random.Random,
    id_: int,
    namespace: str,
    source: int,
    others: Sequence[int],
    scene: Scene,
) -> ProjectedRelationship:
    seen = sorted(day for day in pick.choices(DAYS, k=2) if day)
    chunks = sorted(pick.sample(range(1, 90), pick.randint(1, 30)))
    given = [pick.choice(audiences_of(scene, namespace)) for _ in chunks]
    if pick.random() < 0.6:
        given = [audiences_of(scene, namespace)[1] for _ in chunks]
    return ProjectedRelationship(
        id=id_,
        namespace=namespace,
        source=source,
        target=pick.choice(others),
        type=pick.choice(TYPES),
        weight=pick.choice(WEIGHTS),
        confidence=pick.choice([0.5, 0.75]),
        count=pick.randint(1, 5),
        first_seen=seen[0] if len(seen) == 2 else None,
        last_seen=seen[1] if len(seen) == 2 else None,
        audiences=sorted(set(given)),
        evidence=chunks,
        evidence_audiences=given,
    )


def _document(
    pick: random.Random, id_: int, namespace: str, entities: Sequence[int], scene: Scene
) -> ProjectedDocument:
    audiences = audiences_of(scene, namespace)
    mentions = []
    for chunk in range(id_ * 5, id_ * 5 + pick.randint(0, 3)):
        named = sorted(pick.sample(entities, min(len(entities), pick.randint(1, 4))))
        mentions += [
            ProjectedMention(
                chunk=chunk,
                entity=entity,
                count=pick.randint(1, 4),
                subject=pick.random() < 0.3,
                chunk_entities=len(named),
            )
            for entity in named
        ]
    audience = audiences[1] if pick.random() < 0.6 else pick.choice(audiences)
    return ProjectedDocument(id=id_, namespace=namespace, audience=audience, mentions=mentions)
