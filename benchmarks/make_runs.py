"""Make folders of synthetic runs: `python benchmarks/make_runs.py FOLDER 20000`. Valid logs of some 16 KB, no pictures.

The figures are drawn, not measured: they are for timing programs that read logs and say nothing about any arm. Some
runs fail, some are unsure, some were ruled on, some never ended. The same seed makes the same runs.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import random
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from runs.corrections.table import cell_key
from runs.index.typed import encode_line
from runs.schema.run import RunLog

STAGES = (
    "stage1", "stage2", "stage3_approach_pick", "stage4_pick", "stage5", "stage6", "stage7_approach_place",
    "stage8_place", "stage9", "stage9b_judge_place", "stage10",
)  # fmt: skip
MOVES = (
    "stage1_to_home", "stage3_approach_pick", "stage4_pick", "stage6_lift", "stage7_approach_place", "stage8_place",
    "stage9b_swept_retreat", "stage10_lift_back", "stage10_to_home",
)  # fmt: skip
BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
SAID = "the block's centre is {:.0f} ± 1 mm inside the inner walls, and the gripper is empty"


def joints(rng: random.Random) -> list[float]:
    return [round(rng.uniform(-90, 90), 2) for _ in range(6)]


def time_at(started: datetime, seconds: float) -> str:
    return (started + timedelta(seconds=seconds)).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def make_log(number: int, seed: int) -> dict[str, Any]:
    """One log as plain values, today's schema."""
    rng = random.Random(f"{seed}/{number}")
    started = BEGIN + timedelta(seconds=90 * number)
    run_id = f"run_{number:04d}_{started:%Y%m%d_%H%M%S}"
    folder = f"runs/{run_id}"
    profile = rng.choice(("perfect", "field"))
    block = polar(rng, (-0.3, -70.0), (0.15, 0.30))
    box = polar(rng, (100.0, 170.0), (0.16, 0.33))
    miss = abs(block[0]) + block[1] - 0.35 + (0.05 if profile == "field" else 0.0)
    draw = rng.random()
    place: str | None = "no" if draw < 0.06 + max(0.0, miss) else "unsure" if draw > 0.97 else "yes"
    place = None if draw > 0.99 else place
    tries = 1 + (rng.random() < 0.12)
    result = {"yes": "completed", "no": "failed"}.get(place or "", "unjudged")
    at = iter(time_at(started, 1.5 * each) for each in range(200))
    tip = (rng.gauss(-1.0 - 20 * block[0], 1.5), rng.gauss(2.0 - 12 * block[1], 1.5))
    judged = [verdict("pick", "yes", rng, next(at)), verdict("place", place, rng, next(at))]
    return {
        "schema_version": 1,
        "run_id": run_id,
        "started_at": time_at(started, 0),
        "dry_run": False,
        "frames_dir": folder,
        "constants": {"HOME": [0, 0, 0, 0, 0, -30], "SPEED": 20, "MAX_PICK_ATTEMPTS": 3},
        "stages": list(STAGES),
        "detect": [look(block, box, rng, next(at), folder) for _ in range(tries)],
        "lookups": lookups(block, box, rng, at),
        "moves": [move(label, rng, next(at)) for label in MOVES],
        "gripper": [gripper(action, rng, next(at)) for action in ("open", "close", "open")],
        "vlm_captures": [
            capture(label, f"{folder}/{run_id}_{label}.jpg", rng, next(at))
            for label in ("detect_1", "detect_2", "detect_3", "stage4_pick_tip", "pick", "place_pre", "place")
        ],
        "judgments": {each["stage"]: summary(each, f"{folder}/{run_id}_{each['stage']}.jpg") for each in judged},
        "pick_attempts": [
            {
                "attempt": each + 1, "verdict": "yes" if each == tries - 1 else "no", "reason": "the jaws fit",
                "block_xz_m": block, "x_residual_m": 0.0004, "z_residual_m": -0.0003,
                "residual_mm": round(rng.uniform(0, 0.9), 4), "grip_holding": each == tries - 1,
            }
            for each in range(tries)
        ],
        "correction": corrections(block, box),
        "tip_measurements": [
            {
                "attempt": tries, "image": f"{folder}/{run_id}_stage4_pick_tip.jpg",
                "diff": {
                    "tip_x": block[0] + tip[0] / 1000, "tip_z": block[1] + tip[1] / 1000, "block_x": block[0],
                    "block_z": block[1], "dx_mm": tip[0], "dz_mm": tip[1], "dist_mm": math.hypot(*tip),
                },
            }
        ],
        "result": result,
        "ended_at": time_at(started, 80),
        "provenance": {
            "cell_id": "synthetic", "code_version": f"0.{number // 50_000 + 1}.0", "arm_kind": "twin",
            "arm_model": "mecharm270", "camera": "twin", "judge": "measured", "seed": number // 2, "profile": profile,
            "calibration_hashes": {"lens": sha("lens"), "plane": sha("plane")}, "table_hash": sha("table"),
            "corrections_hash": sha(str(number // 100)), "settings": {"arm": {"speed_percent": 20}},
        },
        "stage_records": [
            {"name": name, "outcome": "done", "started_at": next(at), "ended_at": next(at), "started_s": 7.0 * each,
             "duration_s": round(rng.uniform(2, 12), 2), "attempt": 1}
            for each, name in enumerate(STAGES)
        ],
        "guards": [
            {"label": label, "allowed": True, "rule": None, "message": None, "value": None, "limit": None,
             "clearance_mm": round(rng.uniform(1, 30), 3), "at": next(at)}
            for label in MOVES
        ],
        "verdicts": judged,
        "ending": {"result": result, "stage": "stage9b_judge_place", "reason": judged[1]["reason"], "at_rest": True},
        "duration_s": round(rng.uniform(60, 110), 2),
        "wall_s": round(rng.uniform(3, 9), 3),
    }  # fmt: skip


def polar(rng: random.Random, turn_deg: tuple[float, float], r_m: tuple[float, float]) -> tuple[float, float]:
    angle = math.radians(90 + rng.uniform(*turn_deg)) if turn_deg[0] <= 0 else math.radians(rng.uniform(*turn_deg))
    r = rng.uniform(*r_m)
    return round(r * math.cos(angle), 6), round(r * math.sin(angle), 6)


def sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def look(block: Any, box: Any, rng: random.Random, at: str, folder: str) -> dict[str, Any]:
    def four() -> list[list[float]]:
        return [[round(rng.uniform(0, 1280), 3), round(rng.uniform(0, 720), 3)] for _ in range(4)]

    return {
        "stage": "stage2", "source": "twin", "block_xz_m": block, "box_xz_m": box, "block_score": 0.97,
        "box_score": 0.99, "n_captures": 3, "at": at, "attempt": 1, "arm_joints_deg": joints(rng),
        "block": {
            "centre_px": [640.5, 300.25], "angle_px_deg": 12.5, "size_px": [41.5, 41.2], "outline_px": four(),
            "score": 0.97, "colour": "red", "touches_border": False, "xz_m": block,
            "yaw_deg": round(rng.uniform(-45, 44), 3), "size_mm": 29.9, "spread_px": 0.1, "spread_mm": 0.08,
            "n_captures": 3,
        },
        "box": {
            "centre_px": [300.5, 280.25], "corners_px": four(), "inside_px": four(), "score": 0.99,
            "touches_border": False, "xz_m": box, "yaw_deg": 3.5, "size_mm": [119.8, 120.3],
            "inside_xz_m": [box, box, box, box], "spread_px": 0.2, "spread_mm": 0.2, "n_captures": 3,
        },
        "images": [f"{folder}/detect_{each}.jpg" for each in (1, 2, 3)],
    }  # fmt: skip


def lookups(block: Any, box: Any, rng: random.Random, at: Any) -> list[dict[str, Any]]:
    told = []
    for label, phase, xz in (
        ("stage3_approach_pick", "approach_pick", block),
        ("stage4_pick", "pick", block),
        ("stage7_approach_place", "approach_place", box),
        ("stage8_place", "place_withblock", box),
    ):
        angles = joints(rng)
        told.append(
            {
                "label": label, "phase": phase, "source_file": "reach.parquet", "pose_id": "fk_row_818398",
                "target_xz_m": xz, "j0": angles[0], "method": "fk_nearest", "x_residual_m": rng.gauss(0, 0.003),
                "z_residual_m": rng.gauss(0, 0.003), "interp_xz_m": xz, "joint_limit_ok": True,
                "target_angles": angles, "base_angles": angles,
                "max_dj_deg": 14.66,
                "joint_tol_deg_used": 15.0, "ee_y_m_selected": 0.093398, "guard_pass": True, "guard_reason": None,
                "at": next(at), "attempt": 1, "requested_xz_m": xz, "total_residual_m": 0.004, "dist_m": 0.004,
                "used_angles": angles, "ee_y_band_m": [0.07, 0.1], "selected_idx": 818398,
                "candidates_left": {"height": 51510, "limits": 42424},
                "refined": {
                    "status": "converged", "target_m": [xz[0], 0.09, xz[1]], "reached_m": [xz[0], 0.09, xz[1]],
                    "residual_mm": round(rng.uniform(0, 0.9), 4), "joints": angles, "steps": 9, "heading_deg": 12.375,
                    "tilt_deg": 41.625,
                },
            }
        )  # fmt: skip
    return told


def move(label: str, rng: random.Random, at: str) -> dict[str, Any]:
    target = joints(rng)
    return {
        "label": label, "target_angles": target, "reach_tol_deg": 3.0, "pre_actual": joints(rng),
        "pre_max_delta_deg": 23.79, "dry_run": False, "arrived": True, "retried": rng.random() < 0.2,
        "post_actual": [round(angle + rng.gauss(0, 0.7), 2) for angle in target],
        "post_max_delta_deg": round(rng.uniform(0.4, 2.9), 3), "at": at, "attempt": 1, "commanded": target,
        "waypoints": 24, "speed_percent": 20, "duration_s": round(rng.uniform(1, 6), 3), "settle_s": 0.4,
        "rejected_readings": 0, "path_clearance_mm": round(rng.uniform(1, 30), 3),
        "tcp_commanded_m": [0.2194, 0.0226, 0.1806], "tcp_read_back_m": [0.2201, 0.0219, 0.1799],
    }  # fmt: skip


def gripper(action: str, rng: random.Random, at: str) -> dict[str, Any]:
    reading = {"value": round(rng.uniform(0, 100), 1), "opening_mm": 30.2, "holding": True, "reason": "fits", "at": at}
    return {
        "stage": f"stage_grip_{action}",
        "action": action,
        "state": 0,
        "sleep_sec": 2.0,
        "at": at,
        "reading": reading,
    }


def capture(label: str, image: str, rng: random.Random, at: str) -> dict[str, Any]:
    return {
        "label": label, "image": image, "dry_run": False, "sha256": sha(image), "width_px": 1280, "height_px": 720,
        "at": at, "attempt": 1, "sharpness": 341.5, "mean_level": round(rng.gauss(118, 14), 2),
        "arm_joints_deg": joints(rng),
    }  # fmt: skip


def verdict(stage: str, word: str | None, rng: random.Random, at: str) -> dict[str, Any]:
    sure = None if word is None else round(min(1.0, max(0.0, rng.gauss(0.6 if word == "unsure" else 0.93, 0.06))), 3)
    return {
        "stage": stage, "verdict": word, "confidence": sure, "reason": SAID.format(rng.uniform(0, 45)),
        "error": None if word is not None else "box_hidden",
        "audit": {
            "judge": "measured", "model": "measured", "image_hashes": [sha("a"), sha("b")], "seconds": 1.2,
            "measurements": {"block_inside_mm": 21.5, "grip_value": 34.5},
        },
        "attempt": 1, "at": at,
    }  # fmt: skip


def summary(said: dict[str, Any], image: str) -> dict[str, Any]:
    kept = {name: said[name] for name in ("verdict", "confidence", "reason", "error")}
    return {**kept, "model": "measured", "image": image, "vlm_verdict": said["verdict"], "human_verdict": None}


def corrections(block: Any, box: Any) -> dict[str, Any]:
    def use(phase: Any, xz: Any) -> dict[str, Any]:
        mm = [xz[0] * 1000, xz[1] * 1000]
        return {"phase": phase, "target_before_mm": mm, "target_after_mm": mm, "cell_key": cell_key(phase, tuple(xz)),
                "dx_mm": -2.7, "dz_mm": -8.3, "n": 2, "applied": False}  # fmt: skip

    return {"last": use("pick", block), "place_last": use("place", box), "learned": [], "not_learned": None}


def make_runs(runs_dir: Path, n: int, *, seed: int = 0, distinct: int = 5000) -> int:
    """Write `n` runs; how many bytes their logs are in all.

    Args:
        distinct: so many are drawn; those after them are the same trials under other names, on other days.
    """
    runs_dir.mkdir(parents=True, exist_ok=True)
    total = 0
    drawn: list[tuple[str, bytes]] = []
    for number in range(1, n + 1):
        if number <= distinct:
            log = make_log(number, seed)
            run_id, text = str(log["run_id"]), encode_line(log)
            drawn.append((run_id, text))
        else:
            old, text = drawn[(number - 1) % distinct]
            began = BEGIN + timedelta(seconds=90 * number)
            run_id = f"run_{number:04d}_{began:%Y%m%d_%H%M%S}"
            text = text.replace(old.encode(), run_id.encode()).replace(_day(old), f"{began:%Y-%m-%d}".encode())
            text = text.replace(b'"seed":', b'"seed":%d' % (number // distinct))
        folder = runs_dir / run_id
        folder.mkdir()
        total += (folder / "run.json").write_bytes(text)
        if number % 50 == 0:  # a person has looked at it
            ruling = {"stage": "place", "verdict": "yes", "by": "Ada", "at": "2026-08-01T00:00:00.000Z", "blind": True}
            (folder / "rulings.jsonl").write_text(json.dumps(ruling) + "\n", encoding="utf-8")
    return total


def copy_runs(source: Path, runs_dir: Path, n: int) -> int:
    """Write `n` runs that are those of a folder over and over, pictures and all, under other names; of how many.

    Pictures become links to the same bytes where the disk can do that. The copies keep their times, so runs of one
    origin say that they began together; names differ.
    """
    origins = sorted(log.parent for log in source.glob("run_*/run.json"))
    if not origins:
        raise SystemExit(f"there are no finished runs in {source}")
    for number in range(1, n + 1):
        origin = origins[(number - 1) % len(origins)]
        run_id = f"run_{number:04d}_{origin.name.split('_', 2)[2]}"
        folder = runs_dir / run_id
        folder.mkdir(parents=True)
        for file in origin.iterdir():
            to = folder / file.name.replace(origin.name, run_id)
            if file.suffix in (".json", ".jsonl"):
                to.write_bytes(file.read_bytes().replace(origin.name.encode(), run_id.encode()))
            else:
                _link_or_copy(file, to)
    return len(origins)


def _link_or_copy(file: Path, to: Path) -> None:
    try:
        to.hardlink_to(file)
    except OSError:
        shutil.copyfile(file, to)


def _day(run_id: str) -> bytes:
    day = run_id.split("_")[2]
    return f"{day[:4]}-{day[4:6]}-{day[6:]}".encode()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="a cell's folder; the runs go into its runs/")
    parser.add_argument("n", type=int)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    RunLog.model_validate_json(json.dumps(make_log(1, args.seed)), strict=True)
    size = make_runs(args.folder / "runs", args.n, seed=args.seed)
    print(f"{args.n} runs in {args.folder / 'runs'}, {size / args.n / 1000:.1f} KB a log")


if __name__ == "__main__":
    main()
