"""corrections.json and its history: whole or not there, each change told, any point told again."""

from __future__ import annotations

import json
import multiprocessing

import pytest

from runs.corrections.file import CorrectionFile, model_in_use
from runs.corrections.history import PersonsWord, State
from runs.corrections.model import NO_MODEL
from runs.corrections.proof import Outcome, Pair, ProofSettings, prove
from runs.corrections.rule import RuleSettings
from runs.corrections.table import BelongsTo, Lesson
from runs.errors import (
    CorrectionsUnreadable,
    NewerThanUs,
    NoSuchPoint,
    NothingToPromote,
    NotPromoted,
    StorageUnwritable,
)

FIELD = BelongsTo(calibration_hash="c1", table_hash="t1", profile="field", tool="short")
PERFECT = FIELD.model_copy(update={"profile": "perfect"})
SPOT = (0.22, 0.18)
ROBUST, FIELD_RULE = RuleSettings(), RuleSettings(rule="field")
MAYA = PersonsWord(by="Maya", reason="measured with callipers")


@pytest.fixture
def file(tmp_path):
    return CorrectionFile(tmp_path / "cell")


def lesson(sample, run_id, at=SPOT):
    return Lesson.of("pick", at, sample, run_id=run_id, at="2026-07-01T00:00:00Z")


def teach(file, belongs_to, sample, run_id):
    return file.learn(belongs_to, lesson(sample, run_id))


def good_proof(file, belongs_to, **changes):
    """A proof for the candidate, made from twenty pairs that speak for it."""
    state = file.load(belongs_to)
    live = None if state.live is None else state.live.content_hash
    pairs = [
        Pair(
            start=str(n),
            with_it=Outcome(run_id=f"w{n}", succeeded=True, tip_mm=1.0),
            without=Outcome(run_id=f"o{n}", succeeded=False, tip_mm=9.0),
        )
        for n in range(20)
    ]
    facts = {"candidate": state.candidate.content_hash, "against": live, **changes}
    return prove(pairs, settings=ProofSettings(), **facts)


def test_a_cell_without_corrections_has_nothing(file):
    assert file.load(FIELD) == State.empty(FIELD)
    assert file.history() == []
    assert not file.path.exists()


def test_what_was_learned_is_there_again(file):
    for number in range(3):
        change = teach(file, FIELD, (-3.0, 1.0 + number), f"run_{number}")
    assert change.after == (-3.0, 2.0, 3)
    again = CorrectionFile(file.path.parent)
    assert [one.run_id for one in again.load(FIELD).table.lessons] == ["run_0", "run_1", "run_2"]
    assert model_in_use(again.load(FIELD), FIELD_RULE, "live").apply("pick", SPOT)[1].applied


def test_what_is_learned_is_only_used_with_what_it_was_learned_with(file):
    for number in range(3):
        teach(file, FIELD, (-3.0, 1.0), f"run_{number}")
    teach(file, PERFECT, (0.5, 0.5), "run_9")
    assert file.load(PERFECT).table.mean_mm("pick_x220_z180") == (0.5, 0.5, 1)
    assert file.load(FIELD).table.mean_mm("pick_x220_z180") == (-3.0, 1.0, 3)
    for changed in ({"table_hash": "t2"}, {"calibration_hash": "c2"}, {"tool": "long"}):
        assert file.load(FIELD.model_copy(update=changed)).nothing
    assert {state.table.belongs_to.profile for state in file.all_states()} == {"field", "perfect"}


def test_the_history_has_a_line_for_every_change(file):
    teach(file, FIELD, (1.0, 1.0), "run_1")
    teach(file, FIELD, (3.0, 5.0), "run_2")
    lines = [json.loads(line) for line in file.history_path.read_text().splitlines()]
    assert [line["by"] for line in lines] == ["run_1", "run_2"]
    assert [line["change"].get("before") for line in lines] == [None, [1.0, 1.0, 1]]
    assert lines[1]["change"]["after"] == [2.0, 3.0, 2]
    assert lines[1]["belongs_to"] == {
        "calibration_hash": "c1",
        "table_hash": "t1",
        "profile": "field",
        "tool": "short",
    }
    assert lines[0]["hash_after"] == lines[1]["hash_before"]
    assert lines[1]["hash_after"] == file.load(FIELD).content_hash
    assert all(line["at"].endswith("Z") and line["code_version"] for line in lines)
    assert [line["seq"] for line in lines] == [1, 2]
    assert file.history()[1].run_ids == ("run_2",)


