"""`trialcell table holes|seeds|clusters|fill|density|map|why`: answers, files, and every wrong word in one sentence."""

from __future__ import annotations

import pytest

RIM = ("--region", "-0.29,-0.33,0.16,0.22")
ARC = "38.4,57.39,17.49,0.08,-89.2,-29.44"


@pytest.mark.slow
def test_a_fill_decides_every_square_and_the_other_commands_see_it(trialcell, cell_copy, tmp_path):
    before = trialcell("table", "holes", *RIM, "--cell", cell_copy, "--json").object
    assert set(before["counts"]) == {"dense", "marginal", "hole", "unreachable", "blocked"}
    assert before["counts"]["hole"] > 0
    told = trialcell("table", "fill", *RIM, "--bases", 1, "--png", tmp_path / "f.png", "--cell", cell_copy, "--json")
    filled = told.object
    assert told.code == 0
    assert filled["decided"] == filled["squares_in_all"] == 12
    assert filled["before"] == before["counts"]
    assert (tmp_path / "f.png").read_bytes().startswith(b"\x89PNG")
    after = trialcell("table", "holes", *RIM, "--cell", cell_copy, "--csv", tmp_path / "h.csv")
    assert "hole 0" in after.out
    assert len((tmp_path / "h.csv").read_text().splitlines()) == 13
    at = ("--x", -0.29, "--z", 0.18, "--cell", cell_copy, "--json")
    looked = trialcell("table", "lookup", "--phase", "approach_place", *at)
    joints = ",".join(str(j) for j in looked.object["used_angles"])
    row = trialcell(
        "table", "lookup", "--phase", "place_withblock", *at, "--ref-joints", joints, "--joint-tol-deg", 15
    ).object
    assert row["method"] == "fk_nearest"
    assert max(row["x_residual_m"], row["z_residual_m"]) <= 0.010
    assert "dense" in trialcell("table", "why", -0.29, 0.18, "--cell", cell_copy).out
    density = trialcell("table", "density", "--png", tmp_path / "d.png", "--cell", cell_copy, "--json").object
    assert density["rows"]["now"] > density["rows"]["before"]
    shown = trialcell("table", "map", *RIM, "--png", tmp_path / "m.png", "--cell", cell_copy, "--json").object
    assert len(shown["squares"]) > 3


@pytest.mark.slow
def test_the_fields_way_from_one_arc(trialcell, cell_copy, tmp_path):
    common = ("--arc", ARC, "--cell", cell_copy)
    seeds = trialcell("table", "seeds", *common, "--csv", tmp_path / "s.csv", "--json").object
    assert seeds["with_seed"] > 100
    assert len((tmp_path / "s.csv").read_text().splitlines()) == seeds["with_seed"] + 1
    found = trialcell("table", "clusters", *common, "--csv", tmp_path / "c.csv", "--json").object["clusters"]
    assert sum(c["members"] for c in found) == seeds["with_seed"]
    assert all(c["diameter_deg"] <= 30.0 for c in found)
    assert len((tmp_path / "c.csv").read_text().splitlines()) == len(found) + 1
    people = trialcell("table", "clusters", *common)
    assert "members" in people.out


def test_a_pick_square_out_of_reach_is_proved_on_the_spot(trialcell, cell_copy):
    told = trialcell("table", "why", 0.31, 0.31, "--phase", "pick", "--cell", cell_copy, "--json").object
    assert told["status"] == "unreachable"
    assert told["proof"]["by"] == "lengths"
    assert told["proof"]["nearest_miss_mm"] > 10


@pytest.mark.parametrize(
    "words",
    [
        ("holes", "--phase", "foo"),
        ("holes", "--region", "1,2"),
        ("holes", "--region", "0,nan,0,1"),
        ("holes", "--band", "0.2,0.1"),
        ("holes", "--tolerance-mm", "nan"),
        ("holes", "--step-mm", "0"),
        ("holes", "--csv", "/nowhere/at/all.csv"),
        ("seeds", "--dist-m", "-1"),
        ("clusters", "--diameter-deg", "0"),
        ("fill", "--joints", "1,1"),
        ("fill", "--joints", "1.5"),
        ("fill", "--arc", "1,2"),
        ("why", "nan", "0.2"),
        ("why", "-0.2"),
        ("density", "--before", "/nowhere.parquet"),
    ],
)
def test_what_can_not_be_meant_is_told_in_a_sentence(trialcell, cell_copy, words):
    told = trialcell("table", *words, "--cell", cell_copy)
    assert told.code != 0
    assert told.err.startswith("✗")
    assert "Traceback" not in told.err
