# SPDX-License-Identifier: Apache-2.0
"""Columns with units, and tables of them. A table speaks to numpy by its items, and to Arrow, polars, pandas and DuckDB by
`__arrow_c_stream__`."""
from __future__ import annotations

import html
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._library import Array, Field


@dataclass(frozen=True)
class Column:
    """Values of one kind, a row each. `valid` is None if every row has a value."""
    values: Array
    valid: NDArray[np.bool_] | None = None
    unit: str = ""
    about: str = ""

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, rows: Any) -> Any:
        if isinstance(rows, int):
            return self.numpy()[rows]
        return Column(self.values[rows], None if self.valid is None else self.valid[rows], self.unit, self.about)

    def numpy(self) -> Array:
        """Returns a numpy array: missing numbers are NaN, missing booleans False, missing texts None."""
        if self.valid is None or bool(self.valid.all()):
            return self.values
        if self.values.dtype.kind == "b":
            return np.asarray(self.values & self.valid)
        absent: Any = None if self.values.dtype.kind == "O" else np.nan
        return np.asarray(np.where(self.valid, self.values, absent))


@dataclass(frozen=True)
class Lists:
    """A list of records for each row: those of row i are offsets[i] … offsets[i + 1] − 1 of the columns."""
    offsets: NDArray[np.int64]
    columns: dict[str, Column]
    about: str = ""

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, rows: Any) -> Lists:
        if isinstance(rows, slice) and rows.step is None:
            first, last, _ = rows.indices(len(self))
            offsets = self.offsets[first:max(first, last) + 1]
            inner: Any = slice(int(offsets[0]), int(offsets[-1]))
            return Lists(offsets - offsets[0], {name: c[inner] for name, c in self.columns.items()}, self.about)
        starts, counts = self.offsets[:-1][rows], np.diff(self.offsets)[rows]
        offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
        inner = np.repeat(starts - offsets[:-1], counts) + np.arange(offsets[-1])
        return Lists(offsets, {name: c[inner] for name, c in self.columns.items()}, self.about)

    def of(self, row: int) -> Table:
        """Returns the list of one row."""
        inner = slice(int(self.offsets[row]), int(self.offsets[row + 1]))
        return Table({name: c[inner] for name, c in self.columns.items()})


def in_units(raw: Array, field: Field) -> Column:
    """Stored integers as MeV, mm, ns; a time of day as datetime64; numbers without unit as they are."""
    valid = raw != field.null if field.nullable else None
    if field.unit.startswith("ns") and raw.dtype == np.uint64:  # since 1970
        return Column(raw.astype("datetime64[ns]"), valid, "UTC", field.about)
    if field.scale == 1 and raw.dtype.kind in "iu":
        return Column(raw, valid, field.unit, field.about)
    per_unit = round(1 / field.scale)
    # 785473 keV / 1000 is 785.473; 785473 keV * 0.001 is not.
    values = raw / np.float64(per_unit) if per_unit * field.scale == 1 else raw * np.float64(field.scale)
    if valid is not None:
        values[~valid] = np.nan
    return Column(values, valid, field.unit, field.about)


def text_column(values: list[str | None], about: str = "") -> Column:
    valid = np.array([v is not None for v in values], bool)
    return Column(np.array(values, object), None if valid.all() else valid, about=about)


class Table(Mapping[str, Any]):
    """Columns of one length, or lists. `t["energy"]` and `t.energy` are numpy arrays, in which a number that is not there is NaN; Arrow
    has nulls there. `t[mask]` is a table of some rows."""

    def __init__(self, columns: Mapping[str, Column | Lists], title: str = "") -> None:
        self.columns = dict(columns)
        self.title = title

    def __getitem__(self, name: Any) -> Any:
        if isinstance(name, str):
            column = self.columns[name]
            return column.numpy() if isinstance(column, Column) else column
        if isinstance(name, (int, np.integer)):
            return {key: column[int(name)] if isinstance(column, Column) else column.of(int(name)) for key, column in self.columns.items()}
        return Table({key: column[name] for key, column in self.columns.items()}, self.title)

    def __getattr__(self, name: str) -> Any:
        if name not in self.__dict__.get("columns", ()):
            raise AttributeError(f"no column {name!r}; there are {', '.join(self.__dict__.get('columns', ()))}")
        return self[name]

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.columns]

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), ()))

    @property
    def units(self) -> dict[str, str]:
        return {name: c.unit for name, c in self.columns.items() if isinstance(c, Column) and c.unit}

    def awkward(self) -> Any:
        """Returns the lists as an awkward array."""
        from ._awkward import array
        return array(self.columns)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        from ._arrow import stream
        return stream(self.columns, iter([self.columns]), requested_schema)

    def _shown(self) -> tuple[list[str], list[list[str]]]:
        n = len(self)
        rows = list(range(n)) if n <= 20 else [*range(10), *range(n - 10, n)]
        items = {name: column[rows] for name, column in self.columns.items() if isinstance(column, Column)}
        cells = [[_cell(v) for v in c.numpy()] for c in items.values()]
        heads = [name + (f"/{c.unit}" if c.unit else "") for name, c in items.items()]
        lines = [list(row) for row in zip(*cells)]
        return heads, lines if n <= 20 else [*lines[:10], ["…"] * len(heads), *lines[10:]]

    def __repr__(self) -> str:
        heads, lines = self._shown()
        widths = [max(map(len, column)) for column in zip(heads, *lines)]
        shown = ["  ".join(cell.rjust(w) for cell, w in zip(row, widths)) for row in [heads, *lines]]
        return "\n".join([f"{self.title}: {len(self)} rows".lstrip(": "), *shown])

    def _repr_html_(self) -> str:
        heads, lines = self._shown()
        head = "".join(f"<th>{html.escape(h)}</th>" for h in heads)
        body = "".join("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in lines)
        return f"<table><caption>{html.escape(self.title)}: {len(self)} rows</caption><tr>{head}</tr>{body}</table>"


def _cell(value: Any) -> str:
    if value is None or value != value:
        return "–"
    if isinstance(value, np.datetime64):
        return str(value)[:19].replace("T", " ")
    if isinstance(value, (float, np.floating)):
        return f"{value:.6g}"
    text = str(value)
    return text if len(text) <= 40 else text[:39] + "…"
