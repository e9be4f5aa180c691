"""`cell.toml` to frozen settings: every setting of a cell, each with its unit in its name and a word on what it is for.

Reads, checks and writes settings; makes nothing from them (that is `rig.py`). Unknown keys are refused with a
suggestion, so that no setting is silently ignored.
"""

from __future__ import annotations

import difflib
import json
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, ClassVar

from pydantic import ValidationError

from runner.settings.agent import AgentSettings
from runner.settings.arm import ArmSettings, GripperSettings
from runner.settings.batch import BatchSettings
from runner.settings.desk import (
    BlockSettings,
    BoxSettings,
    CalibrationSettings,
    CameraSettings,
    CellSettings,
    WorkspaceSettings,
)
from runner.settings.judge import JudgeSettings
from runner.settings.moves import GuardSettings, TableSettings
from runner.settings.rehearse import RehearseSettings
from runner.settings.section import Section
from runner.settings.trial import CorrectionsSettings, TrialSettings
from runner.settings.twin import TwinSettings
from runs.errors import Family, TrialcellError

CELL_FILE = "cell.toml"


class ConfigError(TrialcellError):
    """A setting that can't be used."""

    family: ClassVar[Family] = "usage"


class UnknownSetting(ConfigError):
    """A key that no setting has."""

    def __init__(self, key: str, known: Iterable[str], where: str) -> None:
        self.key, self.where = key, where
        near = difflib.get_close_matches(key, list(known), n=1, cutoff=0.5)
        super().__init__(
            f"{where}: there is no setting {key!r}",
            next_step=f"did you mean {near[0]!r}?" if near else "see the comments in cell.toml for all settings",
        )


class BadSetting(ConfigError):
    """A setting with a value that it can't have."""

    def __init__(self, key: str, why: str, where: str) -> None:
        self.key, self.why, self.where = key, why, where
        super().__init__(f"{where}: {key}: {why}")


class CellUnreadable(ConfigError):
    """A cell's settings file that can't be read or is not TOML."""

    def __init__(self, path: Path, why: str) -> None:
        self.path, self.why = path, why
        super().__init__(f"can't read {path}: {why}", next_step="mend the file, or move it away to get the defaults")


class Config(Section):
    """All settings of a cell."""

    cell: CellSettings = CellSettings()
    arm: ArmSettings = ArmSettings()
    gripper: GripperSettings = GripperSettings()
    camera: CameraSettings = CameraSettings()
    block: BlockSettings = BlockSettings()
    box: BoxSettings = BoxSettings()
    workspace: WorkspaceSettings = WorkspaceSettings()
    table: TableSettings = TableSettings()
    guard: GuardSettings = GuardSettings()
    trial: TrialSettings = TrialSettings()
    corrections: CorrectionsSettings = CorrectionsSettings()
    judge: JudgeSettings = JudgeSettings()
    twin: TwinSettings = TwinSettings()
    calibration: CalibrationSettings = CalibrationSettings()
    batch: BatchSettings = BatchSettings()
    rehearse: RehearseSettings = RehearseSettings()
    agent: AgentSettings = AgentSettings()


def parse(raw: Mapping[str, Any], where: str) -> Config:
    """Settings from nested tables; what is not said has its default.

    Raises:
        UnknownSetting: a key that no setting has, with the nearest that there is.
        BadSetting: a value of the wrong type or out of range, or NaN.
    """
    try:
        return Config.model_validate(raw)
    except ValidationError as error:
        first = error.errors()[0]
        path = [p for p in first["loc"] if isinstance(p, str)]
        if first["type"] == "extra_forbidden":
            raise UnknownSetting(
                ".".join(path), setting_names() if len(path) > 1 else Config.model_fields, where
            ) from None
        why = first["msg"].removeprefix("Value error, ")
        shown = first["input"] if isinstance(first["input"], (str, int, float, bool, list, tuple)) else None
        raise BadSetting(
            ".".join(path) or "settings", why + (f" (got {shown!r})" if shown is not None else ""), where
        ) from None


def setting_names() -> list[str]:
    """Every setting as `section.key`."""
    return [f"{s}.{k}" for s, f in Config.model_fields.items() for k in _section(f.annotation).model_fields]


def load(path: Path, overrides: Iterable[str] = ()) -> Config:
    """The settings in a `cell.toml`, with `section.key=value` overrides laid over them.

    An `arm.model` that names an arm file in the same folder becomes its whole path.

    Raises:
        CellUnreadable: the file can't be read or is not TOML.
        UnknownSetting, BadSetting: see `parse`.
    """
    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise CellUnreadable(path, str(error)) from error
    parse(raw, str(path))
    overrides = list(overrides)
    config = parse(_overridden(raw, overrides), "--set") if overrides else parse(raw, str(path))
    own = path.parent / config.arm.model
    if not (config.arm.model.endswith(".toml") and own.is_file()):
        return config
    return config.model_copy(update={"arm": config.arm.model_copy(update={"model": str(own.resolve())})})


def with_overrides(config: Config, overrides: Iterable[str]) -> Config:
    """The settings with `section.key=value` laid over them; values are read as TOML, else as text."""
    return parse(_overridden(config.model_dump(), list(overrides)), "--set")


def to_toml(config: Config) -> str:
    """All settings as commented TOML, ready to be edited."""
    lines = [
        "# Settings of one cell: an arm, a camera, a table. Units stand in the names:",
        "# m, mm, deg, s, px, percent.",
    ]
    for name, field in Config.model_fields.items():
        section = _section(field.annotation)
        lines += ["", f"# {(section.__doc__ or '').strip().splitlines()[0]}", f"[{name}]"]
        for key, setting in section.model_fields.items():
            lines.append(f"{key} = {_toml_value(getattr(getattr(config, name), key))}  # {setting.description}")
    return "\n".join(lines) + "\n"


def _overridden(raw: Mapping[str, Any], overrides: list[str]) -> dict[str, Any]:
    merged: dict[str, Any] = {k: dict(v) if isinstance(v, Mapping) else v for k, v in raw.items()}
    for item in overrides:
        key, equals, text = item.partition("=")
        section, dot, name = key.strip().partition(".")
        if not equals or not dot or not name:
            raise BadSetting(item, "write it as section.key=value, for example arm.speed_percent=30", "--set")
        if key.strip() not in setting_names():
            raise UnknownSetting(key.strip(), setting_names(), "--set")
        merged.setdefault(section, {})[name] = _value_of(text.strip())
    return merged


def _value_of(text: str) -> Any:
    try:
        return tomllib.loads(f"v = {text}")["v"]
    except tomllib.TOMLDecodeError:
        return text


def _toml_value(value: Any) -> str:
    if isinstance(value, tuple):
        return "[" + ", ".join(_toml_value(v) for v in value) + "]"
    return json.dumps(value)


def _section(annotation: Any) -> type[Section]:
    assert isinstance(annotation, type)
    assert issubclass(annotation, Section)
    return annotation
