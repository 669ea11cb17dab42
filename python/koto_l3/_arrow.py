# SPDX-License-Identifier: Apache-2.0
"""Columns as an Arrow C stream, without a library of Arrow: https://arrow.apache.org/docs/format/CDataInterface.html

A consumer copies the structures and calls `release` of each when it is done with it, from any thread. Until then what they
point to is kept in `_alive`."""
from __future__ import annotations

import ctypes
import functools
import struct
from collections.abc import Callable, Iterator, Mapping
from ctypes import POINTER, c_char_p, c_int, c_int64, c_void_p
from typing import Any

import numpy as np

from ._library import Array, library
from ._table import Column, Lists

Columns = Mapping[str, Column | Lists]


class Schema(ctypes.Structure):
    pass


class ArrowArray(ctypes.Structure):
    pass


class Stream(ctypes.Structure):
    pass


_get_schema_t = ctypes.CFUNCTYPE(c_int, POINTER(Stream), POINTER(Schema))
_get_next_t = ctypes.CFUNCTYPE(c_int, POINTER(Stream), POINTER(ArrowArray))
_get_error_t = ctypes.CFUNCTYPE(c_void_p, POINTER(Stream))

Schema._fields_ = [("format", c_char_p), ("name", c_char_p), ("metadata", c_void_p), ("flags", c_int64), ("n_children", c_int64),
                   ("children", POINTER(POINTER(Schema))), ("dictionary", c_void_p), ("release", c_void_p), ("private_data", c_void_p)]
ArrowArray._fields_ = [("length", c_int64), ("null_count", c_int64), ("offset", c_int64), ("n_buffers", c_int64), ("n_children", c_int64),
                       ("buffers", POINTER(c_void_p)), ("children", POINTER(POINTER(ArrowArray))), ("dictionary", c_void_p),
                       ("release", c_void_p), ("private_data", c_void_p)]
Stream._fields_ = [("get_schema", _get_schema_t), ("get_next", _get_next_t), ("get_last_error", _get_error_t), ("release", c_void_p),
                   ("private_data", c_void_p)]

_NULLABLE = 2
_EIO = 5


class _Held(ctypes.Structure):
    """`l3_read_held`: set when the consumer is done."""
    _fields_ = [("released", ctypes.c_int32), ("schedule", c_void_p), ("sweep", c_void_p)]


_alive: dict[int, tuple[_Held, Any]] = {}  # by the address of _Held


def _sweep(_: int | None = None) -> int:
    """Drops what no consumer needs any more. The main thread calls it soon after a release."""
    for address, (held, _things) in list(_alive.items()):
        if held.released:
            del _alive[address]
    return 0


_sweep_in_c = ctypes.CFUNCTYPE(c_int, c_void_p)(_sweep)
_schedule = ctypes.cast(ctypes.pythonapi.Py_AddPendingCall, c_void_p).value


def _keep(things: Any) -> int:
    held = _Held(0, _schedule, ctypes.cast(_sweep_in_c, c_void_p).value)
    _alive[ctypes.addressof(held)] = held, things
    return ctypes.addressof(held)


@functools.cache
def _release(kind: str) -> int:
    """The address of a function of the C library: Python must not run when a consumer releases, because an exception may be
    pending then."""
    return ctypes.cast(getattr(library(), f"l3_read_release_{kind}"), c_void_p).value or 0


_FORMATS = {"b": "b", "u1": "C", "u2": "S", "u4": "I", "u8": "L", "i1": "c", "i2": "s", "i4": "i", "i8": "l", "f4": "f", "f8": "g"}


def _format(values: Array) -> str:
    kind = values.dtype.kind
    if kind == "O":
        return "u"
    if kind == "M":
        return "tsn:UTC"
    return _FORMATS["b" if kind == "b" else f"{kind}{values.dtype.itemsize}"]


