# SPDX-License-Identifier: Apache-2.0
"""The truth that `koto-l3 simulate` writes beside its events."""
from __future__ import annotations

import json
import os
from typing import Any

import numpy as np

from ._events import Events
from ._library import Error
from ._table import Column, Lists, Table, text_column

_UNITS = {"since_spill": "ns", "time": "ns", "energy": "MeV", "deposit": "MeV", "momentum": "MeV/c", "kaon_momentum": "MeV/c", "x": "mm", "y": "mm",
          "z": "mm", "vertex_x": "mm", "vertex_y": "mm", "vertex_z": "mm"}
_LISTS = {"photons": "photon", "charged": "charged", "counters": "counter", "accidental_crystals": "crystal"}


def _column(name: str, values: list[Any]) -> Column:
    if any(isinstance(v, str) for v in values):
        return text_column(values)
    valid = np.array([v is not None for v in values], bool)
    kind = np.float64 if any(isinstance(v, float) for v in values) or not valid.all() else None
    return Column(np.array([np.nan if v is None else v for v in values], kind), None if valid.all() else valid, _UNITS.get(name, ""))


def _columns(records: list[dict[str, Any]]) -> dict[str, Column]:
    names = dict.fromkeys(name for r in records for name in r)
    return {name: _column(name, [r.get(name) for r in records]) for name in names}


class Truth(Table):
    """A row for each simulated event: its type, the decay vertex, the kaon's momentum, and the lists `photon` (energy, the part that
    it hit, place, time), `charged`, `counter` (hits in counters), `crystal` (accidental ones)."""

    def join(self, events: Events) -> Truth:
        """Returns the truth of each of these events, in their order. Raises `Error` for an event without truth."""
        place = {key: i for i, key in enumerate(zip(self.run.tolist(), self.spill.tolist(), self.event.tolist()))}
        keys = list(zip(*(events.raw[name].tolist() for name in ("run", "spill", "event"))))
        missing = [key for key in keys if key not in place]
        if missing:
            raise Error("no truth for {} events, such as run {}, spill {}, event {}".format(len(missing), *missing[0]))
        rows = np.array([place[key] for key in keys], np.int64)
        return Truth({name: column[rows] for name, column in self.columns.items()}, self.title)


def truth(path: os.PathLike[str] | str, run: int) -> Truth:
    """Reads `FILE.l2raw.truth.jsonl`; the events were sent in this run."""
    with open(path) as file:
        records = [json.loads(line) for line in file]
    for record in records:
        for axis, value in zip("xyz", record.pop("vertex", (None,) * 3)):
            record["vertex_" + axis] = value
    columns: dict[str, Column | Lists] = {"run": Column(np.full(len(records), run, np.uint32))}
    columns |= _columns([{k: v for k, v in r.items() if k not in _LISTS} for r in records])
    for key, name in _LISTS.items():
        lists = [r.get(key, []) for r in records]
        if not any(lists):
            continue
        offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum([len(one) for one in lists])]).astype(np.int64)
        columns[name] = Lists(offsets, _columns([item for one in lists for item in one]))
    return Truth(columns, "truth")
