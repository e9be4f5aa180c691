"""A lesson whose trial a person has since ruled no success is left out of the next candidate."""

from __future__ import annotations

from runs.corrections.file import CorrectionFile
from runs.corrections.overruled import overruled
from runs.corrections.rule import RuleSettings
from runs.corrections.table import Lesson
from runs.rulings import rule
from runs.schema.run import Ending, PickAttempt
from runs.schema.verdict import Judgment
from runs.store import RunHeader


def test_a_ruling_takes_a_lesson_out_of_the_next_candidate(store, here):
    file, names = CorrectionFile(store.runs_dir.parent), []
    for n in range(4):
        writer = store.create(RunHeader())
        writer.add(PickAttempt(attempt=1, verdict="yes", reason="", block_xz_m=(0.2, 0.2)))
        for stage in ("pick", "place"):
            writer.judgment(stage, Judgment(verdict="yes", reason="", confidence=1.0, image="x.jpg", model=None))
        log = writer.finish(Ending(result="completed", stage="stage10", reason="so"))
        names.append(log.run_id)
        file.learn(here, Lesson.of("pick", (0.2, 0.2 + n / 100), (5.0, 0.0), run_id=log.run_id, at="t"))
    lessons = file.load(here).table.lessons
    assert overruled(store.runs_dir, lessons) == frozenset()
    rule(store, names[0], "place", "no", by="Maya", reason="it lies beside the box")
    rule(store, names[1], "pick", "no", by="Maya", reason="it was pushed")
    rule(store, names[2], "place", "yes", by="Maya", reason="I saw it")
    gone = overruled(store.runs_dir, lessons)
    assert gone == {names[0], names[1]}
    model = file.propose(here, RuleSettings(), by="test", but=gone)
    assert model.lessons == 2
    assert len(file.load(here).table.lessons) == 4
