"""The colours of pages and plots, by what they mean, for light and dark.

Blue and orange carry good and bad, so that nobody has to tell red from green; wherever a colour means something, a
shape, a length or a word says it too. Hues after Okabe and Ito (2008), Color Universal Design.
"""

from __future__ import annotations

LIGHT: dict[str, str] = {
    "ground": "#ffffff",
    "page": "#f7f6f3",
    "panel": "#ffffff",
    "ink": "#1d2126",
    "quiet": "#5f6770",
    "line": "#dcd9d2",
    "faint": "#efede8",
    "good": "#19619b",
    "good_soft": "#d9e8f4",
    "bad": "#a8430a",
    "bad_soft": "#f8e0d1",
    "doubt": "#745900",
    "doubt_soft": "#f6ebc3",
    "accent": "#08695a",
    "accent_soft": "#d5ece7",
    "violet": "#8a4f8f",
    "on_strong": "#ffffff",
    "heat0": "#eef3f8",
    "heat1": "#c9dcec",
    "heat2": "#93bada",
    "heat3": "#4f8fc1",
    "heat4": "#19619b",
    "heat5": "#0d4676",
}

DARK: dict[str, str] = {
    "ground": "#14171b",
    "page": "#14171b",
    "panel": "#1c2026",
    "ink": "#e8e6e1",
    "quiet": "#9aa3ad",
    "line": "#343b44",
    "faint": "#252a31",
    "good": "#63b0ea",
    "good_soft": "#1d364b",
    "bad": "#f0904f",
    "bad_soft": "#472a19",
    "doubt": "#e3c04d",
    "doubt_soft": "#3d3414",
    "accent": "#4fc7b0",
    "accent_soft": "#173a34",
    "violet": "#cf98d4",
    "on_strong": "#10141a",
    "heat0": "#1f2a36",
    "heat1": "#24435f",
    "heat2": "#2f628f",
    "heat3": "#4486bf",
    "heat4": "#6fb2e6",
    "heat5": "#b9def8",
}

HEATS = 6


def css_variables() -> str:
    """Both palettes as custom properties; the reader's system chooses, and paper is light."""
    light = "".join(f"--{name}:{value};" for name, value in LIGHT.items())
    dark = "".join(f"--{name}:{value};" for name, value in DARK.items())
    return f":root{{color-scheme:light dark;{light}}}@media screen and (prefers-color-scheme:dark){{:root{{{dark}}}}}"
