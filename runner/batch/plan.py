"""Which starts a batch tries, in which order: a grid, random or evenly spread places, or those of a file.

Everything is drawn here from one seed, before the first trial, so that the same plan comes out of the same request on
every machine, and nothing about it depends on how it is run. Knows no arm but by the room that it needs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import atan2, ceil, cos, degrees, hypot, pi, sin, sqrt
from typing import ClassVar

import numpy as np
from scipy.stats import qmc

from runner.config import Config
from runner.kinematics.model import ArmModel
from runner.twin.errors import StartNotPossible
from runner.twin.firmware.faults import FAULTS
from runner.twin.starts import Start, choose_start, footprint, gap_m
from runner.twin.streams import stream
from runs.batch_records import ArmOfTest, BatchPlan, PlanKind, PlannedStart
from runs.errors import Family, TrialcellError
from runs.schema.geometry import TablePoint

_SEEDS_A_PLAN = 100_000
_TRIES = 400
_OUT_OF_THE_WAY_XZ_M = (-0.28, 0.15)  # a box that nobody moves is where it is: it's seen when its time comes
_QUARTER_DEG = 90.0  # a cube is the same every quarter turn


class NoSuchPlan(TrialcellError):
    """A plan that can't be made as it was asked for."""

    family: ClassVar[Family] = "usage"


@dataclass(frozen=True, slots=True)
class Place:
    """A start as a file or a generator gives it; what is None is drawn."""

    block_xz_m: TablePoint
    block_yaw_deg: float | None = None
    box_xz_m: TablePoint | None = None
    box_yaw_deg: float | None = None
    seed: int | None = None


@dataclass(frozen=True, slots=True)
class PlanRequest:
    """What is asked for. With `settings_a` or `settings_b` every start is tried under both, in random order."""

    n: int
    kind: PlanKind = "random"
    seed: int = 1
    places: tuple[Place, ...] = ()
    settings: tuple[str, ...] = ()
    settings_a: tuple[str, ...] = ()
    settings_b: tuple[str, ...] = ()
    stop_within: float | None = None
    stop_decided: bool = False
    stop_after_s: float | None = None


def make_plan(
    request: PlanRequest, config: Config, arm: ArmModel, *, batch_id: str, made_at: str, first_number: int
) -> BatchPlan:
    """The plan for a request: places, order, seeds, sessions and rounds.

    Raises:
        NoSuchPlan: no starts asked for, places where block or box can't be, or faults without a firmware to have them.
    """
    if request.n < 1:
        raise NoSuchPlan("a batch has at least one start", next_step="for example: trialcell batch 20")
    if config.batch.fault_share and (config.arm.kind != "twin" or config.twin.firmware == "none"):
        raise NoSuchPlan(
            "batch.fault_share is for a twin that is driven through its firmware",
            next_step="add --set twin.firmware=new, or set batch.fault_share = 0",
        )
    moves_box = config.arm.kind == "twin"
    if request.stop_decided and not (request.settings_a or request.settings_b):
        raise NoSuchPlan("there is no A and B to decide between", next_step="give their settings: --a, --b")
    two = bool(request.settings_a or request.settings_b)
    order = stream(request.seed, "batch order")
    places = _places(request, config)
    starts: list[PlannedStart] = []
    box: Start | None = None
    for pair in range(request.n):
        if pair % config.batch.session == 0:
            box = None  # a new session: the box elsewhere
        seed = request.seed * _SEEDS_A_PLAN + pair
        start, seed = _start(next(places), box, seed, config, arm, moves_box=moves_box)
        box = start
        arms: tuple[ArmOfTest | None, ...] = (None,)
        if two:
            arms = ("A", "B") if order.random() < 0.5 else ("B", "A")
        for of_test in arms:
            starts.append(
                PlannedStart(
                    index=len(starts),
                    pair=pair,
                    session=pair // config.batch.session,
                    round=0,
                    seed=seed,
                    block_xz_m=_rounded(start.block.xz_m),
                    block_yaw_deg=round(start.block.yaw_deg, 3),
                    box_xz_m=_rounded(start.box.xz_m) if moves_box else None,
                    box_yaw_deg=round(start.box.yaw_deg, 3) if moves_box else None,
                    arm=of_test,
                    fault=_fault(seed, config),
                )
            )
    return BatchPlan(
        batch_id=batch_id,
        made_at=made_at,
        kind=request.kind,
        seed=request.seed,
        settings=request.settings,
        settings_a=request.settings_a,
        settings_b=request.settings_b,
        stop_within=request.stop_within,
        stop_decided=request.stop_decided,
        stop_after_s=request.stop_after_s,
        first_number=first_number,
        starts=tuple(_in_rounds(starts, config.batch.round)),
    )


