"""A disk whose power can be cut: what SQLite writes is written down, and any moment of it can be made again.

What was not synced by then is there, or not, or torn inside: a disk promises nothing about it, not even an order.
"""

from __future__ import annotations

import _sqlite3
import ctypes
import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from ctypes import CFUNCTYPE, POINTER, Structure, byref, c_char_p, c_int, c_int64, c_void_p, cast, string_at
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

SECTOR = 512

_OPEN = CFUNCTYPE(c_int, c_void_p, c_void_p, c_void_p, c_int, c_void_p)
_WRITE = CFUNCTYPE(c_int, c_void_p, c_void_p, c_int, c_int64)
_TRUNCATE = CFUNCTYPE(c_int, c_void_p, c_int64)
_SYNC = CFUNCTYPE(c_int, c_void_p, c_int)


class _Vfs(Structure):
    """SQLite's idea of an operating system, as its header has it."""


_Vfs._fields_ = [
    ("iVersion", c_int), ("szOsFile", c_int), ("mxPathname", c_int), ("pNext", c_void_p), ("zName", c_char_p),
    ("pAppData", c_void_p), ("xOpen", c_void_p),
    *((name, c_void_p) for name in (
        "xDelete", "xAccess", "xFullPathname", "xDlOpen", "xDlError", "xDlSym", "xDlClose", "xRandomness", "xSleep",
        "xCurrentTime", "xGetLastError", "xCurrentTimeInt64", "xSetSystemCall", "xGetSystemCall", "xNextSystemCall",
    )),
]  # fmt: skip


class _Methods(Structure):
    """What SQLite does with an open file."""


_Methods._fields_ = [
    ("iVersion", c_int),
    *((name, c_void_p) for name in (
        "xClose", "xRead", "xWrite", "xTruncate", "xSync", "xFileSize", "xLock", "xUnlock", "xCheckReservedLock",
        "xFileControl", "xSectorSize", "xDeviceCharacteristics", "xShmMap", "xShmLock", "xShmBarrier", "xShmUnmap", "xFetch",
        "xUnfetch",
    )),
]  # fmt: skip


@dataclass(frozen=True)
class Op:
    """One thing that was done to a file, or that somebody was told."""

    kind: str
    """`write`, `truncate`, `sync`, or `told`."""
    file: str = ""
    at: int = 0
    content: bytes = b""
    words: tuple[Any, ...] = ()


@dataclass
class Tape:
    """Everything that was done, in order."""

    ops: list[Op] = field(default_factory=list)

    def told(self, *words: Any) -> None:
        """From here on somebody relies on it."""
        self.ops.append(Op("told", words=words))

    def cut(self, at: int, chance: random.Random, folder: Path) -> list[tuple[Any, ...]]:
        """Make the files as a power cut after so many operations may leave them; what had been told by then."""
        safe: dict[str, bytearray] = {}
        pending: dict[str, list[Op]] = {}
        for op in self.ops[:at]:
            if op.kind == "sync":
                for done in pending.pop(op.file, []):
                    _do(safe.setdefault(done.file, bytearray()), done)
            elif op.kind != "told":
                pending.setdefault(op.file, []).append(op)
        for op in [op for ops in pending.values() for op in ops]:
            _do(safe.setdefault(op.file, bytearray()), _torn(op, chance))
        for name, content in safe.items():
            (folder / name).write_bytes(content)
        return [op.words for op in self.ops[:at] if op.kind == "told"]


def _torn(op: Op, chance: random.Random) -> Op:
    """What a power cut makes of an operation that was not synced: all of it, nothing, or some of its sectors."""
    fate = chance.choice(("done", "lost", "torn"))
    if fate == "done" or (fate == "torn" and op.kind != "write"):
        return op
    if fate == "lost":
        return Op("nothing", op.file)
    return Op("write", op.file, op.at, op.content[: chance.randrange(0, len(op.content) + 1, SECTOR)])


def _do(content: bytearray, op: Op) -> None:
    if op.kind == "truncate":
        del content[op.at :]
    elif op.kind == "write":
        content.extend(bytes(max(0, op.at - len(content))))
        content[op.at : op.at + len(op.content)] = op.content


@contextmanager
def recorded(names: Sequence[str]) -> Iterator[Tape]:
    """Write down what SQLite does to the files of these names, in this process and until the block ends."""
    # The very SQLite that Python uses; some builds have it inside the program itself.
    sqlite = ctypes.CDLL(getattr(_sqlite3, "__file__", None))
    sqlite.sqlite3_vfs_find.restype = POINTER(_Vfs)
    real = sqlite.sqlite3_vfs_find(None)
    tape, places = Tape(), dict[int, str]()
    methods, kept = dict[int, int](), list[Any]()

    def patched(address: int) -> int:
        """The methods of a file, with those that change it written down."""
        if address not in methods:
            ours = _Methods.from_buffer_copy(_Methods.from_address(address))
            write, truncate, sync = _WRITE(ours.xWrite), _TRUNCATE(ours.xTruncate), _SYNC(ours.xSync)

            def on_write(file: int, content: int, size: int, at: int) -> int:
                tape.ops.append(Op("write", places[file], at, string_at(content, size)))
                return int(write(file, content, size, at))

            def on_truncate(file: int, size: int) -> int:
                tape.ops.append(Op("truncate", places[file], size))
                return int(truncate(file, size))

            def on_sync(file: int, flags: int) -> int:
                done = int(sync(file, flags))
                tape.ops.append(Op("sync", places[file]))
                return done

            calls = (_WRITE(on_write), _TRUNCATE(on_truncate), _SYNC(on_sync))
            ours.xWrite, ours.xTruncate, ours.xSync = (cast(call, c_void_p).value for call in calls)
            kept.extend((ours, *calls))
            methods[address] = ctypes.addressof(ours)
        return methods[address]

    real_open = _OPEN(real.contents.xOpen)

    def on_open(_: int, name: int | None, file: int, flags: int, out: int) -> int:
        # The name goes on by its address: SQLite keeps more behind it.
        code = int(real_open(ctypes.addressof(real.contents), name, file, flags, out))
        short = Path(string_at(name).decode()).name if name else ""
        if code == 0 and short in names:
            places[file] = short
            pointer = c_void_p.from_address(file)
            pointer.value = patched(int(pointer.value or 0))
        return code

    vfs, opener = _Vfs.from_buffer_copy(real.contents), _OPEN(on_open)
    vfs.zName, vfs.xOpen = b"recorded", cast(opener, c_void_p).value
    sqlite.sqlite3_vfs_register(byref(vfs), 1)
    try:
        yield tape
    finally:
        sqlite.sqlite3_vfs_unregister(byref(vfs))
        sqlite.sqlite3_vfs_register(real, 1)
