"""Every answer from the index is the one that reading all logs would give."""

from __future__ import annotations

import shutil
from collections import Counter
from dataclasses import asdict
from statistics import median

import pytest

from runs.errors import TrialcellError
from runs.index.database import BadQuestion, Database, IndexDamaged, QuestionTooLarge
from runs.index.questions import ManyRuns
from runs.index.select import GROUPS, BadSelection, Condition, Selection
from runs.index.store import RunIndex
from runs.queue import queue
from runs.schema.run import Ending, Provenance
from runs.statistics import exact_rate, mcnemar
from runs.store import RunHeader, RunStore
from runs.verdicts import standing_result


@pytest.fixture
def many(made):
    with ManyRuns([made]) as many:
        many.refresh()
        yield many


@pytest.fixture
def stored(made):
    store = RunStore(made / "runs")
    return [store.open(entry.run_id) for entry in store.list()]


def test_statistics_by_square_are_those_of_the_logs(many, stored):
    groups = {group.key: group for group in many.stats("square", Selection())}
    for key in {run.log.correction.last.cell_key for run in stored}:
        logs = [run.log for run in stored if run.log.correction.last.cell_key == key]
        results = Counter(standing_result(log) for log in logs)
        group = groups.pop(key)
        assert group.results == dict(results)
        assert group.success == exact_rate(results["completed"], results["completed"] + results["failed"])
        assert group.tip_mm == pytest.approx(median(log.tip_measurements[0].diff.dist_mm for log in logs))
        first = sum(standing_result(log) == "completed" and len(log.pick_attempts) == 1 for log in logs)
        assert group.first_attempt.successes == first
    assert not groups


@pytest.mark.parametrize("by", sorted(GROUPS))
def test_every_group_counts_every_run_once(many, by):
    assert sum(group.n for group in many.stats(by, Selection())) == 120


@pytest.mark.parametrize(("share", "seed"), [(0.07, 0), (0.3, 0), (0.3, 5), (1.0, 1)])
def test_the_queue_is_the_same_as_from_the_logs(many, stored, share, seed):
    items, total = many.queue(Selection(), share=share, seed=seed)
    expected = [asdict(item) for item in queue(stored, share=share, seed=seed)]
    assert [{k: v for k, v in item.items() if k != "cell"} for item in items] == [
        {**item, "reasons": list(item["reasons"]), "blind_reasons": list(item["blind_reasons"])} for item in expected
    ]
    assert total == len(expected)
    few, total = many.queue(Selection(), share=share, seed=seed, limit=3)
    assert few == items[:3]
    assert total == len(expected)


def test_a_comparison_pairs_what_shares_a_seed(many, stored):
    odd = Selection.parse(["profile=field"])
    even = Selection.parse(["profile=perfect"])
    found = many.compare(odd, even)
    sides = ({}, {})
    for run in stored:
        made_with = run.log.provenance
        sides[made_with.profile == "perfect"].setdefault(made_with.seed, []).append(standing_result(run.log))
    pairs = [
        (a, b)
        for seed in sides[0].keys() & sides[1].keys()
        for a, b in zip(sides[0][seed], sides[1][seed], strict=False)
    ]
    counts = Counter(pairs)
    four = (
        counts["completed", "completed"], counts["completed", "failed"], counts["failed", "completed"],
        counts["failed", "failed"],
    )  # fmt: skip
    assert found.paired_by == "seed"
    assert (found.both, found.only_first, found.only_second, found.neither) == four
    assert found.pairs + found.undecided_pairs == len(pairs)
    assert found.paired.p_value == mcnemar(*four).p_value


@pytest.fixture
def alike(tmp_path):
    """A cell with runs of one seed and one time: `alike(("field", "failed"), …)`."""

    def make(*runs, cell="alike", started_at="2026-07-03T13:23:10Z"):
        store = RunStore(tmp_path / cell / "runs")
        for profile, result in runs:
            made_with = Provenance(
                cell_id=cell, code_version="0", arm_kind="twin", arm_model="m", camera="twin", judge="measured",
                seed=7, profile=profile,
            )  # fmt: skip
            writer = store.create(RunHeader(started_at=started_at, provenance=made_with))
            writer.finish(Ending(result=result, stage="stage9b_judge_place", reason="so"))
        return tmp_path / cell

    return make


