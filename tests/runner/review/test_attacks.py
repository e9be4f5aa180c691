"""What somebody with bad intent, or a broken disk, can do to the page: nothing. Against a real server on loopback."""

from __future__ import annotations

import json
import socket
import struct
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import quote

import pytest

from runner.review import server as serving
from runner.review.doors import LEAST_TOKEN, Doors
from runner.review.errors import AddressTaken, NeedsToken
from runner.review.server import ReviewServer

TOKEN = "a-token-that-nobody-guesses"


def step_of(review):
    run_id, stage = review.queue(1.0)[0]
    return {"cell": 0, "run_id": run_id, "stage": stage, "by": "Maya", "verdict": "no"}


# paths


@pytest.mark.parametrize(
    "path",
    [
        "/static/../app.py", "/static/..%2fapp.py", "/static/%2e%2e/%2e%2e/pyproject.toml", "/static//etc/passwd",
        "/picture/0/../../etc/passwd/0", "/picture/0/..%2f..%2f..%2fetc%2fpasswd/0", "/picture/0/run_0001/0",
        "/picture/0/%2e%2e/0", "/picture/7/run_0001_20260101_000130/0", "/picture/0/run_0001_20260101_000130/9999",
        "/picture/0/run_0001_20260101_000130/-1", "/run/0/..%2f..%2fcell.toml", "/run/0/%00", "/api/step/0/%2e/pick",
        "/api/replay/0/..%2f", "/api/live/99", "/api/stopped/99", "//etc/passwd", "/..%5c..%5cwindows",
    ],
)  # fmt: skip
def test_no_path_leads_out_of_the_cell(standing, path):
    answer = standing.ask(path)
    assert answer.status in (400, 404), answer.status
    assert b"root:" not in answer.body
    assert b"Traceback" not in answer.body


@pytest.mark.parametrize("kind", ["up", "whole", "link"])
def test_no_log_leads_to_a_picture_outside_its_cell(review, tmp_path, kind):
    secret = tmp_path / "secret.jpg"
    secret.write_bytes((review.cell / "after.jpg").read_bytes())
    run_id, _ = next(each for each in review.queue(1.0) if each[1] == "place")
    folder = review.cell / "runs" / run_id
    (folder / f"{run_id}_place.jpg").unlink()
    image = {"up": "../secret.jpg", "whole": str(secret), "link": f"runs/{run_id}/{run_id}_place.jpg"}[kind]
    if kind == "link":
        (folder / f"{run_id}_place.jpg").symlink_to(secret)
    path = folder / "run.json"
    path.write_text(path.read_text().replace(f"runs/{run_id}/{run_id}_place.jpg", image))
    step = review.ask(f"/api/step/0/{run_id}/place")
    assert step.object["after"]["problem"] == "the picture is not there"


# other sites


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"}, {"Origin": "null"}, {"Origin": "http://127.0.0.1:1"},
        {"Origin": "http://localhost.evil.example"}, {"Sec_Fetch_Site": "cross-site"}, {"Sec_Fetch_Site": "same-site"},
        {"X_Trialcell_Token": "wrong"}, {"X_Trialcell_Token": ""}, {"Host": "evil.example"},
        {"Host": "127.0.0.1.evil.example"}, {"Host": "localhost:1"}, {"Host": ""}, {"Host": "127.0.0.1:99999999999"},
    ],
)  # fmt: skip
def test_a_forged_request_writes_nothing(standing, headers):
    before = standing.all_rulings()
    answer = standing.say("/api/rule", step_of(standing), **headers)
    assert answer.status in (400, 403), answer.text
    assert standing.all_rulings() == before


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""])
def test_what_a_form_can_send_is_not_heard(standing, kind):
    assert standing.say("/api/rule", step_of(standing), Content_Type=kind).status == 415
    assert [line for line in standing.all_rulings() if line["by"] == "Maya"] == []


def test_another_site_can_lead_here_and_embed_nothing(standing):
    page = {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "navigate", "Sec_Fetch_Dest": "document"}
    assert standing.ask("/", **page).status == 200
    frame = page | {"Sec_Fetch_Dest": "iframe"}
    assert standing.ask("/", **frame).status == 403
    run_id, stage = standing.queue(1.0)[0]
    image = {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "no-cors", "Sec_Fetch_Dest": "image"}
    assert standing.ask(f"/picture/0/{run_id}/0", **image).status == 403
    script = {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "cors", "Sec_Fetch_Dest": "empty"}
    assert standing.ask(f"/api/said/0/{run_id}/{stage}", **script).status == 403


