"""What every page of the review has round it: head, ways to the others, name of the reviewer, the stop."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files

from runs.report.markup import Child, Markup, tag
from runs.report.palette import css_variables

SCRIPTS = ("common.js", "queue.js", "viewer.js", "live.js", "replay.js")
STYLE = "style.css"

_WAYS = (("/", "Queue"), ("/live", "Live"), ("/runs", "Runs"), ("/corrections", "Corrections"))


@dataclass(frozen=True, slots=True)
class Shell:
    """What pages need to know of the server: the secret that lets them write, the cells, the version."""

    secret: str
    cells: Sequence[str]
    version: str

    def page(
        self, title: str, *body: Child, here: str, scripts: Sequence[str] = (), wide: bool = False, cell: int = 0
    ) -> str:
        """A whole page. `cell` is the one that the stop in its head is for."""
        html = tag(
            "html",
            tag(
                "head", tag("meta", charset="utf-8"),
                tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
                tag("meta", name="referrer", content="no-referrer"),
                tag("meta", name="trialcell-token", content=self.secret),
                tag("meta", name="trialcell-cell", content=str(cell)),
                tag("title", f"{title} · trialcell"),
                tag("link", rel="icon", href="data:,"),
                tag("link", rel="stylesheet", href=f"/static/{STYLE}"),
                (tag("script", "", type="module", src=f"/static/{name}") for name in ("common.js", *scripts)),
            ),
            tag(
                "body",
                tag("a", "Skip to the page", href="#main", class_="skip"),
                self._bar(here, cell),
                tag("div", id="stopped", role="alert", hidden="hidden"),
                tag("main", body, id="main", tabindex="-1"),
                tag("div", id="say", role="status", aria_live="polite"),
                class_="wide" if wide else None,
            ),
            lang="en",
        )  # fmt: skip
        return "<!doctype html>\n" + html + "\n"

    def _bar(self, here: str, cell: int) -> Markup:
        ways = (tag("a", name, href=href, aria_current="page" if href == here else None) for href, name in _WAYS)
        stop = tag(
            "button", "Stop", tag("span", f" {self.cells[cell]}", class_="which"), id="stop", type="button",
            title="Latch a stop: the trial under way ends after its motion, and none begins until a person clears it",
        )  # fmt: skip
        name = tag(
            "label",
            "Reviewer ",
            tag("input", id="who", name="who", autocomplete="name", maxlength=80, size=14),
        )
        brand, nav = tag("b", "trialcell", class_="brand"), tag("nav", ways, aria_label="pages")
        return tag("header", brand, nav, tag("div", name, stop, class_="right"), class_="bar")


def static_files() -> dict[str, tuple[bytes, str]]:
    """The page's own files by name, with their kinds: everything that is served besides pages, answers and pictures."""
    folder = files("runner.review").joinpath("static")
    style = css_variables() + files("runs.report").joinpath("page.css").read_text(encoding="utf-8")
    style += folder.joinpath("review.css").read_text(encoding="utf-8")
    found = {STYLE: (style.encode(), "text/css; charset=utf-8")}
    for name in SCRIPTS:
        found[name] = (folder.joinpath(name).read_bytes(), "text/javascript; charset=utf-8")
    return found
