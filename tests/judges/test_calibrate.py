"""A judge held against labels: the counts, the certificate, and what takes a certificate away again."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from judges.calibrate import Case, ask_all, certificate_of, compare, report_of
from judges.certificate import CameraPart, load_certificates, save_certificate, standing_of
from judges.errors import CertificateUnreadable
from judges.panel import RepeatedJudge
from judges.protocol import Evidence, LabelledPicture
from runs.schema.verdict import JudgeAudit, Verdict
from vision.detect.protocol import DetectSettings
from vision.errors import NotAPicture

CAMERA = CameraPart(name="twin", lens_hash="l" * 64, plane_hash="p" * 64)


def picture(level):
    return np.full((24, 32, 3), level, dtype=np.uint8)


class Planted:
    """A judge that reads the truth off the picture's first pixel and errs as often as it is told to."""

    name = "planted"

    def __init__(self, *, missed=0, fooled=0, unsure=0, unstable=0, model="m1", template="t1", confidence=0.9):
        self.every = {"missed": missed, "fooled": fooled, "unsure": unsure, "unstable": unstable}
        self.model, self.template, self.confidence = model, template, confidence
        self.asked = 0

    def _now(self, what, count):
        return self.every[what] > 0 and count % self.every[what] == 0

    def judge(self, evidence):
        number, truly = (int(v) for v in evidence.last("after").image_bgr[0, 0, :2])
        self.asked += 1
        word = "yes" if truly else "no"
        if self._now("missed" if truly else "fooled", number):
            word = "no" if truly else "yes"
        if self._now("unsure", number):
            word = "unsure"
        if evidence.repeat and self._now("unstable", number):
            word = "unsure"
        audit = JudgeAudit(
            judge=self.name, model=self.model, template_hash=self.template, cost_usd=0.001, seconds=0.5, effort="low"
        )
        return Verdict(stage=evidence.stage, verdict=word, confidence=self.confidence, reason="planted", audit=audit)


