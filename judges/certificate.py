"""Whether a judge was measured and found good enough: a certificate for that judge, model, prompt, camera and light.

A certificate stands for what it was measured with and nothing else. Whatever differs later (another model, one changed
word of the rubric, another effort, a new calibration of the camera, a light beyond what was measured) makes the answer
uncertified, and the reason is told. Nothing here changes a verdict.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationError

from judges.errors import CertificateUnreadable
from runs.appended import append
from runs.files import storage, write_atomic
from runs.schema.base import Record
from runs.schema.verdict import JudgeAudit, JudgedStage, Verdict
from runs.statistics import CorrectedRate, corrected_rate

CERTIFICATE_FILE = "judge.json"
HISTORY_FILE = "judge_history.jsonl"

LOWER_BOUND = 0.80
"""What the 95 % lower bounds of both rates have to reach. Source: calibrated-agent-evaluation of AWS Labs, which
certifies a judge by the same rule; with Wilson's interval that takes 16 labels of a kind without an error."""

LEVEL_MARGIN = 8.0
"""Grey levels (0…255) by which the light may lie outside what was measured; a picture's mean is steadier by far."""


class Part(Record):
    """One judge that answers: everything about it whose change asks for measuring it again.

    `code_version` stands for a judge without a prompt, whose rules are in the program.
    """

    judge: str
    model: str | None = None
    template_id: str | None = None
    template_hash: str | None = None
    schema_hash: str | None = None
    effort: str | None = None
    threshold: float | None = None
    crops: bool | None = None
    max_tokens: int | None = None
    repeats: int | None = None
    repeat_below: float | None = None
    code_version: str | None = None


class CameraPart(Record):
    """The camera by which the pictures were taken: its name for people, its calibration's hashes for telling it apart.

    A hash that is None is unknown and matches nothing.
    """

    name: str | None = None
    lens_hash: str | None = None
    plane_hash: str | None = None


class LightPart(Record):
    """Names of the lights among the labels, and the range of the pictures' mean grey level, 0…255."""

    names: tuple[str, ...]
    low_level: float
    high_level: float


class Counts(Record):
    """Labels against answers: of the labelled successes and failures, how many got which word (`none`: no verdict)."""

    yes_yes: int
    yes_no: int
    yes_unsure: int
    yes_none: int
    no_yes: int
    no_no: int
    no_unsure: int
    no_none: int


class Certificate(Record):
    """What a judge was found to be worth at one step. `threshold` is that of the chosen `risk`, if there is one."""

    version: Literal[1] = 1
    judge: str
    stage: JudgedStage
    certified: bool
    why: str
    made_at: str
    parts: tuple[Part, ...]
    cameras: tuple[CameraPart, ...]
    light: LightPart
    labels_from: tuple[str, ...]
    counts: Counts
    tpr_low: float
    tnr_low: float
    risk: float
    threshold: float | None
    sensitivity: tuple[int, int]
    specificity: tuple[int, int]

    def corrected(self, said_yes: int, n: int) -> CorrectedRate:
        """A success rate corrected for this judge's error.

        Raises:
            CannotCorrect
        """
        return corrected_rate(said_yes, n, sensitivity=self.sensitivity, specificity=self.specificity)


class Certificates(Record):
    """The file `calibration/judge.json`: the latest certificate of each judge and step."""

    version: Literal[1] = 1
    certificates: tuple[Certificate, ...] = Field(default=())

    def of(self, judge: str, stage: JudgedStage) -> Certificate | None:
        """The certificate of a judge at a step."""
        return next((c for c in self.certificates if (c.judge, c.stage) == (judge, stage)), None)


@dataclass(frozen=True, slots=True)
class Standing:
    """Whether an answer comes from a certified judge, and why (not)."""

    certified: bool
    why: str


def load_certificates(calibration_dir: Path) -> Certificates:
    """The certificates of a cell; none where no judge was measured yet.

    Raises:
        CertificateUnreadable: a file that was edited or cut off is never taken as a good word.
    """
    path = calibration_dir / CERTIFICATE_FILE
    try:
        return Certificates.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        return Certificates()
    except OSError as error:
        raise CertificateUnreadable(path, (error.strerror or str(error)).lower()) from error
    except ValidationError as error:
        raise CertificateUnreadable(path, error.errors()[0]["msg"]) from None