def _in_rounds(starts: list[PlannedStart], size: int) -> Iterator[PlannedStart]:
    """Whole sessions to a round, so many that it has at least `size` trials."""
    number, held, session = 0, 0, None
    for start in starts:
        if session is not None and start.session != session and held >= size:
            number, held = number + 1, 0
        held, session = held + 1, start.session
        yield start.model_copy(update={"round": number})


def _start(
    place: Iterator[Place] | Place, before: Start | None, seed: int, config: Config, arm: ArmModel, *, moves_box: bool
) -> tuple[Start, int]:
    """A start that can be: block and box on the table with room between them, the box as in the session so far."""
    if isinstance(place, Place):
        return _given(place, before, seed, config, arm, moves_box=moves_box)
    why = ""
    for number, found in zip(range(_TRIES), place, strict=False):
        try:
            return _given(found, before, seed, config, arm, moves_box=moves_box, box_try=number)
        except NoSuchPlan as refused:
            why = refused.message
    raise NoSuchPlan(f"no start was found in {_TRIES} tries: {why}", next_step="give batch.block_r_m more room")


def _given(
    place: Place,
    before: Start | None,
    seed: int,
    config: Config,
    arm: ArmModel,
    *,
    moves_box: bool,
    box_try: int = 0,
) -> tuple[Start, int]:
    own = seed if place.seed is None else place.seed
    yaw = place.block_yaw_deg
    if yaw is None:
        yaw = float(stream(own, "batch block yaw").uniform(0.0, _QUARTER_DEG))
    box_xz, box_yaw = place.box_xz_m, place.box_yaw_deg
    if box_xz is None and before is not None:
        box_xz, box_yaw = before.box.xz_m, before.box.yaw_deg
    if box_xz is None:
        box_xz, box_yaw = _box(own, box_try, config) if moves_box else (_OUT_OF_THE_WAY_XZ_M, 0.0)
    if box_yaw is None:
        box_yaw = float(stream(own, "batch box yaw").uniform(0.0, _QUARTER_DEG))
    x, z = place.block_xz_m
    try:
        start = choose_start(
            config, arm, own, block_xz_m=(x, z), box_xz_m=box_xz, block_yaw_deg=yaw, box_yaw_deg=box_yaw
        )
    except StartNotPossible as error:
        raise NoSuchPlan(f"the start at ({x:g}, {z:g}) m: {error.message}") from None
    if moves_box and not _in_workspace(start, config):
        raise NoSuchPlan(f"the box for the start at ({x:g}, {z:g}) m would stand partly outside the workspace")
    side = config.block.side_mm / 1000.0
    wide, deep = (mm / 1000.0 for mm in config.box.outside_mm)
    gap = gap_m(footprint(start.block, (side, side)), footprint(start.box, (wide, deep)))
    if moves_box and gap < config.batch.gap_m:
        raise NoSuchPlan(
            f"the start at ({x:g}, {z:g}) m is {gap * 1000:.0f} mm from the box (batch.gap_m: {config.batch.gap_m:g} m)"
        )
    return start, own


def _fault(seed: int, config: Config) -> str | None:
    """What befalls the twin in a start's trial: in so large a share as the settings say, any of its faults."""
    rng = stream(seed, "batch fault")
    if rng.random() >= config.batch.fault_share:
        return None
    return str(rng.choice(sorted(FAULTS)))


