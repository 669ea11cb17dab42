# SPDX-License-Identifier: Apache-2.0
"""Events of a store: columns, lists, samples, pulses, weights."""
from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ._library import Array, Error, Reader, Rows, Tables, fields
from ._settings import Menu, unknown
from ._table import Column, Lists, Table, in_units
from ._waveforms import Pulses, Waveforms, waveforms

if TYPE_CHECKING:
    from ._event import Event
    from ._store import Store

KEYS = ("run", "node", "session", "spill", "event")
_INDEX = ("session", "run", "node", "settings")  # known without reading from disk
_BITS = ("settings", "state", "fired", "kept_by", "vetoes", "unknown", "asked", "control")  # shown as booleans, or not at all
LISTS = {"photon": Tables.PHOTONS, "hit": Tables.HITS, "decision": Tables.DECISIONS}
REASONS = ["", "trigger", "veto", "veto_missing", "unknown", "prescale", "decodable", "not_judged", "not_overfull"]
_FIRST_QUANTITY = 16  # of the reasons
_BATCH = 65536  # rows in a batch for Arrow


def bytes_of(size: str | int) -> int:
    """Returns the bytes of "512 MB", "2 GiB", or a number of bytes."""
    found = re.fullmatch(r"\s*([\d.]+)\s*([kMGT]?)(i?)B?\s*", str(size))
    if not found:
        raise ValueError(f"{size!r} is not a size such as '512 MB'")
    return int(float(found[1]) * (1024 if found[3] else 1000) ** " kMGT".index(found[2] or " "))


def check_memory(wanted: int, what: str) -> None:
    """Raises MemoryError if `wanted` is more than half of the free memory."""
    if wanted < 1 << 26:  # not worth the look
        return
    try:
        with open("/proc/meminfo") as f:
            free = next(int(line.split()[1]) * 1024 for line in f if line.startswith("MemAvailable"))
    except (OSError, StopIteration):
        return
    if wanted > free / 2:
        raise MemoryError(f"{what} take {wanted / 1e9:.1f} GB, more than half of the free memory ({free / 1e9:.1f} GB): "
                          "take some at a time, for b in events.batches('512 MB')")


def reason_name(reason: int) -> str:
    """Why a line did not keep an event: the first condition that failed, or the quantity out of range."""
    if reason < _FIRST_QUANTITY:
        return REASONS[reason]
    return [name for name, f in fields(Tables.EVENTS).items() if f.nullable][reason - _FIRST_QUANTITY]


def _share(some: int, all_of: int) -> tuple[float, float, float]:
    """Returns some / all_of, and the ends of its interval of one standard deviation, after Wilson."""
    if not all_of:
        return np.nan, np.nan, np.nan
    middle, half = (some + 0.5) / (all_of + 1), np.sqrt(some * (all_of - some) / all_of + 0.25) / (all_of + 1)
    return some / all_of, middle - half, middle + half


def _joined(parts: list[Array], dtype: Any) -> Array:
    """One array; a single part is not copied."""
    return parts[0] if len(parts) == 1 else np.concatenate([np.empty(0, dtype), *parts])


class Raw(Mapping[str, Array]):
    """The integers of docs/formats.md, by the names of the columns."""

    def __init__(self, events: Events) -> None:
        self._events = events

    def __getitem__(self, name: str) -> Array:
        if name not in fields(Tables.EVENTS):
            raise unknown("column", name, self)
        return self._events._stored(name)

    def __iter__(self) -> Iterator[str]:
        return iter(fields(Tables.EVENTS))

    def __len__(self) -> int:
        return len(fields(Tables.EVENTS))