def test_every_answer_forbids_foreign_scripts_and_frames(standing):
    run_id, _ = standing.queue(1.0)[0]
    for path in (
        "/",
        "/live",
        "/runs",
        "/corrections",
        f"/run/0/{run_id}",
        "/nothing",
        "/api/queue",
        f"/picture/0/{run_id}/0",
    ):
        headers = standing.ask(path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "script-src 'self';" in policy
        assert "frame-ancestors 'none'" in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert "server" not in headers
    html = standing.ask(f"/run/0/{run_id}").text
    assert "<script>" not in html
    assert " onload=" not in html


def test_text_from_logs_is_never_markup(review):
    evil = '<script>alert(1)</script><img src=x onerror="alert(2)">'
    run_id, stage = review.queue(1.0)[0]
    told = review.say("/api/rule", step_of(review) | {"by": evil[:75], "reason": evil + "\x1b[31m\x00"})
    assert told.status == 200, told.text
    assert told.headers["content-type"] == "application/json"
    path = review.cell / "runs" / run_id / "run.json"
    log = json.loads(path.read_text())
    log["ending"]["reason"] = evil
    log["stage_records"][0]["note"] = evil
    path.write_text(json.dumps(log))
    for page in (f"/run/0/{run_id}", "/runs"):
        html = review.ask(page).text
        assert "<script>alert" not in html
        assert "<img src=x" not in html
        assert "&lt;script&gt;alert" in html
    assert "\\u001b" not in review.ask(f"/api/said/0/{run_id}/{stage}").text


# tokens


def test_another_address_needs_a_token_that_is_long_enough(bench):
    for host in ("0.0.0.0", "::", "192.0.2.7", ""):
        with pytest.raises(NeedsToken):
            ReviewServer([bench], host=host, port=0, version="test")
    with pytest.raises(NeedsToken, match=f"less than {LEAST_TOKEN}"):
        ReviewServer([bench], host="0.0.0.0", port=0, token="short", version="test")


def test_without_the_right_token_nothing_is_shown(serve, bench):
    served = serve(bench, token=TOKEN)
    for path in ("/", "/runs", "/api/queue", "/static/common.js", "/picture/0/x/0"):
        assert served.ask(path).status == 401
        assert served.ask(f"{path}?token=wrong").status == 401
    key = f"trialcell_key_{served.port}"
    assert served.ask("/", Cookie=f"{key}=wrong").status == 401
    assert served.ask("/", Cookie=f"{key}={TOKEN}x").status == 401
    arrived = served.ask(f"/runs?result=failed&token={TOKEN}")
    assert (arrived.status, arrived.headers["location"]) == (303, "/runs?result=failed")
    assert "HttpOnly" in arrived.headers["set-cookie"]
    assert "SameSite=strict" in arrived.headers["set-cookie"]
    served.cookies = {key: TOKEN}
    assert served.open().ask("/api/queue").status == 200
    assert served.say("/api/rule", step_of(served), Cookie=f"{key}=wrong").status == 401


def test_names_that_somebody_bends_to_this_machine_open_nothing():
    doors = Doors.at("0.0.0.0", 8270, TOKEN, own_names=["bench-pc"])
    for host in ("bench-pc:8270", "192.0.2.7:8270", "192.0.2.7", "[2001:db8::1]:8270", "localhost:8270"):
        assert doors.knows_host(host), host
    for host in ("evil.example:8270", "bench-pc.evil.example", "192.0.2.7:80", "", None, "[::1", ":8270", "a:b:c"):
        assert not doors.knows_host(host), host
    here = Doors.at("127.0.0.1", 8270, None)
    assert here.knows_host("localhost:8270")
    assert not here.knows_host("192.0.2.7:8270")


# size, number, slowness, damage


def test_what_is_too_big_is_refused_unread(standing):
    assert standing.say("/api/rule", b'{"reason": "' + b"x" * 20_000 + b'"}').status == 413
    assert standing.say("/api/rule", step_of(standing) | {"reason": "x" * 2001}).status == 400
    assert standing.ask("/" + "x" * 60_000).status in (400, 404)
    with socket.create_connection(("127.0.0.1", standing.port)) as one:
        one.sendall(b"GET / HTTP/1.1\r\nX-Long: " + b"y" * 40_000)
        assert one.recv(100).startswith(b"HTTP/1.1 400 ")
    assert standing.ask("/runs?page=99999999999999999999").status == 200
    assert standing.ask("/runs?where=" + quote("=" * 300)).status == 200


def test_a_huge_picture_is_not_opened(review):
    run_id, _ = next(each for each in review.queue(1.0) if each[1] == "place")
    picture = review.cell / "runs" / run_id / f"{run_id}_place.jpg"
    picture.unlink()
    header = struct.pack(">II", 60_000, 60_000) + b"\x08\x02\x00\x00\x00"
    picture.write_bytes(b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + b"IHDR" + header + b"\0" * 64)
    step = review.ask(f"/api/step/0/{run_id}/place").object
    assert step["after"]["problem"] == "the picture is too big to be shown"
    with picture.open("r+b") as file:
        file.truncate(40_000_000)  # sparse: the size that the disk says is what counts
    assert "too big" in review.ask(f"/api/step/0/{run_id}/place").object["after"]["problem"]
    picture.write_bytes(b"GIF89a, or so it says")
    assert "no picture" in review.ask(f"/api/step/0/{run_id}/place").object["after"]["problem"]


def test_whoever_says_nothing_whole_is_hung_up_on_and_keeps_nobody_waiting(standing, monkeypatch):
    monkeypatch.setattr(serving, "SPEAKS_WITHIN_S", 1.0)
    slow = []
    for n in range(60):
        one = socket.create_connection(("127.0.0.1", standing.port))
        one.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n"[: 5 + n % 20])
        slow.append(one)
    assert standing.ask("/api/queue").status == 200
    slow[0].settimeout(20)
    assert slow[0].recv(100) == b""  # closed by the server
    for one in slow:
        one.close()


def test_whoever_does_not_read_keeps_nobody_waiting(review):
    run_id, _ = review.queue(1.0)[0]
    big = review.cell / "runs" / run_id / f"{run_id}_place.jpg"
    good = big.read_bytes()
    big.unlink()
    big.write_bytes(good + b"\0" * 20_000_000)
    number = 6
    ask = f"GET /picture/0/{run_id}/{number} HTTP/1.1\r\nHost: 127.0.0.1:{review.port}\r\n\r\n".encode()
    deaf = [socket.create_connection(("127.0.0.1", review.port)) for _ in range(10)]
    for one in deaf:
        one.sendall(ask)
    assert review.ask("/api/queue").status == 200
    assert review.ask("/").status == 200
    for one in deaf:
        one.close()


def test_what_is_said_slowly_is_given_up(standing, monkeypatch):
    from runner.review import heard

    monkeypatch.setattr(heard, "SAID_WITHIN_S", 0.3)
    one = socket.create_connection(("127.0.0.1", standing.port))
    head = (
        f"POST /api/rule HTTP/1.1\r\nHost: 127.0.0.1:{standing.port}\r\nContent-Type: application/json\r\n"
        f"X-Trialcell-Token: {standing.secret}\r\nContent-Length: 100\r\n\r\n{{"
    )
    one.sendall(head.encode())
    one.settimeout(20)
    assert b" 408 " in one.recv(200)
    one.close()


@pytest.mark.slow
def test_a_thousand_requests_at_once_are_all_answered(standing):
    run_id, stage = standing.queue(1.0)[0]
    paths = ["/api/queue", f"/api/step/0/{run_id}/{stage}", f"/picture/0/{run_id}/0", "/runs", "/static/common.js"]
    gate = threading.Barrier(250)

    def ask(number):
        if number < 250:
            gate.wait(30)
        return standing.ask(paths[number % len(paths)]).status

    with ThreadPoolExecutor(250) as pool:
        statuses = list(pool.map(ask, range(1000)))
    assert statuses == [200] * 1000


@pytest.mark.slow
def test_a_thousand_connections_held_open_at_once_are_all_answered(standing):
    held = [socket.create_connection(("127.0.0.1", standing.port)) for _ in range(1000)]
    for one in held:
        one.sendall(f"GET /api/stopped/0 HTTP/1.1\r\nHost: 127.0.0.1:{standing.port}\r\n\r\n".encode())
    for one in held:
        one.settimeout(60)
        assert one.recv(4000).startswith(b"HTTP/1.1 200 ")
        one.close()


def damaged(cell, names):
    """One run of each kind of damage."""
    runs = sorted(path for path in (cell / "runs").glob("run_*") if path.is_dir())
    for kind, folder in zip(names, runs, strict=False):
        log = folder / "run.json"
        if kind == "cut off":
            log.write_bytes(log.read_bytes()[:200])
        elif kind == "empty":
            log.unlink()
        elif kind == "newer":
            log.write_text('{"schema_version": 99}')
        elif kind == "rulings":
            (folder / "rulings.jsonl").write_text("not JSON\n")
        elif kind == "a folder":
            log.unlink()
            log.mkdir()
    return [folder.name for folder in runs[: len(names)]]


def test_broken_runs_stop_nothing_and_are_named(review):
    names = damaged(review.cell, ["cut off", "empty", "newer", "rulings", "a folder"])
    time.sleep(1.1)  # the index is looked after once a second
    found = review.ask("/api/queue").object
    assert sorted(run["run_id"] for run in found["unreadable"]) == sorted(names)
    assert all(run["problem"] for run in found["unreadable"])
    assert len(found["items"]) > 100
    for path in ("/", "/live", "/runs", "/api/live/0"):
        assert review.ask(path).status == 200
    assert names[0] in review.ask("/runs?result=unreadable").text
    for name in names:
        page = review.ask(f"/run/0/{name}")
        assert page.status in (404, 500)
        assert "Traceback" not in page.text
        assert "trialcell made a mistake" not in page.text


@pytest.mark.slow
def test_a_broken_run_among_a_thousand_is_named(serve, tmp_path, generator):
    generator.make_runs(tmp_path / "many" / "runs", 1000)
    (name,) = damaged(tmp_path / "many", ["cut off"])
    served = serve(tmp_path / "many", share=1.0).open()
    found = served.ask("/api/queue").object
    assert [run["run_id"] for run in found["unreadable"]] == [name]
    assert len(found["items"]) == 500
    assert found["total"] > 1900
    assert "page=2" in served.ask("/runs").text


def test_a_port_that_is_taken_is_named(standing):
    with pytest.raises(AddressTaken, match="another program listens there"):
        ReviewServer([standing.cell], port=standing.port, version="test")
