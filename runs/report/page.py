"""The page round a report: one HTML file with its style and its pictures in it, and nothing that runs.

It has no script, asks no server for anything, and its policy forbids both; what a log says is text.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files

from runs.report.markup import Child, Markup, raw_css, tag
from runs.report.palette import css_variables

POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


def page(title: str, head: Child, body: Sequence[Child], *, made: str) -> str:
    """The whole file. `head` stands above the sections; `made` says by what and when it was made."""
    html = tag(
        "html",
        tag(
            "head", tag("meta", charset="utf-8"),
            tag("meta", http_equiv="Content-Security-Policy", content=POLICY),
            tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
            tag("meta", name="referrer", content="no-referrer"),
            tag("title", title), tag("style", raw_css(css_variables() + _style())),
        ),
        tag("body", tag("main", tag("header", head, class_="top"), body, tag("footer", made))),
        lang="en",
    )  # fmt: skip
    return "<!doctype html>\n" + html + "\n"


def _style() -> str:
    return files("runs.report").joinpath("page.css").read_text(encoding="utf-8")


def contents(entries: Sequence[tuple[str, str]]) -> Markup:
    """Links to the sections: name of the anchor, and what it is called."""
    return tag("nav", (tag("a", text, href=f"#{name}") for name, text in entries), aria_label="on this page")