class Events:
    """Events of a store, in its order. Data are read when they are used, and then kept.

    e["vertex_z"], e.vertex_z   a column in MeV, mm, ns: a numpy array, NaN where the event has no such quantity
    e.line("klpi0pi0")          whether the line fired; also e["line_klpi0pi0"], e["kept_klpi0pi0"], e["veto_CBAR"]
    e[mask], e[10:20], e[rows]  fewer events
    e[17]                       one event, with show() and map()
    e.columns()                 everything, as pa.table(e) and pl.DataFrame(e) see it
    """

    def __init__(self, store: Store, parts: list[tuple[Reader, Rows]], stored: dict[str, Array] | None = None) -> None:
        self.store = store
        self._parts = [(reader, rows) for reader, rows in parts if len(rows)]
        self._columns = dict(stored or {})
        self._menu_groups: list[tuple[Menu | None, Array]] | None = None

    def __len__(self) -> int:
        return sum(len(rows) for _, rows in self._parts)

    def __repr__(self) -> str:
        if not len(self):
            return "no events"
        return f"{len(self)} events of run {', '.join(map(str, np.unique(self.raw['run'])))}: {', '.join(self.names)}"

    # Columns

    def _stored(self, name: str) -> Array:
        if name not in self._columns:
            names = _INDEX if name in _INDEX else tuple(fields(Tables.EVENTS))
            check_memory(160 * len(self), f"summaries of {len(self)} events")
            parts = [reader.rows(Tables.EVENTS, rows, names) for reader, rows in self._parts]
            for n in names:
                self._columns[n] = _joined([p[n] for p in parts], fields(Tables.EVENTS)[n].dtype)
        return self._columns[name]

    @property
    def raw(self) -> Raw:
        """Columns as they are stored: integers, and bit masks in place of booleans."""
        return Raw(self)

    def _menus(self) -> list[tuple[Menu | None, Array]]:
        """Returns each menu of these events, with a mask of the events that have it."""
        if self._menu_groups is None:
            settings = self._stored("settings")
            groups: list[tuple[Menu | None, Array]] = []
            start = 0
            for reader, rows in self._parts:
                here = settings[start:start + len(rows)]
                different = here[:1] if (here == here[0]).all() else np.unique(here)
                groups += [(self.store._menu_at(reader, int(row)), start + np.flatnonzero(here == row)) for row in different]
                start += len(rows)
            self._menu_groups = groups
        return self._menu_groups

    def _bit_names(self) -> dict[str, tuple[str, str]]:
        """Column to (stored bits, name of the line or counter), of all menus of these events."""
        menus = [menu for menu, _ in self._menus() if menu]
        lines = {name: None for menu in menus for name in menu.line_bits}
        counters = {name: None for menu in menus for name in menu.counter_bits}
        return {f"line_{n}": ("fired", n) for n in lines} | {f"kept_{n}": ("kept_by", n) for n in lines} | {f"veto_{n}": ("vetoes", n) for n in counters}

    def _booleans(self, stored: str, name: str) -> Column:
        values, known = np.zeros(len(self), bool), np.zeros(len(self), bool)
        words, selected = self._stored(stored), self._stored("selected") != 0
        for menu, at in self._menus():
            bit = (menu.counter_bits if stored == "vetoes" else menu.line_bits).get(name) if menu else None
            if bit is not None:
                values[at] = words[at] >> np.uint32(bit) & 1
                known[at] = selected[at]
                if stored == "vetoes":
                    known[at] &= (self._stored("unknown")[at] >> np.uint32(bit) & 1 == 0) | values[at]
        about = {"fired": "the line fired, before its prescale", "kept_by": "the line kept the event",
                 "vetoes": "the counter fired; null: a board of it could not be read"}[stored]
        return Column(values & known, None if known.all() else known, about=about)

    def line(self, name: str, what: str = "fired") -> NDArray[np.bool_]:
        """Returns on which events the line fired (`what="fired"`), or which it kept ("kept_by"); False where the menu lacks the line.
        Raises KeyError if all menus lack it."""
        lines = [line for menu, _ in self._menus() if menu for line in menu.line_bits]
        if name not in lines and len(self):
            raise unknown("line", name, lines)
        return self._booleans(what, name).values

    def _column(self, name: str, bits: dict[str, tuple[str, str]]) -> Column | Lists:
        if name in LISTS:
            return self.lists(name)
        return self._booleans(*bits[name]) if name in bits else in_units(self._stored(name), fields(Tables.EVENTS)[name])

    @property
    def names(self) -> list[str]:
        """Names of all columns: keys, stored columns, booleans, lists."""
        stored = [n for n in fields(Tables.EVENTS) if n not in _BITS and n not in KEYS]
        return [*KEYS, *stored, *self._bit_names(), "photon", "hit"]

    def column(self, name: str) -> Column | Lists:
        """Returns a column with its unit, or a list."""
        bits = self._bit_names()
        if name not in bits and name not in LISTS and name not in fields(Tables.EVENTS):
            raise unknown("column", name, [*self.names, *_BITS])
        return self._column(name, bits)

    def columns(self, names: list[str] | None = None) -> dict[str, Column | Lists]:
        """Returns columns with their units, by name; by default all of `names`."""
        return {name: self.column(name) for name in (self.names if names is None else names)}

    @property
    def units(self) -> dict[str, str]:
        """Units of the columns that have one."""
        return {n: f.unit for n, f in fields(Tables.EVENTS).items() if f.unit}

    def lists(self, name: str) -> Lists:
        """Returns `photon`, `hit` or `decision`: a list for each event, in units."""
        table = LISTS[name]
        parts = [reader.lists(table, rows) for reader, rows in self._parts]
        ends = np.cumsum([0, *(p[0][-1] for p in parts)])
        offsets = np.concatenate([np.zeros(1, np.int64), *(p[0][1:] + end for p, end in zip(parts, ends))])
        raw = {n: _joined([p[1][n] for p in parts], f.dtype) for n, f in fields(table).items()}
        return Lists(offsets, {n: in_units(raw[n], f) for n, f in fields(table).items()})

    def __getattr__(self, name: str) -> Array:
        if name.startswith("_") or name in LISTS:
            raise AttributeError(f"no attribute {name!r}" + (f": take lists({name!r}), or awkward().{name}" if name in LISTS else ""))
        try:
            return self[name]  # type: ignore[no-any-return]
        except KeyError as e:
            raise AttributeError(e.args[0]) from None

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.names]

    def __getitem__(self, what: Any) -> Any:
        if isinstance(what, str):
            found = self.column(what)
            return found.numpy() if isinstance(found, Column) else found
        if isinstance(what, (int, np.integer)):
            from ._event import Event
            at = int(what) + (len(self) if what < 0 else 0)
            if not 0 <= at < len(self):
                raise IndexError(f"no event {what} of {len(self)}")
            return Event(self._some(np.array([at])))
        if isinstance(what, slice):
            return self._some(np.arange(len(self))[what])
        chosen = np.asarray(what)
        if chosen.dtype.kind == "b" and len(chosen) != len(self):
            raise IndexError(f"a mask of {len(chosen)} for {len(self)} events")
        return self._some(np.flatnonzero(chosen) if chosen.dtype.kind == "b" else chosen.astype(np.int64))

    def _some(self, at: Array) -> Events:
        ends = np.cumsum([0, *(len(rows) for _, rows in self._parts)])
        parts: list[tuple[Reader, Rows]] = []
        # In the order asked for: a part for each stretch of one reader.
        of = np.searchsorted(ends, at, side="right") - 1
        for stretch in np.split(np.arange(len(at)), np.flatnonzero(np.diff(of)) + 1) if len(at) else []:
            reader, rows = self._parts[of[stretch[0]]]
            parts.append((reader, rows[at[stretch] - ends[of[stretch[0]]]]))
        return Events(self.store, parts, {name: column[at] for name, column in self._columns.items()})

    def __iter__(self) -> Iterator[Event]:
        return (self[i] for i in range(len(self)))

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        from ._arrow import stream
        bits = self._bit_names()
        names = self.names

        def batch(some: Events) -> dict[str, Column | Lists]:
            return {name: some._column(name, bits) for name in names}
        return stream(batch(self[:0]), (batch(self[i:i + _BATCH]) for i in range(0, len(self), _BATCH)), requested_schema)

    def awkward(self) -> Any:
        """Returns an awkward array that reads columns when they are used: `a.photon.energy`, `a.hit.counter`, `a.vertex_z` with None, and
        `a.waveform.samples` of all channels that have one."""
        from ._awkward import lazy
        return lazy(self)

    # Some at a time

    def batches(self, memory: str | int = "512 MB") -> Iterator[Events]:
        """Yields the events in parts whose samples take at most this much memory."""
        each = max([int(menu.channels.length.sum()) * 2 for menu, _ in self._menus() if menu] or [600_000])
        step = max(1, bytes_of(memory) // each)
        return (self[i:i + step] for i in range(0, len(self), step))

    # Weights

    def weight(self, line: str) -> NDArray[np.float64]:
        """Returns the number of events that each event represents: the prescale of the line if it kept the event, else 0.

        Raises `Error` if a session shed events by priority, and warns if the daemon's ledger is not open, which would say so."""
        kept = self.line(line, "kept_by")
        self.store.shed_by_priority(np.unique(self._stored("session")))
        weight = np.zeros(len(self))
        for menu, at in self._menus():
            if menu and line in menu.line_bits:
                weight[at] = menu.lines.prescale[menu.lines.name == line][0]
        return weight * kept

    def efficiency(self, sample: str | None = None) -> Table:
        """Returns on which share of unbiased events each line fires, before its prescale.

        sample: a line that does not look at the data, such as "pass_through", or at the level-1 bits only, such as
                "minimum_bias"; None: all these events, of runs that recorded every event

        The table has a row for each line: `events` of the sample, `fired` of them; the share with its interval of one standard deviation
        (Wilson); `triggered`: those with the line's level-1 bits, and the share of these; `bytes` of all these events that the
        line kept; `refused`: first reasons of refusal, most frequent first. Raises `Error` for a biased sample, and warns if no
        ledger says whether events were shed by priority."""
        menus = [menu for menu, _ in self._menus()]
        if any(menu is None or menu.software.startswith("koto-l3 ") for menu in menus):
            raise Error("this is not an unbiased sample: some events were decided again, or without settings, so events that were rejected first are missing")
        if sample is None and not all(menu.record for menu in menus if menu):
            raise Error("this is not an unbiased sample: these runs did not record every event; name a line, such as 'pass_through'")
        self.store.shed_by_priority(np.unique(self._stored("session")))
        chosen = self._stored("selected") != 0
        some = self[chosen if sample is None else chosen & self.line(sample, "kept_by")]
        decisions = some.lists("decision")
        reasons, first = decisions.columns["reason"].values, decisions.offsets[:-1]
        rows: list[tuple[Any, ...]] = []
        for name in dict.fromkeys(name for menu in menus if menu for name in menu.line_bits):
            of = [(at, menu.line_bits[name]) for menu, at in some._menus() if menu and name in menu.line_bits]
            at = np.concatenate([np.empty(0, np.int64), *(at for at, _ in of)])
            why = np.concatenate([np.empty(0, reasons.dtype), *(reasons[first[at] + bit] for at, bit in of)])
            fired, triggered = some.line(name)[at], why != REASONS.index("trigger")
            counts = np.bincount(why[~fired], minlength=256)
            refused = ", ".join(f"{reason_name(int(r))} {counts[r]}" for r in np.argsort(-counts, kind="stable") if counts[r])
            rows.append((name, len(at), fired.sum(), *_share(fired.sum(), len(at)), triggered.sum(), *_share((fired & triggered).sum(), triggered.sum()),
                         self.raw["bytes"][self.line(name, "kept_by")].sum(), refused))
        heads = ("line", "events", "fired", "share", "lower", "upper", "triggered", "share_of_triggered", "lower_of_triggered",
                 "upper_of_triggered", "bytes", "refused")
        return Table({h: Column(np.array(column, object if h in ("line", "refused") else None)) for h, column in zip(heads, zip(*rows))},
                     f"efficiency on {sample or 'all events'}")

    # Waveforms

    def _plan(self, channels: Any) -> tuple[list[tuple[Reader, Rows, Any, Array]], int, int, tuple[Table, Array]]:
        """(reader, its rows, where they are in the result, addresses) for each part; number of channels; samples of a waveform; the
        table of channels and which rows of it."""
        found: list[tuple[Array, Array]] = []  # addresses, events
        n, length, of = 0, 64, (Table({}), np.empty(0, np.int64))
        for menu, at in self._menus():
            if menu is None:
                raise Error("the settings of these events are not in the store, so their channels are not known")
            rows, length_here = menu.find(channels)
            if not found:
                n, length, of = len(rows), length_here, (menu.channels, rows)
            if (len(rows), length_here) != (n, length):
                raise Error(f"runs of these events have {n} and {len(rows)} channels of {channels!r}: read them one after the other")
            found.append((menu.addresses(rows), at))
        is_same = all(np.array_equal(a, found[0][0]) for a, _ in found[1:])
        plan: list[tuple[Reader, Rows, Any, Array]] = []
        start = 0
        for reader, rows in self._parts:
            end = start + len(rows)
            if is_same:
                plan.append((reader, rows, slice(start, end), found[0][0]))
            for addresses, at in [] if is_same else found:
                at = at[(at >= start) & (at < end)]
                if len(at):
                    plan.append((reader, rows[at - start], at, addresses))
            start = end
        return plan, n, length, of

    @staticmethod
    def _parts_of(arrays: dict[str, Array], plan: list[tuple[Reader, Rows, Any, Array]]) -> Iterator[tuple[Reader, Rows, Array, dict[str, Array]]]:
        """(reader, its rows, addresses, arrays to fill) for each part of a plan."""
        for reader, rows, at, addresses in plan:
            if isinstance(at, slice):
                yield reader, rows, addresses, {name: a[at] for name, a in arrays.items()}
            else:
                some = {name: np.empty((len(at), *a.shape[1:]), a.dtype) for name, a in arrays.items()}
                yield reader, rows, addresses, some
                for name, a in arrays.items():
                    a[at] = some[name]

    @staticmethod
    def _is_one(channels: Any, of: tuple[Table, Array]) -> bool:
        """Whether a single channel was asked for, and not a detector or a list of one."""
        return len(of[1]) == 1 and (isinstance(channels, (int, tuple)) or isinstance(channels, str) and channels == of[0].name[of[1][0]])

    def samples(self, channels: Any, *, out: NDArray[np.uint16] | None = None, threads: int = 0) -> Waveforms:
        """Returns samples in ADC counts: 64 samples of 8 ns, or 256 of 2 ns.

        channels: "crystal 17", "CSI", "CBAR module 3 end 1", (crate, slot, channel), rows of `cables()`, or a list of these
        out:      C-ordered array (events, channels, samples) uint16 to fill, such as part of a file in memory
        threads:  number of decoding threads; 0: one per processor

        The shape is (events, channels, samples), or (events, samples) of a single channel; see `Waveforms`. Raises `Error` for damage,
        unless the store was opened with `skip_damaged`."""
        plan, n, length, of = self._plan(channels)
        shape = (len(self), n, length)
        if out is None:
            check_memory(2 * math.prod(shape), f"samples of {n} channels of {len(self)} events")
            out = np.empty(shape, np.uint16)
        elif out.dtype != np.uint16 or out.size != math.prod(shape) or not out.flags.c_contiguous:
            raise ValueError(f"out must be a C-ordered array of uint16 with shape {shape}")
        samples, state = out.reshape(shape), np.empty(shape[:2], np.uint8)
        for reader, rows, addresses, to in self._parts_of({"samples": samples, "state": state}, plan):
            reader.samples(rows, addresses, length, to["samples"], to["state"], threads)
        one = self._is_one(channels, of)
        return waveforms(samples[:, 0] if one else samples, state[:, 0] if one else state, of)

    def pulses(self, channels: Any, *, threads: int = 0) -> Pulses:
        """Returns pulses as the trigger measures them, with its own code and the calibration of the run; `channels` and
        `threads` as in `samples`. Events that kept pulses in place of waveforms have those."""
        plan, n, length, of = self._plan(channels)
        described = fields(Tables.PULSES)
        shape = (len(self), n, length // 64)
        check_memory(math.prod(shape) * 60, f"pulses of {n} channels of {len(self)} events")
        raw = {name: np.empty(shape, f.dtype) for name, f in described.items()}
        state = np.empty(shape[:2], np.uint8)
        for reader, rows, addresses, to in self._parts_of(raw | {"state": state}, plan):
            reader.pulses(rows, addresses, length, to, to["state"], threads)
        raw = {name: c[..., 0] if length == 64 else c for name, c in raw.items()}
        if self._is_one(channels, of):
            raw, state = {name: c[:, 0] for name, c in raw.items()}, state[:, 0]
        found = raw["flags"] & 1 != 0
        columns = {}
        for name, f in described.items():
            c = in_units(raw[name], f)
            valid = found if c.valid is None else found & c.valid
            columns[name] = c if name == "flags" else Column(c.values, valid, c.unit, c.about)
        return Pulses(raw, columns, state, of)
