"""A question and its rubric to a prompt, and the prompt's hash.

Texts stand in `rubrics/*.md`, one a stage and language, with the same criteria in all languages. A prompt holds what
the pictures are and what is asked: neither labels nor plans, nor what anybody hopes for. Changing one word changes
the template's hash, and with it every certificate of a judge that was measured with the old one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Literal

from judges.errors import BadEvidence
from judges.pictures import SentPicture
from runs.schema.verdict import JudgedStage
from vision.detect.protocol import DetectSettings

Language = Literal["en", "ja"]
STAGES: tuple[JudgedStage, ...] = ("pick", "place")
LANGUAGES: tuple[Language, ...] = ("en", "ja")

_CRITERION = re.compile(r"^- `([a-z_]+)`: ", re.MULTILINE)
_COLOURS = {
    "red": "赤い",
    "orange": "オレンジ色の",
    "yellow": "黄色い",
    "green": "緑色の",
    "blue": "青い",
    "purple": "紫色の",
}
_ROLES = {
    "en": {"before": "BEFORE", "during": "DURING", "after": "AFTER"},
    "ja": {"before": "前", "during": "途中", "after": "後"},
}


@dataclass(frozen=True, slots=True)
class Rubric:
    """The texts of one stage in one language. `system` is the same for every trial.

    Below the line `---` of a template stand the wordings of its question; the first is the usual one.
    """

    stage: JudgedStage
    language: Language
    system: str
    template: str

    @property
    def questions(self) -> tuple[str, ...]:
        """The question in its different wordings."""
        return tuple(line.removeprefix("- ") for line in self._parts[1].splitlines() if line.startswith("- "))

    @property
    def body(self) -> str:
        """The template without the wordings."""
        return self._parts[0]

    @property
    def _parts(self) -> tuple[str, str]:
        body, _, wordings = self.template.partition("\n---\n")
        return body.rstrip() + "\n", wordings

    @property
    def template_id(self) -> str:
        """How the audit calls it."""
        return f"{self.stage}.{self.language}"

    @property
    def template_hash(self) -> str:
        """Hash of both texts as they stand in the files."""
        return _hash(self.system, self.template)

    @property
    def criteria(self) -> tuple[str, ...]:
        """Ids in the order in which they are asked."""
        return tuple(_CRITERION.findall(self.body))


@dataclass(frozen=True, slots=True)
class Prompt:
    """What a model reads beside the pictures."""

    system: str
    text: str

    @property
    def sha256(self) -> str:
        """Hash of what is read."""
        return _hash(self.system, self.text)


@cache
def load_rubric(stage: JudgedStage, language: Language) -> Rubric:
    """The rubric of a stage in a language."""
    folder = files("judges") / "rubrics"
    system = (folder / f"system.{language}.md").read_text(encoding="utf-8")
    template = (folder / f"{stage}.{language}.md").read_text(encoding="utf-8")
    return Rubric(stage, language, system, template)


def render(rubric: Rubric, pictures: tuple[SentPicture, ...], settings: DetectSettings, *, wording: int = 0) -> Prompt:
    """The prompt for these pictures.

    Args:
        wording: which words the question has; it goes round.

    Raises:
        BadEvidence: there is no picture from after the step, so there is no state to ask about.
    """
    if not any(picture.role == "after" for picture in pictures):
        raise BadEvidence("there is no picture from after the step", next_step="hand one over with --after")
    text = rubric.body.format(
        question=rubric.questions[wording % len(rubric.questions)],
        block=_block(settings, rubric.language),
        box=_box(settings, rubric.language),
        images="\n".join(_line(picture, len(pictures), rubric.language) for picture in pictures),
    )
    return Prompt(system=rubric.system, text=text)


def name_of(index: int, language: Language) -> str:
    """How a picture is called beside it in the request."""
    return f"Image {index}:" if language == "en" else f"写真{index}:"


def _line(picture: SentPicture, count: int, language: Language) -> str:
    """One picture in the list: number, place and role, so that nothing hangs on what stands beside it."""
    index, whole, role = picture.index, picture.crop_of, _ROLES[language][picture.role]
    first, last = index == 1, index == count
    if language == "ja":
        place = "最初の写真" if first else "最後の写真" if last else f"{index}枚目"
        what = f"写真{whole}の一部の拡大" if whole else "拡大" if picture.is_crop else "全体"
        return f"- 写真{index}({place})=「{role}」、{what}"
    place = "first image" if first else "last image" if last else "in between"
    what = f"closer look at part of image {whole}" if whole else "closer look" if picture.is_crop else "whole view"
    return f"- Image {index} ({place}) = {role}, {what}"


def _block(settings: DetectSettings, language: Language) -> str:
    """The object in neutral words; a colour that has no name here is left out, whatever the settings call it."""
    side = f"{settings.block_side_mm:g} mm"
    known = settings.colour if settings.learned is None and settings.colour in _COLOURS else None
    if language == "ja":
        return f"一辺{side}の{_COLOURS[known] if known else ''}立方体のブロック"
    return f"a {known + ' ' if known else ''}cube-shaped block with sides of {side}"


def _box(settings: DetectSettings, language: Language) -> str:
    long, wide = sorted(settings.box_outer_mm, reverse=True)
    size = f"{long:g} × {wide:g} mm"
    wall = f"{settings.box_wall_height_mm:g} mm"
    if language == "ja":
        return f"上が開いた白い箱(外寸{size}、壁の高さ{wall})"
    return f"a white box that is open at the top ({size} outside, walls {wall} high)"


def _hash(*texts: str) -> str:
    return sha256("\0".join(texts).encode()).hexdigest()
