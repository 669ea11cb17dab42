# SPDX-License-Identifier: Apache-2.0
"""`open`: stores, spools and files as one."""
from __future__ import annotations

import glob
import json
import os
import pathlib
import time
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ._events import Events
from ._library import Array, Error, Reader, Tables
from ._settings import Menu, read_table, unknown
from ._table import Column, Table, text_column

Path = os.PathLike[str] | str
NO_SETTINGS = 0xFFFFFFFF


def open(path: Path | Sequence[Path], *, skip_damaged: bool = False, check_all: bool = False) -> Store:
    """Opens a store, a spool, a file of either (`.kl3`), level-2 data (`.l2raw`), or a list of them.

    The list may have ledgers of daemons (`.json`), or folders of them. Then `runs` has the events rejected and shed, and `weight`
    can check whether shedding biased a line. The receiver's ledger in a store does not suffice.

    skip_damaged: leave damaged events out, and list them in `damage`; otherwise they raise `Error`
    check_all:    verify the checksum of a block even if few of its bytes are read
    """
    return Store([path] if isinstance(path, (str, os.PathLike)) else path, skip_damaged, check_all)


def _ledgers(path: str) -> list[dict[str, Any]] | None:
    """None if the path is no ledger and no folder of ledgers."""
    files = sorted(glob.glob(os.path.join(glob.escape(path), "run*.json"))) if os.path.isdir(path) else [path]
    if os.path.isdir(path) and glob.glob(os.path.join(glob.escape(path), "*.kl3")) or not files or not files[0].endswith(".json"):
        return None
    found = []
    for file in files:
        ledger = json.loads(pathlib.Path(file).read_text())
        if ledger.get("ledger") != 1:
            raise Error(f"{file} is not a ledger of koto-l3")
        if ledger["program"] == "koto-l3d":
            found.append(ledger)
    return found


