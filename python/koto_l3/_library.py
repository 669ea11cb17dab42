# SPDX-License-Identifier: Apache-2.0
"""The C library by ctypes: one function here for each of koto_l3/read.h, with numpy arrays in place of pointers.

All names, types, units and meanings of columns come from `l3_read_fields`, so nothing here or above repeats them."""
from __future__ import annotations

import ctypes
import functools
import os
import pathlib
import weakref
from collections.abc import Iterable, Sequence
from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Rows = NDArray[np.uint64]
SONAME = "libkoto-l3-read.so.1"


class Error(Exception):
    """Something cannot be read: the text names the file and the place."""


class State(IntEnum):
    """State of a waveform or an event: the value of `.state`."""
    PRESENT = 0
    NOT_KEPT = 1  #: the menu limits what is kept of its events
    NO_BOARD = 2  #: the event lacks the board or its crate
    OPAQUE = 3  #: the board compressed its samples itself
    UNDECODABLE = 4  #: the board or its crate sent words that are no samples
    DAMAGED = 5  #: its bytes in the file are damaged
    NO_CHANNEL = 6  #: the readout of its session has no such input
    NO_SETTINGS = 7  #: pulses only: the calibration of its session is not known


class Tables(IntEnum):
    """`l3_read_table`"""
    EVENTS = 0
    PHOTONS = 1
    HITS = 2
    DECISIONS = 3
    SESSIONS = 4
    SETTINGS = 5
    LINES = 6
    COUNTERS = 7
    CHANNELS = 8
    DAMAGE = 9
    PULSES = 10


class Field(NamedTuple):
    """The description of a column: `value * scale` is in `unit`."""
    name: str
    dtype: np.dtype[Any] | None  #: None: a text
    nullable: bool
    scale: float
    unit: str
    about: str

    @property
    def null(self) -> Any:
        """Returns the value that marks a missing entry."""
        assert self.dtype is not None
        return np.iinfo(self.dtype).min if self.dtype.kind in "iu" else -np.inf


class _Field(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("type", ctypes.c_int), ("nullable", ctypes.c_int), ("scale", ctypes.c_double),
                ("unit", ctypes.c_char_p), ("about", ctypes.c_char_p)]


class _Range(ctypes.Structure):
    _fields_ = [("first", ctypes.c_uint64), ("count", ctypes.c_uint64), ("rows", ctypes.c_void_p)]
    kept: Rows  #: what `rows` points to


_TYPES = [np.dtype(t) for t in ("u1", "u2", "u4", "u8", "i2", "i4", "f8")]
_NO_READER, _ERROR = None, -1


def _path() -> str:
    """Of KOTO_L3_READ_LIBRARY; or in the wheel; or in the build folder of a clone; or of the system."""
    here = pathlib.Path(__file__).resolve()
    for path in (here.with_name(SONAME), here.parents[2] / "build" / "reading" / SONAME):
        if path.exists():
            return os.environ.get("KOTO_L3_READ_LIBRARY") or str(path)
    return os.environ.get("KOTO_L3_READ_LIBRARY") or SONAME


@functools.cache
def library() -> ctypes.CDLL:
    try:
        lib = ctypes.CDLL(_path())
    except OSError as e:
        raise ImportError(f"{e}: install the wheel or the package libkoto-l3-read1, or set KOTO_L3_READ_LIBRARY to {SONAME}") from None
    p, size, i64, u64 = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int64, ctypes.c_uint64
    at = ctypes.POINTER(_Range)
    for name, result, *arguments in (
            ("version", ctypes.c_char_p), ("error", ctypes.c_char_p), ("open", p, ctypes.c_char_p, ctypes.c_uint), ("close", None, p),
            ("refresh", i64, p), ("fields", size, ctypes.c_int, ctypes.POINTER(ctypes.POINTER(_Field))), ("size", i64, p, ctypes.c_int),
            ("rows", i64, p, ctypes.c_int, at, p, ctypes.c_int), ("lists", i64, p, ctypes.c_int, at, p, p, u64, ctypes.c_int),
            ("text", ctypes.c_char_p, p, ctypes.c_int, u64, ctypes.c_char_p, p), ("event_json", ctypes.c_char_p, p, u64, p),
            ("samples", i64, p, at, p, size, ctypes.c_uint32, p, p, ctypes.c_int),
            ("pulses", i64, p, at, p, size, ctypes.c_uint32, p, p, ctypes.c_int), ("check", i64, p, at, ctypes.c_int)):
        function = getattr(lib, "l3_read_" + str(name))
        function.restype, function.argtypes = result, arguments
    return lib


def version() -> str:
    """Version of the C library."""
    return str(library().l3_read_version().decode())


@functools.cache
def fields(table: Tables) -> dict[str, Field]:
    """Returns the columns of a table by name, in order."""
    first = ctypes.POINTER(_Field)()
    count = library().l3_read_fields(table, ctypes.byref(first))
    found = []
    for f in first[:count]:
        name = f.name.decode()
        name = "event" if table == Tables.EVENTS and name == "number" else name
        dtype = _TYPES[f.type] if f.type < len(_TYPES) else None
        found.append(Field(name, dtype, bool(f.nullable), f.scale, f.unit.decode(), f.about.decode()))
    return {f.name: f for f in found}


