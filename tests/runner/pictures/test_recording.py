"""The recording for the 3-D viewer, read back with the viewer's own reader. Skipped where the extra is missing."""

from __future__ import annotations

import numpy as np
import pytest

rerun = pytest.importorskip("rerun", reason="the extra trialcell[view] is not installed")

from runner.pictures.recording import TIMELINE, write_recording  # noqa: E402
from runs.errors import StorageUnwritable  # noqa: E402


def rows_of(path):
    """Entity to its rows: [(step, {component: value}), …]; static ones have step None."""
    found: dict[str, list] = {}
    for chunk in rerun.chunk.RrdReader(str(path)).stream():
        batch = chunk.to_record_batch()
        steps = (
            [None] * batch.num_rows if chunk.is_static else batch.column(batch.schema.names.index(TIMELINE)).to_pylist()
        )
        names = [name for name in batch.schema.names if ":" in name]
        for row, step in enumerate(steps):
            values = {name: batch.column(batch.schema.names.index(name))[row].as_py() for name in names}
            found.setdefault(str(chunk.entity_path), []).append((step, values))
    return found


@pytest.mark.parametrize(("name", "tilt_deg"), [("mecharm270", 45.0), ("mycobot_280", 90.0)])
def test_every_step_is_there_with_its_error_joints_and_arm(search, tmp_path, name, tilt_deg):
    found, arm, base = search(name, (0.05, 0.05, 0.2), tilt_deg)
    path = tmp_path / "ik.rrd"
    write_recording(path, found, arm, base, solver="a solver")
    rows = rows_of(path)
    wanted_mm = np.concatenate([attempt.residual_mm for attempt in found.attempts])
    told = sorted((step, values) for step, values in rows["/errors/position_mm"] if step is not None)
    assert [step for step, _ in told] == list(range(len(wanted_mm)))
    assert np.allclose([values["Scalars:scalars"][0] for _, values in told], wanted_mm)
    for i, joint in enumerate(arm.data.joint):
        last = max((s, v["Scalars:scalars"][0]) for s, v in rows[f"/joints_deg/{joint.name}"] if s is not None)
        assert last[1] == pytest.approx(found.attempts[-1].angles_deg[-1, i])
    for entity in ("/scene/links", "/scene/axes", "/scene/tool", "/scene/error", "/scene/path"):
        assert len(rows[entity]) == len(wanted_mm), entity
    assert rows["/scene/target"][0][0] is None


def test_the_target_stands_where_the_cell_has_it(search, tmp_path):
    """Drawn as (z, -x, y) of the cell: right-handed, z up."""
    found, arm, base = search("mecharm270", (0.05, 0.10, 0.2))
    write_recording(tmp_path / "ik.rrd", found, arm, base, solver="a solver")
    place = rows_of(tmp_path / "ik.rrd")["/scene/target"][0][1]["Points3D:positions"][0]
    assert np.allclose(place, (0.2, -0.05, 0.10), atol=1e-6)


def test_a_recording_that_can_not_be_written_is_told(search, tmp_path):
    found, arm, base = search("teaching3", (1.0, 3.0, 2.0))
    with pytest.raises(StorageUnwritable):
        write_recording(tmp_path / "none" / "ik.rrd", found, arm, base, solver="a solver")
