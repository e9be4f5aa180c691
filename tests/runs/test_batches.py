"""A batch on disk: events from several hands, a torn line, who runs it, and what has become of it."""

from __future__ import annotations

import threading

import pytest

from runs.batch_records import (
    BatchPlan,
    Called,
    Enough,
    Finished,
    Paused,
    PlannedStart,
    ResetEnded,
    SceneMade,
    Started,
    TrialEnded,
    TrialStarted,
)
from runs.batch_state import BatchState
from runs.batch_windows import scenes_by, windows
from runs.batches import BatchFolder, BatchNotFound, BatchRunning, BatchStore, BatchUnreadable
from runs.enough import why_enough
from runs.errors import NewerThanUs


def at(second: int) -> str:
    return f"2026-07-03T13:{second // 60:02d}:{second % 60:02d}.000Z"


def plan_of(n: int, *, two: bool = False) -> BatchPlan:
    starts = tuple(
        PlannedStart(
            index=i,
            pair=i // 2 if two else i,
            session=0,
            round=0,
            seed=i,
            block_xz_m=(0.2, 0.1),
            block_yaw_deg=0.0,
            arm=("A", "B")[i % 2] if two else None,
        )
        for i in range(n)
    )
    return BatchPlan(
        batch_id="batch_001_20260703_132310", made_at=at(0), kind="random", seed=1, first_number=1, starts=starts
    )


def ended(start: int, result: str = "completed", *, second: int = 30, attempts: int = 1, **more) -> TrialEnded:
    run_id = more.pop("run_id", f"run_{start + 1:04d}_20260703_132310")
    return TrialEnded(
        at=at(second), start=start, run_id=run_id, result=result, attempts=attempts, duration_s=90.0, **more
    )


@pytest.fixture
def batch(tmp_path):
    return BatchStore(tmp_path / "cell").create(plan_of(4))


def test_events_are_read_on_from_where_they_were_and_a_torn_line_takes_nothing_with_it(batch):
    batch.add(Started(at=at(0), pid=1, workers=1))
    first = batch.events()
    with (batch.folder / "events.jsonl").open("ab") as file:
        file.write(b'{"kind":"trial_en')  # killed here
    assert batch.events() == first
    batch.add(Finished(at=at(9)))
    assert batch.events() == [*first, Finished(at=at(9))] == BatchFolder(batch.folder).events()


