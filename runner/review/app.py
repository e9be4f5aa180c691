"""The routes of the review page: what is asked, answered by the modules beside; what is said, written by `runs`.

Work is done in threads, so that no slow question and no slow browser keeps the others waiting.
"""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable
from typing import Any

from pydantic import BaseModel
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from runner.cell import open_cell
from runner.review import corrections, pages
from runner.review.doors import Doors, Guarded, cookie_in
from runner.review.errors import Malformed, ReviewError
from runner.review.heard import SaidOfStep, SaidStop, SaidWord, heard
from runner.review.live import live, stop_of
from runner.review.pictures import Part, served
from runner.review.records import CellOfPage, Records, WhoSawWhat
from runner.review.replay import NoReplay, replay
from runner.review.shell import Shell, static_files
from runner.review.steps import machines_word, said, shown, step_of
from runs.errors import CannotCorrect, NothingToRule, RecordError, RunInProgress, TrialcellError
from runs.figures import clean
from runs.index.questions import Page
from runs.index.select import BadSelection, Selection
from runs.latch import StopLatch
from runs.rulings import rule, take_back
from runs.schema.verdict import JudgedStage


class Review:
    """The page's answers, each in a method. Made for one server."""

    def __init__(self, records: Records, doors: Doors, *, version: str) -> None:
        self._records = records
        self._doors = doors
        self._seen = WhoSawWhat()
        self._static = static_files()
        self._shell = Shell(doors.secret, [cell.label for cell in records.cells], version)
        self._stamp = secrets.token_hex(4)

    def app(self) -> Guarded:
        """The application, behind its doors."""
        look, say = ["GET"], ["POST"]
        routes = [
            Route("/", self._shown(self._queue_page), methods=look),
            Route("/live", self._shown(self._live_page), methods=look),
            Route("/runs", self._shown(self._runs_page), methods=look),
            Route("/run/{cell:int}/{run_id}", self._shown(self._run_page), methods=look),
            Route("/corrections", self._shown(self._corrections_page), methods=look),
            Route("/static/{name}", self._static_file, methods=look),
            Route("/picture/{cell:int}/{run_id}/{number:int}", self._answered(self._picture), methods=look),
            Route("/api/queue", self._answered(self._queue), methods=look),
            Route("/api/step/{cell:int}/{run_id}/{stage}", self._answered(self._step), methods=look),
            Route("/api/said/{cell:int}/{run_id}/{stage}", self._answered(self._what_was_said), methods=look),
            Route("/api/live/{cell:int}", self._answered(self._live), methods=look),
            Route("/api/stopped/{cell:int}", self._answered(self._stopped), methods=look),
            Route("/api/replay/{cell:int}/{run_id}", self._answered(self._replay), methods=look),
            Route("/api/rule", self._heard(SaidWord, self._rule), methods=say),
            Route("/api/take-back", self._heard(SaidOfStep, self._take_back), methods=say),
            Route("/api/stop", self._heard(SaidStop, self._stop), methods=say),
        ]
        handlers: Any = {HTTPException: _as_text, Exception: _as_text}
        app = Starlette(routes=routes, exception_handlers=handlers)
        app.router.redirect_slashes = False
        return Guarded(app, self._doors)

    # pages

    def _queue_page(self, _: Request) -> str:
        return pages.queue_page(self._shell)

    def _live_page(self, request: Request) -> str:
        return pages.live_page(self._shell, self._records.cells)

    def _runs_page(self, request: Request) -> str:
        query = request.query_params
        result, where, sort = (query.get(name, "").strip()[:400] for name in ("result", "where", "sort"))
        number = max(1, _number(query.get("page"), 1) or 1)
        problem, found = None, Page([], 0, {})
        try:
            conditions = [*where.split(), *([f"result={result}"] if result else [])]
            found = self._records.listed(
                Selection.parse(conditions), page=number, size=pages.RUNS_A_PAGE, sort=sort or None
            )
        except BadSelection as error:
            problem = str(error)
        rows = found.rows if sort else found.rows[::-1]
        cell_of = {cell.label: cell.number for cell in self._records.cells}
        steps = [(cell_of[row["cell"]], row["run_id"], stage) for row in rows for stage in _STAGES]
        self._seen.saw(_session(request), steps)
        shown_page = Page(rows, found.total, found.results)
        return pages.runs_page(
            self._shell, shown_page, number=number, where=where, result=result, sort=sort, cell_of=cell_of,
            problem=problem,
        )  # fmt: skip

    def _run_page(self, request: Request) -> str:
        number, run_id = request.path_params["cell"], request.path_params["run_id"]
        stored = self._records.opened(number, run_id)
        self._seen.saw(_session(request), [(number, run_id, stage) for stage in _STAGES])
        return pages.run_page(self._shell, self._records.cell(number), stored)

    def _corrections_page(self, request: Request) -> str:
        query = request.query_params
        cell = self._records.cell(_number(query.get("cell"), 0) or 0)
        moments = _number(query.get("from"), None), _number(query.get("to"), None)
        body = corrections.body(corrections.learned(cell.folder), cell.number, query.get("table"), *moments)
        return pages.corrections_page(self._shell, self._records.cells, cell, body)

    async def _static_file(self, request: Request) -> Response:
        found = self._static.get(request.path_params["name"])
        if found is None:
            return _text(404, "there is no such file here")
        tag = f'"{self._stamp}"'
        if request.headers.get("if-none-match") == tag:
            return Response(status_code=304, headers={"etag": tag})
        return Response(found[0], media_type=found[1], headers={"etag": tag, "cache-control": "no-cache"})

    def _picture(self, request: Request) -> Response:
        params = request.path_params
        stored = self._records.opened(params["cell"], params["run_id"])
        found = served(stored, params["number"], _part(request.query_params.get("part")))
        tag = f'"{found.tag}"'
        headers = {"etag": tag, "cache-control": "private, max-age=60"}
        if request.headers.get("if-none-match") == tag:
            return Response(status_code=304, headers=headers)
        return Response(found.data, media_type=found.kind, headers=headers)

    # answers

    def _queue(self, request: Request) -> Response:
        items, total = self._records.queue()
        told = [
            {
                "cell": self._records.number_of(item["cell"]),
                "run_id": item["run_id"],
                "stage": item["stage"],
                "doubt": item["doubt"],
                "reasons": item["blind_reasons"],
            }
            for item in items
        ]
        broken = [
            {"cell": row["cell"], "run_id": row["run_id"], "problem": clean(row["problem"] or "")}
            for row in self._records.unreadable()
        ]
        return JSONResponse({"items": told, "total": total, "unreadable": broken})

    def _step(self, request: Request) -> Response:
        number, run_id, stage = _named_step(request)
        step = step_of(self._records.opened(number, run_id), stage)
        already = self._seen.has_seen(_session(request), (number, run_id, stage))
        return JSONResponse(shown(number, step, already_seen=already))

    def _what_was_said(self, request: Request) -> Response:
        number, run_id, stage = _named_step(request)
        told = said(step_of(self._records.opened(number, run_id), stage))
        self._seen.saw(_session(request), [(number, run_id, stage)])
        return JSONResponse(told)

    def _live(self, request: Request) -> Response:
        told = live(self._records, self._records.cell(request.path_params["cell"]))
        steps = [(told["cell"], row["run_id"], stage) for row in told["last"] for stage in _STAGES]
        self._seen.saw(_session(request), steps)
        return JSONResponse(told)

    def _stopped(self, request: Request) -> Response:
        cell = self._records.cell(request.path_params["cell"])
        return JSONResponse({"stop": stop_of(cell), "clear": _how_to_clear(cell)})

    def _replay(self, request: Request) -> Response:
        number, run_id = request.path_params["cell"], request.path_params["run_id"]
        stored = self._records.opened(number, run_id)
        return JSONResponse(replay(stored.log, open_cell(self._records.cell(number).folder).config))

    # what people say

    def _rule(self, request: Request, word: SaidWord) -> Response:
        cell = self._records.cell(word.cell)
        step_of(self._records.opened(word.cell, word.run_id), word.stage)
        step = (word.cell, word.run_id, word.stage)
        blind = word.blind and not self._seen.has_seen(_session(request), step)
        stored = rule(
            cell.store, word.run_id, word.stage, word.verdict, by=clean(word.by), reason=clean(word.reason), blind=blind
        )
        self._records.changed()
        self._seen.saw(_session(request), [step])
        told = said(step_of(stored, word.stage))
        others = [one for one in told["rulings"][word.known : -1] if one["by"] != word.by]
        return JSONResponse({**told, "ruling": told["rulings"][-1], "machine": machines_word(told), "others": others})

    def _take_back(self, _: Request, about: SaidOfStep) -> Response:
        cell = self._records.cell(about.cell)
        self._records.opened(about.cell, about.run_id)
        stored = take_back(cell.store, about.run_id, about.stage, by=clean(about.by))
        self._records.changed()
        return JSONResponse(said(step_of(stored, about.stage)))

    def _stop(self, _: Request, stop: SaidStop) -> Response:
        cell = self._records.cell(stop.cell)
        StopLatch(cell.folder).set(by=clean(stop.by), why=clean(stop.why))
        return JSONResponse({"stop": stop_of(cell), "clear": _how_to_clear(cell)})

    # how all of them are answered

    def _shown(self, make: Callable[[Request], str]) -> Callable[[Request], Awaitable[Response]]:
        """A page, with a name for this browser; what can't be shown becomes a page that says why."""

        async def answer(request: Request) -> Response:
            request.state.session = _known_session(request, self._doors) or secrets.token_urlsafe(18)
            try:
                response: Response = HTMLResponse(await run_in_threadpool(make, request))
            except TrialcellError as error:
                title = "Not shown" if _status(error) != 404 else "Not there"
                html = pages.problem_page(self._shell, title, clean(error.message), error.next_step)
                response = HTMLResponse(html, status_code=_status(error))
            response.set_cookie(
                _session_cookie(self._doors), request.state.session, httponly=True, samesite="strict", path="/"
            )
            return response

        return answer

    def _answered(self, make: Callable[[Request], Response]) -> Callable[[Request], Awaitable[Response]]:
        """An answer for the script or a picture; an error as one object with its message."""

        async def answer(request: Request) -> Response:
            request.state.session = _known_session(request, self._doors) or "nobody"
            try:
                return await run_in_threadpool(make, request)
            except TrialcellError as error:
                return _as_object(error)

        return answer

    def _heard(
        self, model: type[BaseModel], act: Callable[[Request, Any], Response]
    ) -> Callable[[Request], Awaitable[Response]]:
        """Something said: read within its time and size, checked, then done."""

        async def answer(request: Request) -> Response:
            request.state.session = _known_session(request, self._doors) or "nobody"
            try:
                return await run_in_threadpool(act, request, await heard(request, model))
            except TrialcellError as error:
                return _as_object(error)
            except TimeoutError:
                return _text(408, "what is said must come sooner")
            except ClientDisconnect:
                return _text(400, "nobody there any more")

        return answer


