"""The logs of an arm's trials and resets as one row, the newest first: what was under way when the last one ended?

A world of the twin's that has just been made has no past; what other workers do at theirs is no business of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from runner.trial.found import UnderWay, what_was_under_way
from runs.store import RunEntry, RunHeader, RunStore, RunWriter, StoredRun, open_folder, state_of

_KINDS = ("run", "reset")


class TellingStore(RunStore):
    """A store that says at once which run it has made."""

    def __init__(self, runs_dir: Path, made: Callable[[RunStore, str], None]) -> None:
        super().__init__(runs_dir)
        self._made = made

    def create(self, header: RunHeader, *, run_id: str | None = None) -> RunWriter:
        """See `RunStore.create`."""
        writer = super().create(header, run_id=run_id)
        self._made(self, writer.run_id)
        return writer


class LogsSoFar(RunStore):
    """Trials and resets of one arm. Nothing can be made here."""

    def __init__(self, runs: RunStore, resets: RunStore) -> None:
        super().__init__(runs.runs_dir)
        self._stores = (runs, resets)
        self._own: list[RunEntry] | None = None  # None: every log there is was this arm's

    def new_world(self) -> None:
        """From now on only what is begun from here on counts."""
        self._own = []

    def same_world(self, logs: Sequence[tuple[str, str]]) -> None:
        """The world is that of an earlier process, with these logs so far: see `told`."""
        stores = dict(zip(_KINDS, self._stores, strict=True))
        self._own = [RunEntry(name, stores[kind].runs_dir / name, "running") for kind, name in logs if kind in stores]

    @property
    def told(self) -> tuple[tuple[str, str], ...]:
        """The logs of this world so far, the oldest first: `run` or `reset`, and the id."""
        kinds = {store.runs_dir: kind for kind, store in zip(_KINDS, self._stores, strict=True)}
        return tuple((kinds[entry.folder.parent], entry.run_id) for entry in self._own or ())

    def begins(self, store: RunStore, run_id: str) -> None:
        """A trial or a reset is begun, or was."""
        if self._own is not None:
            self._own.append(RunEntry(run_id, store.runs_dir / run_id, "running"))

    def is_anothers(self, store: RunStore, run_id: str) -> None:
        """What was told last to begin did not: the id was taken, and that run is of another arm's row."""
        if self._own is not None:
            self._own.remove(RunEntry(run_id, store.runs_dir / run_id, "running"))

    def under_way(self, _store: RunStore) -> UnderWay | None:
        """See `what_was_under_way`."""
        return what_was_under_way(self)

    def newest(self, count: int) -> tuple[RunEntry, ...]:
        """At most so many, the one written to last first."""
        entries = self._own
        if entries is None:
            entries = [entry for store in self._stores for entry in store.newest(count)]
            entries.sort(key=_written_to)
        there = [entry for entry in entries if entry.folder.is_dir()]
        return tuple(RunEntry(e.run_id, e.folder, state_of(e.folder)) for e in reversed(there[-count:]))

    def open(self, wanted: str) -> StoredRun:
        """One of them, by its id: a reset's and a trial's are never the same, for the newest of that name counts."""
        for entry in self.newest(len(self._own or ()) or 100):
            if entry.run_id == wanted:
                return open_folder(entry.folder)
        return super().open(wanted)


def _written_to(entry: RunEntry) -> int:
    path = entry.folder / "events.jsonl"
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0
