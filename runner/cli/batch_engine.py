"""Who runs the trials of a batch: this process, several here, or a Ray cluster, by the options of the command line."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from runs.errors import Family, TrialcellError

if TYPE_CHECKING:
    from runner.batch.desk import Cells
    from runner.batch.pause import Pause
    from runner.batch.run import Engine
    from runs.batch_records import BatchPlan
    from runs.batches import BatchFolder

ENGINES = ("processes", "ray")


class NoSuchEngine(TrialcellError):
    """A name that no engine has, one whose library is not installed, or one for twins where the arm is another."""

    family: ClassVar[Family] = "usage"


@dataclass(frozen=True, slots=True)
class Host:
    """What was asked for on the command line."""

    name: str
    workers: int | None
    ray_address: str | None

    def hears_no_signals(self, cells: Cells, plan: BatchPlan) -> bool:
        """Whether workers have to be told by the disk that a stop was asked of this process."""
        return self.name == "processes" and self._processes(cells, plan) > 1

    @contextmanager
    def engine(
        self, cells: Cells, batch: BatchFolder, plan: BatchPlan, pause: Pause
    ) -> Iterator[tuple[Engine | None, int]]:
        """The engine, None for this very process, and its number of workers. Afterwards it is gone.

        Raises:
            NoSuchEngine, WrongRequest: not with these settings. NoCluster: it can't be reached.
        """
        if self.name not in ENGINES:
            raise NoSuchEngine(f"no engine {self.name!r}", next_step=f"take one of: {', '.join(ENGINES)}")
        if self.name == "ray":
            with self._on_ray(cells, batch, plan, pause) as found:
                yield found
            return
        n = self._processes(cells, plan)
        if n == 1:
            yield None, 1
            return
        from runner.batch.workers import SideBySide

        beside = SideBySide(cells, batch, plan, pause, n)
        try:
            yield beside, n
        finally:
            beside.close()

    def _processes(self, cells: Cells, plan: BatchPlan) -> int:
        from runner.batch.run import workers_for

        return workers_for(next(iter(cells.values())).config, plan, self.workers)

    @contextmanager
    def _on_ray(self, cells: Cells, batch: BatchFolder, plan: BatchPlan, pause: Pause) -> Iterator[tuple[Engine, int]]:
        from runner.batch.run import alone

        config = next(iter(cells.values())).config
        if alone(config):
            raise NoSuchEngine(
                "a cluster can only run twins, and no person's judge", next_step="leave --engine ray out"
            )
        try:
            from runner.batch.on_ray import OnRay
        except ImportError:
            raise NoSuchEngine("Ray is not installed", next_step='pip install "trialcell[ray]"') from None
        address = self.ray_address or config.batch.ray_address or os.environ.get("RAY_ADDRESS") or None
        cluster = OnRay(cells, batch, plan, pause, address)
        try:
            yield cluster, cluster.connect(self.workers)
        finally:
            cluster.close()
