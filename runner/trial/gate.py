"""The start-state gate: may a trial begin with this scene? A scene that may not makes the trial invalid, not failed."""

from __future__ import annotations

from runner.config import Config
from runner.trial.trial import Seen
from vision.detect.inside import inside_by

_BESIDE_MM = 3.0  # a gap to the box that is no gap: what detection may be off


def why_not(seen: Seen, config: Config) -> str | None:
    """What speaks against starting (the block in the box, against it, off the table), or None."""
    if seen.block.xz_m is None or seen.box.xz_m is None or seen.box.inside_xz_m is None:
        return "without a calibration block and box have no place on the table: trialcell calibrate lens, then plane"
    x, z = seen.block.xz_m
    (x_lo, x_hi), (z_lo, z_hi) = config.workspace.x_m, config.workspace.z_m
    if not (x_lo <= x <= x_hi and z_lo <= z <= z_hi):
        return f"the block at ({x * 1000:.0f}, {z * 1000:.0f}) mm lies outside the workspace"
    inside_mm = inside_by(seen.box.inside_xz_m, seen.block.xz_m) * 1000.0
    if inside_mm > 0:
        return "the block is in the box already"
    if -inside_mm < config.box.wall_mm + config.block.side_mm / 2 + _BESIDE_MM:
        return "the block stands against the box or on its rim"
    return None
