"""Logs of every age: read as today's, nothing dropped; what is no log is refused in one sentence."""

from __future__ import annotations

import contextlib
import copy
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runs.errors import NewerThanUs, NotARunLog
from runs.events import RunCreated
from runs.migrate import STEPS, load_log, migrate, parse_log
from runs.schema.base import SCHEMA_VERSION
from runs.schema.run import RunLog
from runs.writer import log_bytes


def leaves(value, path=()):
    """Every leaf of parsed JSON with its path; empty lists and objects are leaves too."""
    if isinstance(value, dict) and value:
        for key, each in value.items():
            yield from leaves(each, (*path, key))
    elif isinstance(value, list) and value:
        for index, each in enumerate(value):
            yield from leaves(each, (*path, index))
    else:
        yield path, value


def assert_nothing_dropped(raw, log):
    found = dict(leaves(json.loads(log_bytes(log))))
    for path, value in leaves(raw):
        assert path in found, path
        assert found[path] == value, path


@pytest.fixture
def raw_v0(golden):
    return json.loads((golden / "v0.json").read_text(encoding="utf-8"))


@pytest.fixture
def raw_v1(golden):
    return json.loads((golden / "v1.json").read_text(encoding="utf-8"))


def test_there_is_a_step_from_every_older_version_and_a_golden_file_of_each(golden):
    assert sorted(STEPS) == list(range(SCHEMA_VERSION))
    assert all((golden / f"v{version}.json").exists() for version in range(SCHEMA_VERSION + 1))


def test_the_version_is_the_same_wherever_it_is_said():
    assert RunLog.model_fields["schema_version"].default == SCHEMA_VERSION
    assert RunCreated.model_fields["schema_version"].default == SCHEMA_VERSION


def test_a_field_log_loads_with_nothing_dropped(golden, raw_v0):
    log = load_log(golden / "v0.json")
    assert_nothing_dropped(raw_v0, log)
    assert log.run_id == "run_0007_20260519_164502"
    assert not log.times_are_utc
    assert log.migrated_from == 0
    assert log.schema_version == SCHEMA_VERSION


def test_the_fields_own_run_loads_with_nothing_dropped(field_log):
    log = load_log(field_log)
    assert_nothing_dropped(json.loads(field_log.read_text(encoding="utf-8")), log)
    assert log.run_id == "run_0001_20260703_132310"
    assert (len(log.moves), len(log.lookups), len(log.vlm_captures)) == (9, 4, 4)
    assert log.result == "completed"


def test_a_log_of_today_loads_with_nothing_dropped(golden, raw_v1):
    log = load_log(golden / "v1.json")
    assert_nothing_dropped(raw_v1, log)
    assert log.migrated_from is None


@pytest.mark.parametrize("name", ["v0", "v1"])
def test_a_log_written_again_is_the_same_log(golden, name):
    log = load_log(golden / f"{name}.json")
    assert parse_log(log_bytes(log)) == log


def test_every_field_of_the_schema_has_a_value_of_its_own_in_the_golden_log(raw_v1):
    empty = [path for path, value in leaves(raw_v1) if value in (None, [], {}, "")]
    allowed = {("migrated_from",), ("verdicts", 0, "error"), ("verdicts", 1, "verdict"), ("verdicts", 1, "confidence")}
    assert {path for path in empty if "daemon_return" not in path and "nearest_pts" not in path} <= allowed


@pytest.mark.parametrize("name", ["v0", "v1"])
def test_migrating_twice_is_the_same_as_once(golden, name):
    once = migrate(json.loads((golden / f"{name}.json").read_text(encoding="utf-8")))
    assert migrate(copy.deepcopy(once)) == once


def test_a_log_of_today_is_not_touched(raw_v1):
    assert migrate(copy.deepcopy(raw_v1)) == raw_v1


def test_a_folder_stands_for_the_log_in_it(tmp_path, golden):
    (tmp_path / "run.json").write_bytes((golden / "v1.json").read_bytes())
    assert load_log(tmp_path) == load_log(golden / "v1.json")


