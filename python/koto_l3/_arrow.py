# SPDX-License-Identifier: Apache-2.0
"""Columns as an Arrow C stream, without a library of Arrow: https://arrow.apache.org/docs/format/CDataInterface.html

A consumer copies the structures and calls `release` of each when it is done with it, from any thread. Until then what they
point to is kept in `_alive`, by the number in `private_data`."""
from __future__ import annotations

import ctypes
import itertools
import struct
from collections.abc import Callable, Iterator, Mapping
from ctypes import POINTER, c_char_p, c_int, c_int64, c_void_p
from typing import Any

import numpy as np

from ._library import Array
from ._table import Column, Lists

Columns = Mapping[str, Column | Lists]


class Schema(ctypes.Structure):
    pass


class ArrowArray(ctypes.Structure):
    pass


class Stream(ctypes.Structure):
    pass


_release_schema_t = ctypes.CFUNCTYPE(None, POINTER(Schema))
_release_array_t = ctypes.CFUNCTYPE(None, POINTER(ArrowArray))
_release_stream_t = ctypes.CFUNCTYPE(None, POINTER(Stream))
_get_schema_t = ctypes.CFUNCTYPE(c_int, POINTER(Stream), POINTER(Schema))
_get_next_t = ctypes.CFUNCTYPE(c_int, POINTER(Stream), POINTER(ArrowArray))
_get_error_t = ctypes.CFUNCTYPE(c_void_p, POINTER(Stream))

Schema._fields_ = [("format", c_char_p), ("name", c_char_p), ("metadata", c_void_p), ("flags", c_int64), ("n_children", c_int64),
                   ("children", POINTER(POINTER(Schema))), ("dictionary", c_void_p), ("release", _release_schema_t), ("private_data", c_void_p)]
ArrowArray._fields_ = [("length", c_int64), ("null_count", c_int64), ("offset", c_int64), ("n_buffers", c_int64), ("n_children", c_int64),
                       ("buffers", POINTER(c_void_p)), ("children", POINTER(POINTER(ArrowArray))), ("dictionary", c_void_p),
                       ("release", _release_array_t), ("private_data", c_void_p)]
Stream._fields_ = [("get_schema", _get_schema_t), ("get_next", _get_next_t), ("get_last_error", _get_error_t), ("release", _release_stream_t),
                   ("private_data", c_void_p)]

_NULLABLE = 2
_EIO = 5
_alive: dict[int, Any] = {}
_numbers = itertools.count(1)


def _keep(things: Any) -> int:
    number = next(_numbers)
    _alive[number] = things
    return number


def _releaser(pointer_type: Any) -> Callable[[Any], None]:
    def release(pointer: Any) -> None:
        it = pointer.contents
        for i in range(getattr(it, "n_children", 0)):
            child = it.children[i]
            if child.contents.release:
                child.contents.release(child)
        kept = it.private_data
        it.release = pointer_type()
        _alive.pop(kept, None)
    return release


_release_schema = _release_schema_t(_releaser(_release_schema_t))
_release_array = _release_array_t(_releaser(_release_array_t))

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
    to.format, to.name, to.flags, to.dictionary, to.release = form.encode(), name.encode(), _NULLABLE, None, _release_schema
    to.private_data = None
    packed = _metadata(metadata)
    buffer = ctypes.create_string_buffer(packed, len(packed)) if packed else None
    to.metadata = ctypes.addressof(buffer) if buffer else None
    _set_children(to, schemas, buffer)


def _set_children(to: Any, children: list[Any], more: Any) -> None:
    kind = type(to)
    pointers = (POINTER(kind) * max(1, len(children)))(*map(ctypes.pointer, children))
    to.n_children, to.children = len(children), ctypes.cast(pointers, POINTER(POINTER(kind)))
    previous = _alive.pop(to.private_data, None) if to.private_data else None
    to.private_data = _keep((previous, children, pointers, more))


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
    to.release, to.private_data = _release_array, None
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
    found = _alive[stream.contents.private_data]
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
            out.contents.release = _release_array_t()
        else:
            _fill_array(out.contents, len(next(iter(columns.values()), ())), [None], [columns[name] for name in source.example])
    return source.attempt(fill)


_functions = (_get_schema_t(_get_schema), _get_next_t(_get_next), _get_error_t(lambda s: ctypes.addressof(_source(s).error)),
              _release_stream_t(_releaser(_release_stream_t)))

_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype, _new_capsule.argtypes = ctypes.py_object, (c_void_p, c_char_p, c_void_p)
_pointer_of = ctypes.PYFUNCTYPE(c_void_p, c_void_p, c_char_p)(("PyCapsule_GetPointer", ctypes.pythonapi))
_NAME = b"arrow_array_stream"


def _destroy(capsule: int) -> None:
    stream = ctypes.cast(_pointer_of(capsule, _NAME), POINTER(Stream))
    if stream.contents.release:
        stream.contents.release(stream)
    _streams.pop(ctypes.addressof(stream.contents), None)


_streams: dict[int, Stream] = {}
_destructor = ctypes.PYFUNCTYPE(None, c_void_p)(_destroy)


def stream(example: Columns, batches: Iterator[Columns]) -> object:
    """A capsule with an ArrowArrayStream. `example` has names and types, such as the columns of no event."""
    source = _Source(example, batches)
    it = source.stream
    it.get_schema, it.get_next, it.get_last_error, it.release = _functions
    it.private_data = _keep(source)
    _streams[ctypes.addressof(it)] = it
    return _new_capsule(ctypes.addressof(it), _NAME, ctypes.cast(_destructor, c_void_p))
