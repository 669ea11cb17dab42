# SPDX-License-Identifier: Apache-2.0
"""What decided the events of a session: lines, counters, channels with their calibration, as the store holds them."""
from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ._library import Array, Error, Reader, Tables, as_addresses, fields
from ._table import Column, Table, in_units, text_column


def read_table(reader: Reader, table: Tables, rows: range | None = None) -> dict[str, Column]:
    """Returns a table of a reader in units, with its texts."""
    rows = range(reader.size(table)) if rows is None else rows
    raw = reader.rows(table, rows)
    return {name: text_column(reader.texts(table, rows, name), f.about) if f.dtype is None else in_units(raw[name], f)
            for name, f in fields(table).items()}


def unknown(kind: str, name: object, known: Iterable[str]) -> KeyError:
    """An error that names what there is."""
    names = list(dict.fromkeys(known))
    near = difflib.get_close_matches(str(name), names, 3)
    there_are = f"did you mean {' or '.join(near)}?" if near else f"there are {', '.join(names[:40]) or 'none'}"
    return KeyError(f"no {kind} {name!r}; {there_are}")


class Menu:
    """The menu and the constants of one set of settings. `lines`: bits, prescales, payloads; `counters`: bits, thresholds, windows;
    `channels`: every input with its detector part, its place and its calibration; `text`, `detector`, `calibration`: the files
    as they were read; `software`: the program that decided; `hash`: of the summaries (0: no selection)."""

    def __init__(self, reader: Reader, row: int) -> None:
        one = range(row, row + 1)
        head = Table(read_table(reader, Tables.SETTINGS, one))[0]
        self.hash, self.record = int(head["hash"]), bool(head["record"])
        self.software, self.text, self.detector, self.calibration = (str(head[k] or "") for k in ("software", "menu", "detector", "calibration"))
        self.lines, self.counters, self.channels = (self._part(reader, table, row) for table in (Tables.LINES, Tables.COUNTERS, Tables.CHANNELS))
        self.line_bits = {str(name): int(bit) for name, bit in zip(self.lines.name, self.lines.bit)}
        self.counter_bits = {str(name): int(bit) for name, bit in zip(self.counters.name, self.counters.bit)}
        self._addresses = as_addresses(np.stack([self.channels[c] for c in ("crate", "slot", "channel")], axis=-1))
        self._lengths = self.channels.length
        self._row_of = {str(name): row for row, name in enumerate(self.channels.name) if name}

    @staticmethod
    def _part(reader: Reader, table: Tables, row: int) -> Table:
        of = reader.rows(table, names=["settings"])["settings"]
        first, last = np.searchsorted(of, [row, row + 1])
        columns = read_table(reader, table, range(int(first), int(last)))
        del columns["settings"]
        texts = [name for name in columns if name in ("name", "detector")]
        return Table({name: columns[name] for name in [*texts, *(n for n in columns if n not in texts)]}, table.name.lower())

    def __repr__(self) -> str:
        return f"menu {self.hash:08x} of {self.software}\n{self.lines!r}"

    def _repr_html_(self) -> str:
        return f"<p>menu {self.hash:08x} of {self.software}</p>" + self.lines._repr_html_()

    def find(self, channels: Any) -> tuple[Array, int]:
        """Returns rows of `channels`, and the samples of their waveforms, for a name ("crystal 17"), a detector ("CSI", "CBAR"), an address
        (crate, slot, channel), a row, or several of these."""
        table = self.channels
        if isinstance(channels, str):
            row = self._row_of.get(channels)
            rows = np.flatnonzero(table.detector == channels) if row is None else np.array([row])
            if not len(rows):
                raise unknown("channel", channels, [*table.detector[table.kind > 0], *table.name[table.kind > 0]])
        elif isinstance(channels, tuple) and len(channels) == 3 and all(isinstance(c, (int, np.integer)) for c in channels):
            rows = np.flatnonzero((table.crate == channels[0]) & (table.slot == channels[1]) & (table.channel == channels[2]))
            if not len(rows):
                raise unknown("channel", channels, ["{}/{}/{} and others".format(*(table[c][0] for c in ("crate", "slot", "channel")))])
        elif isinstance(channels, np.ndarray) and channels.dtype.kind in "iub":
            rows = np.flatnonzero(channels) if channels.dtype.kind == "b" else channels
        elif isinstance(channels, (int, np.integer)):
            rows = np.array([channels])
        elif isinstance(channels, Sequence):
            rows = np.concatenate([np.empty(0, int), *(self.find(c)[0] for c in channels)])
        else:
            raise TypeError(f"channels are names, addresses (crate, slot, channel) or rows of cables(), not {channels!r}")
        lengths = self._lengths[rows]
        if len(rows) and lengths.min() != lengths.max():
            raise Error(f"{channels!r} has waveforms of 64 and of 256 samples: ask for them one after the other")
        return rows, int(lengths[0]) if len(rows) else 64

    def addresses(self, rows: Array) -> Array:
        """Returns (crate, slot, channel) of rows of `channels`."""
        return np.take(self._addresses, rows, axis=0)
