"""Settings: what they may be, what is said of those they may not be, and that written settings read back the same."""

from __future__ import annotations

import tomllib

import pytest

from runner.config import BadSetting, Config, ConfigError, UnknownSetting, load, parse, to_toml, with_overrides


def refused(*overrides: str) -> str:
    with pytest.raises(BadSetting) as caught:
        with_overrides(Config(), overrides)
    return str(caught.value)


@pytest.mark.parametrize(
    ("override", "key", "why"),
    [
        ("box.outside_mm=[-1, 0]", "box.outside_mm", "more than two walls of 3 mm"),
        ("box.outside_mm=[120, 7]", "box.outside_mm", "more than two walls of 3 mm"),
        ("box.wall_mm=60", "box.outside_mm", "more than two walls of 60 mm"),
        ("box.outside_mm=[inf, 120]", "box.outside_mm", "finite"),
        ("guard.table_mm=-1000", "guard.table_mm", "greater than or equal to 0"),
        ("guard.box_mm=-1", "guard.box_mm", "greater than or equal to 0"),
        ("guard.mast_mm=-1", "guard.mast_mm", "greater than or equal to 0"),
        ("guard.self_mm=-0.1", "guard.self_mm", "greater than or equal to 0"),
        ("workspace.x_m=[0.4, -0.4]", "workspace.x_m", "0.4 is not below -0.4"),
        ("workspace.z_m=[0.1, 0.1]", "workspace.z_m", "it must run upwards"),
        ("table.pick_band_y_m=[0.04, 0.01]", "table.pick_band_y_m", "it must run upwards"),
        ("table.place_band_y_m=[0.1, 0.07]", "table.place_band_y_m", "it must run upwards"),
        ("twin.block_r_m=[0.3, 0.15]", "twin.block_r_m", "it must run upwards"),
        ("twin.box_r_m=[0.33, 0.16]", "twin.box_r_m", "it must run upwards"),
        ("twin.timestep_s=1e-7", "twin.timestep_s", "greater than or equal to 0.0005"),
        ("arm.j1_safe_max_deg=121", "arm.j1_safe_max_deg", "less than or equal to 120"),
        ("arm.j1_safe_max_deg=-76", "arm.j1_safe_max_deg", "greater than or equal to -75"),
        ("arm.max_step_deg=361", "arm.max_step_deg", "less than or equal to 360"),
        ("block.side_mm=44", "block.side_mm", "at most 43 mm wide, for the jaws open 44.6 mm"),
        ("table.place_floor_y_m=-0.01", "table.place_floor_y_m", "greater than or equal to 0"),
        ("camera.size_px=[0, 720]", "camera.size_px", "greater than or equal to 16"),
        ("judge.kind=scripted", "judge.kind", "'measured'"),
        ("table.grasp_y_m=nan", "table.grasp_y_m", "finite"),
        ("twin.camera_position_m=[0, nan, 0.2]", "twin.camera_position_m", "finite"),
    ],
)
def test_a_value_that_a_setting_cant_have_is_refused_in_one_sentence_that_names_it(override, key, why):
    said = refused(override)
    assert said.startswith(f"--set: {key}: ")
    assert why in said
    assert "\n" not in said


@pytest.mark.parametrize(
    "override",
    [
        "block.side_mm=43",
        "guard.table_mm=0",
        "box.outside_mm=[80, 200]",
        "arm.j1_safe_max_deg=-75",
        "twin.timestep_s=0.0005",
        "workspace.x_m=[-0.1, 0.4]",
    ],
)
def test_values_at_the_edge_are_taken(override):
    assert with_overrides(Config(), [override]) != Config()


def test_written_settings_read_back_the_same(tmp_path):
    changed = with_overrides(Config(), ["block.side_mm=25", 'cell.id="a \\"b\\" c"', "box.fallback=true"])
    file = tmp_path / "cell.toml"
    for config in (Config(), changed):
        file.write_text(to_toml(config), encoding="utf-8")
        assert load(file) == config
    assert set(tomllib.loads(to_toml(Config()))) == set(Config.model_fields)


def test_an_unknown_key_is_refused_with_the_nearest_that_there_is():
    with pytest.raises(UnknownSetting) as caught:
        with_overrides(Config(), ["guard.tabel_mm=2"])
    assert caught.value.next_step == "did you mean 'guard.table_mm'?"
    with pytest.raises(UnknownSetting) as caught:
        parse({"judge": {"langauge": "ja"}}, "cell.toml")
    assert "judge.language" in str(caught.value.next_step)


def test_a_wrong_setting_in_the_file_is_not_hidden_by_an_override(tmp_path):
    file = tmp_path / "cell.toml"
    file.write_text("[guard]\ntable_mm = -5\n")
    with pytest.raises(ConfigError, match=r"cell\.toml: guard\.table_mm"):
        load(file, ["guard.table_mm=1"])
