"""A labelled set from the twin: so many scenes of every kind, half of them failures, desk after desk in its own light.

The same seed gives the same scenes, however many processes share the work. What it costs is the rendering.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import cv2
import numpy as np

from judges.labelled import LabelledItem, LabelledSet, OpenSet, write_set
from runner.calibrate.judge_set.desk import SWEPT_DEG, Desk, Layout, Placed, Shot
from runner.calibrate.judge_set.drafts import Draft, Kind, Site
from runner.calibrate.judge_set.errors import BadScenes, SceneNotPossible, SetExists, WorkerLost
from runner.calibrate.judge_set.kinds import KINDS
from runner.config import Config
from runner.kinematics.model import FloatArray
from runner.twin.streams import stream
from runner.twin.world import Resting
from runs.errors import StorageUnwritable
from runs.files import storage
from runs.schema.motion import GripReading
from runs.schema.verdict import JudgedStage
from vision.calibration.file import LENS_FILE, PLANE_FILE, load_lens, load_plane
from vision.calibration.kept import content_hash
from vision.cameras.protocol import Picture

ReadGrip = Callable[[float | None], GripReading]
"""What a gripper's answer says about holding."""

SCENES_A_DESK = 8
PLACE_SHARE = 0.6
NO_READING_SHARE = 0.02
JPEG_QUALITY = 92
CROP_PX = 384
_TRIES_AT_A_SITE = 12
_SITES = 25


@dataclass(frozen=True, slots=True)
class Order:
    """What one desk is to show: numbered kinds, as places in `KINDS`."""

    number: int
    seed: int
    scenes: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True, eq=False)
class Job:
    """What every worker needs to know."""

    config: Config
    folder: Path
    read: ReadGrip


def make_set(
    folder: Path,
    config: Config,
    calibration: Path,
    *,
    scenes: int,
    seed: int,
    read: ReadGrip,
    stages: Sequence[JudgedStage] = ("place", "pick"),
    workers: int = 1,
    progress: Callable[[str], None] = lambda _: None,
) -> OpenSet:
    """Render a set into a new folder.

    Args:
        calibration: folder with the lens and plane files that judges are to reckon with; copied into the set.
        scenes: how many, even, enough for one of each kind.
        read: what the gripper's answer says about holding.

    Raises:
        SetExists: the folder is not empty.
        BadScenes: an odd number, or too few.
        SceneNotPossible: the cell's settings never give a scene of some kind.
        WorkerLost: a process was ended from outside.
        StorageUnwritable, CalibrationMissing, CalibrationUnreadable
    """
    if scenes < least_scenes(stages) or scenes % 2:
        raise BadScenes(scenes, least_scenes(stages))
    prepare(folder)
    lens, plane = load_lens(calibration), load_plane(calibration)
    for name in (LENS_FILE, PLANE_FILE):
        shutil.copy(calibration / name, folder / "calibration" / name)
    orders = _orders(scenes, seed, stages)
    items: list[LabelledItem] = []
    for made in _worked_off(Job(config, folder, read), orders, workers):
        items += made
        progress(f"{len(items)} of {scenes} scenes")
    content = LabelledSet(
        made_by=f"trialcell judge make-set --scenes {scenes} --seed {seed}",
        camera="twin",
        lens_hash=content_hash(lens),
        plane_hash=content_hash(plane),
        profile=config.twin.profile,
        calibration="calibration",
        items=tuple(items),
    )
    return write_set(folder, content)


def prepare(folder: Path) -> None:
    """Make the folder of a new set.

    Raises:
        SetExists, StorageUnwritable
    """
    try:
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise SetExists(folder)
        for name in ("pictures", "calibration"):
            (folder / name).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StorageUnwritable(folder, (error.strerror or str(error)).lower()) from error


def least_scenes(stages: Sequence[JudgedStage]) -> int:
    """The smallest set that has every kind and half failures."""
    least = 2
    while min(counts(least, stages).values(), default=0) < 1 or sum(counts(least, stages).values()) != least:
        least += 2
    return least


