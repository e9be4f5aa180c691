"""Whether the judge behind an answer was measured in this cell, for the commands that show answers.

It reads the cell's certificates and changes no verdict.
"""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path

from judges.certificate import CameraPart, Certificates, Standing, load_certificates, standing_of
from judges.errors import CertificateUnreadable
from runner.cell import Cell
from runs.schema.run import RunLog
from runs.schema.verdict import JudgedStage, Verdict
from runs.store import picture_path
from runs.verdicts import PERSON, answers_in
from vision.calibration.file import load_lens, load_plane
from vision.calibration.kept import content_hash
from vision.cameras.protocol import Picture, read_picture
from vision.cameras.quality import assess
from vision.errors import CalibrationMissing, VisionError


def code_version() -> str:
    """The program's version, which stands for a judge without a prompt."""
    return version("trialcell")


def camera_of_cell(cell: Cell) -> CameraPart:
    """The cell's camera as it is calibrated now."""
    try:
        lens, plane = content_hash(load_lens(cell.calibration_dir)), content_hash(load_plane(cell.calibration_dir))
    except CalibrationMissing:
        return CameraPart(name=cell.config.camera.kind)
    return CameraPart(name=cell.config.camera.kind, lens_hash=lens, plane_hash=plane)


def camera_of_run(log: RunLog) -> CameraPart:
    """The camera that a run was seen by, as its log says."""
    if log.provenance is None:
        return CameraPart()
    hashes = log.provenance.calibration_hashes
    return CameraPart(name=log.provenance.camera, lens_hash=hashes.get("lens"), plane_hash=hashes.get("plane"))


def level_of(picture: Picture | None) -> float | None:
    """Mean grey level of a picture, 0…255."""
    return None if picture is None else assess(picture).mean_level


def trust_in(cell: Cell, verdict: Verdict, *, camera: CameraPart, level: float | None) -> Standing:
    """Whether this answer comes from a judge that was measured here and found good enough; unreadable is no."""
    if verdict.audit.judge == PERSON:
        return Standing(False, "a person is not measured")
    try:
        certificates = load_certificates(cell.calibration_dir)
    except CertificateUnreadable as error:
        return Standing(False, str(error))
    return standing_of(verdict, certificates, camera=camera, level=level, code_version=code_version())


def trust_in_run(cell: Cell, log: RunLog, folder: Path) -> dict[JudgedStage, Standing]:
    """The same for each step of a run that a machine judged."""
    found: dict[JudgedStage, Standing] = {}
    for stage in log.judgments:
        verdicts = [verdict for verdict in log.verdicts if verdict.stage == stage and verdict.verdict is not None]
        if verdicts and verdicts[-1].audit.judge != PERSON:
            level = level_in_run(log, folder, verdicts[-1])
            found[stage] = trust_in(cell, verdicts[-1], camera=camera_of_run(log), level=level)
    return found


def level_in_run(log: RunLog, folder: Path, verdict: Verdict) -> float | None:
    """Mean grey level of the picture that a verdict of a run rests on: as measured then, else from the picture."""
    for answer in answers_in(verdict):
        measured = answer.audit.measurements or {}
        if isinstance(level := measured.get("mean_level"), float):
            return level
    judgment = log.judgments.get(verdict.stage)
    return level_of(_picture(None if judgment is None else judgment.image, folder))


def certificates_of(cell: Cell) -> Certificates:
    """The cell's certificates.

    Raises:
        CertificateUnreadable
    """
    return load_certificates(cell.calibration_dir)


def _picture(image: str | None, folder: Path) -> Picture | None:
    path = None if image is None else picture_path(image, folder)
    try:
        return None if path is None else read_picture(path)
    except VisionError:
        return None