class Store:
    """What `open` returns. Its tables (`runs`, `damage`, `cables()` …) go to numpy, pandas, polars and Arrow."""

    def __init__(self, paths: Sequence[Path], skip_damaged: bool, check_all: bool) -> None:
        self.readers: list[Reader] = []
        self.skip_damaged = skip_damaged
        self.ledgers: dict[int, dict[str, Any]] = {}  #: of daemons, by session
        for path in [os.fspath(p) for p in paths]:
            ledgers = _ledgers(path)
            if ledgers is None:
                self.readers.append(Reader(path, skip_damaged, check_all))
            else:
                self.ledgers.update({int(ledger["session"], 16): ledger for ledger in ledgers})
        self._menus: dict[tuple[int, int], Menu | None] = {}

    def __repr__(self) -> str:
        return f"{', '.join(r.path for r in self.readers)}: {len(self)} events of {len(self.runs)} sessions\n{self.runs!r}"

    def _repr_html_(self) -> str:
        return self.runs._repr_html_()

    def __len__(self) -> int:
        """Number of events, damaged ones included."""
        return sum(r.size(Tables.EVENTS) for r in self.readers)

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        for reader in self.readers:
            reader.close()

    # Tables

    def _joined(self, table: Tables) -> Table:
        parts = [read_table(r, table) for r in self.readers]
        return Table({name: _concatenated([p[name] for p in parts]) for name in parts[0]} if parts else {}, table.name.lower())

    @property
    def runs(self) -> Table:
        """Returns a row for each session of a daemon: its run, node, number of spills with stored events, when its first and last block
        were sealed, menu, events stored; and with its ledger the events admitted, rejected, shed, incomplete."""
        s = self._joined(Tables.SESSIONS)
        index = [(reader, int(row)) for reader in self.readers for row in reader.rows(Tables.SESSIONS, names=["settings"])["settings"]]
        menus = [self._menu_at(*at) for at in index]
        events = self.events()
        keys = events.raw
        of_session = {n: len(np.unique(keys["spill"][keys["session"] == n])) for n in np.unique(keys["session"])} if len(events) else {}
        ledgers = [self.ledgers.get(int(n)) for n in s.session]
        counts = [None if g is None else (g["events"]["admitted"], g["events"]["rejected"], sum(g["events"]["shed"].values()),
                                          sum(c["incomplete"] for c in [*g["spills"], g["earlier_spills"]])) for g in ledgers]
        valid = np.array([c is not None for c in counts], bool)
        columns = {name: s.columns[name] for name in ("run", "node", "session")}
        columns["spills"] = Column(np.array([of_session.get(n, 0) for n in s.session], np.int64))
        columns |= {name: s.columns[name] for name in ("begin", "end")}
        columns["menu"] = text_column([None if m is None or not m.hash else f"{m.hash:08x}{' recorded' if m.record else ''}" for m in menus])
        for i, name in enumerate(("admitted", "rejected", "shed", "incomplete")):
            columns[name] = Column(np.array([c[i] if c else 0 for c in counts], np.int64), None if valid.all() else valid)
        columns["stored"] = s.columns["events"]
        return Table(columns, "runs")

    @property
    def damage(self) -> Table:
        """Damaged places found so far, with `skip_damaged`. `check()` looks for all."""
        return self._joined(Tables.DAMAGE)

    def check(self, threads: int = 0) -> int:
        """Verifies all checksums. Returns the number of events in damaged blocks, or without `skip_damaged` raises `Error`."""
        return sum(reader.check(threads=threads) for reader in self.readers)

    def _menu_at(self, reader: Reader, row: int) -> Menu | None:
        key = (id(reader), row)
        if key not in self._menus and row != NO_SETTINGS:
            self._menus[key] = Menu(reader, row)
        return self._menus.get(key)

    def menus(self, run: int | None = None) -> list[Menu]:
        """Returns the different menus of a run, or of all runs."""
        found: dict[Any, Menu] = {}
        for reader in self.readers:
            s = reader.rows(Tables.SESSIONS, names=["run", "settings"])
            for row in np.unique(s["settings"][(s["run"] == run) | (run is None)]):
                menu = self._menu_at(reader, int(row))
                if menu:
                    found.setdefault((menu.hash, menu.text, menu.detector, menu.calibration), menu)
        return list(found.values())

    def menu(self, run: int | None = None) -> Menu:
        """Returns lines, counters, cables and calibration of a run; `run` is optional if all runs have the same."""
        found = self.menus(run)
        if len(found) == 1:
            return found[0]
        runs = np.unique([n for r in self.readers for n in r.rows(Tables.SESSIONS, names=["run"])["run"]])
        if run is not None and run not in runs:
            raise unknown("run", run, map(str, runs))
        what = f"run {run}" if run is not None else "this store"
        raise Error(f"{what} has {len(found) or 'no'} settings: choose one of menus({run or ''})" if found else f"{what} has no settings")

    def _channels(self, run: int | None) -> Table:
        found = {(menu.detector, menu.calibration): menu.channels for menu in self.menus(run)}
        return next(iter(found.values())) if len(found) == 1 else self.menu(run).channels

    def cables(self, run: int | None = None) -> Table:
        """Returns what each input reads: name, detector, address, module, end; place and size of crystals in mm."""
        table = self._channels(run)
        names = list(table)
        return Table({n: table.columns[n] for n in names[:names.index("dead")]}, "cables")

    def calibration(self, run: int | None = None) -> Table:
        """Returns the constants of each input: dead, gain, time, least height, pedestal, noise."""
        table = self._channels(run)
        names = list(table)
        keys = [n for n in ("name", "crate", "slot", "channel") if n in names]
        return Table({n: table.columns[n] for n in [*keys, *names[names.index("dead"):]]}, "calibration")

    # Events

    def events(self, run: int | Sequence[int] | None = None, *, kept_by: str | Sequence[str] | None = None,
               fired: str | Sequence[str] | None = None, node: int | None = None, session: int | None = None,
               spill: int | None = None) -> Events:
        """Returns the events that meet all conditions, in stored order.

        kept_by, fired: one line or several; at least one of them kept the event, or fired before its prescale
        """
        parts = []
        for reader in self.readers:
            rows = np.arange(reader.size(Tables.EVENTS), dtype=np.uint64)
            wanted: dict[str, Any] = {"run": run, "node": node, "session": session}
            wanted = {name: value for name, value in wanted.items() if value is not None}
            if wanted:
                columns = reader.rows(Tables.EVENTS, names=wanted)
                rows = rows[np.logical_and.reduce([np.isin(columns[name], value) for name, value in wanted.items()])]
            parts.append((reader, rows))
        found = Events(self, parts)
        if self.skip_damaged:
            found = found[found.raw["state"] == 0]
        if spill is not None:
            found = found[found.raw["spill"] == spill]
        for lines, what in ((kept_by, "kept_by"), (fired, "fired")):
            if lines is not None:
                names = [lines] if isinstance(lines, str) else lines
                found = found[np.logical_or.reduce([found.line(name, what) for name in names])] if len(found) else found
        return found

    def refresh(self) -> int:
        """Looks for new blocks, and returns the number of events."""
        return sum(reader.refresh() for reader in self.readers)

    def follow(self, *, poll: float = 1.0, idle: float | None = None, new_only: bool = False) -> Iterator[Events]:
        """Yields batches of events of a store that is being written: first the stored ones, unless `new_only`, then new ones as
        their blocks are complete.

        poll: seconds between two looks
        idle: end after this many seconds without a new event; None: never
        """
        seen = [r.size(Tables.EVENTS) if new_only else 0 for r in self.readers]
        last = time.monotonic()
        while idle is None or time.monotonic() - last <= idle:
            self.refresh()
            parts = [(r, np.arange(n, r.size(Tables.EVENTS), dtype=np.uint64)) for r, n in zip(self.readers, seen)]
            seen = [n + len(rows) for n, (_, rows) in zip(seen, parts)]
            if any(len(rows) for _, rows in parts):
                found = Events(self, parts)
                yield found[found.raw["state"] == 0] if self.skip_damaged else found
                last = time.monotonic()
            else:
                time.sleep(poll)

    def shed_by_priority(self, sessions: Array) -> None:
        """Raises `Error` if one of these sessions shed events by priority, and warns if that is not known."""
        unknown_sessions = [int(n) for n in sessions if int(n) not in self.ledgers or not self.ledgers[int(n)]["ended"]]
        for n in sessions:
            shed = self.ledgers.get(int(n), {"events": {"shed": {}}})["events"]["shed"].get("priority", 0)
            if shed:
                raise Error(f"session {int(n):016x} shed {shed} events by priority, so events of a line no longer stand for a known number")
        if unknown_sessions:
            warnings.warn(f"no complete ledger of {len(unknown_sessions)} session(s), such as {unknown_sessions[0]:016x}: weights are right if it shed "
                          "nothing by priority; open the ledgers, too: open([store, ledgers])", stacklevel=3)


def _concatenated(columns: list[Column]) -> Column:
    valid = None if all(c.valid is None for c in columns) else np.concatenate(
        [np.ones(len(c), bool) if c.valid is None else c.valid for c in columns])
    return Column(np.concatenate([c.values for c in columns]), valid, columns[0].unit, columns[0].about)
