"""The fit of an arm's zeros and its gripper's place to what was seen or touched, and what that can't tell.

A robust least-squares fit with what was likely before as a weak pull. An unknown of which the data say less than that
is left as it was and named; unknowns that only show together are named as a pair. The error it states is of poses that
the fit had not seen. It refuses data that agree with no arm.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares

from runner.arm_calibration import FittedParameter, HeldOut
from runner.calibrate.held_out import held_out_of
from runner.calibrate.samples import SeenTips, TouchedMarks
from runner.calibrate.unknowns import ArmUnderCamera, Unknown, tip_parts
from runner.kinematics.model import FloatArray, frozen
from vision.errors import CalibrationTooPoor

SEEN_PX = (0.8, 0.8, 1.5)  # how well a tip is seen: its middle, and its line aside
TOUCH_MM = 0.5  # and a mark touched
BOARD_PX = 0.3  # how well a corner of the board was seen
LEFT_ALONE = 0.7  # an unknown that stays this uncertain, as a share of what it was before, is left alone
TOGETHER = 0.95  # two that are correlated so much show only together
OUTLIER = 5.0  # standard deviations
MAX_DROPPED = 0.25
MAX_HELD_OUT_MM = 6.0
FOLDS = 4
MIN_POSES = 8

Samples = SeenTips | TouchedMarks


@dataclass(frozen=True, slots=True, eq=False)
class ArmFit:
    """What came out. `values` as `ArmUnderCamera` orders them, camera included; read-only."""

    values: FloatArray
    parameters: tuple[FittedParameter, ...]
    confused: tuple[str, ...]
    singular_values: tuple[float, ...]
    dropped: tuple[int, ...]
    rms_before_mm: float
    rms_mm: float
    rms_px: float | None
    held_out: HeldOut

    @property
    def left_alone(self) -> tuple[str, ...]:
        """Unknowns that stayed as they were, for the data don't tell them."""
        return tuple(p.name for p in self.parameters if not p.determined)


def fit_arm(
    model: ArmUnderCamera,
    samples: Samples,
    *,
    joints: bool = True,
    start: FloatArray | None = None,
) -> ArmFit:
    """Fit zeros (unless `joints` is off) and gripper; where the tip was seen, the camera over the board with them.

    Args:
        start: values of what is not fitted, and what the fit pulls toward; all zeros where not given.

    Raises:
        CalibrationTooPoor: too few poses, data that don't agree, or left-out poses more than 6 mm off.
    """
    if len(samples) < MIN_POSES:
        what = f"{len(samples)} poses, {MIN_POSES} needed"
        raise CalibrationTooPoor("arm", what, next_step="let the tip be seen at more poses, or touch more marks")
    problem = _Problem.of(model, samples, joints=joints, start=start)
    found = problem.solved()
    off_mm = np.linalg.norm(model_error_mm(model, samples, found.values), axis=1)
    before_mm = np.linalg.norm(model_error_mm(model, samples, problem.prior), axis=1)
    kept = found.kept
    if np.mean(~kept) > MAX_DROPPED:
        raise CalibrationTooPoor(
            "arm",
            f"{int((~kept).sum())} of {len(kept)} poses agree with no arm that the others agree with",
            next_step="look that the tip is free to be seen, that the camera stands still and the arm's file is right",
        )
    held_out = _held_out(problem, np.flatnonzero(kept))
    if not held_out.median_mm < MAX_HELD_OUT_MM:
        raise CalibrationTooPoor(
            "arm",
            f"poses left out of the fit are {held_out.median_mm:.1f} mm off (at most {MAX_HELD_OUT_MM:.0f} mm)",
            next_step="calibrate lens and plane first, and look that arm.base_shift_m and the arm's file are right",
        )
    px = None
    if isinstance(samples, SeenTips):
        seen = (samples.ends_px - model.tips_px(samples.encoder_deg, found.values)).mean(axis=1)[kept]
        px = float(np.sqrt(np.mean(np.sum(seen**2, axis=1))))
    return ArmFit(
        values=frozen(found.values),
        parameters=problem.told(found),
        confused=problem.confused(found),
        singular_values=tuple(float(s) for s in found.singular_values),
        dropped=tuple(int(i) for i in np.flatnonzero(~kept)),
        rms_before_mm=float(np.sqrt(np.mean(before_mm[kept] ** 2))),
        rms_mm=float(np.sqrt(np.mean(off_mm[kept] ** 2))),
        rms_px=px,
        held_out=held_out,
    )