def save_certificate(calibration_dir: Path, certificate: Certificate) -> Path:
    """Put a certificate in the place of the same judge's for the same step; the history keeps every one.

    Raises:
        CertificateUnreadable, StorageUnwritable
    """
    with storage(calibration_dir):
        calibration_dir.mkdir(parents=True, exist_ok=True)
    key = (certificate.judge, certificate.stage)
    kept = [c for c in load_certificates(calibration_dir).certificates if (c.judge, c.stage) != key]
    append(calibration_dir / HISTORY_FILE, [certificate])
    path = calibration_dir / CERTIFICATE_FILE
    content = Certificates(certificates=(*kept, certificate))
    write_atomic(path, content.model_dump_json(indent=1).encode() + b"\n")
    return path


def parts_of(verdict: Verdict, code_version: str, asked_as: JudgeAudit | None = None) -> Iterator[Part]:
    """The judges behind an answer: itself, or those that it was made from.

    Args:
        asked_as: of the answer that this one is a member of, where that was had by asking several times.
    """
    audit = verdict.audit
    how = audit if audit.repeats is not None or asked_as is None else asked_as
    if verdict.members:
        for member in verdict.members:
            yield from parts_of(member, code_version, how)
        return
    yield Part(
        judge=audit.judge,
        model=audit.model,
        template_id=audit.template_id,
        template_hash=audit.template_hash or audit.prompt_hash,
        schema_hash=audit.schema_hash,
        effort=audit.effort,
        threshold=audit.threshold,
        crops=audit.crops,
        max_tokens=audit.max_tokens,
        repeats=how.repeats,
        repeat_below=how.repeat_below,
        code_version=code_version if audit.template_hash is None and audit.prompt_hash is None else None,
    )


def standing_of(
    verdict: Verdict,
    certificates: Certificates,
    *,
    camera: CameraPart,
    level: float | None,
    code_version: str,
) -> Standing:
    """Whether this answer comes from a judge that was measured and found good enough, just as it is now.

    Args:
        level: mean grey level of the decisive picture, 0…255; None where it isn't known.
    """
    certificate = certificates.of(verdict.audit.judge, verdict.stage)
    if certificate is None:
        return Standing(
            False, f"nobody has held the judge {verdict.audit.judge} against labels for a {verdict.stage} here"
        )
    if not certificate.certified:
        return Standing(False, certificate.why)
    changed = what_changed(verdict, certificates, camera, code_version) or other_light(certificate.light, level)
    if changed is not None:
        return Standing(False, f"{changed} since the judge was measured on {certificate.made_at[:10]}")
    return Standing(True, certificate.why)


def what_changed(verdict: Verdict, certificates: Certificates, camera: CameraPart, code_version: str) -> str | None:
    """What about judge or camera is not as it was measured, None where all is. The light is another matter."""
    certificate = certificates.of(verdict.audit.judge, verdict.stage)
    if certificate is None:
        return "nothing is known"
    for part in parts_of(verdict, code_version):
        if part not in certificate.parts:
            return _how_it_differs(part, certificate.parts)
    measured_with = {(known.lens_hash, known.plane_hash) for known in certificate.cameras}
    here = (camera.lens_hash, camera.plane_hash)
    if None in here or here not in measured_with:
        return "the camera or its calibration has changed"
    return None


def other_light(light: LightPart, level: float | None) -> str | None:
    """How the light lies outside what was measured, None where it doesn't. `level` is a picture's mean grey."""
    if level is None:
        return "nobody knows how the light compares"
    if not light.low_level - LEVEL_MARGIN <= level <= light.high_level + LEVEL_MARGIN:
        return f"the light has changed (level {level:.0f}, measured {light.low_level:.0f} to {light.high_level:.0f})"
    return None


def _how_it_differs(part: Part, known: tuple[Part, ...]) -> str:
    same = [other for other in known if other.judge == part.judge]
    if not same:
        return f"another judge ({part.judge}) answers"
    told = {
        "model": "the model",
        "template_id": "the rubric's language or stage",
        "template_hash": "the rubric",
        "schema_hash": "the form of reply",
        "effort": "the effort",
        "threshold": "the threshold",
        "crops": "whether closer looks are sent",
        "max_tokens": "the longest reply allowed",
        "repeats": "how often it is asked",
        "repeat_below": "when it is asked again",
        "code_version": "the program",
    }
    for name, what in told.items():
        if all(getattr(other, name) != getattr(part, name) for other in same):
            return f"{what} has changed"
    return "the judge has changed"
