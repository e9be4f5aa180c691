"""A whole twin from a cell's settings: world, arm, clock, camera, and the start that a seed gives.

Puts the parts together and resets them; what they do is theirs. The truth that it hands out is for scoring and tests.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from math import cos, radians, sin
from typing import Any

import numpy as np

from runner.config import Config
from runner.kinematics.gripper import gripper_of
from runner.kinematics.model import load_arm
from runner.twin.arm import TwinArm, TwinClock
from runner.twin.camera import TwinCamera
from runner.twin.errors import AnotherWorld
from runner.twin.profiles import PROFILES, Desk, Profile
from runner.twin.scene import build_scene
from runner.twin.shading import Light, light_for
from runner.twin.starts import Start, choose_start
from runner.twin.streams import stream
from runner.twin.textures import Decal, marker_image, printed
from runner.twin.world import Truth, World
from vision.calibration.board import BoardSpec, board_image
from vision.calibration.view import View

BOARD_PX_PER_M = 8000.0
BOARD_MARGIN_MM = 10.0
MARKER_SIDE_M = 0.040
MARKERS = {40: (-0.43, 0.41), 41: (0.43, 0.41), 42: (0.43, -0.02), 43: (-0.43, -0.02)}  # id: (x, z) of its middle


@dataclass(frozen=True, slots=True)
class BoardPlace:
    """Where the board is held: its middle (x, y, z) and the directions of its picture's width and of its up, unit.

    Cell frame. The print is seen from the side from which it reads unmirrored.
    """

    centre_m: tuple[float, float, float]
    along: tuple[float, float, float]
    up: tuple[float, float, float]


class Twin:
    """One digital twin. `arm`, `clock` and `camera` are a trial's; the rest is for those who set up and score."""

    def __init__(
        self,
        config: Config,
        *,
        extra_blocks: Sequence[str] = (),
        profile: Profile | None = None,
        tool_off_mm: tuple[float, float, float] | None = None,
    ) -> None:
        """Build it; `tool_off_mm` (last link's frame): the gripper beside its place, else as on the desk."""
        self.config = config
        self._profile = profile = profile or PROFILES[config.twin.profile]
        board = config.calibration
        spec = BoardSpec(board.board_squares, board.board_square_mm, board.board_marker_mm)
        sheet = board_image(spec, px_per_m=BOARD_PX_PER_M, margin_mm=BOARD_MARGIN_MM)
        self._board_size_m = sheet.shape[1] / BOARD_PX_PER_M, sheet.shape[0] / BOARD_PX_PER_M
        arm = load_arm(config.arm.model)
        desk = Desk.of(profile, arm.n_joints, config.twin.desk_seed, config.twin.slip_deg[: arm.n_joints])
        x, y, z = desk.tool_mm.tolist() if tool_off_mm is None else tool_off_mm
        self.world = World(build_scene(config, arm, self._board_size_m, extra_blocks, tool_off_mm=(x, y, z)))
        made_of = self.world.scene.xml + config.arm.model_dump_json() + config.twin.model_dump_json()
        self._settings_hash = sha256(made_of.encode()).hexdigest()
        self.clock = TwinClock(self.world)
        self.arm = TwinArm(self.world, profile, stream(0, "arm"), desk)
        meant = View.looking_at(
            config.twin.camera_position_m,
            config.twin.camera_look_at_m,
            size_px=config.camera.size_px,
            width_deg=config.twin.camera_fov_deg,
            distortion=(config.twin.lens_k1, config.twin.lens_k2, 0.0, 0.0, 0.0),
        )
        self.view = desk.view(meant)
        self.camera = TwinCamera(self.world, self.view, printed(sheet))
        self.start: Start | None = None

    def reset(
        self,
        seed: int,
        *,
        block_xz_m: tuple[float, float] | None = None,
        box_xz_m: tuple[float, float] | None = None,
        block_yaw_deg: float | None = None,
        box_yaw_deg: float | None = None,
    ) -> None:
        """Everything to the start of a seed: places, yaws, arm, light, noise, clock.

        Raises:
            StartNotPossible: given places overlap, or nothing free was found beside them.
        """
        self.start = choose_start(
            self.config,
            self.arm.model,
            seed,
            block_xz_m=block_xz_m,
            box_xz_m=box_xz_m,
            block_yaw_deg=block_yaw_deg,
            box_yaw_deg=box_yaw_deg,
        )
        home = np.array(self.config.arm.home_deg)
        joints_rad = self.arm.begin(self._profile, stream(seed, "arm"), home)
        theta = gripper_of(self.arm.model).theta_open_rad
        self.world.reset(joints_rad, theta, self.start.block, self.start.box)
        self.hide_board()
        self.relight(light_for(seed, self.config.twin.light_height_m), seed)

    def relight(self, light: Light, seed: int) -> None:
        """Another light, with the table top and the noise of a seed."""
        markers = [Decal(xz, 0.0, (MARKER_SIDE_M * 8 / 6,) * 2, printed(marker_image(i))) for i, xz in MARKERS.items()]
        self.camera.begin(light, markers, seed)

    def state(self) -> dict[str, Any]:
        """World and arm as they are, to go on from in another process; numbers and lists."""
        return {"of": self._settings_hash, "world": self.world.state(), "arm": self.arm.state()}

    def take_up(self, state: dict[str, Any]) -> None:
        """Go on from a state of a twin that was reset to the same seed; motions that were under way have ended.

        Raises:
            AnotherWorld: it is another twin's.
        """
        if state.get("of") != self._settings_hash:
            raise AnotherWorld("its settings were others")
        try:
            self.arm.take_up(state["arm"])
            self.world.take_up(state["world"])
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise AnotherWorld(str(error)) from None

    def truth(self) -> Truth:
        """How things are now."""
        return self.world.truth()

    def show_board(self, place: BoardPlace) -> None:
        """Hold the calibration board there. It touches nothing."""
        base = self.world.scene.base
        along, up = (base.turn_to_base(np.array(v)) for v in (place.along, place.up))
        turn = np.stack([along, up, np.cross(along, up)], axis=1)
        self.world.put_board(base.to_base(np.array(place.centre_m)), turn)
        self.camera.board_is_shown(True)

    def hide_board(self) -> None:
        """Take the calibration board away."""
        self.world.put_board(None)
        self.camera.board_is_shown(False)

    def board_flat(self) -> BoardPlace:
        """The board flat on the table where the settings say."""
        (x, z), yaw = self.config.calibration.board_xz_m, radians(self.config.calibration.board_yaw_deg)
        return BoardPlace((x, 0.001, z), (cos(yaw), 0.0, sin(yaw)), (-sin(yaw), 0.0, cos(yaw)))

    def close(self) -> None:
        """Let the threads go. Safe more than once."""
        self.world.close()


def build_twin(
    config: Config,
    *,
    seed: int,
    block_xz_m: tuple[float, float] | None = None,
    box_xz_m: tuple[float, float] | None = None,
    profile: Profile | None = None,
) -> Twin:
    """A twin at the start of a seed, its arm of the settings' profile or of another.

    Raises:
        ArmWithoutTwin: the arm file lacks what physics needs.
        StartNotPossible: the given places overlap.
    """
    twin = Twin(config, profile=profile)
    twin.reset(seed, block_xz_m=block_xz_m, box_xz_m=box_xz_m)
    return twin