def _range(rows: Rows | range) -> _Range:
    """The C range. Rows one after the other cost no list."""
    n = len(rows)
    if n == 0 or isinstance(rows, range) or (int(rows[-1]) - int(rows[0]) == n - 1 and bool((rows[1:] > rows[:-1]).all())):
        return _Range(int(rows[0]) if n else 0, n, None)
    kept = np.ascontiguousarray(rows, np.uint64)
    found = _Range(0, n, kept.ctypes.data)
    found.kept = kept
    return found


def _pointers(table: Tables, columns: dict[str, Array]) -> ctypes.Array[ctypes.c_void_p]:
    names = fields(table)
    return (ctypes.c_void_p * len(names))(*(columns[name].ctypes.data if name in columns else None for name in names))


def _threads(rows: Rows | range) -> int:
    """Starting threads takes longer than reading the summaries of a few thousand events; 0: all processors."""
    return 1 if len(rows) < 4096 else 0


class Reader:
    """One path that is open. Its methods may be called from several threads, but not beside `refresh`."""

    def __init__(self, path: os.PathLike[str] | str, skip_damaged: bool, check_all: bool) -> None:
        self.path = os.fspath(path)
        self._lib = library()
        handle = self._lib.l3_read_open(os.fsencode(self.path), skip_damaged | check_all << 1)
        if not handle:
            raise self._error()
        self._handle = handle
        self._close = weakref.finalize(self, self._lib.l3_read_close, handle)

    def _error(self) -> Error:
        return Error(self._lib.l3_read_error().decode())

    def _checked(self, result: int) -> int:
        if result == _ERROR:
            raise self._error()
        return result

    def close(self) -> None:
        self._close()

    def refresh(self) -> int:
        """Looks for new blocks, and returns the number of events."""
        return self._checked(self._lib.l3_read_refresh(self._handle))

    def size(self, table: Tables) -> int:
        return self._checked(self._lib.l3_read_size(self._handle, table))

    def rows(self, table: Tables, rows: Rows | range | None = None, names: Iterable[str] | None = None) -> dict[str, Array]:
        """Columns as they are stored, by name: of all rows, and of all fields except texts, unless named."""
        rows = range(self.size(table)) if rows is None else rows
        described = fields(table)
        columns = {n: np.empty(len(rows), described[n].dtype) for n in (described if names is None else names) if described[n].dtype is not None}
        self._checked(self._lib.l3_read_rows(self._handle, table, _range(rows), _pointers(table, columns), _threads(rows)))
        return columns

    def lists(self, table: Tables, rows: Rows | range) -> tuple[Array, dict[str, Array]]:
        """Offsets of the lists of these events, one more than events, and the columns of all lists together."""
        offsets = np.zeros(len(rows) + 1, np.uint64)
        room = 32 * len(rows)  # mostly enough, and memory that is not written costs nothing
        while True:
            columns = {name: np.empty(room, f.dtype) for name, f in fields(table).items()}
            found = self._checked(self._lib.l3_read_lists(self._handle, table, _range(rows), offsets.ctypes.data, _pointers(table, columns), room,
                                                            _threads(rows)))
            if found <= room:
                break
            room = found
        return offsets.astype(np.int64), {name: column[:found] for name, column in columns.items()}

    def texts(self, table: Tables, rows: range, field: str) -> list[str | None]:
        """A text of each of these rows; None where a row has none."""
        text, handle, name = self._lib.l3_read_text, self._handle, field.encode()
        found = [text(handle, table, row, name, None) for row in rows]
        return [None if t is None else t.decode(errors="replace") for t in found]

    def event_json(self, row: int) -> bytes:
        """Returns an event with its detector as JSON, as selection/display/event.js describes it."""
        text = self._lib.l3_read_event_json(self._handle, row, None)
        if text is None:
            raise self._error()
        return bytes(text)

    def samples(self, rows: Rows | range, channels: Array, length: int, out: Array, state: Array, threads: int) -> int:
        """Fills `out` (rows, channels, length) u16 and `state` (rows, channels) u8; returns the number of damaged events."""
        return self._checked(self._lib.l3_read_samples(self._handle, _range(rows), channels.ctypes.data, len(channels), length, out.ctypes.data,
                                                       state.ctypes.data, threads))

    def pulses(self, rows: Rows | range, channels: Array, length: int, columns: dict[str, Array], state: Array, threads: int) -> int:
        """Fills columns (rows, channels, length / 64) and `state` (rows, channels)."""
        return self._checked(self._lib.l3_read_pulses(self._handle, _range(rows), channels.ctypes.data, len(channels), length,
                                                      _pointers(Tables.PULSES, columns), state.ctypes.data, threads))

    def check(self, rows: Rows | range | None = None, threads: int = 0) -> int:
        """Verifies the checksums of the blocks of these events; returns the number of events in damaged blocks."""
        rows = range(self.size(Tables.EVENTS)) if rows is None else rows
        return self._checked(self._lib.l3_read_check(self._handle, _range(rows), threads))


def as_addresses(channels: Sequence[Sequence[int]] | Array) -> Array:
    """(crate, slot, channel) of each channel, as C wants them."""
    return np.ascontiguousarray(np.asarray(channels, np.uint8).reshape(-1, 3))
