"""Run logs decoded by type, only the keys that the index asks for: the quick way through many files.

A decoded log has the attributes of `RunLog` that `index/row.py`, `verdicts.py` and `queue.py` read, and no others. It
knows today's schema alone and checks no more than it needs: a log that it can't decode is read in full by the store,
which also says what is wrong; whether a log is valid is `runs validate`'s business. msgspec is imported here only.
"""

from __future__ import annotations

from typing import Any, Literal, cast

import msgspec

from runs.schema.run import Result, RunLog, StageOutcome
from runs.schema.verdict import JudgedStage, Word

XZ = tuple[float, float]


class _Part(msgspec.Struct, gc=False, omit_defaults=True):
    """Unknown keys are passed over; that is what makes it quick."""


class _Yaw(_Part):
    yaw_deg: float | None = None


class _Look(_Part):
    block_xz_m: XZ | None
    box_xz_m: XZ | None
    box_score: float | None = None
    block: _Yaw | None = None


class _Refined(_Part):
    residual_mm: float


class _Lookup(_Part):
    label: str
    phase: str
    method: str
    target_xz_m: XZ
    x_residual_m: float | None
    z_residual_m: float | None
    guard_pass: bool
    guard_reason: str | None = None
    attempt: int | None = None
    max_dj_deg: float | None = None
    total_residual_m: float | None = None
    refined: _Refined | None = None


class _Move(_Part):
    retried: bool
    rejected_readings: int | None = None
    path_clearance_mm: float | None = None


class _Capture(_Part):
    mean_level: float | None = None


class _Judgment(_Part):
    verdict: Word | None
    confidence: float | None
    reason: str
    model: str | None
    image: str | None = None
    vlm_verdict: Word | None = None
    human_verdict: Word | None = None
    dist_override: bool | None = None
    error: str | None = None


class _Attempt(_Part):
    attempt: int
    verdict: Word | None
    x_residual_m: float | None = None
    z_residual_m: float | None = None
    residual_mm: float | None = None
    grip_holding: bool | None = None


class _Use(_Part):
    cell_key: str
    dx_mm: float | None
    dz_mm: float | None
    n: int
    applied: bool


class _Corrections(_Part):
    last: _Use | None = None
    place_last: _Use | None = None


class _Diff(_Part):
    dx_mm: float
    dz_mm: float
    dist_mm: float


class _Tip(_Part):
    attempt: int
    diff: _Diff | None


class _Provenance(_Part):
    cell_id: str
    code_version: str
    arm_kind: str
    arm_model: str
    camera: str
    judge: str
    seed: int | None = None
    profile: str | None = None
    table_hash: str | None = None
    corrections_hash: str | None = None


class _Stage(_Part):
    name: str
    outcome: StageOutcome
    duration_s: float | None = None
    attempt: int | None = None


class _Measured(_Part):
    mean_level: Any = None


class _Audit(_Part):
    judge: str
    model: str | None = None
    cost_usd: float | None = None
    seconds: float | None = None
    measurements: _Measured = msgspec.field(default_factory=_Measured)


class _Verdict(_Part):
    stage: JudgedStage
    verdict: Word | None
    reason: str
    audit: _Audit
    confidence: float | None = None
    error: str | None = None
    attempt: int = 1
    at: str | None = None
    members: list[_Verdict] = []
    alongside: list[_Verdict] = []


class _Ruling(_Part):
    stage: JudgedStage
    verdict: Word
    by: str
    at: str
    reason: str = ""
    blind: bool = False
    takes_back: bool = False


class _Rejudged(_Part):
    verdict: _Verdict


class _Ending(_Part):
    result: Result
    stage: str | None
    reason: str
    family: str | None = None


class _AgentBegun(_Part):
    by: str


class _Agent(_Part):
    begun: _AgentBegun


class _Log(_Part):
    schema_version: Literal[1]
    run_id: str
    started_at: str
    dry_run: bool
    result: Result | None
    ended_at: str | None
    detect: list[_Look] = []
    lookups: list[_Lookup] = []
    moves: list[_Move] = []
    vlm_captures: list[_Capture] = []
    judgments: dict[JudgedStage, _Judgment] = {}
    pick_attempts: list[_Attempt] = []
    correction: _Corrections = msgspec.field(default_factory=_Corrections)
    tip_measurements: list[_Tip] = []
    times_are_utc: bool = True
    provenance: _Provenance | None = None
    stage_records: list[_Stage] = []
    verdicts: list[_Verdict] = []
    rulings: list[_Ruling] = []
    rejudged: list[_Rejudged] = []
    agent: _Agent | None = None
    ending: _Ending | None = None
    duration_s: float | None = None
    wall_s: float | None = None
    recovered: bool = False
    migrated_from: int | None = None


class Undecodable(Exception):
    """The quick way does not know this file; the store says what it is."""


_log = msgspec.json.Decoder(_Log)
_ruling = msgspec.json.Decoder(_Ruling)
_rejudged = msgspec.json.Decoder(_Rejudged)
_encoder = msgspec.json.Encoder()


def decode(text: bytes, *, rulings: bytes = b"", rejudged: bytes = b"") -> RunLog:
    """A log of today's schema with what was said since, as far as the index reads it.

    Args:
        text: the bytes of `run.json`.
        rulings, rejudged: the bytes of the files of later rulings and verdicts; a torn last line counts for nothing.

    Raises:
        Undecodable: another schema, or anything not of the type that it must have.
    """
    try:
        log = _log.decode(text)
        if rulings:
            log.rulings += [_ruling.decode(line) for line in rulings.split(b"\n")[:-1]]
        if rejudged:
            log.rejudged += [_rejudged.decode(line) for line in rejudged.split(b"\n")[:-1]]
    except (msgspec.DecodeError, RecursionError) as error:
        raise Undecodable(str(error)) from None
    return cast(RunLog, log)


def encode_line(row: dict[str, Any]) -> bytes:
    """A row as one line of JSON."""
    return _encoder.encode(row) + b"\n"


def pack(value: Any) -> bytes:
    """Plain values as MessagePack."""
    return msgspec.msgpack.encode(value)


def unpack_seen(data: bytes) -> tuple[list[str], bytes]:
    """What `pack` made of names and stamps.

    Raises:
        Undecodable: it is damaged.
    """
    try:
        return msgspec.msgpack.decode(data, type=tuple[list[str], bytes])
    except msgspec.DecodeError as error:
        raise Undecodable(str(error)) from None