def model_error_mm(model: ArmUnderCamera, samples: Samples, values: FloatArray) -> FloatArray:
    """Seen (or touched) less reckoned, mm: (n, 2) on the table's plane at the tip's height, (n, 3) for marks."""
    if isinstance(samples, TouchedMarks):
        return np.asarray((samples.point_m - model.tool_points_m(samples.encoder_deg, values)) * 1000.0)
    middle = model.tips_m(samples.encoder_deg, values).mean(axis=1)
    at = model.seen_from(values).pixel_to_table_xz_m(samples.ends_px.mean(axis=1), middle[:, 1])
    return np.asarray((at - middle[:, [0, 2]]) * 1000.0)


@dataclass(frozen=True, slots=True, eq=False)
class _Solved:
    values: FloatArray  # all unknowns
    free: NDArray[np.intp]  # which of them were fitted in the end
    kept: NDArray[np.bool_]  # which samples counted
    covariance: FloatArray  # of the free ones, in shares of what was likely before
    singular_values: FloatArray  # of what the data say of all that were asked for, in the same shares
    alone: dict[int, float]  # left alone: how uncertain each stayed, as a share


@dataclass(frozen=True, slots=True, eq=False)
class _Problem:
    """Residuals in standard deviations; unknowns in shares of what was likely before."""

    model: ArmUnderCamera
    samples: Samples
    unknowns: tuple[Unknown, ...]
    asked: NDArray[np.intp]
    prior: FloatArray

    @classmethod
    def of(cls, model: ArmUnderCamera, samples: Samples, *, joints: bool, start: FloatArray | None) -> _Problem:
        unknowns, n = model.unknowns(), model.arm.n_joints
        seen = range(n + 3, model.n_unknowns) if isinstance(samples, SeenTips) else ()
        asked = [*(range(n) if joints else ()), *range(n, n + 3), *seen]
        prior = np.zeros(len(unknowns)) if start is None else np.array(start, dtype=float)
        return cls(model, samples, tuple(unknowns), np.array(asked, dtype=np.intp), frozen(prior))

    @property
    def sigma(self) -> FloatArray:
        return np.array([unknown.sigma for unknown in self.unknowns])

    def values(self, shares: FloatArray, free: NDArray[np.intp]) -> FloatArray:
        out = self.prior.copy()
        out[free] += shares * self.sigma[free]
        return out

    def residuals(self, values: FloatArray, samples: Samples) -> FloatArray:
        """(n, k), one row a sample."""
        if isinstance(samples, TouchedMarks):
            return model_error_mm(self.model, samples, values) / TOUCH_MM
        expected = self.model.tips_px(samples.encoder_deg, values)
        return tip_parts(samples.ends_px, expected) / SEEN_PX

    def board(self, values: FloatArray) -> FloatArray:
        """What speaks against a camera that sees the board elsewhere than it was seen."""
        if isinstance(self.samples, TouchedMarks):
            return np.zeros(0)
        return self.model.board_off_px(values).ravel() / BOARD_PX

    def solved(self, rows: NDArray[np.intp] | None = None) -> _Solved:
        """Fit, drop outliers, fit again; leave alone what stays as uncertain as it was, the worst first."""
        samples = self.samples if rows is None else self.samples.at(rows)
        free, alone = self.asked, {}
        kept = np.ones(len(samples), dtype=bool)
        shares = np.zeros(len(free))
        shares = self._minimum(samples, free, shares, robust=True)
        worst = np.abs(self.residuals(self.values(shares, free), samples)).max(axis=1)
        scale = max(1.0, float(np.median(worst)) / 0.9)
        kept = worst <= OUTLIER * scale
        rest = samples.at(np.flatnonzero(kept))
        all_singular = np.zeros(0)
        while True:
            shares = self._minimum(rest, free, shares, robust=False)
            J = self._jacobian(rest, free, shares)
            if not len(all_singular):
                all_singular = np.asarray(np.linalg.svd(J, compute_uv=False), dtype=np.float64)
            noise = self._noise(rest, free, shares)
            covariance = np.asarray(np.linalg.inv(J.T @ J / noise + np.eye(len(free))), dtype=np.float64)
            stays = np.where(free < self.model.arm.n_joints + 3, np.sqrt(np.diag(covariance)), 0.0)
            if stays.max() <= LEFT_ALONE or len(free) == 1:
                break
            at = int(stays.argmax())
            alone[int(free[at])] = float(stays[at])
            free, shares = np.delete(free, at), np.delete(shares, at)
        return _Solved(self.values(shares, free), free, kept, covariance, all_singular, alone)

    def told(self, found: _Solved) -> tuple[FittedParameter, ...]:
        """Every unknown that was asked for, with what came out."""
        spread = {int(i): float(s) for i, s in zip(found.free, np.sqrt(np.diag(found.covariance)), strict=True)}
        spread |= found.alone
        return tuple(
            FittedParameter(
                name=self.unknowns[i].name,
                unit="deg" if self.unknowns[i].unit == "deg" else "mm",
                value=float(found.values[i]),
                sigma=spread[i] * self.unknowns[i].sigma,
                prior=float(self.prior[i]),
                prior_sigma=self.unknowns[i].sigma,
                determined=i not in found.alone,
            )
            for i in self.asked.tolist()
        )

    def confused(self, found: _Solved) -> tuple[str, ...]:
        """Pairs that the data see mostly together."""
        spread = np.sqrt(np.diag(found.covariance))
        correlation = found.covariance / np.outer(spread, spread)
        pairs = [
            (i, j, float(correlation[i, j]))
            for i in range(len(spread))
            for j in range(i + 1, len(spread))
            if abs(correlation[i, j]) > TOGETHER and found.free[i] < self.model.arm.n_joints + 3
        ]
        return tuple(
            f"{self.unknowns[found.free[i]].name} and {self.unknowns[found.free[j]].name} show mostly as their "
            f"{'difference' if c > 0 else 'sum'} (correlation {c:+.2f})"
            for i, j, c in pairs
        )

    def _minimum(self, samples: Samples, free: NDArray[np.intp], shares: FloatArray, *, robust: bool) -> FloatArray:
        found = least_squares(
            self._all_residuals(samples, free),
            shares,
            loss="soft_l1" if robust else "linear",
            method="trf",
            x_scale=0.1,
            max_nfev=60,
        )
        return np.asarray(found.x, dtype=np.float64)

    def _all_residuals(self, samples: Samples, free: NDArray[np.intp]) -> Callable[[FloatArray], FloatArray]:
        def residuals(shares: FloatArray) -> FloatArray:
            values = self.values(shares, free)
            return np.append(self._data(values, samples), shares)

        return residuals

    def _jacobian(self, samples: Samples, free: NDArray[np.intp], shares: FloatArray) -> FloatArray:
        """Of what samples and board say, (rows, free)."""
        step = 1e-4
        columns = []
        for i in range(len(free)):
            ahead, behind = shares.copy(), shares.copy()
            ahead[i] += step
            behind[i] -= step
            change = self._data(self.values(ahead, free), samples) - self._data(self.values(behind, free), samples)
            columns.append(change / (2 * step))
        return np.stack(columns, axis=1)

    def _data(self, values: FloatArray, samples: Samples) -> FloatArray:
        return np.append(self.residuals(values, samples).ravel(), self.board(values))

    def _noise(self, samples: Samples, free: NDArray[np.intp], shares: FloatArray) -> float:
        """How much noisier the data are than held likely (a variance), at least as noisy as that."""
        left = self.residuals(self.values(shares, free), samples).ravel()
        return max(1.0, float(left @ left) / max(1, len(left) - len(free)))


