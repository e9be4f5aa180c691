"""`trialcell twin fit`: the twin made truer by the runs of an arm."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from runner.cli.options import DEFAULT_CELL, CellOption, JsonOption, SetOption
from runner.cli.output import Output

if TYPE_CHECKING:
    from runner.cell import Cell
    from runner.rehearse.fit_twin import Rubbed
    from runner.twin.drive_file import DriveFile
    from runs.schema.run import RunLog

EPILOG = "Example: trialcell twin fit --last 20   or   trialcell twin fit --log 12 --log 13 --friction --dry-run"


def fit(
    log: Annotated[
        list[str] | None, typer.Option(metavar="RUN", help="A run by name, or a log by its file; as often as you like.")
    ] = None,
    last: Annotated[int, typer.Option(min=1, max=1000, help="Without --log: so many of the cell's last runs.")] = 20,
    seeds: Annotated[int, typer.Option(min=1, max=100, help="Twins that are held against the held-out moves.")] = 3,
    friction: Annotated[
        bool,
        typer.Option("--friction", help="Also find the pads' friction from what came of the picks: minutes."),
    ] = False,
    profile: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="What the twin is now; by default as fitted before, else as the logs say, else field."
        ),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Keep nothing.")] = False,
    set_: SetOption = None,
    cell: CellOption = DEFAULT_CELL,
    json: JsonOption = False,
) -> int:
    """Learn the arm's sag, dead band and lag from its runs, and show on moves left out that the twin became truer.

    Kept in the cell's calibration as drive.json, which rehearsals and `twin parity --fitted` use. Where the fit makes
    the twin no truer (exit code 1), sag, dead band and lag stay as they are.
    """
    from dataclasses import replace

    from runner.arm_calibration import model_name
    from runner.cell import open_cell
    from runner.rehearse.fit_twin import fit_twin, to_keep
    from runner.table.postures import arm_of
    from runner.twin.drive_file import has_drive_file, load_drive_file
    from runner.twin.profiles import FIELD, PROFILES
    from vision.calibration.kept import save

    out = Output(as_json=json)
    opened = open_cell(cell, set_ or [])
    logs, left_out = _logs(opened, log, last)
    for why in left_out:
        out.aside.print(f"left out: {why}", style="yellow", markup=False, highlight=False)
    told = {log.provenance.profile for log in logs if log.provenance is not None}
    own = profile or (next(iter(told)) if len(told) == 1 else None)
    if profile is not None and profile not in PROFILES:
        raise typer.BadParameter(f"--profile is one of {', '.join(PROFILES)}; got {profile!r}")
    existing = load_drive_file(opened.calibration_dir) if has_drive_file(opened.calibration_dir) else None
    if existing is not None and existing.arm_model != model_name(opened.config):
        existing = None
    before = PROFILES.get(own or "", FIELD)
    if existing is not None and profile is None:
        before = replace(existing.profile, zero_sigma_deg=0.0)  # as the fit itself is held against the moves
    arm, _ = arm_of(opened.config)
    with out.aside.status("fitting the twin") as status:
        file = fit_twin(
            logs,
            opened.config,
            arm,
            before,
            seeds=range(seeds),
            source=f"{len(logs)} runs, {logs[0].run_id} to {logs[-1].run_id}",
            progress=status.update,
        )
        rubbed = None
        if friction:
            status.update("trying the picks of these runs with other frictions")
            rubbed = _rub(opened, logs, file)
            file = file.model_copy(update={"pad_friction": rubbed.best, "picks": rubbed.picks})
    keeping = to_keep(file, existing)
    kept = None if keeping is None or dry_run else save(keeping, opened.calibration_dir)
    answer = {
        **file.model_dump(mode="json"),
        "left_out": left_out,
        "truer": file.truer,
        "kept": None if kept is None else str(kept),
    }
    out.answer(answer | ({} if rubbed is None else {"friction": _likely(rubbed)}), *_told(file, rubbed, kept))
    return 0 if file.truer else 1


def _logs(opened: Cell, named: list[str] | None, last: int) -> tuple[list[RunLog], list[str]]:
    """The runs to fit to, and why some of the last were left out; one that was named must be readable."""
    from runner.twin.drive_fit import TooFewMoves
    from runs.errors import RecordError
    from runs.store import RunStore, open_any

    store = RunStore(opened.runs_dir)
    logs, left_out = [], []
    for name in named or [entry.run_id for entry in store.list()][-last:]:
        try:
            logs.append(open_any(name, store).log)
        except RecordError as error:
            if named:
                raise
            left_out.append(f"{name}: {error.message}")
    if not logs:
        raise TooFewMoves(0)
    return logs, left_out


def _rub(opened: Cell, logs: list[RunLog], file: DriveFile) -> Rubbed:
    from runner.rehearse.fit_twin import rub_of
    from runner.rehearse.hindsight import judged_ways
    from runner.table.cell_tables import open_tables

    planner = open_tables(opened.folder, opened.config).planner(opened.config)
    picks = [pair for log in logs for pair in judged_ways(log, planner, opened.config)]
    return rub_of(picks, planner, opened.config, file.profile)


def _likely(rubbed: Rubbed) -> dict[str, Any]:
    from runner.rehearse.fit_twin import FRICTIONS

    return {"picks": rubbed.picks, "log_likelihood": dict(zip(map(str, FRICTIONS), rubbed.log_likelihood, strict=True))}


def _told(file: DriveFile, rubbed: Rubbed | None, kept: Any) -> list[Any]:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("")
    for joint in range(len(file.offset_deg)):
        table.add_column(f"j{joint}", justify="right")
    for name, values in (
        ("sag °", file.offset_deg),
        ("half the dead band °", file.half_width_deg),
        ("lag °", file.lag_deg),
        ("ripple °", file.ripple_deg),
    ):
        table.add_row(name, *(f"{value:+.2f}".replace("-", "−") for value in values))
    if file.left_deg:
        table.add_row(f"left at {file.grasps} grasps °", *(f"{v:+.2f}".replace("-", "−") for v in file.left_deg))
    parts: list[Any] = [table, Text(f"a lag is made up with a time constant of {file.lag_s:g} s", style="dim")]
    if file.tip_bias_mm is not None and file.tip_sd_mm is not None:
        (bx, bz), (sx, sz) = file.tip_bias_mm, file.tip_sd_mm
        seen = f"camera: {file.tips} tips seen beside where the joints have them by x {bx:+.1f}, z {bz:+.1f} mm"
        parts.append(Text(f"{seen}, spread {sx:.1f}, {sz:.1f} mm"))
    if rubbed is not None:
        best = rubbed.best
        said = f"likeliest {best:g}" if best is not None else f"{rubbed.picks} picks hardly tell; as set"
        parts.append(Text(f"friction of the pads: {said}"))
    mark = Text("✓ " if file.truer else "✗ ", style="green" if file.truer else "red")
    words = (
        f"on {file.held_out} moves that the fit had not seen the twin was off by {file.before_deg:.2f}° (rms, profile "
    )
    words += f"{file.before}) and is now by {file.after_deg:.2f}°"
    if not file.truer:
        words = (
            f"on {file.held_out} moves left out the fit made the twin no truer than {file.before_deg:.2f}° (rms): its "
        )
        words += f"sag, dead band and lag stay those of {file.before}"
    parts.append(mark.append(words, style="default"))
    parts.append(Text(f"kept: {kept}" if kept is not None else "nothing was kept", style="dim", no_wrap=True))
    return parts