def test_events_from_many_hands_are_all_there(batch):
    def write(worker: int) -> None:
        for i in range(20):
            batch.add(TrialStarted(at=at(i), start=worker, run_id=f"run_{worker}_{i}"))

    threads = [threading.Thread(target=write, args=(worker,)) for worker in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(event.run_id for event in batch.events()) == sorted(
        f"run_{w}_{i}" for w in range(4) for i in range(20)
    )


def test_a_line_that_a_crash_tore_is_left_out_and_the_next_is_read(batch):
    batch.add(TrialStarted(at=at(0), start=0, run_id="a"))
    path = batch.folder / "events.jsonl"
    path.write_bytes(path.read_bytes() + b'{"kind":"trial_st')
    assert [event.run_id for event in batch.events()] == ["a"]
    batch.add(TrialStarted(at=at(1), start=1, run_id="b"))
    batch.add(TrialStarted(at=at(2), start=2, run_id="c"))
    assert [event.run_id for event in batch.events()] == ["a", "b", "c"]


def test_only_one_process_runs_a_batch(batch):
    assert not batch.is_running()
    with batch.running():
        assert batch.is_running()
        with pytest.raises(BatchRunning), batch.running():
            pass
    assert not batch.is_running()


def test_a_stop_asked_twice_means_now(batch):
    assert batch.stop_asked() is None
    assert not batch.ask_to_stop(now=False, by="Maya")
    assert batch.ask_to_stop(now=False, by="Maya")
    assert batch.stop_asked()["now"]
    batch.forget_stop()
    assert batch.stop_asked() is None
    (batch.folder / "stop.json").write_text("{")
    assert batch.stop_asked() is not None, "a stop that can't be read counts as asked"


def test_batches_are_found_by_number_id_and_as_the_latest(tmp_path, batch):
    store = BatchStore(tmp_path / "cell")
    for wanted in ("latest", "1", "001", batch.batch_id):
        assert store.find(wanted).batch_id == batch.batch_id
    with pytest.raises(BatchNotFound, match="no batch '2'"):
        store.find("2")
    with pytest.raises(BatchNotFound, match="no batch yet"):
        BatchStore(tmp_path / "other").find()


def test_a_damaged_plan_and_a_newer_one_say_so(batch):
    path = batch.folder / "plan.json"
    whole = path.read_text()
    path.write_text(whole[: len(whole) // 2])
    with pytest.raises(BatchUnreadable, match=r"plan\.json"):
        batch.plan()
    path.write_text(whole.replace('"plan_version": 1', '"plan_version": 99'))
    with pytest.raises(NewerThanUs):
        batch.plan()


def test_what_counts_and_what_is_counted_apart():
    state = BatchState.of(
        plan_of(8),
        [
            Started(at=at(0), pid=1, workers=1),
            ended(0),
            ended(1, attempts=2),
            ended(2, "failed", attempts=3),
            ended(3, "invalid", attempts=0),
            ended(4, "refused", attempts=0),
            ended(5, "crashed", cut_off=True, run_id="run_0006_x"),
            ended(6, "stopped", attempts=0),
        ],
    )
    told = state.summary(running=False)
    assert (told["planned"], told["finished"], told["completed"]) == (8, 5, 2)
    assert (told["invalid"], told["refused"], told["crashed"], told["cut_off"]) == (1, 1, 1, 1)
    assert (told["success"]["successes"], told["success"]["n"]) == (2, 3)
    assert (told["first_attempt"]["successes"], told["first_attempt"]["n"]) == (1, 3)
    assert [start.index for start in state.due] == [5, 6, 7]
    assert told["state"] == "interrupted"
    assert not state.done


def test_a_trial_told_of_twice_counts_once():
    state = BatchState.of(plan_of(2), [ended(0), ended(0)])
    assert len(state.ended) == 1
    assert state.arm_s == 90.0


def test_a_start_run_again_has_its_last_word():
    cut_off = ended(0, "crashed", cut_off=True)
    state = BatchState.of(plan_of(1), [cut_off, ended(0, "failed", run_id="run_0009_20260703_132310")])
    assert state.final[0].result == "failed"
    assert state.summary(running=False)["crashed"] == 1
    assert state.done


def test_the_two_arms_of_a_test_are_counted_apart():
    state = BatchState.of(plan_of(4, two=True), [ended(0), ended(1, "failed"), ended(2), ended(3)])
    arms = state.summary(running=False)["arms"]
    assert (arms["A"]["success"]["successes"], arms["A"]["success"]["n"]) == (2, 2)
    assert (arms["B"]["success"]["successes"], arms["B"]["success"]["n"]) == (1, 2)


def test_units_an_hour_take_resets_in_and_rests_out():
    reset = ResetEnded(at=at(1), start=1, log="run_0001_x", done=True, tries=1, duration_s=30.0)
    state = BatchState.of(plan_of(2), [ended(0), reset, ended(1, rested_s=30.0)])
    assert state.arm_s == pytest.approx(90.0 + 30.0 + 60.0)
    assert state.per_hour() == pytest.approx(2 / 180.0 * 3600)


def test_a_person_who_is_waited_for_costs_time_and_a_reset_s_rest_does_not():
    reset = ResetEnded(at=at(1), start=1, log="run_0001_x", done=False, tries=3, duration_s=500.0, rested_s=400.0)
    came = SceneMade(at=at(2), start=1, by="twin person", waited_s=900.0)
    state = BatchState.of(plan_of(2), [ended(0), reset, came, ended(1)])
    assert state.arm_s == pytest.approx(90.0 + 100.0 + 900.0 + 90.0)
    assert (state.rested_s, state.clock_s) == (400.0, state.arm_s + 400.0)


def test_a_batch_for_a_time_has_enough_when_the_arms_clock_says_so():
    plan = plan_of(40).model_copy(update={"stop_after_s": 3600.0})
    assert why_enough(BatchState.of(plan, [ended(i) for i in range(39)])) is None
    rested = [ended(0, rested_s=30.0), *(ended(i) for i in range(1, 40))]
    assert why_enough(BatchState.of(plan, rested)) == "1 h of the arm's clock are over"


def test_false_successes_are_scored_by_the_twin():
    state = BatchState.of(plan_of(3), [ended(0, truth_in_box=True), ended(1, truth_in_box=False)])
    assert state.summary(running=False)["false_successes"] == 1


def test_the_state_in_a_word():
    words = [
        ([], "planned"),
        ([Started(at=at(0), pid=1, workers=1)], "interrupted"),
        ([Started(at=at(0), pid=1, workers=1), Paused(at=at(1), why="a person", by="person")], "paused"),
        ([ended(0), Finished(at=at(2))], "finished"),
    ]
    for events, word in words:
        assert BatchState.of(plan_of(1), events).word(running=False) == word
    assert BatchState.of(plan_of(1), []).word(running=True) == "running"


def test_a_call_is_told_with_what_to_do():
    call = Called(at=at(0), start=0, why="the block is gone", suggestion="put it back", told_by=("command",))
    told = BatchState.of(plan_of(1), [call]).summary(running=False)
    assert told["calls"][0]["suggestion"] == "put it back"


def test_enough_is_known_once_the_rate_is_or_one_of_two_is_better():
    plan = plan_of(200)
    ends = [ended(i) for i in range(150)]
    within = BatchState.of(plan.model_copy(update={"stop_within": 0.05}), ends)
    assert "success rate" in why_enough(within)
    assert why_enough(BatchState.of(plan.model_copy(update={"stop_within": 0.05}), ends[:10])) is None
    assert why_enough(BatchState.of(plan, ends)) is None
    two = plan_of(200, two=True).model_copy(update={"stop_decided": True})
    lost = [ended(i, "failed" if i % 2 == 0 else "completed") for i in range(40)]
    assert why_enough(BatchState.of(two, lost)).startswith("B is better")
    even = [ended(i) for i in range(40)]
    assert why_enough(BatchState.of(two, even)) is None
    assert BatchState.of(two, lost).pairs() == (0, 0, 20, 0)


def test_a_batch_that_knows_enough_is_done():
    state = BatchState.of(plan_of(9), [ended(0), Enough(at=at(1), round=0, why="it is known")])
    assert state.done
    assert state.summary(running=False)["state"] == "finished"
    assert state.summary(running=False)["finished"] == 1


def test_windows_leave_faults_out_and_count_other_ends_apart():
    ends = [ended(0, attempts=2, tip_mm=9.0, truth_tip_mm=8.0), ended(1, "failed", tip_mm=7.0, truth_tip_mm=6.0)]
    ends += [ended(2, "crashed", faults=("dead",)), ended(3, "refused"), ended(4, tip_mm=1.0, truth_tip_mm=0.5)]
    ends += [ended(5, faults=("sag",), tip_mm=5.0)]
    first, last = windows(BatchState.of(plan_of(6), ends), 3)
    assert (first.first, first.last, first.trials, first.with_fault) == (0, 2, 3, 1)
    assert (first.first_attempt.successes, first.success.successes, first.success.n) == (0, 1, 2)
    assert first.tip_mm.value == 8.0
    assert first.truth_tip_mm.value == 7.0
    assert (last.first, last.last, last.with_fault) == (3, 5, 1)
    assert last.apart == {"refused": 1}
    assert (last.first_attempt.successes, last.first_attempt.n, last.tip_mm.n) == (1, 1, 1)
    assert windows(BatchState.of(plan_of(6), []), 3) is None


def test_every_start_is_put_down_to_whoever_made_it():
    def scene(start: int, by: str) -> SceneMade:
        return SceneMade(at="t", start=start, by=by)

    def reset(start: int, done: bool) -> ResetEnded:
        return ResetEnded(at="t", start=start, log="l", done=done, tries=1)

    events = [scene(0, "new world"), reset(1, True), reset(2, False)]
    events += [Called(at="t", start=2, why="w", suggestion="s"), scene(2, "twin person"), scene(3, "teleport")]
    state = BatchState.of(plan_of(5), [*events, *(ended(k) for k in range(5))])
    assert scenes_by(state) == {"new desk": 1, "arm": 1, "called": 1, "teleport": 1, "unknown": 1}
