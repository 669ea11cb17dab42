# SPDX-License-Identifier: Apache-2.0
"""Columns as awkward arrays."""
from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ._library import Array
from ._table import Column, Lists

if TYPE_CHECKING:
    from ._events import Events

Buffers = dict[str, Callable[[], Array]]


def _awkward() -> Any:
    try:
        import awkward  # type: ignore[import-untyped, import-not-found, unused-ignore]
    except ImportError:
        raise ImportError("this needs awkward: pip install 'koto-l3[awkward]'") from None
    return awkward


def _form(key: str, example: Column | Lists, load: Callable[[], Any], buffers: Buffers) -> dict[str, Any]:
    """The form of a column, and how to load its buffers. `example` has its type; its rows do not matter."""
    if isinstance(example, Lists):
        buffers[f"{key}-offsets"] = lambda: load().offsets
        inner = [_form(f"{key}.{name}", column, partial(lambda name: load().columns[name], name), buffers) for name, column in example.columns.items()]
        return {"class": "ListOffsetArray", "offsets": "i64", "form_key": key,
                "content": {"class": "RecordArray", "fields": list(example.columns), "contents": inner, "form_key": f"{key}-record"}}
    kind = example.values.dtype
    form: dict[str, Any] = {"class": "NumpyArray", "primitive": str(kind), "form_key": f"{key}-values"}
    buffers[f"{key}-values-data"] = lambda: load().values.reshape(-1)
    for size in reversed(example.values.shape[1:]):
        form = {"class": "RegularArray", "size": size, "content": form, "form_key": f"{key}-{size}"}
    if example.valid is not None or kind.kind == "b":
        form = {"class": "ByteMaskedArray", "mask": "i8", "valid_when": True, "content": form, "form_key": key}

        def mask() -> Array:
            column = load()
            return np.ones(len(column), np.int8) if column.valid is None else column.valid.astype(np.int8)
        buffers[f"{key}-mask"] = mask
    return form


def _made(length: int, forms: dict[str, dict[str, Any]], buffers: Buffers) -> Any:
    form = {"class": "RecordArray", "fields": list(forms), "contents": list(forms.values()), "form_key": "events"}
    return _awkward().from_buffers(form, length, buffers)


def array(columns: Mapping[str, Column | Lists]) -> Any:
    """Columns that are in memory."""
    ak = _awkward()
    contents = {}
    for name, column in columns.items():
        if isinstance(column, Lists):
            contents[name] = ak.Array(ak.contents.ListOffsetArray(ak.index.Index64(column.offsets), ak.to_layout(array(column.columns))))
        elif column.values.dtype.kind == "O":
            contents[name] = ak.from_iter([None if v is None else str(v) for v in column.numpy()])
        else:
            valid = np.ones(len(column), bool) if column.valid is None else column.valid
            contents[name] = ak.Array(column.values) if valid.all() else ak.mask(column.values, valid)
    return ak.zip(contents, depth_limit=1)


def lazy(events: Events) -> Any:
    """All columns of events, read when they are used; `waveform` and `waveform_500` hold the waveforms that are there, `channel`
    being the row of `cables()`."""
    _awkward()
    buffers: Buffers = {}
    forms = {}
    none = events[:0]
    bits = events._bit_names()
    for name in [*events.names, "decision"]:
        forms[name] = _form(name, none._column(name, bits), cache(partial(events._column, name, bits)), buffers)
    for name, length in (("waveform", 64), ("waveform_500", 256)):
        example = Lists(np.zeros(1, np.int64), {"channel": Column(np.empty(0, np.int64)), "samples": Column(np.empty((0, length), np.uint16))})
        forms[name] = _form(name, example, cache(partial(_waveforms, events, length)), buffers)
    return _made(len(events), forms, buffers)


def _waveforms(events: Events, length: int) -> Lists:
    menus = [menu for menu, _ in events._menus() if menu]
    rows = np.flatnonzero(menus[0].channels.length == length) if menus else np.empty(0, np.int64)
    samples = events.samples(rows)
    present = samples.present
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(present.sum(axis=1))])
    return Lists(offsets, {"channel": Column(np.broadcast_to(rows, present.shape)[present]), "samples": Column(samples.data[present])})
