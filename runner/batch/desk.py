"""What a session works on: one arm and camera, with a bench for each of the two sets of settings.

In the twin it makes the world that a session begins with and changes the light from trial to trial; on metal it leaves
everything where it is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from math import hypot
from pathlib import Path

from runner.batch.world_kept import KeptWorld
from runner.cell import Cell
from runner.config import with_overrides
from runner.rig import Request, Rig, another_bench, build_rig
from runner.trial.bench import Bench
from runner.trial.drift import drift_due
from runner.trial.notebook import Observer
from runner.trial.stop import StopSwitch
from runner.twin.errors import AnotherWorld
from runner.twin.firmware.faults import trouble_camera
from runner.twin.setup import Twin
from runner.twin.shading import light_for
from runner.twin.world import Resting
from runs.batch_records import ArmOfTest, BatchPlan, PlannedStart
from runs.events import Payload
from runs.schema.run import InBatch, TipMeasurement

Cells = Mapping[ArmOfTest | None, Cell]
"""The cell with the settings of each arm of a test; one entry, under None, where nothing is compared."""


@dataclass(slots=True, eq=False)
class Scored:
    """Watches a trial for scoring. `truth_tip_mm`: how far the tool truly was from the block at the first attempt."""

    twin: Twin | None
    observer: Observer | None
    truth_tip_mm: float | None = None

    def __call__(self, record: Payload) -> None:
        """The tip is measured while the arm rests at the block with open jaws."""
        if isinstance(record, TipMeasurement) and record.attempt == 1 and self.twin is not None:
            truth = self.twin.truth()
            (x, _, z), (block_x, _, block_z) = truth.tool_m, truth.block_m
            self.truth_tip_mm = hypot(x - block_x, z - block_z) * 1000.0
        if self.observer is not None:
            self.observer(record)


@dataclass(frozen=True, slots=True, eq=False)
class Desk:
    """A rig with its benches. Use it in a `with`, or close it."""

    rig: Rig
    benches: Mapping[ArmOfTest | None, Bench]
    trying: Bench | None = None  # the same with the correction that is proposed, where a start is to try it

    @property
    def twin(self) -> Twin | None:
        """The twin in process; None at any other arm."""
        return self.rig.station.twin

    def bench_for(self, start: PlannedStart, batch_id: str, *, tries: bool) -> Bench:
        """The bench of a start's settings, with the start in what its runs' logs say that they stood on."""
        bench = self.trying if tries and self.trying is not None else self.benches[start.arm]
        place = InBatch(batch_id=batch_id, start=start.index, arm=start.arm, round=start.round)
        return replace(
            bench,
            provenance=bench.provenance.model_copy(update={"seed": start.seed, "batch": place}),
            look_for_slip=drift_due(start.index + 1, bench.config.calibration.drift_every),
        )

    def share(self, of: Bench) -> None:
        """What one bench's guard knows of the desk, all know."""
        for bench in (*self.benches.values(), *([self.trying] if self.trying else [])):
            bench.arm.obstacles = of.arm.obstacles

    def relight(self, start: PlannedStart) -> None:
        """Another hour of the day, in the twin: the light and the noise of the start's seed."""
        if self.twin is not None:
            self.twin.relight(light_for(start.seed, self.twin.config.twin.light_height_m), start.seed)

    def take_up(self, kept: KeptWorld, plan: BatchPlan) -> bool:
        """The twin's world as it was put by; False where it does not fit, and then nothing is as it was."""
        assert self.twin is not None, "a desk of metal stays as it is"
        try:
            _new_world(self.twin, plan.starts[kept.made_for])
            self.twin.take_up(kept.twin)
        except (AnotherWorld, IndexError):
            return False
        return True

    def renew(self, start: PlannedStart) -> None:
        """A new world of the twin's, with this start in it."""
        assert self.twin is not None, "only the twin's desk is made"
        _new_world(self.twin, start)

    def befall(self, start: PlannedStart) -> None:
        """What the plan has go wrong with the twin in this start's trial, from some moment of it on."""
        if start.fault is None or self.twin is None or self.rig.station.firmware is None:
            return
        trouble_camera(self.twin, [start.fault], start.seed, from_s=self.twin.world.now_s)
        self.rig.station.firmware.befall([start.fault], start.seed)

    def faults_begun(self) -> tuple[str, ...]:
        """The twin's faults that have begun and are not put right yet."""
        firmware = self.rig.station.firmware
        camera = [] if self.twin is None else self.twin.camera.befallen
        return (*(firmware.begun if firmware is not None else ()), *camera)

    def put_back(self, start: PlannedStart) -> None:
        """The twin's block to the start, by no arm."""
        assert self.twin is not None, "only the twin's block is put anywhere by itself"
        self.twin.world.put_block(Resting(start.block_xz_m, start.block_yaw_deg))

    def block_held(self) -> bool:
        """Whether the twin's block hangs in the gripper, so that nobody can put it elsewhere."""
        return self.twin is not None and self.twin.truth().block_held

    def in_box(self) -> bool | None:
        """What the twin says of a trial that has ended; None where there is nobody to say so."""
        truth = self.rig.truth()
        return None if truth is None else bool(truth["block_in_box"])

    def scored(self, observer: Observer | None) -> Scored:
        """An observer of a trial that also notes how near the twin's tool truly came; nothing of the trial sees it."""
        return Scored(self.twin, observer)

    def close(self) -> None:
        """Let go of arm and camera."""
        self.rig.station.close()


def open_desk(
    cells: Cells, start: PlannedStart, switch: StopSwitch, preparing: Callable[[str], None], *, tries: bool
) -> Desk:
    """Arm, camera and benches; in the twin a new world with this start in it.

    Args:
        tries: whether a start will try the correction that is proposed.

    Raises:
        TrialcellError: what the cell lacks, or a device that does not answer.
    """
    cell = cells[start.arm]
    rig = build_rig(cell, Request(), switch=switch, progress=preparing)
    try:
        if rig.station.twin is not None:
            _new_world(rig.station.twin, start)
        benches = {
            arm: rig.bench if arm == start.arm else another_bench(rig, other, switch=switch)
            for arm, other in cells.items()
        }
        trying = another_bench(rig, _trying(cell), switch=switch) if tries else None
    except BaseException:
        rig.station.close()
        raise
    return Desk(rig, benches, trying)


def _trying(cell: Cell) -> Cell:
    """The cell with the setting by which trials try what was proposed last."""
    return Cell(cell.folder, with_overrides(cell.config, ["corrections.use=candidate"]))


def _new_world(twin: Twin, start: PlannedStart) -> None:
    assert start.box_xz_m is not None, "a plan for the twin says where the box is"
    twin.reset(
        start.seed,
        block_xz_m=start.block_xz_m,
        block_yaw_deg=start.block_yaw_deg,
        box_xz_m=start.box_xz_m,
        box_yaw_deg=start.box_yaw_deg,
    )


def last_picture(folder: Path) -> Path | None:
    """The picture that was kept last in a log's folder."""
    found = sorted(folder.glob("*.jpg"), key=lambda path: path.stat().st_mtime_ns)
    return found[-1] if found else None
