"""A person as a judge: looks first, answers, and only then sees what the machine said and may revise.

Both answers are kept. It asks through an `Asker`, which the terminal is one of; where nobody is there to answer there
is no verdict. It never takes the machine's word for the person's.
"""

from __future__ import annotations

from dataclasses import dataclass
from time import monotonic
from typing import Protocol

from judges.errors import NobodyThere
from judges.panel import asked, no_verdict
from judges.protocol import Evidence, Judge
from runs.schema.verdict import JudgeAudit, Verdict, Word
from runs.verdicts import PERSON

KEYS: dict[str, Word] = {"y": "yes", "n": "no", "u": "unsure", "yes": "yes", "no": "no", "unsure": "unsure"}

QUESTIONS = {
    "pick": "Where is the block after the lift: is it held in the gripper, off the table?",
    "place": "Where is the block at the end: does it lie inside the box, let go of?",
}


class Asker(Protocol):
    """The way to a person: shows pictures and asks."""

    def show(self, evidence: Evidence) -> None:
        """Put the pictures before the person, the first ones first."""

    def tell(self, text: str) -> None:
        """Say something."""

    def ask(self, question: str) -> str:
        """The line that the person answers.

        Raises:
            NobodyThere: nobody can answer.
        """


@dataclass(frozen=True, slots=True)
class Said:
    """A person's word and the reason, if one was given."""

    word: Word
    reason: str


class PersonJudge:
    """Asks a person, blind first. `machine` is what may have an answer to be shown afterwards."""

    name = PERSON

    def __init__(self, asker: Asker, *, who: str, machine: Judge | None = None) -> None:
        self._asker, self._who, self._machine = asker, who, machine

    def judge(self, evidence: Evidence) -> Verdict:
        """The person's last word; the blind one and the machine's answer are in `members`."""
        begun_s = monotonic()
        machine = None if self._machine is None else asked(self._machine, evidence)
        try:
            blind = ask_blind(self._asker, evidence)
            final = blind if machine is None else ask_again(self._asker, blind, machine)
        except NobodyThere as error:
            answer = no_verdict(self.name, evidence, "nobody_there", str(error))
            return answer.model_copy(update={"members": () if machine is None else (machine,)})
        members = () if machine is None else (self._verdict(evidence, blind, None, blind=True), machine)
        verdict = self._verdict(evidence, final, monotonic() - begun_s, blind=machine is None)
        return verdict.model_copy(update={"members": members})

    def _verdict(self, evidence: Evidence, said: Said, seconds: float | None, *, blind: bool) -> Verdict:
        return Verdict(
            stage=evidence.stage,
            verdict=said.word,
            reason=said.reason or "as seen in the pictures",
            audit=JudgeAudit(
                judge=self.name,
                model=self._who,
                image_hashes=tuple(picture.sha256 for picture in evidence.pictures),
                seconds=seconds,
                measurements={"blind": blind},
            ),
            attempt=evidence.attempt,
        )


def ask_blind(asker: Asker, evidence: Evidence) -> Said:
    """Pictures and a question, nothing of what any judge said.

    Raises:
        NobodyThere
    """
    asker.show(evidence)
    word = _word(asker, f"{QUESTIONS[evidence.stage]} yes, no or unsure [y/n/u] ")
    return Said(word, asker.ask("Why, in a few words (may stay empty): ").strip())


def ask_again(asker: Asker, blind: Said, machine: Verdict) -> Said:
    """The machine's answer, and the person's word after it; an empty line keeps the first.

    Raises:
        NobodyThere
    """
    said = "has no verdict" if machine.verdict is None else f"says {machine.verdict}"
    asker.tell(f"{machine.audit.model or machine.audit.judge} {said}: {machine.reason}")
    if machine.verdict == blind.word:
        return blind
    word = _word(asker, f"You said {blind.word}. Enter keeps it; or [y/n/u] ", default=blind.word)
    if word == blind.word:
        return blind
    return Said(word, asker.ask("Why did you change it: ").strip() or blind.reason)


def _word(asker: Asker, question: str, *, default: Word | None = None) -> Word:
    """Asks until the answer is one of the three words; anything else is asked again, never guessed."""
    while True:
        answer = asker.ask(question).strip().lower()
        if not answer and default is not None:
            return default
        if answer in KEYS:
            return KEYS[answer]
        asker.tell("please answer y, n or u")
