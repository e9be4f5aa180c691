"""The twin behind the arm's own protocol: physics in real time (or faster), firmware, camera and control port.

Time runs by itself here, as at a real desk. It takes no lock on the cell and writes nothing there but its addresses.
When the machine can't keep up, the twin's time runs slower; it never jumps.
"""

from __future__ import annotations

import json
import os
import threading
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from runner.arms.wire import WireFrame
from runner.config import Config
from runner.twin.errors import TwinError
from runner.twin.firmware.commands import Kind
from runner.twin.firmware.faults import firmware_of, parsed, trouble_camera
from runner.twin.firmware.ports import Doors, Reply, WirePorts
from runner.twin.http import Handler, WebServer
from runner.twin.served import Addresses, announced, withdrawn
from runner.twin.setup import Twin, build_twin
from runner.twin.stream import CameraServer
from vision.cameras.protocol import Picture

_TICK_S = 0.004  # between two looks at the clock
_CHUNK_S = 0.02  # physics goes on in pieces this long, so that requests get in between
_BEHIND_S = 0.25  # a lag beyond this is let go: the twin's time then runs slower than asked


class ResetOrder(BaseModel):
    """What a reset may ask for."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)
    seed: int = Field(ge=0)
    block_xz_m: tuple[float, float] | None = None
    box_xz_m: tuple[float, float] | None = None


class PaceOrder(BaseModel):
    """How many of the twin's seconds go into one of ours."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)
    speedup: float = Field(gt=0, le=100)


class ServedTwin:
    """One twin with its servers. `start` listens and returns; `close` ends everything."""

    def __init__(
        self, config: Config, kind: Kind, doors: Doors, *, speedup: float = 1.0, faults: tuple[str, ...] = ()
    ) -> None:
        self.config, self.kind, self.doors = config, kind, doors
        self._speedup, self._faults = speedup, faults
        self._over = threading.Event()
        self._looking = threading.Lock()
        self._before_reset_s = 0.0
        self._closers: list[Any] = []

    def start(self, cell: Path, wire: WirePorts | None = None) -> Addresses:
        """Listen, build the twin, let its time run, and write the addresses into the cell's folder.

        Args:
            wire: the arm's doors, where they are open already.

        Raises:
            UnknownFault: there is no such fault. AddressTaken, NoPseudoTerminal: a door can't be opened.
            StorageUnwritable: the cell can't be written.
        """
        parsed(self._faults)
        doors, wire = self.doors, wire or WirePorts.at(self.doors)
        self._closers.append(wire.close)
        self.twin: Twin = build_twin(self.config, seed=self.config.twin.seed)
        self._closers.append(self.twin.close)
        self.firmware = firmware_of(self.twin, self.kind, self._faults)
        self._faults_anew(self.config.twin.seed)
        self._pump = threading.Thread(target=self._run, name="physics", daemon=True)
        self._pump.start()
        camera = CameraServer(doors.host, doors.camera_port, self._look)
        self._closers.append(camera.close)
        control = WebServer("control", doors.host, doors.control_port, _control_of(self))
        self._closers.append(control.close)
        wire.start(self._handle, lambda: self.firmware.line_is_down)
        addresses = Addresses(
            pid=os.getpid(),
            tcp=None if wire.tcp is None else f"{wire.tcp[0]}:{wire.tcp[1]}",
            pty=wire.pty,
            camera=camera.url,
            control=control.url,
            firmware=self.kind,
            profile=self.config.twin.profile,
        )
        self._announced = announced(cell, addresses)
        return addresses

    def close(self) -> None:
        """Withdraw the addresses and end all servers. Safe more than once."""
        self._over.set()
        if hasattr(self, "_announced"):
            withdrawn(self._announced)
        if hasattr(self, "_pump"):
            self._pump.join(2.0)
        while self._closers:
            self._closers.pop()()

    # What the control port does.

    @property
    def runs(self) -> bool:
        """Whether its time goes on; it does not once it is closed or its physics has broken down."""
        return self._pump.is_alive() and not self._over.is_set()

    def clock(self) -> dict[str, float]:
        """The twin's seconds since it was started, which no reset turns back, and its pace."""
        return {"now_s": self._before_reset_s + self.twin.world.now_s, "speedup": self._speedup}

    def pace(self, order: PaceOrder) -> None:
        """Another pace from now on."""
        self._speedup = order.speedup

    def reset(self, order: ResetOrder) -> None:
        """Everything to the start of a seed, the firmware too.

        Raises:
            StartNotPossible: the given places overlap.
        """
        with self._looking, self.twin.world.lock:
            before_s = self.twin.world.now_s
            self.twin.reset(order.seed, block_xz_m=order.block_xz_m, box_xz_m=order.box_xz_m)
            self._before_reset_s += before_s
            self._faults_anew(order.seed)

    def truth(self) -> dict[str, Any]:
        """How things are, for scoring after the fact; also how often the arm was told to go beyond its limits."""
        with self.twin.world.lock:
            return {**asdict(self.twin.truth()), "beyond_limits": self.firmware.beyond_limits}

    def _faults_anew(self, seed: int) -> None:
        self.firmware.begin(seed)
        trouble_camera(self.twin, self._faults, seed)

    def _look(self) -> Picture:
        with self._looking:
            return self.twin.camera.read().image_bgr

    def _handle(self, request: WireFrame) -> list[Reply]:
        with self.twin.world.lock:
            return self.firmware.handle(request)

    def _run(self) -> None:
        world, last_s, owed_s = self.twin.world, time.monotonic(), 0.0
        while not self._over.wait(_TICK_S):
            now_s = time.monotonic()
            owed_s = min(owed_s + (now_s - last_s) * self._speedup, _BEHIND_S * max(1.0, self._speedup))
            last_s = now_s
            while owed_s > 0 and not self._over.is_set():
                step_s = min(owed_s, _CHUNK_S)
                with world.lock:
                    self.firmware.advance(world, step_s)
                owed_s -= step_s


def _control_of(served: ServedTwin) -> type[Handler]:
    """The control port's handler: GET /clock, GET /truth, POST /reset, POST /clock."""

    class Control(Handler):
        def do_GET(self) -> None:
            ways = {"/clock": served.clock, "/truth": served.truth}
            found = ways.get(self.path)
            if not served.runs:
                self.answer({"error": "its time stands still"}, 503)
            elif found is None:
                self.answer({"error": f"there is no {self.path}", "there_is": sorted(ways)}, 404)
            else:
                self.answer(found())

        def do_POST(self) -> None:
            size = int(self.headers.get("Content-Length") or 0)
            raw = self.rfile.read(min(size, 65_536))
            try:
                told = json.loads(raw or b"{}")
                if self.path == "/reset":
                    served.reset(ResetOrder.model_validate(told))
                elif self.path == "/clock":
                    served.pace(PaceOrder.model_validate(told))
                else:
                    self.answer({"error": f"nothing can be posted to {self.path}"}, 404)
                    return
            except (ValueError, ValidationError) as error:
                self.answer({"error": str(error)}, 400)
            except TwinError as error:
                self.answer({"error": error.message}, 409)
            else:
                self.answer(served.clock())

    return Control