def test_no_temporary_file_is_left(file):
    teach(file, FIELD, (1.0, 1.0), "run_1")
    names = sorted(path.name for path in file.path.parent.iterdir())
    assert names == ["corrections.json", "corrections.lock", "corrections_history.jsonl"]


def test_a_lesson_changes_nothing_that_is_applied_until_it_is_proposed_and_promoted(file):
    teach(file, FIELD, (5.0, 0.0), "run_1")
    assert model_in_use(file.load(FIELD), ROBUST, "live") == NO_MODEL
    candidate = file.propose(FIELD, ROBUST, by="test")
    assert candidate.apply("pick", SPOT)[1].dx_mm > 2.0
    assert model_in_use(file.load(FIELD), ROBUST, "live") == NO_MODEL
    assert model_in_use(file.load(FIELD), ROBUST, "candidate") == candidate
    file.promote(FIELD, good_proof(file, FIELD), by="test")
    state = CorrectionFile(file.path.parent).load(FIELD)
    assert model_in_use(state, ROBUST, "live") == candidate == state.live
    assert state.candidate is None


def test_old_and_new_are_never_both_live(file):
    """A second promotion takes the place of the first: one target, one correction, once."""
    applied = []
    for number, dx_mm in enumerate((6.0, 9.0)):
        for n in range(30):
            teach(file, FIELD, (dx_mm, 0.0), f"run_{number}{n:02}")
        file.propose(FIELD, ROBUST.model_copy(update={"memory": 30}), by="test")
        live = file.promote(FIELD, good_proof(file, FIELD), by="test")
        target, use = model_in_use(file.load(FIELD), ROBUST, "live").apply("pick", SPOT)
        assert use.model == live.content_hash
        applied.append((SPOT[0] - target[0]) * 1000)
    assert applied == pytest.approx([6.0, 9.0], abs=0.1)


def test_nothing_goes_live_without_a_candidate_and_nothing_is_proposed_twice(file):
    with pytest.raises(NothingToPromote):
        file.promote(FIELD, MAYA, by="Maya")
    assert file.propose(FIELD, ROBUST, by="test") is None
    teach(file, FIELD, (5.0, 0.0), "run_1")
    assert file.propose(FIELD, ROBUST, by="test") is not None
    assert file.propose(FIELD, ROBUST, by="test") is None
    file.promote(FIELD, MAYA, by="Maya")
    assert file.propose(FIELD, ROBUST, by="test") is None


def test_a_proof_that_does_not_hold_or_is_about_something_else_promotes_nothing(file):
    teach(file, FIELD, (5.0, 0.0), "run_1")
    file.propose(FIELD, ROBUST, by="test")
    undecided = prove([], candidate=file.load(FIELD).candidate.content_hash, against=None, settings=ProofSettings())
    with pytest.raises(NotPromoted, match="no pair says anything"):
        file.promote(FIELD, undecided, by="test")
    with pytest.raises(NotPromoted, match="another candidate"):
        file.promote(FIELD, good_proof(file, FIELD, candidate="another"), by="test")
    proof = good_proof(file, FIELD)
    file.promote(FIELD, MAYA, by="Maya")
    teach(file, FIELD, (-5.0, 0.0), "run_2")
    file.propose(FIELD, ROBUST, by="test")
    stale = proof.model_copy(update={"candidate": file.load(FIELD).candidate.content_hash})
    with pytest.raises(NotPromoted, match="another model has gone live"):
        file.promote(FIELD, stale, by="test")
    assert file.load(FIELD).live.apply("pick", SPOT)[1].dx_mm > 0


def test_a_persons_word_is_on_record(file):
    teach(file, FIELD, (5.0, 0.0), "run_1")
    file.propose(FIELD, ROBUST, by="test")
    file.promote(FIELD, MAYA, by="Maya")
    line = file.history()[-1]
    assert (line.kind, line.by, line.word, line.proof) == ("promoted", "Maya", MAYA, None)
    for empty in ({"by": "", "reason": "x"}, {"by": "Maya", "reason": ""}):
        with pytest.raises(ValueError, match="at least 1 character"):
            PersonsWord(**empty)