_STAGES: tuple[JudgedStage, ...] = ("pick", "place")


def _named_step(request: Request) -> tuple[int, str, JudgedStage]:
    params = request.path_params
    stage = next((each for each in _STAGES if each == params["stage"]), None)
    if stage is None:
        raise Malformed("a step is a pick or a place")
    return params["cell"], params["run_id"], stage


def _part(text: str | None) -> Part | None:
    if text is None:
        return None
    try:
        left, top, wide, high = (int(value) for value in text.split(","))
    except ValueError:
        raise Malformed("a part of a picture is left,top,width,height in pixels") from None
    if not (0 < wide <= 20_000 and 0 < high <= 20_000 and abs(left) <= 20_000 and abs(top) <= 20_000):
        raise Malformed("there is no such part of a picture")
    return left, top, wide, high


def _number(text: str | None, default: int | None) -> int | None:
    return int(text) if text is not None and text.isascii() and text.isdigit() and len(text) < 10 else default


def _how_to_clear(cell: CellOfPage) -> str:
    return f"trialcell stop --clear --by NAME --cell {cell.folder}"


def _session_cookie(doors: Doors) -> str:
    return f"trialcell_seen_{doors.port}"


def _known_session(request: Request, doors: Doors) -> str | None:
    return cookie_in(request.headers, _session_cookie(doors))


def _session(request: Request) -> str:
    return str(request.state.session)


_STATUS: tuple[tuple[type[TrialcellError], int], ...] = (
    (NothingToRule, 409), (RunInProgress, 409), (NoReplay, 404), (CannotCorrect, 409), (RecordError, 500),
)  # fmt: skip


def _status(error: TrialcellError) -> int:
    if isinstance(error, ReviewError):
        return error.status
    return next((status for kind, status in _STATUS if isinstance(error, kind)), 500)


def _as_object(error: TrialcellError) -> Response:
    told = {"error": type(error).__name__, "message": clean(error.message), "next_step": error.next_step}
    return JSONResponse(told, status_code=_status(error))


def _text(status: int, why: str) -> Response:
    return Response(why + "\n", status_code=status, media_type="text/plain; charset=utf-8")


async def _as_text(_: Request, error: Exception) -> Response:
    """What no route answers, and our own mistakes: no traceback leaves the machine."""
    status = error.status_code if isinstance(error, HTTPException) else 500
    return _text(status, {404: "there is no such page", 405: "not like that"}.get(status, "trialcell made a mistake"))
