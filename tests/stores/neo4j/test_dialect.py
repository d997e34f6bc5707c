"""What each server is told, without a server."""

from __future__ import annotations

import re

import pytest

from clew.stores.neo4j import queries
from clew.stores.neo4j.dialect import Neo4j5, Neptune

VALUES = {name: getattr(queries, name) for name in queries.__all__}
STATEMENTS: dict[str, str] = {
    **{name: value for name, value in VALUES.items() if isinstance(value, str)},
    **{f"REMOVE {kind}": text for kind, text in queries.REMOVE.items()},
    **{f"SCHEMA {number}": text for number, text in enumerate(queries.SCHEMA)},
}
ASKED = {name: text for name, text in STATEMENTS.items() if not name.startswith("SCHEMA")}
LIMITS = {"limit": 7, "fanout": 9}


def test_every_statement_is_looked_at() -> None:
    assert {name.split()[0] for name in STATEMENTS} == set(queries.__all__)


@pytest.mark.parametrize("name", ASKED)
def test_neptune_is_told_limits_in_figures_and_imports_by_with(name: str) -> None:
    said = Neptune("x_").render(ASKED[name], LIMITS)
    assert "LIMIT $" not in said
    assert "CALL (" not in said
    assert said.count("CALL { WITH ") == ASKED[name].count("CALL (")
    assert not re.search(r"IN \w+\.(audiences|principals)", said)
    assert not re.search(r"\b(EXISTS|COUNT|COLLECT)\s*\{|\b(any|all|none|single)\(", said)
    assert "apoc" not in said.lower()


def test_neptune_has_no_schema() -> None:
    assert Neptune("x_").schema == ()


@pytest.mark.parametrize("limit", ["1", 1.0, True, None, "1 RETURN 1"])
def test_a_limit_that_is_no_integer_is_not_written_out(limit: object) -> None:
    with pytest.raises(TypeError, match="integer"):
        Neptune().render("RETURN 1 LIMIT $limit", {"limit": limit})


@pytest.mark.parametrize("name", STATEMENTS)
@pytest.mark.parametrize("dialect", [Neo4j5("prod_"), Neptune("prod_")])
def test_every_label_carries_the_prefix(name: str, dialect: Neo4j5 | Neptune) -> None:
    said = dialect.render(STATEMENTS[name], LIMITS)
    assert set(re.findall(r":(\w+)", said)) <= {
        f"prod_{label}"
        for label in ("Entity", "Chunk", "Audience", "Document", "RELATES_TO", "MENTIONED_IN")
    }


@pytest.mark.parametrize("dialect", [Neo4j5("prod_"), Neo4j5()])
def test_names_of_constraints_carry_the_prefix(dialect: Neo4j5) -> None:
    names = [statement.split()[2] for statement in dialect.schema]
    assert len(set(names)) == len(names)
    assert all(name.startswith(f"clew_{dialect.prefix}") for name in names)


@pytest.mark.parametrize("kind", [Neo4j5, Neptune])
@pytest.mark.parametrize(
    "prefix", ["1x", "_x", "a-b", "a b", "a`b", "a:b", "ä_", "x\n", "a{}", ") DETACH DELETE n //"]
)
def test_an_odd_prefix_is_refused(kind: type[Neo4j5 | Neptune], prefix: str) -> None:
    with pytest.raises(ValueError, match="prefix"):
        kind(prefix)


@pytest.mark.parametrize("values", [[], [""], ["a b", "", "%", "ä/ö", "a\nb"], ["1", "2"]])
def test_a_packed_list_is_unpacked_as_it_was(values: list[str]) -> None:
    for dialect in (Neo4j5(), Neptune()):
        assert dialect.unpack_texts(dialect.pack(values)) == values
        packed = dialect.pack(values)
        words = packed.split(" ") if isinstance(packed, str) else packed
        assert [word for word in words if word] == [v for v in dialect.members(values) if v]


def test_a_missing_list_is_an_empty_one() -> None:
    for dialect in (Neo4j5(), Neptune()):
        assert dialect.unpack_numbers(None) == []
        assert dialect.unpack_numbers(dialect.pack([3, 20])) == [3, 20]