def counts(scenes: int, stages: Sequence[JudgedStage]) -> dict[int, int]:
    """How many scenes of each kind (its place in `KINDS`): by share, half of each stage with the answer no."""
    shares = [PLACE_SHARE, 1 - PLACE_SHARE] if len(stages) > 1 else [1.0]
    out: dict[int, int] = {}
    left = scenes
    for stage, share in zip(stages, shares, strict=True):
        of_stage = left if stage == stages[-1] else 2 * round(scenes * share / 2)
        left -= of_stage
        for label in (True, False):
            chosen = [i for i, kind in enumerate(KINDS) if kind.stage == stage and kind.label is label]
            out |= _shared_out(of_stage // 2, chosen)
    return out


def _shared_out(many: int, chosen: Sequence[int]) -> dict[int, int]:
    """`many` over the kinds by their shares, whole numbers, largest remainders first, each kind at least once."""
    total = sum(KINDS[i].share for i in chosen)
    exact = {i: many * KINDS[i].share / total for i in chosen}
    given = {i: int(exact[i]) for i in chosen}
    for i in sorted(chosen, key=lambda i: given[i] - exact[i])[: many - sum(given.values())]:
        given[i] += 1
    for i in [i for i in chosen if given[i] == 0]:
        given[max(chosen, key=given.__getitem__)] -= 1
        given[i] = 1
    return given


def _orders(scenes: int, seed: int, stages: Sequence[JudgedStage]) -> list[Order]:
    kinds = [kind for kind, many in counts(scenes, stages).items() for _ in range(many)]
    stream(seed, "order of scenes").shuffle(kinds)
    numbered = list(enumerate(kinds))
    return [
        Order(n, seed, tuple(numbered[at : at + SCENES_A_DESK]))
        for n, at in enumerate(range(0, len(numbered), SCENES_A_DESK))
    ]


def _worked_off(job: Job, orders: Sequence[Order], workers: int) -> Iterator[list[LabelledItem]]:
    if workers <= 1:
        desk = Desk(job.config)
        try:
            for order in orders:
                yield _desk_full(desk, job, order)
        finally:
            desk.close()
        return
    try:
        with ProcessPoolExecutor(workers) as pool:
            yield from pool.map(_by_worker, [job] * len(orders), orders)
    except BrokenProcessPool as error:
        raise WorkerLost(job.folder, workers) from error


@cache
def _desk_of_worker(settings: str) -> Desk:
    return Desk(Config.model_validate_json(settings))


def _by_worker(job: Job, order: Order) -> list[LabelledItem]:
    return _desk_full(_desk_of_worker(job.config.model_dump_json()), job, order)


def _desk_full(desk: Desk, job: Job, order: Order) -> list[LabelledItem]:
    """All scenes of one order; what a site does not give is tried at the next."""
    left, made = list(order.scenes), dict[int, LabelledItem]()
    for k in range(_SITES):
        site_seed = (order.seed * 100_003 + order.number) * _SITES + k
        start, light = desk.begin(site_seed)
        site = Site(start.block, start.box, _aside(desk, start.block, start.box))
        show = _Show(desk, job, site, site_seed, light)
        for number, kind in list(left):
            item = show.item(number, KINDS[kind], stream(order.seed, f"scene {number} at {k}"))
            if item is not None:
                made[number] = item
                left.remove((number, kind))
        if not left:
            return [made[number] for number, _ in order.scenes]
    raise SceneNotPossible(KINDS[left[0][1]].name, _SITES * _TRIES_AT_A_SITE)


def _aside(desk: Desk, block: Resting, box: Resting) -> FloatArray:
    """The arm swept to where block and box are in sight, the best of three poses."""
    best: tuple[float, FloatArray] | None = None
    for j0_deg in SWEPT_DEG:
        pose = desk.swept(j0_deg)
        desk.settle(Layout(Placed(block.xz_m, 0.0, block.yaw_deg), box, pose), settle_s=0.0)
        seen = min(desk.visible(), desk.box_visible())
        if best is None or seen > best[0] + 0.01:
            best = seen, pose
    assert best is not None
    return best[1]


class _Show:
    """One site: its pictures from before, and scene after scene."""

    def __init__(self, desk: Desk, job: Job, site: Site, seed: int, light: str) -> None:
        self._desk, self._job, self._site, self._seed, self._light = desk, job, site, seed, light
        self._plain: str | None = None

    def item(self, number: int, kind: Kind, rng: np.random.Generator) -> LabelledItem | None:
        """The scene as an item of the set, None where it did not come about here."""
        desk, site = self._desk, self._site
        for _ in range(_TRIES_AT_A_SITE):
            draft = kind.draft(desk, site, rng)
            if draft is None:
                continue
            truth = desk.settle(draft.after)
            if not kind.wanted(desk, site, truth):
                continue
            seen = desk.visible()
            shot = desk.look()
            before, in_box_before = self._before(number, draft)
            yes = shot.truth.block_held if kind.stage == "pick" else shot.truth.block_in_box and not in_box_before
            if yes is kind.label:
                return self._kept(number, kind, shot, before, seen, no_reading=bool(rng.random() < NO_READING_SHARE))
        return None

    def _before(self, number: int, draft: Draft) -> tuple[str, bool]:
        """The picture from before and whether the block lay in the box already. A plain start is rendered once."""
        plain = draft.block_before is None and not draft.extras_before
        if plain and self._plain is not None:
            return self._plain, False
        site = self._site
        start = draft.block_before or Placed(site.block.xz_m, 0.0, site.block.yaw_deg)
        shot = self._desk.show(Layout(start, site.box, site.aside_deg, extras=draft.extras_before))
        name = f"pictures/{self._seed}_before.jpg" if plain else f"pictures/{number:05d}_before.jpg"
        self._write(name, shot.image_bgr)
        if plain:
            self._plain = name
        return name, shot.truth.block_in_box

    def _kept(self, number: int, kind: Kind, shot: Shot, before: str, seen: float, *, no_reading: bool) -> LabelledItem:
        after, crop = f"pictures/{number:05d}_after.jpg", f"pictures/{number:05d}_crop.jpg"
        self._write(after, shot.image_bgr)
        self._write(crop, self._cropped(shot.image_bgr, kind.stage))
        x, y, z = (1000 * v for v in shot.truth.block_m)
        return LabelledItem(
            id=f"{number:05d}_{kind.name}",
            stage=kind.stage,
            label="yes" if kind.label else "no",
            kind=kind.name,
            after=after,
            before=before,
            crop=crop,
            grip=self._job.read(None if no_reading else shot.gripper_value),
            light=self._light,
            seed=self._seed,
            labelled_by="the twin's truth",
            note=f"block at x {x:.0f}, y {y:.0f}, z {z:.0f} mm, {seen:.0%} of it in sight",
        )

    def _cropped(self, image: Picture, stage: JudgedStage) -> Picture:
        """A square round the box, or round where the block started."""
        xz_m = self._site.box.xz_m if stage == "place" else self._site.block.xz_m
        u, v = np.rint(self._desk.twin.view.table_to_pixel(xz_m, 0.02)).astype(int) - CROP_PX // 2
        u, v = (int(np.clip(at, 0, size - CROP_PX)) for at, size in ((u, image.shape[1]), (v, image.shape[0])))
        return image[v : v + CROP_PX, u : u + CROP_PX]

    def _write(self, name: str, image: Picture) -> None:
        flags = [cv2.IMWRITE_JPEG_QUALITY, JPEG_QUALITY, cv2.IMWRITE_JPEG_SAMPLING_FACTOR, 0x111111]
        _, data = cv2.imencode(".jpg", image, flags)
        path = self._job.folder / name
        with storage(path):
            path.write_bytes(data.tobytes())