def test_a_newer_log_is_refused_before_anything_else_is_read():
    with pytest.raises(
        NewerThanUs, match="has schema version 2, this program reads up to 1; update trialcell"
    ) as caught:
        parse_log(b'{"schema_version": 2, "something": "from the future"}', "run.json")
    assert (caught.value.found, caught.value.known) == (2, 1)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (b"", "it is empty"),
        (b"  \n", "it is empty"),
        (b"\xff\xd8\xff\xe0 jpeg", "it is no text"),
        (b"[1, 2]", "it holds a JSON list, not an object"),
        (b'"run"', "it holds a JSON string, not an object"),
        (b"null", "it holds a JSON null, not an object"),
        (b"7", "it holds a JSON number, not an object"),
        (b"{}", "it says no schema_version and lacks constants, frames_dir, lookups, moves, stages, started_at"),
        (b'{"joints": 6}', "it says no schema_version"),
        (b'{"schema_version": "1"}', 'its schema_version is "1", not a whole number'),
        (b'{"schema_version": true}', "its schema_version is true"),
        (b'{"schema_version": 1.0}', "its schema_version is 1.0"),
        (b'{"schema_version": -1}', "its schema_version is -1"),
        (b'{"schema_version": 1, "a": NaN}', "it holds NaN, which is no number of JSON's"),
        (b'{"schema_version": 1, "schema_version": 1}', "the key 'schema_version' stands in it twice"),
        (b"{'schema_version': 1}", "line 1, column 2 is not JSON"),
        (b"[" * 100_000, "it is nested too deeply"),
    ],
)
def test_what_is_no_log_is_refused_in_one_sentence(text, why):
    with pytest.raises(NotARunLog) as caught:
        parse_log(text, "some.json")
    assert caught.value.message.startswith(f"some.json is not a run log: {why}")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["v0", "v1"])
def test_a_log_cut_off_anywhere_is_refused(golden, name):
    text = (golden / f"{name}.json").read_bytes().rstrip()
    for length in range(1, len(text), 211):
        with pytest.raises(NotARunLog, match=r"cut off|is not JSON"):
            parse_log(text[:length])


def test_a_cut_off_log_is_called_that_and_the_way_out_is_named(golden):
    text = (golden / "v1.json").read_bytes()
    with pytest.raises(NotARunLog, match=r"cut off in line \d+; if its events are there: trialcell runs recover RUN"):
        parse_log(text[: text.index(b'"moves"')], "run.json")


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (
            lambda raw: raw["moves"][0].update(arrived="yes"),
            'moves.0.arrived: input should be a valid boolean (it is "yes")',
        ),
        (lambda raw: raw["moves"][0].update(arived=True), "moves.0.arived: unknown key"),
        (lambda raw: raw["moves"][0].pop("arrived"), "moves.0.arrived: missing"),
        (lambda raw: raw["lookups"][0].update(phase="lunch"), "lookups.0.phase: input should be"),
        (lambda raw: raw["judgments"]["pick"].update(verdict="maybe"), "judgments.pick.verdict: input should be"),
        (lambda raw: raw["detect"][0].update(block_xz_m=[0.1]), "detect.0.block_xz_m.1: missing"),
        (lambda raw: raw.update(result="great"), "result: input should be"),
        (lambda raw: raw.update(started_at=17), "started_at: input should be a valid string (it is 17)"),
    ],
)
def test_a_wrong_key_is_named(raw_v1, change, problem):
    change(raw_v1)
    with pytest.raises(NotARunLog) as caught:
        parse_log(json.dumps(raw_v1).encode(), "run.json")
    assert caught.value.problems[0].startswith(problem)
    assert problem in caught.value.message


def test_several_wrong_keys_are_all_kept_as_facts(raw_v1):
    raw_v1["dry_run"] = "no"
    raw_v1["result"] = "great"
    with pytest.raises(NotARunLog, match=r"\(and 1 more\)") as caught:
        parse_log(json.dumps(raw_v1).encode())
    assert len(caught.value.problems) == 2


ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@given(ANY_JSON)
def test_any_other_json_is_refused_and_never_breaks_the_reader(value):
    with pytest.raises(NotARunLog):
        parse_log(json.dumps(value).encode())


@pytest.mark.parametrize("depth", [100, 300, 900, 990])
def test_a_log_with_something_nested_deeply_is_read_or_refused_and_never_breaks_the_reader(raw_v1, depth):
    text = json.dumps(raw_v1).replace('"SPEED": 20', f'"SPEED": {"[" * depth}{"]" * depth}').encode()
    with contextlib.suppress(NotARunLog):
        assert parse_log(text).constants["SPEED"] is not None
