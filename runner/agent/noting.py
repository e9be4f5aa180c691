"""The tool that keeps a sentence: a plan, a finding, or a proposal that a person decides on. It changes nothing else.

The command that goes with a proposal is put together here from closed lists, never taken from what the agent wrote.
"""

from __future__ import annotations

import re
from shlex import quote

from runner.agent.errors import NotNow
from runner.agent.models import NoteIn, NoteOut
from runner.agent.sitting import Sitting
from runner.agent.tool import Result
from runner.config import setting_names
from runs.rulings import check_rulable
from runs.schema.agent import Proposal

_SETTING = re.compile(r"([a-z_]+\.[a-z0-9_]+)=([A-Za-z0-9_.,:+\-\[\] ]{1,60})")
_ABOUT = {"ruling": ("run", "stage", "verdict"), "setting": ("setting",), "correction": ("correction",)}


def note(sitting: Sitting, asked: NoteIn) -> Result:
    """Keep a sentence in the run log.

    Raises:
        NotNow: a proposal that lacks what it proposes, or proposes what can't be.
    """
    book, text = sitting.trial.book, asked.text
    if asked.proposes is None:
        _refuse_beside(asked, ())
        book.note(f"agent: {text}", aloud=True)
        return Result(NoteOut())
    proposal = _proposal(sitting, asked)
    sitting.proposals.append(proposal)
    book.add(proposal)
    return Result(NoteOut(proposal=proposal.number, command=proposal.command))


def _proposal(sitting: Sitting, asked: NoteIn) -> Proposal:
    assert asked.proposes is not None
    wanted = _ABOUT.get(asked.proposes, ())
    _refuse_beside(asked, wanted)
    missing = [name for name in wanted if getattr(asked, name) is None]
    if missing:
        raise NotNow(f"a proposed {asked.proposes} says {', '.join(missing)} too")
    number = len(sitting.proposals) + 1
    if asked.proposes == "ruling":
        assert asked.run is not None
        assert asked.stage is not None
        stored = sitting.cell.ended_run(asked.run)
        check_rulable(stored, asked.stage)
        run_id = stored.entry.run_id
        return Proposal(
            number=number, kind="ruling", text=asked.text, run_id=run_id, stage=asked.stage, verdict=asked.verdict,
            command=f"trialcell runs rule {run_id} --stage {asked.stage} --verdict {asked.verdict} --why TEXT",
        )  # fmt: skip
    command: str | None = None
    if asked.proposes == "setting":
        found = _SETTING.fullmatch(asked.setting or "")
        if found is None or found[1] not in setting_names():
            raise NotNow("a proposed setting is one that there is, as section.key=value")
        command = f"trialcell run --set {quote(f'{found[1]}={found[2]}')}"
    if asked.proposes == "correction":
        command = f"trialcell corrections {asked.correction}" + (" now-1" if asked.correction == "rollback" else "")
    return Proposal(number=number, kind=asked.proposes, text=asked.text, command=command)


def _refuse_beside(asked: NoteIn, wanted: tuple[str, ...]) -> None:
    """Nothing that was said is silently ignored."""
    beside = {name for names in _ABOUT.values() for name in names} - set(wanted)
    given = sorted(name for name in beside if getattr(asked, name) is not None)
    if given:
        raise NotNow(f"{', '.join(given)}: not said with this kind of note")
