"""Athena's SQL, run: translated from its dialect into DuckDB's, over JSON lines as they lie in S3.

What it cannot show is what Athena itself makes of the DDL: its SerDe, partition projection and limits.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import duckdb
import sqlglot
from sqlglot import exp

Row = dict[str, Any]


class Lake:
    """Tables over JSON lines in a folder, and what queries of Athena answer from them."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._engine = duckdb.connect()
        self._engine.execute("SET TimeZone = 'UTC'")

    def table(
        self,
        name: str,
        columns: Mapping[str, str],
        files: Mapping[str, Iterable[Mapping[str, Any]]],
    ) -> None:
        """A table of Hive types; `files` are lines by path, of which `day=...` is a column."""
        for path, lines in files.items():
            file = self._folder / name / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
        types = {column: _type(kind) for column, kind in columns.items()}
        self._engine.execute(
            f"CREATE TABLE {name} AS SELECT * FROM read_json('{self._folder / name}/**/*.json', "
            f"columns={types}, format='newline_delimited', hive_partitioning=true, hive_types_autocast=false)"
        )

    def ask(self, statement: str) -> list[Row]:
        """The rows of one statement in Athena's dialect, as JSON has them; the database's name is left out."""
        (tree,) = sqlglot.parse(statement, read="athena")
        assert tree is not None
        for table in tree.find_all(exp.Table):
            table.set("db", None)
        sql, answer = tree.sql(dialect="duckdb"), self._folder / "answer.json"
        if not isinstance(tree, exp.Query):
            self._engine.execute(sql)
            return []
        self._engine.execute(f"COPY ({sql}) TO '{answer}' (FORMAT json)")
        return [json.loads(line) for line in answer.read_text().splitlines()]


def columns_of(ddl: str) -> tuple[str, dict[str, str]]:
    """Name and columns with Hive types of a CREATE EXTERNAL TABLE."""
    tree = sqlglot.parse_one(ddl, read="athena")
    return tree.find(exp.Table).name, {  # type: ignore[union-attr]
        column.name: column.args["kind"].sql("hive") for column in tree.find_all(exp.ColumnDef)
        if isinstance(column.parent, exp.Schema) and not isinstance(column.parent.parent, exp.DataType)
    }  # fmt: skip


def _type(hive: str) -> str:
    return exp.DataType.build(hive, dialect="hive").sql("duckdb")
