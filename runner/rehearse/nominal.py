"""The scene that a rehearsal is tried in: the arm as it is known, the settings' sizes, nothing of a twin's own truth.

A twin that stands in for a real desk has a profile, frictions, a desk seed and faults of its own in `[twin]`; none of
them may come in here, or a rehearsal would know what no one at a real desk can.
"""

from __future__ import annotations

from runner.config import Config
from runner.kinematics.model import load_arm
from runner.settings.twin import TwinSettings
from runner.twin.profiles import PERFECT
from runner.twin.scene import Scene, build_scene
from runner.twin.setup import Twin

_TIMESTEP_S = 0.005
_NO_BOARD_M = (0.2, 0.15)


def nominal_config(config: Config) -> Config:
    """The same settings with the twin's own as shipped: a perfect arm on a tidy desk."""
    return config.model_copy(update={"twin": TwinSettings(timestep_s=_TIMESTEP_S, clutter=False)})


def nominal_twin(config: Config) -> Twin:
    """A whole twin of that scene: a perfect arm whose gripper sits where it was calibrated to sit.

    Raises:
        ArmWithoutTwin: the arm file lacks what physics needs.
    """
    return Twin(nominal_config(config), profile=PERFECT, tool_off_mm=config.arm.tool_shift_mm)


def nominal_scene(config: Config) -> Scene:
    """The arm with its calibrated tool, the block, the box, the mast, by the settings.

    Raises:
        ArmWithoutTwin: the arm file lacks what physics needs.
    """
    return build_scene(
        nominal_config(config), load_arm(config.arm.model), _NO_BOARD_M, tool_off_mm=config.arm.tool_shift_mm
    )