def _metadata(pairs: Mapping[str, str]) -> bytes | None:
    texts = [t.encode() for pair in pairs.items() if pair[1] for t in pair]
    return struct.pack("=i", len(texts) // 2) + b"".join(struct.pack("=i", len(t)) + t for t in texts) if texts else None


def _fill_schema(to: Schema, name: str, form: str, metadata: Mapping[str, str], children: list[tuple[str, Column | Lists]]) -> None:
    schemas = [Schema() for _ in children]
    for schema, (child, column) in zip(schemas, children):
        if isinstance(column, Lists):
            item = [("item", column)]
            _fill_schema(schema, child, "+l", {"about": column.about}, [])
            inner = Schema()
            _fill_schema(inner, "item", "+s", {}, list(column.columns.items()))
            _set_children(schema, [inner], item)
        else:
            _fill_schema(schema, child, _format(column.values), {"unit": column.unit, "about": column.about}, [])
    to.format, to.name, to.flags, to.dictionary, to.release = form.encode(), name.encode(), _NULLABLE, None, _release("schema")
    to.private_data = None
    packed = _metadata(metadata)
    buffer = ctypes.create_string_buffer(packed, len(packed)) if packed else None
    to.metadata = ctypes.addressof(buffer) if buffer else None
    _set_children(to, schemas, buffer)


def _set_children(to: Any, children: list[Any], more: Any) -> None:
    kind = type(to)
    pointers = (POINTER(kind) * max(1, len(children)))(*map(ctypes.pointer, children))
    to.n_children, to.children = len(children), ctypes.cast(pointers, POINTER(POINTER(kind)))
    to.private_data = _keep((children, pointers, more, _alive.pop(to.private_data or 0, None)))


def _bits(values: Array) -> Array:
    return np.packbits(values.astype(bool), bitorder="little")


def _buffers(column: Column) -> list[Array | None]:
    valid = None if column.valid is None or bool(column.valid.all()) else _bits(column.valid)
    values = column.values
    if values.dtype.kind == "O":
        texts = [str(v).encode() if v is not None else b"" for v in values]
        offsets = np.zeros(len(texts) + 1, np.int32)
        np.cumsum([len(t) for t in texts], out=offsets[1:])
        return [valid, offsets, np.frombuffer(b"".join(texts) or b"\0", np.uint8)]
    return [valid, _bits(values) if values.dtype.kind == "b" else np.ascontiguousarray(values)]


def _fill_array(to: ArrowArray, length: int, buffers: list[Array | None], children: list[Column | Lists], nulls: int = 0) -> None:
    arrays = [ArrowArray() for _ in children]
    for array, column in zip(arrays, children):
        if isinstance(column, Lists):
            inner = ArrowArray()
            _fill_array(inner, int(column.offsets[-1]), [None], list(column.columns.values()))
            _fill_array(array, len(column), [None, column.offsets.astype(np.int32)], [])
            _set_children(array, [inner], None)
        else:
            _fill_array(array, len(column), _buffers(column), [], 0 if column.valid is None else int(len(column) - column.valid.sum()))
    pointers = (c_void_p * len(buffers))(*(None if b is None else b.ctypes.data for b in buffers))
    to.length, to.null_count, to.offset, to.n_buffers, to.dictionary = length, nulls, 0, len(buffers), None
    to.release, to.private_data = _release("array"), None
    to.buffers = ctypes.cast(pointers, POINTER(c_void_p))
    _set_children(to, arrays, (pointers, buffers))


class _Source:
    """What a stream reads from."""

    def __init__(self, example: Columns, batches: Iterator[Columns]) -> None:
        self.example, self.batches, self.stream = example, batches, Stream()
        self.error = ctypes.create_string_buffer(b"")

    def attempt(self, fill: Callable[[], None]) -> int:
        try:
            fill()
        except BaseException as e:  # noqa: BLE001 nothing may pass through C
            self.error = ctypes.create_string_buffer(f"{type(e).__name__}: {e}".encode())
            return _EIO
        return 0


def _source(stream: Any) -> _Source:
    found = _alive[stream.contents.private_data][1]
    assert isinstance(found, _Source)
    return found


def _get_schema(stream: Any, out: Any) -> int:
    source = _source(stream)
    return source.attempt(lambda: _fill_schema(out.contents, "", "+s", {}, list(source.example.items())))


def _get_next(stream: Any, out: Any) -> int:
    source = _source(stream)

    def fill() -> None:
        columns = next(source.batches, None)
        if columns is None:
            out.contents.release = None
        else:
            _fill_array(out.contents, len(next(iter(columns.values()), ())), [None], [columns[name] for name in source.example])
    return source.attempt(fill)


_functions = _get_schema_t(_get_schema), _get_next_t(_get_next), _get_error_t(lambda s: ctypes.addressof(_source(s).error))

_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype, _new_capsule.argtypes = ctypes.py_object, (c_void_p, c_char_p, c_void_p)
_streams: list[Stream] = []  # a capsule may be looked at again after it was used


def stream(example: Columns, batches: Iterator[Columns]) -> object:
    """A capsule with an ArrowArrayStream. `example` has names and types, such as the columns of no event.

    The capsule has no destructor, for the same reason as `_release`. A stream that is never read therefore keeps its source in
    memory; consumers normally read and release it at once."""
    _sweep()
    source = _Source(example, batches)
    it = source.stream
    it.get_schema, it.get_next, it.get_last_error = _functions
    it.release, it.private_data = _release("stream"), _keep(source)
    _streams.append(it)
    return _new_capsule(ctypes.addressof(it), b"arrow_array_stream", None)