@pytest.mark.parametrize("known", [True, False])
def test_runs_of_the_same_time_pair_by_their_numbers_and_not_by_how_they_went(alike, known):
    cell = alike(("field", "failed"), ("field", "completed"), ("perfect", "completed"), ("perfect", "failed"))
    if not known:
        for log in cell.glob("runs/*/run.json"):
            log.write_text(log.read_text().replace("2026-07-03T13:23:10Z", "0001-01-01T00:00:00+14:00"))
    with ManyRuns([cell]) as many:
        many.refresh()
        found = many.compare(Selection.parse(["profile=field"]), Selection.parse(["profile=perfect"]))
    assert (found.both, found.only_first, found.only_second, found.neither) == (0, 1, 1, 0)


def test_runs_of_the_same_time_in_several_cells_pair_cell_by_cell(alike):
    first = alike(("field", "unjudged"), ("field", "failed"), ("perfect", "completed"), cell="z")
    second = alike(("field", "completed"), ("perfect", "failed"), ("perfect", "completed"), cell="a")
    with ManyRuns([first, second]) as many:
        many.refresh()
        found = many.compare(Selection.parse(["profile=field"]), Selection.parse(["profile=perfect"]))
    # z1 unjudged with z3 completed, z2 failed with a2 failed, a1 completed with a3 completed
    assert (found.undecided_pairs, found.both, found.only_first, found.only_second, found.neither) == (1, 1, 0, 0, 1)


def test_a_run_in_both_sets_is_in_no_pair(alike):
    cell = alike(("field", "completed"), ("field", "failed"), ("perfect", "completed"))
    with ManyRuns([cell]) as many:
        many.refresh()
        found = many.compare(Selection(), Selection.parse(["profile=field"]))
        assert (found.first.n, found.second.n, found.pairs) == (3, 2, 0)
        assert found.paired_by is None
        found = many.compare(Selection.parse(["result=completed"]), Selection.parse(["profile=field"]))
    # the first is in both; what is left is the third beside the second
    assert (found.first.n, found.second.n, found.pairs, found.only_first) == (2, 2, 1, 1)


def test_pages_hold_every_run_once_in_order(many):
    ids = [row["run_id"] for page in range(1, 8) for row in many.listed(Selection(), page=page, size=19).rows[::-1]]
    assert len(ids) == len(set(ids)) == 120
    assert ids == sorted(ids, reverse=True)
    worst = many.listed(Selection(), sort="-tip_dist_mm", size=5).rows
    assert [row["tip_dist_mm"] for row in worst] == sorted((row["tip_dist_mm"] for row in worst), reverse=True)


@pytest.mark.parametrize(
    ("texts", "holds"),
    [
        (["profile=field"], lambda row: row["profile"] == "field"),
        (["profile!=field", "tip_dist_mm>4"], lambda row: row["profile"] != "field" and row["tip_dist_mm"] > 4),
        (["result=failed"], lambda row: row["result"] == "failed"),
        (["place_word=none"], lambda row: row["place_word"] is None),
        (["ruled=true"], lambda row: row["ruled"]),
        (["attempts>=2"], lambda row: row["attempts"] >= 2),
        ([f"seed<{2**63 - 1}"], lambda row: row["seed"] is not None),
        (["started>=2026-01-01T12:00"], lambda row: row["started_at"] >= "2026-01-01T12:00"),
        (["started<2026-01-01T14:00+02:00"], lambda row: row["started_at"] < "2026-01-01T12:00"),
        (["cell=bench"], lambda row: True),
        (["cell='; DROP TABLE runs; --"], lambda row: False),
    ],
)
def test_conditions_choose_what_they_say(many, texts, holds):
    every = many.listed(Selection(), size=1000).rows
    chosen = many.listed(Selection.parse(texts), size=1000).rows
    assert [row["run_id"] for row in chosen] == [row["run_id"] for row in every if holds(row)]


