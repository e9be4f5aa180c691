"""The served twin's camera: a motion-JPEG stream that any network camera's client reads, and single pictures.

A picture is made when somebody takes it, never in advance, so that a client that has just connected gets one of now.
It shows what the camera sees and nothing else.
"""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Callable

import cv2

from runner.twin.http import Handler, WebServer
from vision.cameras.protocol import Picture
from vision.errors import CameraUnavailable

STREAM_PATH, PICTURE_PATH = "/stream.mjpg", "/picture.jpg"
_BOUNDARY = "trialcell"
_QUALITY = 95  # of JPEG; edges stay where they are to a twentieth of a pixel
_AHEAD_BYTES = 65_536  # so that a client that does not read is not drawn for
MAX_PICTURES_S = 20.0


class CameraServer:
    """Serves pictures that `look` takes; it is called from several threads.

    Where `look` finds the camera unavailable, streams end, and nobody gets a new one.
    """

    def __init__(self, host: str, port: int, look: Callable[[], Picture]) -> None:
        """Listen.

        Raises:
            AddressTaken: the port can't be had.
        """
        self._over = threading.Event()
        over = self._over

        class Pictures(Handler):
            def do_GET(self) -> None:
                with contextlib.suppress(OSError, CameraUnavailable):  # the client went away, or the camera did
                    if self.path.partition("?")[0] == STREAM_PATH:
                        self._stream()
                    elif self.path.partition("?")[0] == PICTURE_PATH:
                        self._picture()
                    else:
                        self.answer({"stream": STREAM_PATH, "picture": PICTURE_PATH}, 404)

            def _picture(self) -> None:
                try:
                    data = encoded(look())
                except CameraUnavailable as error:
                    self.answer({"error": error.message}, 503)
                    return
                self.send_response(200)
                self.send_header("Content-Type", "image/jpeg")
                self.send_header("Cache-Control", "no-store")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def _stream(self) -> None:
                self.close_connection = True
                first = encoded(look())  # a camera that gives nothing has no stream either
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _AHEAD_BYTES)
                self.send_response(200)
                self.send_header("Content-Type", f"multipart/x-mixed-replace; boundary={_BOUNDARY}")
                self.send_header("Cache-Control", "no-store")
                self.send_header("Connection", "close")
                self.end_headers()
                while not over.is_set():
                    began_s = time.monotonic()
                    data, first = first or encoded(look()), b""
                    head = f"--{_BOUNDARY}\r\nContent-Type: image/jpeg\r\nContent-Length: {len(data)}\r\n\r\n"
                    self.wfile.write(head.encode() + data + b"\r\n")
                    over.wait(max(0.0, began_s + 1.0 / MAX_PICTURES_S - time.monotonic()))

        self._server = WebServer("camera", host, port, Pictures)

    @property
    def url(self) -> str:
        """The stream's address."""
        return self._server.url + STREAM_PATH

    def close(self) -> None:
        """End all streams and stop listening."""
        self._over.set()
        self._server.close()


def encoded(picture: Picture) -> bytes:
    """A picture as JPEG."""
    _, data = cv2.imencode(".jpg", picture, [cv2.IMWRITE_JPEG_QUALITY, _QUALITY])
    return bytes(data)
