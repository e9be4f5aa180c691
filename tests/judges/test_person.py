"""A person judges: blind first, then with the machine's answer; both are kept, nobody's word is guessed."""

from __future__ import annotations

import io
import re
from pathlib import Path

import numpy as np
import pytest

from judges.errors import NobodyThere
from judges.person import PersonJudge
from judges.protocol import Evidence, LabelledPicture
from judges.scripted import ScriptedJudge
from judges.terminal import TerminalAsker, half_blocks, sheet_of
from vision.cameras.protocol import read_picture
from vision.detect.protocol import DetectSettings

RED = np.full((36, 64, 3), (20, 20, 220), dtype=np.uint8)
BLUE = np.full((36, 64, 3), (220, 20, 20), dtype=np.uint8)
STEP = Evidence(
    stage="place",
    pictures=(LabelledPicture("before", "before", RED), LabelledPicture("after", "after", BLUE)),
    grip=None,
    settings=DetectSettings(),
)


class Desk:
    """Somebody who answers from a list, with everything that was shown to them in order."""

    def __init__(self, *answers):
        self._answers, self.log = list(answers), []

    def show(self, evidence):
        self.log.append("pictures")

    def tell(self, text):
        self.log.append(text)

    def ask(self, question):
        self.log.append(question)
        if not self._answers:
            raise NobodyThere("they have gone home")
        return self._answers.pop(0)


def machine(word):
    return ScriptedJudge({"place": [word] if word else []})


def test_a_person_sees_the_pictures_before_any_machines_word():
    desk = Desk("n", "on the rim", "")
    PersonJudge(desk, who="Maya", machine=machine("yes")).judge(STEP)
    told = next(n for n, text in enumerate(desk.log) if "scripted says yes" in text)
    asked = next(n for n, text in enumerate(desk.log) if "yes, no or unsure" in text)
    assert desk.log[0] == "pictures"
    assert asked < told
    assert not any("scripted" in text for text in desk.log[: asked + 2])


def test_an_empty_line_keeps_the_blind_word_and_both_are_on_record():
    found = PersonJudge(Desk("n", "on the rim", ""), who="Maya", machine=machine("yes")).judge(STEP)
    assert (found.verdict, found.reason, found.audit.judge, found.audit.model) == ("no", "on the rim", "person", "Maya")
    blind, said = found.members
    assert (blind.verdict, blind.audit.measurements) == ("no", {"blind": True})
    assert (said.verdict, said.audit.judge) == ("yes", "scripted")


def test_a_revised_word_stands_beside_the_blind_one():
    found = PersonJudge(Desk("n", "rim?", "y", "it is inside after all"), who="Maya", machine=machine("yes")).judge(
        STEP
    )
    assert (found.verdict, found.reason, found.audit.measurements) == (
        "yes",
        "it is inside after all",
        {"blind": False},
    )
    assert [member.verdict for member in found.members] == ["no", "yes"]


def test_nothing_is_asked_again_where_both_agree():
    desk = Desk("y", "inside")
    assert PersonJudge(desk, who="Maya", machine=machine("yes")).judge(STEP).verdict == "yes"


def test_an_answer_that_is_no_answer_is_asked_for_again():
    desk = Desk("maybe", "", "j", "U", "")
    found = PersonJudge(desk, who="Maya").judge(STEP)
    assert found.verdict == "unsure"
    assert desk.log.count("please answer y, n or u") == 3


@pytest.mark.parametrize("answers", [(), ("y",), ("n", "rim")])
def test_a_person_who_leaves_gives_no_verdict(answers):
    found = PersonJudge(Desk(*answers), who="Maya", machine=machine("yes")).judge(STEP)
    assert (found.verdict, found.error) == (None, "nobody_there")
    assert [member.audit.judge for member in found.members] == ["scripted"], "the machine's word is kept, not taken"


def test_without_a_terminal_nobody_is_asked(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    found = PersonJudge(TerminalAsker(tmp_path), who="Maya").judge(STEP)
    assert (found.verdict, found.error) == (None, "nobody_there")
    assert capsys.readouterr().out == ""


class Keyboard(io.StringIO):
    """Lines typed at a terminal."""

    def isatty(self):
        return True


def test_the_terminal_asks_and_says_where_the_pictures_are(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("sys.stdin", Keyboard("y\nlies inside\n"))
    found = PersonJudge(TerminalAsker(tmp_path), who="Maya").judge(STEP)
    assert (found.verdict, found.reason) == ("yes", "lies inside")
    told = capsys.readouterr()
    assert told.out == ""
    path = re.search(r"large: (.*)", told.err).group(1)
    sheet = read_picture(Path(path))
    assert sheet[10, 10, 2] > 200, "before is on the left"
    assert sheet[10, -10, 0] > 200


def test_a_sheet_holds_all_pictures_side_by_side():
    sheet = sheet_of(STEP)
    assert sheet.shape == (720, 2 * 1280 + 8, 3)


def test_half_blocks_paint_two_pixels_a_character():
    text = half_blocks(np.vstack((RED, BLUE)), 40)
    lines = text.splitlines()
    assert all(line.count("▀") == 40 for line in lines)
    assert "38;2;220;20;20" in lines[0]
    assert "48;2;20;20;220" in lines[-1]
