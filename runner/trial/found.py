"""What the last runs of a cell left behind: which one never came to its end, where it was, and what it may still hold.

Told from the logs alone, so it can be asked before an arm is connected. What the gripper itself says, and what is done
about it, is `settle.py`'s business. It changes nothing but `run.json` files that were never written.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from runs.errors import RecordError, StorageUnwritable
from runs.schema.geometry import Joints, TablePoint
from runs.schema.run import RunLog
from runs.store import RunStore

_RUNS_BACK = 20  # a chain of runs none of which could put right what the first left
_READ_ON_TABLE = ("stage5_grip_check", "reset_grip_check")  # fingertips that stand on the table read as empty
_CLOSING = ("stage5", "reset_pick")


@dataclass(frozen=True, slots=True)
class Way:
    """The straight move of a pick or a place, from its approach pose to its target's, degrees (n_joints,)."""

    begin_deg: Joints
    end_deg: Joints


@dataclass(frozen=True, slots=True)
class Standing:
    """A thing on the table as it was seen last."""

    xz_m: TablePoint
    yaw_deg: float


@dataclass(frozen=True, slots=True)
class UnderWay:
    """What was under way when the last run ended or was cut off.

    `may_hold`: by its log the jaws had closed on the block and not let go. `pick` and `place` are the moves that it had
    planned; `block` is where the block lay before.
    """

    run_id: str
    stage: str | None
    cut_off: bool
    may_hold: bool
    pick: Way | None = None
    place: Way | None = None
    box: Standing | None = None
    block: Standing | None = None
    unwritten: tuple[str, ...] = ()  # runs without a `run.json`
    readable: bool = True

    @property
    def sentence(self) -> str:
        """Which run, and where it was."""
        if not self.readable:
            how = "was cut off, and its log" if self.cut_off else "has a log that"
            return f"{self.run_id} {how} can't be read"
        where = "before its first stage" if self.stage is None else f"in {self.stage}"
        if self.cut_off:
            return f"{self.run_id} was cut off {where}"
        return f"{self.run_id} ended {where} without bringing everything to rest"


def what_was_under_way(store: RunStore) -> UnderWay | None:
    """What the last run left, or None where it ended with the arm at rest and empty jaws, or nothing was run.

    Looks back through runs that ended without the block let go, for where it was taken. Dry runs and runs that somebody
    writes at this moment are passed over; a last one that can't be read may have left anything, whatever those before
    it say.
    """
    latest: UnderWay | None = None
    unwritten: list[str] = []
    knows_of_jaws = False
    for entry in store.newest(_RUNS_BACK):
        if entry.state == "running":
            continue
        try:
            log = store.open(entry.run_id).log
        except RecordError:
            if latest is None:
                cut_off, knows_of_jaws = entry.state == "interrupted", True
                latest = UnderWay(entry.run_id, None, cut_off=cut_off, may_hold=True, readable=False)
            continue
        if log.dry_run:
            continue
        cut_off = entry.state == "interrupted" or log.recovered
        held = _left_holding(log, cut_off=cut_off)
        if latest is None:
            if not cut_off and (log.ending is None or (log.ending.at_rest is not False and held is False)):
                return None
            last = log.stage_records[-1].name if log.stage_records else None
            stage = last if log.ending is None else log.ending.stage
            latest = UnderWay(log.run_id, stage, cut_off, may_hold=held is True)
        elif not cut_off and held is False:
            break
        if entry.state == "interrupted":
            unwritten.append(entry.run_id)
        if not knows_of_jaws and held is not None:
            latest, knows_of_jaws = replace(latest, may_hold=held), True
        latest = _with_places(latest, log)
        if latest.pick is not None or held is False:
            break
    return None if latest is None else replace(latest, unwritten=tuple(unwritten))


def write_ends(store: RunStore, under_way: UnderWay) -> None:
    """Give the runs that were cut off their `run.json`, from their events. One that can't get it is left as it is.

    Raises:
        StorageUnwritable: the folder can't be written.
    """
    for run_id in under_way.unwritten:
        try:
            store.recover(run_id)
        except StorageUnwritable:
            raise
        except RecordError:
            continue


def _left_holding(log: RunLog, *, cut_off: bool) -> bool | None:
    """Whether the jaws may hold the block by this log; None where it says nothing of them."""
    if log.ending is not None and not cut_off:
        return log.ending.block_held is not False
    held: bool | None = None
    for act in log.gripper:
        if act.action == "close":
            held = True
        elif act.action == "open" or (
            act.reading is not None and act.reading.holding is False and act.stage not in _READ_ON_TABLE
        ):
            held = False
        elif act.reading is not None and act.reading.holding is True:
            held = True
    if held is not True and log.stage_records and log.stage_records[-1].name in _CLOSING:
        return True  # the jaws were closing: what they were told is written down after they have moved
    return held


def _with_places(latest: UnderWay, log: RunLog) -> UnderWay:
    """What this log knows of ways and things and later ones did not."""
    seen = [record for record in log.detect if record.block is not None or record.box is not None]
    block = next((d.block for d in reversed(seen) if d.block is not None and d.block.xz_m is not None), None)
    box = next((d.box for d in reversed(seen) if d.box is not None and d.box.xz_m is not None), None)
    return replace(
        latest,
        pick=latest.pick
        or _way(log, "stage3_approach_pick", "stage4_pick")
        or _way(log, "reset_approach_pick", "reset_pick"),
        place=latest.place
        or _way(log, "stage7_approach_place", "stage8_place")
        or _way(log, "reset_approach_place", "reset_place"),
        block=latest.block or _standing(block),
        box=latest.box or _standing(box),
    )


def _standing(thing: object) -> Standing | None:
    xz_m: TablePoint | None = getattr(thing, "xz_m", None)
    return None if xz_m is None else Standing(xz_m, getattr(thing, "yaw_deg", None) or 0.0)


def _way(log: RunLog, begin_label: str, end_label: str) -> Way | None:
    """The last plan of that kind which passed."""
    begin: Joints | None = None
    way: Way | None = None
    for lookup in log.lookups:
        if lookup.label == begin_label:
            begin = lookup.target_angles if lookup.guard_pass else None
        elif lookup.label == end_label and lookup.guard_pass and begin is not None and lookup.target_angles is not None:
            way = Way(begin, lookup.target_angles)
    return way