def test_any_point_is_told_again_and_can_be_gone_back_to(file):
    then = {0: file.load(FIELD)}
    for n in range(3):
        teach(file, FIELD, (5.0 + n, 0.0), f"run_{n}")
        then[len(then)] = file.load(FIELD)
    file.propose(FIELD, ROBUST, by="test")
    then[4] = file.load(FIELD)
    file.record_proof(FIELD, good_proof(file, FIELD), by="test")
    then[5] = file.load(FIELD)
    file.promote(FIELD, good_proof(file, FIELD), by="test")
    then[6] = file.load(FIELD)
    teach(file, PERFECT, (1.0, 1.0), "run_other")
    for seq, state in then.items():
        assert file.state_at(FIELD, seq) == state
    for seq in (2, 6, 0):
        assert file.roll_back(FIELD, seq, MAYA) == then[seq]
        assert CorrectionFile(file.path.parent).load(FIELD) == then[seq]
    lines = file.history()
    assert [line.to_seq for line in lines[-3:]] == [2, 6, 0]
    assert file.state_at(FIELD, len(lines) - 1) == then[6]  # also what was gone back to is told again
    assert not file.load(PERFECT).nothing


@pytest.mark.parametrize("seq", [-1, 2, 999])
def test_a_point_that_is_not_there_is_refused(file, seq):
    teach(file, FIELD, (5.0, 0.0), "run_1")
    with pytest.raises(NoSuchPoint, match="has no point"):
        file.roll_back(FIELD, seq, MAYA)
    with pytest.raises(NoSuchPoint):
        file.state_at(FIELD, seq)


def test_lessons_of_other_cells_are_taken_in_once_whatever_the_order(tmp_path):
    cells = [CorrectionFile(tmp_path / name) for name in ("a", "b", "one", "two")]
    for n in range(6):
        cells[n % 2].learn(FIELD, lesson((float(n), 1.0), f"run_{n}"))
    for target, order in ((cells[2], (0, 1)), (cells[3], (1, 0))):
        for i in (*order, *order):
            lessons = cells[i].load(FIELD).table.lessons
            target.merge(FIELD, lessons, source=f"cell {i}", by="test")
        assert len(target.load(FIELD).table.lessons) == 6
        assert len(target.history()) == 2
    assert cells[2].load(FIELD).table.lessons == cells[3].load(FIELD).table.lessons
    proposed = [cell.propose(FIELD, ROBUST, by="test") for cell in cells[2:]]
    assert proposed[0].content_hash == proposed[1].content_hash


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "cut off or no JSON"),
        ('{"corrections_version": 2, "states": {', "cut off or no JSON"),
        ("[]", "says no corrections_version"),
        ('{"states": {}}', "says no corrections_version"),
        ('{"corrections_version": 2, "states": {"k": {}}}', "states.k.table: field required"),
        ('{"corrections_version": 2, "stats": {}}', "stats: extra inputs"),
    ],
)
def test_a_file_that_can_not_be_read_is_an_error_and_stays_as_it_is(file, text, why):
    file.path.parent.mkdir()
    file.path.write_text(text)
    with pytest.raises(CorrectionsUnreadable, match=why):
        file.load(FIELD)
    with pytest.raises(CorrectionsUnreadable, match=why):
        teach(file, FIELD, (1.0, 1.0), "run_1")
    assert file.path.read_text() == text
    assert not file.history_path.exists()


def test_a_folder_in_its_place_is_an_error(file):
    file.path.mkdir(parents=True)
    with pytest.raises(CorrectionsUnreadable, match="is a directory"):
        file.load(FIELD)


def test_what_version_1_had_learned_is_put_aside_with_its_history(file):
    file.path.parent.mkdir()
    old, history = '{"corrections_version": 1, "tables": {"k": {}}}', '{"at": "t", "run_id": "run_1"}\n'
    file.path.write_text(old)
    file.history_path.write_text(history)
    assert file.load(FIELD).nothing
    teach(file, FIELD, (1.0, 1.0), "run_2")
    assert [line.kind for line in file.history()] == ["begun_anew", "learned"]
    folder = file.path.parent
    assert (folder / "corrections_version_1.json").read_text() == old
    assert (folder / "corrections_history_version_1.jsonl").read_text() == history
    assert len(file.load(FIELD).table.lessons) == 1


def test_a_newer_file_is_refused(file):
    file.path.parent.mkdir()
    file.path.write_text('{"corrections_version": 3}')
    with pytest.raises(NewerThanUs):
        file.load(FIELD)


