"""Files that are whole or not there: atomic replacement, synced appending, hashes.

Whatever hinders a write becomes `StorageUnwritable` with its facts. It never writes to another place instead.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
from collections.abc import Iterable, Iterator
from pathlib import Path

from runs.errors import StorageUnwritable


@contextlib.contextmanager
def storage(path: Path) -> Iterator[None]:
    """Turn what the system says against a write to `path` into our error."""
    try:
        yield
    except OSError as error:
        raise StorageUnwritable(path, (error.strerror or str(error)).lower(), errno=error.errno) from error


def sync_folder(folder: Path) -> None:
    """Make a new or renamed name in `folder` survive a power cut, where the system can."""
    if os.name == "nt":  # a folder can't be opened there
        return
    fd = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def mark_changed(run_folder: Path) -> None:
    """Let a run's folder and the folder of all runs say that something in them changed, so that an index sees it."""
    for folder in (run_folder, run_folder.parent):
        with contextlib.suppress(OSError):  # only told more slowly: a full check looks at the files themselves
            os.utime(folder)


def write_all(fd: int, data: bytes | memoryview) -> None:
    """Write `data` and sync it. A short write is carried on, so that the system says what stands in the way."""
    _write(fd, data)
    os.fsync(fd)


def _write(fd: int, data: bytes | memoryview) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def write_atomic(path: Path, data: bytes) -> None:
    """Put `data` under `path`: whole and synced, or not at all. The folder must be there.

    Raises:
        StorageUnwritable: the disk is full, the folder is missing or may not be written.
    """
    write_atomic_parts(path, [data])


def write_atomic_parts(path: Path, parts: Iterable[bytes | memoryview]) -> None:
    """Put some pieces under `path`, one after the other, like `write_atomic`.

    Raises:
        StorageUnwritable: the disk is full, the folder is missing or may not be written.
    """
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    with storage(path):
        try:
            fd = os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666)
            try:
                for part in parts:
                    _write(fd, part)
                os.fsync(fd)
            finally:
                os.close(fd)
            temporary.replace(path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        sync_folder(path.parent)


def append_synced(fd: int, path: Path, data: bytes) -> None:
    """Add `data` to the end of the file open as `fd` (for appending) and sync it; on failure leave it as it was.

    Raises:
        StorageUnwritable: the disk is full or the file may not grow.
    """
    with storage(path):
        before = os.fstat(fd).st_size
        try:
            write_all(fd, data)
        except OSError:
            with contextlib.suppress(OSError):
                os.ftruncate(fd, before)
            raise


def sha256_hex(data: bytes | memoryview) -> str:
    """The SHA-256 of some bytes, as the log writes it: 64 hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()


def append_line(path: Path, line: bytes) -> None:
    """Add one line to a history file, made on first use.

    Raises:
        StorageUnwritable: see `append_synced`.
    """
    with storage(path):
        fd = os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o666)
    try:
        append_synced(fd, path, line + b"\n")
    finally:
        os.close(fd)
