"""The one door to DuckDB: files of rows, and questions over them. It is loaded when first used.

It knows no run and no folder of runs. What a user's SQL may do is look: with `locked` no file, setting or extension is
reached from it beyond what was opened before.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

from runs.errors import Family, RecordError

_MOST_MEMORY_MB = 512
"""What the database may take; a rebuild of any size streams through it."""


class BadQuestion(RecordError):
    """SQL that the database does not take."""

    family: ClassVar[Family] = "usage"

    def __init__(self, why: str) -> None:
        self.why = why
        super().__init__(why)


class IndexDamaged(RecordError):
    """A file of the index can't be read; it is made again from the folders, and told only where that didn't mend it."""

    def __init__(self, why: str) -> None:
        self.why = why
        super().__init__(
            f"the index of the runs can't be read: {_first_lines(why)}",
            next_step="make it anew: trialcell runs index --rebuild",
        )


class QuestionTooLarge(RecordError):
    """The answer takes more memory than the database may have."""

    family: ClassVar[Family] = "failed"

    def __init__(self, why: str) -> None:
        self.why = why
        super().__init__(
            f"this takes more memory than the index may have ({_MOST_MEMORY_MB} MB): {_first_lines(why)}",
            next_step="ask about fewer runs, or make room in the system's temporary folder",
        )


class Database:
    """A connection in memory. Use it in a `with`, or `close` it."""

    def __init__(self) -> None:
        import duckdb  # noqa: PLC0415 - takes longer to import than most questions take to answer

        self._errors = duckdb.Error
        self._ours = (duckdb.ParserException, duckdb.BinderException, duckdb.CatalogException)
        self._asked_wrongly = (duckdb.ConversionException, duckdb.OutOfRangeException)
        self._too_large = duckdb.OutOfMemoryException
        self._connection = duckdb.connect(":memory:")
        self._connection.execute("SET preserve_insertion_order = false")
        self._connection.execute(f"SET memory_limit = '{_MOST_MEMORY_MB}MB'")
        spill = Path(tempfile.gettempdir()) / f"trialcell_index_{os.getpid()}"  # by default it is where we stand
        self._connection.execute(f"SET temp_directory = {quoted(str(spill))}")
        self._connection.execute("SET parquet_metadata_cache = true")
        self._connection.execute(f"SET threads = {min(os.cpu_count() or 1, 4)}")

    def __enter__(self) -> Database:
        """Itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()

    def close(self) -> None:
        """Let go of the connection. Safe more than once."""
        self._connection.close()

    def do(self, sql: str, parameters: Sequence[Any] = ()) -> None:
        """Run a statement of ours.

        Raises:
            IndexDamaged, QuestionTooLarge, BadQuestion: see `_told`.
        """
        with self._told():
            self._connection.execute(sql, list(parameters))

    def rows(self, sql: str, parameters: Sequence[Any] = ()) -> list[dict[str, Any]]:
        """The answer to a question of ours, a dict a row.

        Raises:
            IndexDamaged, QuestionTooLarge, BadQuestion: see `_told`.
        """
        with self._told():
            answer = self._connection.execute(sql, list(parameters))
            names = [column[0] for column in answer.description]
            return [dict(zip(names, row, strict=True)) for row in answer.fetchall()]

    def stream(self, sql: str, parameters: Sequence[Any] = ()) -> Iterator[dict[str, Any]]:
        """The answer to a question of ours, a dict a row, some at a time. No other question may be asked meanwhile.

        Raises:
            IndexDamaged, QuestionTooLarge, BadQuestion: see `_told`.
        """
        with self._told():
            answer = self._connection.execute(sql, list(parameters))
            names = [column[0] for column in answer.description]
        while True:
            with self._told():
                rows = answer.fetchmany(2000)
            if not rows:
                return
            yield from (dict(zip(names, row, strict=True)) for row in rows)

    @contextmanager
    def _told(self) -> Iterator[None]:
        """The database's errors as ours: a value that no column can be held against and want of memory are no damage.

        What is wrong in our own SQL is passed on as it is.
        """
        try:
            yield
        except self._ours:
            raise
        except self._asked_wrongly as error:
            raise BadQuestion(_first_lines(str(error))) from error
        except self._too_large as error:
            raise QuestionTooLarge(str(error)) from error
        except self._errors as error:
            raise IndexDamaged(str(error)) from error

    def ask(self, sql: str, limit: int) -> tuple[list[str], list[tuple[Any, ...]], bool]:
        """A person's question: names of columns, at most `limit` rows, and whether there were more.

        Raises:
            BadQuestion: in the database's own words.
        """
        try:
            statements = self._connection.extract_statements(sql)
            if [statement.type.name for statement in statements] not in (["SELECT"], ["EXPLAIN"]):
                raise BadQuestion("one question at a time, and only one that looks: SELECT … FROM runs …")
            answer = self._connection.execute(statements[0])
            rows = answer.fetchmany(limit + 1)
            return [column[0] for column in answer.description], rows[:limit], len(rows) > limit
        except self._errors as error:
            raise BadQuestion(_first_lines(str(error))) from None

    def lock(self, may_read: Sequence[Path]) -> None:
        """From here on no file but these, no network, extension or setting is reached."""
        self.do(f"SET allowed_paths = {_listed(may_read)}")
        self.do("SET enable_external_access = false")
        self.do("SET lock_configuration = true")

    def write(self, query: str, out: Path) -> None:
        """The answer to a query of ours as one new file of rows. It streams, so memory stays flat."""
        self.do(f"COPY ({query}) TO {quoted(str(out))} (FORMAT parquet, COMPRESSION lz4_raw)")


def in_files(files: Sequence[Path]) -> str:
    """Rows in files of columns, with the same columns each, as SQL. There must be one at least."""
    return f"SELECT * FROM read_parquet({_listed(files)})"


def _listed(files: Sequence[Path]) -> str:
    return f"[{', '.join(quoted(str(path)) for path in files)}]"


def quoted(text: str) -> str:
    """A text as a literal of SQL."""
    return "'" + text.replace("'", "''") + "'"


def _first_lines(text: str) -> str:
    return " ".join(text.split("\n\n", maxsplit=1)[0].split())