def test_days_are_taken_with_their_ends(many):
    every = many.listed(Selection(), size=1000).rows
    one = many.listed(Selection(since="2026-01-01", until="2026-01-01"), size=1000).rows
    assert [row["run_id"] for row in one] == [row["run_id"] for row in every if row["day"] == "2026-01-01"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("profile", "is no condition"),
        ("tpi_dist_mm>3", "did you mean tip_dist_mm?"),
        ("attempts=many", "is no number"),
        ("tip_dist_mm>nan", "is no number"),
        (f"seed={'9' * 60}", "larger than any run's"),
        ("number<-9223372036854775809", "larger than any run's"),
        ("started>abc", "'abc' is no time"),
        ("started=yesterday", "is no time"),
        ("started<0001-01-01T00:00+14:00", "is no time"),
        ("ruled=perhaps", "is true or false"),
        ("lookups=3", "is nothing that runs are known by"),
    ],
)
def test_a_condition_that_makes_no_sense_is_refused(text, message):
    with pytest.raises(BadSelection, match=message.replace("?", r"\?")):
        Condition.parse(text).sql()


def test_what_is_asked_wrongly_is_no_damage(many, monkeypatch):
    monkeypatch.setattr(RunIndex, "rebuild", lambda _: pytest.fail("the index was made again"))
    many.stats(None, Selection())
    nothing = "SELECT CAST(run_id AS TIMESTAMP) FROM runs"
    with pytest.raises(BadQuestion, match="timestamp"):
        many._rows(nothing)
    many._database.do("SET memory_limit = '1MB'")
    with pytest.raises(QuestionTooLarge, match="memory") as told:
        many._rows("SELECT list(range) FROM range(10_000_000)")
    assert isinstance(told.value, TrialcellError)


def test_damage_that_making_it_again_does_not_mend_is_told_in_our_words(many, made, monkeypatch):
    tries = []
    monkeypatch.setattr(RunIndex, "rebuild", lambda index: tries.append(index.folder))
    for path in (made / "runs" / ".index").glob("*.parquet"):
        path.write_bytes(b"PAR1 nothing of it PAR1")
    with pytest.raises(IndexDamaged, match=r"can't be read.*runs index --rebuild") as told:
        many.listed(Selection())
    assert isinstance(told.value, TrialcellError)
    assert len(tries) == 1


def test_an_index_that_another_process_switches_amid_a_question_changes_no_answer(made, monkeypatch):
    with ManyRuns([made]) as many:
        many.refresh()
        before = many.listed(Selection(), size=1000).rows
        ask, asked = Database.rows, []

        def switched(database, sql, values=()):
            found = ask(database, sql, values)
            if not asked:
                asked.append(sql)
                shutil.rmtree(made / "runs" / before[0]["run_id"])
                RunIndex(made / "runs").refresh()
            return found

        monkeypatch.setattr(Database, "rows", switched)
        assert many.listed(Selection(), size=1000).rows == before
        assert many.listed(Selection()).total == 119


def test_cells_are_merged_although_their_runs_share_names(made, tmp_path):
    other = shutil.copytree(made, tmp_path / "arm2")
    with ManyRuns([made, other]) as many:
        many.refresh()
        assert many.listed(Selection()).total == 240
        assert {group.key: group.n for group in many.stats("cell", Selection())} == {"bench": 120, "arm2": 120}
        assert len(many.listed(Selection(), size=1000).rows) == 240
        found = many.compare(Selection.parse(["cell=bench"]), Selection.parse(["cell=arm2"]))
        assert (found.only_first, found.only_second) == (0, 0)
        assert found.pairs > 80


def test_sql_answers_and_can_only_look(many, tmp_path):
    names, rows, more = many.sql("SELECT result, count(*) AS n FROM runs GROUP BY ALL ORDER BY n DESC")
    assert names == ["result", "n"]
    assert sum(n for _, n in rows) == 120
    assert not more
    assert many.sql("SELECT * FROM lookups", limit=10)[2]
    out = tmp_path / "out.csv"
    for bad in (
        f"COPY runs TO '{out}'", "CREATE TABLE x AS SELECT 1", "SELECT 1; SELECT 2", "ATTACH 'x.duckdb'",
        "SELECT * FROM read_csv('/etc/passwd')", "SELECT * FROM read_text('/etc/passwd')", "SELEC 1", "",
        "INSTALL httpfs",
        "SET threads = 1", "DROP VIEW runs", "SELECT * FROM 'https://example.org/x.parquet'",
    ):  # fmt: skip
        with pytest.raises(BadQuestion):
            many.sql(bad)
    assert not out.exists()
    assert many.listed(Selection()).total == 120
