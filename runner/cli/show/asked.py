"""How a model was asked: its pictures, its tries, and on the full page every word that it read and wrote."""

from __future__ import annotations

from rich.console import RenderableType
from rich.text import Text

from runner.cli.show.parts import QUIET, words
from runs.figures import Fields, Figures, clean, name_of, sentence
from runs.schema.verdict import JudgeAttempt, SentImage

Rows = list[tuple[RenderableType, RenderableType]]

_TEXTS = ("system", "prompt", "reply")


def asked(audit: Fields, figures: Figures) -> Rows:
    """Rows for the pictures that were sent, each request, and on the full page the texts."""
    rows: Rows = []
    images: tuple[SentImage, ...] = audit.take("images")
    attempts: tuple[JudgeAttempt, ...] = audit.take("attempts")
    texts = {name: audit.take(name) for name in _TEXTS}
    for image in images:
        rows.append((f"picture {image.index}", Text(_of_image(image, figures), style=QUIET)))
    for attempt in attempts:
        rows.append((f"request {attempt.attempt}", Text(_of_attempt(attempt, figures), style=QUIET)))
    if not figures.full:
        return rows
    for name, value in texts.items():
        if value is not None:
            rows.append((name, words(value if isinstance(value, str) else figures.any(value, name), QUIET)))
    return rows


def _of_image(image: SentImage, figures: Figures) -> str:
    fields = Fields(image)
    fields.drop("index")
    if figures.full:
        return sentence(fields.rest(), figures)
    size = f"{fields.take('width_px')}×{fields.take('height_px')} px"
    told = f"{fields.take('role')}, {size}"
    whole = fields.take("crop_of")
    told += "" if whole is None else f", part of picture {whole}"
    return f"{told}, sent as {figures.any(fields.take('sha256_sent'), 'sha256_sent')}"


def _of_attempt(attempt: JudgeAttempt, figures: Figures) -> str:
    fields = Fields(attempt)
    if figures.full:
        fields.drop("attempt")
        return sentence(fields.rest(), figures)
    gate, detail = clean(fields.take("gate")), clean(fields.take("detail"))
    known = {"status": attempt.http_status, "seconds": attempt.seconds, "cost_usd": attempt.cost_usd}
    told = [gate if gate == "passed" else f"{gate}: {detail}"]
    told += [f"{name_of(name)} {figures.any(value, name)}" for name, value in known.items() if value is not None]
    return " · ".join(told)