def cases(n=100, *, stage="place", level=100, camera=CAMERA):
    """As many successes as failures; the first pixel holds the number and the truth."""

    def evidence(number, truly):
        image = picture(level)
        image[0, 0, :2] = number, truly
        return Evidence(
            stage=stage, pictures=(LabelledPicture("after", "after", image),), grip=None, settings=DetectSettings()
        )

    return [
        Case(
            id=f"{stage}{number}{'+' if truly else '-'}",
            stage=stage,
            label="yes" if truly else "no",
            kind="clean" if truly else "on_rim",
            light="day",
            camera=camera,
            evidence=lambda number=number, truly=truly: evidence(number, truly),
        )
        for number in range(1, n // 2 + 1)
        for truly in (1, 0)
    ]


def measured(judge, **kwargs):
    answers = ask_all(judge, cases(**kwargs))
    report = report_of(answers, "place", risk=0.1)
    return report, certificate_of(report, answers, labels_from=["here"], code_version="1.0")


def test_the_counts_are_those_that_were_planted():
    report, _ = measured(Planted(missed=10, fooled=5, unsure=25), n=100)
    assert (report.tpr.successes, report.tpr.n) == (
        44,
        48,
    )  # of 50: 25 and 50 unsure, then every tenth of the rest missed
    assert (report.tnr.successes, report.tnr.n) == (40, 48)
    assert (report.confusion.coverage.successes, report.n) == (96, 100)
    assert report.confusion.always_yes.rate == 0.5
    assert report.confusion.false_success.successes == 8
    assert report.kappa.po == pytest.approx(84 / 96)
    assert report.cost_usd == pytest.approx(0.1)
    assert report.as_object()["cost_usd_each"] == pytest.approx(0.001)
    assert [(row.kind, row.n) for row in report.kinds] == [("clean", 50), ("on_rim", 50)]
    json.dumps(report.as_object(), allow_nan=False)


def test_a_good_judge_is_certified_and_a_bad_or_unknown_one_is_not():
    assert measured(Planted(), n=32)[0].certified, "16 of a kind without an error"
    assert not measured(Planted(), n=30)[0].certified, "15 of a kind are too few"
    assert measured(Planted(missed=20, fooled=20), n=100)[0].certified
    assert not measured(Planted(fooled=4), n=100)[0].certified, "one failure in four is called a success"
    report, _ = measured(Planted(missed=1, fooled=1), n=100)
    assert not report.certified
    assert "both have to be at least 0.80" in report.why


def test_a_judge_that_never_decides_is_not_certified():
    report, certificate = measured(Planted(unsure=1), n=100)
    assert not report.certified
    assert report.confusion.coverage.successes == 0
    assert certificate.sensitivity == (0, 50)


def test_asking_again_shows_how_stable_it_is():
    answers = ask_all(judge := Planted(unstable=5), cases(100), repeats=2)
    report = report_of(answers, "place", risk=0.1)
    assert judge.asked == 300
    assert (report.stable.successes, report.stable.n) == (80, 100)
    some = ask_all(Planted(), cases(100), repeats=1, repeat_share=0.3, seed=1)
    assert 15 <= sum(bool(answer.again) for answer in some) <= 45


def test_the_threshold_is_that_of_the_chosen_risk():
    answers = ask_all(Planted(), cases(100)) + ask_all(Planted(missed=2, fooled=2, confidence=0.6), cases(40))
    report = report_of(answers, "place", risk=0.05)
    assert (report.operating.threshold, report.operating.answered, report.operating.wrong_yes) == (0.9, 100, 0)
    assert report_of(answers, "place", risk=0.001).operating is None


def test_a_step_whose_pictures_are_gone_is_left_out_and_told():
    def gone():
        raise NotAPicture("a.png", "it is not there")

    told = []
    broken = [replace(cases(2)[0], id="gone", evidence=gone), *cases(10)]
    assert len(ask_all(Planted(), broken, left_out=told.append)) == 10
    assert told == ["gone: a.png is no picture that can be read: it is not there; give a JPEG, PNG or video file"]


def test_recorded_answers_are_counted_without_asking():
    word = Planted().judge(cases(2)[0].evidence())
    with_one = [replace(cases(2)[0], recorded=word), cases(2)[1]]
    (answer,) = ask_all(None, with_one)
    assert answer.verdict == word


def standing(judge, certificates, *, camera=CAMERA, level=100.0, version="1.0"):
    word = judge.judge(cases(2)[0].evidence())
    return standing_of(word, certificates, camera=camera, level=level, code_version=version)


@pytest.fixture
def certified(tmp_path):
    """The certificates of a folder in which the planted judge was measured and found good."""
    save_certificate(tmp_path, measured(Planted())[1])
    return load_certificates(tmp_path)


def test_a_certificate_stands_while_nothing_changes(certified):
    found = standing(Planted(), certified)
    assert found.certified
    assert "50 of 50 successes" in found.why


@pytest.mark.parametrize(
    ("judge", "changed", "why"),
    [
        (Planted(model="m2"), {}, "the model has changed"),
        (Planted(template="t2"), {}, "the rubric has changed"),
        (Planted(), {"camera": CAMERA.model_copy(update={"plane_hash": "q" * 64})}, "the camera or its calibration"),
        (Planted(), {"camera": CameraPart()}, "the camera or its calibration"),
        (Planted(), {"level": 40.0}, "the light has changed"),
        (Planted(), {"level": None}, "nobody knows how the light compares"),
    ],
)
def test_any_change_makes_it_uncertified_and_says_which(certified, judge, changed, why):
    found = standing(judge, certified, **changed)
    assert not found.certified
    assert why in found.why


@pytest.mark.parametrize(
    ("times", "below", "why"),
    [(1, None, "how often it is asked has changed"), (2, None, "how often"), (3, 0.5, "when it is asked again")],
)
def test_asked_more_or_less_often_it_is_another_judge(tmp_path, times, below, why):
    save_certificate(tmp_path, measured(RepeatedJudge(Planted(), 3), n=40)[1])
    certificates = load_certificates(tmp_path)
    (case, *_) = cases(2)
    as_measured = RepeatedJudge(Planted(), 3).judge(case.evidence())
    assert standing_of(as_measured, certificates, camera=CAMERA, level=100.0, code_version="1.0").certified
    other = Planted() if times == 1 else RepeatedJudge(Planted(), times, only_below=below)
    found = standing_of(other.judge(case.evidence()), certificates, camera=CAMERA, level=100.0, code_version="1.0")
    assert not found.certified
    assert why in found.why


def test_another_step_or_judge_needs_a_certificate_of_its_own(certified):
    word = Planted().judge(cases(2, stage="pick")[0].evidence())
    found = standing_of(word, certified, camera=CAMERA, level=100.0, code_version="1.0")
    assert not found.certified
    assert "for a pick" in found.why


def test_a_panel_is_certified_by_whoever_answers(certified):
    panel = (
        Planted()
        .judge(cases(2)[0].evidence())
        .model_copy(update={"members": (Planted().judge(cases(2)[0].evidence()),)})
    )
    kwargs = {"camera": CAMERA, "level": 100.0, "code_version": "1.0"}
    assert standing_of(panel, certified, **kwargs).certified
    stranger = Planted(model="m2").judge(cases(2)[0].evidence())
    assert not standing_of(panel.model_copy(update={"members": (stranger,)}), certified, **kwargs).certified


def test_a_judge_without_a_prompt_hangs_on_the_programs_version(tmp_path):
    class Ruler(Planted):
        name = "ruler"

        def judge(self, evidence):
            word = super().judge(evidence)
            return word.model_copy(update={"audit": JudgeAudit(judge=self.name)})

    save_certificate(tmp_path, measured(Ruler())[1])
    certificates = load_certificates(tmp_path)
    assert standing(Ruler(), certificates).certified
    assert "the program has changed" in standing(Ruler(), certificates, version="1.1").why


def test_a_later_certificate_takes_the_place_and_the_history_keeps_all(tmp_path):
    save_certificate(tmp_path, measured(Planted())[1])
    save_certificate(tmp_path, measured(Planted(fooled=3))[1])
    (kept,) = load_certificates(tmp_path).certificates
    assert not kept.certified
    assert not standing(Planted(), load_certificates(tmp_path)).certified
    assert len((tmp_path / "judge_history.jsonl").read_text(encoding="utf-8").splitlines()) == 2


def test_an_edited_file_is_no_certificate(tmp_path):
    (tmp_path / "judge.json").write_text('{"version": 1, "certificates": [{"certified": true}]}')
    with pytest.raises(CertificateUnreadable, match="judge calibrate"):
        load_certificates(tmp_path)
    assert load_certificates(tmp_path / "none").certificates == ()


def test_a_certificate_corrects_a_rate(certified):
    found = certified.of("planted", "place").corrected(30, 60)
    assert found.low < 0.5 < found.high


def test_two_judges_are_compared_on_the_steps_that_both_answered():
    better, worse = ask_all(Planted(), cases(100)), ask_all(Planted(fooled=5, unsure=10), cases(100)[20:])
    found = compare(better, worse)
    assert found.n == 80
    assert (found.paired.only_first, found.paired.only_second, found.paired.neither) == (12, 0, 0)
    assert found.paired.p_value < 0.001
    assert len(found.differ) == 12
    with pytest.raises(ValueError, match="both judges"):
        compare(better, [])