def test_a_crash_between_history_and_file_loses_no_lesson(file):
    teach(file, FIELD, (1.0, 1.0), "run_1")
    before = file.path.read_bytes()
    teach(file, FIELD, (3.0, 1.0), "run_2")
    file.propose(FIELD, ROBUST, by="test")
    whole = file.load(FIELD)
    file.path.write_bytes(before)
    assert file.load(FIELD) == whole
    teach(file, FIELD, (5.0, 1.0), "run_3")
    assert len(file.load(FIELD).table.lessons) == 3
    assert [line.seq for line in file.history()] == [1, 2, 3, 4]


def test_a_crash_before_a_rollback_reached_the_file_loses_no_rollback(file):
    for n in range(3):
        teach(file, FIELD, (1.0, 1.0), f"run_{n}")
    before = file.path.read_bytes()
    back = file.roll_back(FIELD, 1, MAYA)
    file.path.write_bytes(before)
    assert file.load(FIELD) == back


@pytest.mark.parametrize("cut", [1, 40, 200])
def test_a_torn_last_line_is_none_and_the_next_begins_in_its_place(file, cut):
    teach(file, FIELD, (1.0, 1.0), "run_1")
    with file.history_path.open("ab") as history:
        history.write(file.history_path.read_bytes()[:cut])
    assert len(file.history()) == 1
    assert len(file.load(FIELD).table.lessons) == 1
    teach(file, FIELD, (2.0, 1.0), "run_2")
    assert [line.by for line in file.history()] == ["run_1", "run_2"]


def test_a_history_that_was_tampered_with_is_an_error(file):
    for n in range(3):
        teach(file, FIELD, (1.0, 1.0), f"run_{n}")
    lines = file.history_path.read_text().splitlines()
    for wrong, why in ((lines[:1] + lines[2:], "says that it is line 3"), (["x", *lines[1:]], "line 1")):
        file.history_path.write_text("\n".join(wrong) + "\n")
        with pytest.raises(CorrectionsUnreadable, match=why):
            file.history()


def test_a_file_taken_away_is_begun_anew_and_the_history_goes_on(file):
    teach(file, FIELD, (1.0, 1.0), "run_1")
    file.path.unlink()
    assert file.load(FIELD).nothing
    teach(file, FIELD, (2.0, 1.0), "run_2")
    assert [line.kind for line in file.history()] == ["learned", "begun_anew", "learned"]
    assert [one.run_id for one in file.load(FIELD).table.lessons] == ["run_2"]
    assert file.state_at(FIELD, 3) == file.load(FIELD)
    assert [one.run_id for one in file.state_at(FIELD, 1).table.lessons] == ["run_1"]


def test_a_disk_that_is_full_promotes_nothing_and_says_so(file, monkeypatch):
    teach(file, FIELD, (5.0, 0.0), "run_1")
    file.propose(FIELD, ROBUST, by="test")
    before = (file.path.read_bytes(), file.history_path.read_bytes())

    def full(fd, path, data):
        raise StorageUnwritable(path, "no space left on device")

    monkeypatch.setattr("runs.files.append_synced", full)
    with pytest.raises(StorageUnwritable):
        file.promote(FIELD, MAYA, by="Maya")
    assert (file.path.read_bytes(), file.history_path.read_bytes()) == before
    assert file.load(FIELD).live is None


def _teach_some(folder, name):
    file = CorrectionFile(folder)
    for n in range(8):
        teach(file, FIELD, (1.0, 1.0), f"{name}_{n}")


def test_two_processes_that_teach_at_once_lose_nothing(file):
    spawn = multiprocessing.get_context("fork")
    workers = [spawn.Process(target=_teach_some, args=(file.path.parent, name)) for name in "ab"]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(file.load(FIELD).table.lessons) == 16
    assert [line.seq for line in file.history()] == list(range(1, 17))


def test_the_count_of_lines_is_right_however_long_the_last_one_is(file):
    many = [lesson((float(n), 0.0), f"run_{n:04}", at=(0.2, 0.1 + n / 1e4)) for n in range(800)]
    file.merge(FIELD, many, source="elsewhere", by="test")
    assert file.history_path.stat().st_size > 1 << 16
    teach(file, FIELD, (1.0, 1.0), "run_last")
    assert len(file.load(FIELD).table.lessons) == 801