def _held_out(problem: _Problem, rows: NDArray[np.intp]) -> HeldOut:
    """Errors of poses from fits that had not seen them, each fourth of the poses left out in turn."""
    model, off, places = problem.model, [], []
    for fold in range(FOLDS):
        out = rows[fold::FOLDS]
        found = problem.solved(np.setdiff1d(rows, out))
        samples = problem.samples.at(out)
        off.append(np.linalg.norm(model_error_mm(model, samples, found.values), axis=1))
        places.append(model.tool_points_m(samples.encoder_deg, found.values))
    return held_out_of(np.concatenate(off), np.concatenate(places))


def information(model: ArmUnderCamera, goals_deg: FloatArray, *, joints: bool = True) -> Sequence[FloatArray]:
    """What a look at each of these poses (k, n_joints) would tell: JᵀJ in shares of what is likely, (k, m, m)."""
    seen = SeenTips(goals_deg, goals_deg, model.tips_px(goals_deg, _nothing(model)))
    problem = _Problem.of(model, seen, joints=joints, start=None)
    J = problem._jacobian(seen, problem.asked, np.zeros(len(problem.asked)))
    per_pose = J[: 3 * len(goals_deg)].reshape(len(goals_deg), -1, len(problem.asked))
    return [each.T @ each for each in per_pose]


def _nothing(model: ArmUnderCamera) -> FloatArray:
    return np.zeros(model.n_unknowns)
