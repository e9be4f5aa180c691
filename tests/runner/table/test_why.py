"""One square in words: status, approach, row, what forbids it, what would help."""

from __future__ import annotations

from runner.config import Config
from runner.kinematics.frames import BaseInCell
from runner.kinematics.model import ArmModel
from runner.table.fill.sequence import Filled
from runner.table.region import Ground, Square
from runner.table.why import Why, explain


def told(filled: Filled, square: Square, arm: ArmModel, base: BaseInCell, config: Config) -> Why:
    state = next(s for s in filled.after.squares if s.square == square)
    return explain(state, filled.proofs.of(square), Ground.of(config), arm, base)


def test_a_dense_square_names_its_row(filled: Filled, arm: ArmModel, base: BaseInCell, config: Config) -> None:
    why = told(filled, (-210, 200), arm, base, config)
    text = "\n".join(why.lines)
    assert "x -210, z 200 mm, place: dense" in text
    assert f"nearest row {why.facts['row']}" in " ".join(text.split())
    assert "nothing is missing" in text


def test_a_square_that_a_limit_forbids_says_which_and_what_would_help(
    filled: Filled, arm: ArmModel, base: BaseInCell, config: Config
) -> None:
    text = " ".join("\n".join(told(filled, (-170, 340), arm, base, config).lines).split())
    assert "unreachable" in text
    assert "j1 may not go over 88°" in text
    assert "by covering all joint angles" in text
    assert "arm.j1_safe_max_deg" in text


def test_a_square_out_of_reach_says_by_how_much(
    filled: Filled, arm: ArmModel, base: BaseInCell, config: Config
) -> None:
    why = told(filled, (-330, 340), arm, base, config)
    assert "ends 92.2 mm short, whatever the limits" in " ".join("\n".join(why.lines).split())
    assert why.facts["proof"]["by"] == "lengths"
    assert why.facts["radius_mm"] == 473.814