def _in_workspace(start: Start, config: Config) -> bool:
    """Whether the whole box is where blocks count, so that one in it is seen."""
    wide, deep = (mm / 1000.0 for mm in config.box.outside_mm)
    x, z = footprint(start.box, (wide, deep)).T
    space = config.workspace
    inside = space.x_m[0] <= x.min(), x.max() <= space.x_m[1], space.z_m[0] <= z.min(), z.max() <= space.z_m[1]
    return all(inside)


def _box(seed: int, number: int, config: Config) -> tuple[TablePoint, float]:
    rng = stream(seed, f"batch box {number}")
    b, shift = config.batch, config.arm.base_shift_m
    while True:
        r = sqrt(float(rng.uniform(b.box_r_m[0] ** 2, b.box_r_m[1] ** 2)))
        angle = float(rng.uniform(0.0, pi))
        x, z = r * cos(angle) + shift[0], r * sin(angle) + shift[2]
        if x <= b.box_x_max_m:
            return (x, z), float(rng.uniform(0.0, _QUARTER_DEG))


def _places(request: PlanRequest, config: Config) -> Iterator[Iterator[Place] | Place]:
    """For each start its place, or places to be tried until one can be."""
    if request.kind == "file":
        if not request.places:
            raise NoSuchPlan("the file names no starts")
        while True:
            yield from request.places
    if request.kind == "grid":
        grid = _grid(request.n, config)
        while True:
            yield from (iter([Place(place), *_around(place, config)]) for place in grid)
    points = _spread(request, config)
    while True:
        yield points


def _spread(request: PlanRequest, config: Config) -> Iterator[Place]:
    """Random places, or those of a Halton sequence, which leave no gap; evenly over the area."""
    halton = qmc.Halton(2, scramble=True, rng=np.random.default_rng(request.seed))
    rng = stream(request.seed, "batch places")
    while True:
        u, v = (float(c) for c in (halton.random(1)[0] if request.kind == "halton" else rng.uniform(size=2)))
        place = _in_ring(u, v, config)
        if place[0] >= config.batch.block_x_min_m:
            yield Place(place)


def _in_ring(u: float, v: float, config: Config) -> TablePoint:
    """A point of the half ring before the base, right side, from two numbers 0…1; evenly over its area."""
    lo, hi = config.batch.block_r_m
    shift = config.arm.base_shift_m
    r, angle = sqrt(lo**2 + u * (hi**2 - lo**2)), v * pi / 2.0
    return r * cos(angle) + shift[0], r * sin(angle) + shift[2]


def _grid(n: int, config: Config) -> list[TablePoint]:
    """At least n places on a square grid over the ring, the finest that still has no more than it must."""
    shift, (lo, hi) = config.arm.base_shift_m, config.batch.block_r_m
    step_mm = 100
    while True:
        at = [mm / 1000.0 for mm in range(0, ceil(hi * 1000) + 1, step_mm)]
        found = [
            (x + shift[0], z + shift[2])
            for x in at
            for z in at
            if lo <= hypot(x, z) <= hi and x + shift[0] >= config.batch.block_x_min_m
        ]
        if len(found) >= n or step_mm <= 5:
            return found
        step_mm -= 1


def _around(place: TablePoint, config: Config) -> Iterator[Place]:
    """Places nearer and nearer the middle of the reach, for a grid point where a block can't be."""
    shift, (lo, hi) = config.arm.base_shift_m, config.batch.block_r_m
    angle = degrees(atan2(place[1] - shift[2], place[0] - shift[0]))
    middle = ((lo + hi) / 2.0, 45.0)
    r0 = hypot(place[0] - shift[0], place[1] - shift[2])
    for share in np.linspace(0.05, 1.0, 60):
        r = r0 + share * (middle[0] - r0)
        a = (angle + share * (middle[1] - angle)) * pi / 180.0
        yield Place((r * cos(a) + shift[0], r * sin(a) + shift[2]))


def _rounded(xz_m: TablePoint) -> TablePoint:
    return round(xz_m[0], 5), round(xz_m[1], 5)
