# SPDX-License-Identifier: Apache-2.0
"""Columns as Arrow arrays, by pyarrow; other libraries get them through Arrow's C stream interface."""
from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from ._table import Column, Lists

Columns = Mapping[str, Column | Lists]


def _pyarrow() -> Any:
    try:
        import pyarrow  # type: ignore[import-untyped, import-not-found, unused-ignore]
    except ImportError:
        raise ImportError("this needs pyarrow: pip install 'koto-l3[arrow]'") from None
    return pyarrow


def _array(pa: Any, column: Column | Lists) -> Any:
    if isinstance(column, Lists):
        inner = column.columns
        rows = pa.StructArray.from_arrays([_array(pa, c) for c in inner.values()], fields=_fields(pa, inner))
        return pa.ListArray.from_arrays(column.offsets.astype(np.int32), rows)
    return pa.array(column.values, _type(pa, column), mask=None if column.valid is None else ~column.valid)


def _type(pa: Any, column: Column | Lists) -> Any:
    if isinstance(column, Lists):
        return pa.list_(pa.struct(_fields(pa, column.columns)))
    kind = column.values.dtype.kind
    return pa.string() if kind == "O" else pa.timestamp("ns", "UTC") if kind == "M" else pa.from_numpy_dtype(column.values.dtype)


def _fields(pa: Any, columns: Columns) -> list[Any]:
    """With unit and meaning in their metadata."""
    about = {name: {k: v for k, v in (("unit", getattr(c, "unit", "")), ("about", c.about)) if v} for name, c in columns.items()}
    return [pa.field(name, _type(pa, c), metadata=about[name] or None) for name, c in columns.items()]


def stream(example: Columns, batches: Iterator[Columns], requested_schema: object = None) -> object:
    """A capsule with an ArrowArrayStream. `example` has names and types, such as the columns of no event."""
    pa = _pyarrow()
    schema = pa.schema(_fields(pa, example))
    made = (pa.RecordBatch.from_arrays([_array(pa, columns[name]) for name in example], schema=schema) for columns in batches)
    return pa.RecordBatchReader.from_batches(schema, made).__arrow_c_stream__(requested_schema)
