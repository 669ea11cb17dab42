# SPDX-License-Identifier: Apache-2.0
"""`koto-l3-export`: events as Parquet, ROOT (RNTuple or TTree) or HDF5 (LH5), with menu, settings and units in each file.

    koto-l3-export store -o skim.parquet --run 102 --fired klpi0pi0
    koto-l3-export store -o skim.root [--ttree]
    koto-l3-export store -o waveforms.lh5 --waveforms CSI --waveforms BHPV --kept-by pi0nunu

More events than a file takes go into OUT-00000, OUT-00001 … A file gets its name when it is complete, so the same command again
goes on where it was interrupted."""
from __future__ import annotations

import argparse
import json
import os
import pathlib
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ._events import Events, bytes_of
from ._library import Array, Error, version
from ._store import Store, open as open_store
from ._table import Column, Lists, Table

Progress = Callable[[int], None]
BATCH = 8192  # events that are read and written at a time


class Bar:
    """A line on a terminal; silent elsewhere."""

    def __init__(self, total: int) -> None:
        self.total, self.done, self.begin, self.shown = total, 0, time.monotonic(), 0.0

    def __call__(self, events: int) -> None:
        self.done += events
        now = time.monotonic()
        if sys.stderr.isatty() and (now - self.shown > 0.1 or self.done == self.total):
            part = self.done / max(1, self.total)
            rate = self.done / max(1e-9, now - self.begin)
            left = (self.total - self.done) / max(1e-9, rate)
            print(f"\r[{'#' * round(30 * part):30}] {self.done} of {self.total} events, {rate:.0f}/s, {left:.0f} s left ", end="", file=sys.stderr)
            self.shown = now
            if self.done == self.total:
                print(file=sys.stderr)


def settings(events: Events) -> dict[str, Any]:
    """What a reader of the file needs to know: columns with units, runs, and the settings that decided, each once."""
    runs = events.store.runs
    chosen = runs[np.isin(runs.session, np.unique(events.raw["session"]))]
    menus = [menu for menu, _ in events._menus() if menu]
    return {
        "format": 1, "software": f"koto_l3 {version()}",
        "columns": {name: {k: v for k, v in (("unit", c.unit), ("about", c.about)) if v} for name, c in events[:0].columns().items()
                    if isinstance(c, Column)},
        "lists": {name: {k: c.unit for k, c in lists.columns.items()} for name, lists in events[:0].columns().items() if isinstance(lists, Lists)},
        "runs": [{k: v if isinstance(v, (str, type(None))) else str(v) if isinstance(v, np.datetime64) else None if v != v else int(v)
                  for k, v in chosen[i].items()} for i in range(len(chosen))],
        "menus": [{"hash": f"{m.hash:08x}", "record": m.record, "software": m.software, "lines": _records(m.lines), "counters": _records(m.counters),
                   "menu": m.text, "detector": m.detector, "calibration": m.calibration} for m in {id(m): m for m in menus}.values()],
    }


def _records(table: Table) -> list[dict[str, Any]]:
    return [{k: v.item() if isinstance(v, np.generic) else v for k, v in table[i].items()} for i in range(len(table))]


def _without_nulls(c: Column) -> Column:
    """For formats that have none: NaN, or False. A column has one type in all parts, also where one lacks no value."""
    if c.valid is None or c.values.dtype.kind in "bf":
        return Column(c.numpy(), None, c.unit, c.about)
    return Column(np.asarray(np.where(c.valid, c.values, np.nan), np.float64), None, c.unit, c.about)


def _parts(events: Events) -> Iterator[Events]:
    return (events[i:i + BATCH] for i in range(0, len(events), BATCH))


def _needs(*modules: str) -> None:
    for module in modules:
        try:
            __import__(module)
        except ImportError:
            raise Error(f"this format needs {module}: pip install 'koto-l3[export]'") from None


# Formats: each writes one file of events, all of which `events` has the columns of

def write_parquet(path: str, events: Events, columns: list[str], about: dict[str, Any], done: Progress) -> None:
    """Columns with nulls, lists of photons and hits; unit and meaning of each column in its metadata, the rest under `koto_l3`."""
    _needs("pyarrow")
    import pyarrow as pa  # type: ignore[import-untyped, import-not-found, unused-ignore]
    import pyarrow.parquet as pq  # type: ignore[import-untyped, import-not-found, unused-ignore]
    bits = events._bit_names()

    def table(some: Events) -> Any:
        return pa.table(Table({name: some._column(name, bits) for name in columns}))
    schema = table(events[:0]).schema.with_metadata({"koto_l3": json.dumps(about)})
    with pq.ParquetWriter(path, schema, compression="zstd") as file:
        for some in _parts(events):
            file.write_table(table(some).cast(schema))
            done(len(some))


def write_root(path: str, events: Events, columns: list[str], about: dict[str, Any], done: Progress, ttree: bool = False) -> None:
    """`events`, an RNTuple or a TTree; `koto_l3`, a string. ROOT has no nulls here: a quantity that is not there is NaN."""
    _needs("uproot", "awkward")
    import awkward as ak  # type: ignore[import-untyped, import-not-found, unused-ignore]
    import uproot  # type: ignore[import-untyped, import-not-found, unused-ignore]
    bits = events._bit_names()

    def array(some: Events) -> Any:
        found = {name: some._column(name, bits) for name in columns}
        return Table({name: _without_nulls(c) if isinstance(c, Column) else c for name, c in found.items()}).awkward()
    with uproot.recreate(path) as file:
        file["koto_l3"] = json.dumps(about)
        first = array(events[:0])
        if ttree:
            out = file.mktree("events", {name: ak.type(first[name]).content for name in first.fields},
                              field_name=lambda outer, inner: f"{outer}.{inner}" if outer else inner)
        else:
            out = file.mkrntuple("events", first)
        for some in _parts(events):
            data = array(some)
            out.extend({name: data[name] for name in data.fields} if ttree else data)
            done(len(some))


class _Lh5:
    """Tables of LH5: HDF5 groups with the attribute `datatype` and with `units`.
    https://legend-exp.github.io/legend-data-format-specs/dev/hdf5/"""

    def __init__(self, file: Any) -> None:
        self.file = file

    def group(self, name: str, datatype: str) -> Any:
        group = self.file.require_group(name)
        group.attrs["datatype"] = datatype
        return group

    def table(self, name: str, fields: list[str]) -> None:
        self.group(name, "table{" + ",".join(fields) + "}")

    def append(self, name: str, values: Array, unit: str = "") -> None:
        """Rows to a column, which is made if it is missing."""
        if name not in self.file:
            import h5py  # type: ignore[import-untyped, import-not-found, unused-ignore]
            text = values.dtype.kind == "O"
            kind = "string" if text else "bool" if values.dtype.kind == "b" else "real"
            dtype = h5py.string_dtype() if text else values.dtype
            row = values.shape[1:]
            made = self.file.create_dataset(name, (0, *row), dtype, maxshape=(None, *row), chunks=(max(1, 2**18 // (dtype.itemsize * max(1, int(np.prod(row))))), *row),
                                            compression=None if text else "gzip", compression_opts=None if text else 1, shuffle=not text)
            made.attrs["datatype"] = f"array_of_equalsized_arrays<1,1>{{{kind}}}" if row else f"array<1>{{{kind}}}"
            if unit:
                made.attrs["units"] = unit
        column = self.file[name]
        column.resize(len(column) + len(values), 0)
        if len(values):
            column[-len(values):] = values


def write_lh5(path: str, events: Events, columns: list[str], about: dict[str, Any], done: Progress, waveforms: list[str]) -> None:
    """`events`, a table of all columns but lists; `CHANNELS/raw` for each choice of waveforms, with a row for each waveform that is
    there: its event's keys, `event_row`, `channel` (row of the table `cables`), `waveform` (t0, dt, values in ADC counts)."""
    _needs("h5py")
    import h5py  # type: ignore[import-untyped, import-not-found, unused-ignore]
    bits = events._bit_names()
    plain = [name for name in columns if isinstance(events[:0]._column(name, bits), Column)]
    choices = {choice.replace(" ", "_").replace("/", "_"): choice for choice in waveforms}
    keys = ["run", "node", "session", "spill", "event", "event_row", "channel"]
    with h5py.File(path, "w") as file:
        out = _Lh5(file)
        out.group("/", "struct{" + ",".join(["events", "cables", *choices]) + "}")
        file.create_dataset("koto_l3", data=json.dumps(about)).attrs["datatype"] = "string"
        out.table("events", plain)
        cables = events._menus()[0][0].channels if len(events) and events._menus()[0][0] else Table({})  # type: ignore[union-attr]
        out.table("cables", list(cables))
        for name, column in cables.columns.items():
            assert isinstance(column, Column)
            out.append(f"cables/{name}", column.values, column.unit)
        for group in choices:
            out.group(group, "struct{raw}")
            out.table(f"{group}/raw", [*keys, "waveform"])
            out.table(f"{group}/raw/waveform", ["t0", "dt", "values"])
        row = 0
        for part in _parts(events):
            for some in part.batches("256 MB") if waveforms else [part]:
                for name in plain:
                    c = some._column(name, bits)
                    assert isinstance(c, Column)
                    out.append(f"events/{name}", _without_nulls(c).values, c.unit)
                for group, choice in choices.items():
                    w = some.samples([choice])
                    at, channel = np.nonzero(w.present)
                    rows, _ = some._menus()[0][0].find([choice])  # type: ignore[union-attr]
                    for name in keys[:5]:
                        out.append(f"{group}/raw/{name}", some.raw[name][at])
                    out.append(f"{group}/raw/event_row", row + at)
                    out.append(f"{group}/raw/channel", rows[channel])
                    dt = 8.0 if w.shape[2] == 64 else 2.0
                    out.append(f"{group}/raw/waveform/t0", np.zeros(len(at)), "ns")
                    out.append(f"{group}/raw/waveform/dt", np.full(len(at), dt), "ns")
                    out.append(f"{group}/raw/waveform/values", w.data[at, channel], "ADC")
                row += len(some)
                done(len(some))


_FORMATS = {".parquet": "parquet", ".root": "root", ".h5": "lh5", ".hdf5": "lh5", ".lh5": "lh5"}


def _made_before(path: pathlib.Path, request: str) -> bool:
    """Whether the file is there and was made by the same request, which is noted beside it until all files are complete."""
    note = path.with_name(path.name + ".request")
    return path.exists() and note.exists() and note.read_text() == request


def export(store: Store, events: Events, out: os.PathLike[str] | str, *, columns: list[str] | None = None, waveforms: list[str] | None = None,
           ttree: bool = False, per_file: int | None = None, request: str = "", progress: Callable[[int], Progress] = Bar) -> list[pathlib.Path]:
    """Writes events, and returns the files. The format follows from the name: .parquet, .root, .h5, .hdf5 or .lh5.

    columns:   names from `events.names`; by default all
    waveforms: channels of which an HDF5 file gets the samples
    per_file:  events in a file; by default 200 000, or as many as have 2 GB of samples
    request:   a text; files of an interrupted export with the same text are kept"""
    out = pathlib.Path(out)
    kind = _FORMATS.get(out.suffix)
    if kind is None:
        raise Error(f"{out}: the name must end in {', '.join(_FORMATS)}")
    if (kind == "lh5") != bool(waveforms):
        raise Error("waveforms go into .h5, .hdf5 or .lh5" if waveforms else "an HDF5 file is for waveforms: choose some; .parquet holds columns")
    if waveforms and len({(menu.detector, menu.text) for menu, _ in events._menus() if menu}) > 1:
        raise Error("waveforms of runs with different settings go into files of their own: choose runs")
    names = events.names if columns is None else list(columns)
    for name in names:
        if name not in events._bit_names():
            events[:0].column(name)  # an unknown name is an error here
    each = per_file or (max(1, bytes_of("2 GB") // _sample_bytes(events, waveforms)) if waveforms else 200_000)
    starts = list(range(0, len(events), each)) or [0]
    files = [out] if len(starts) == 1 else [out.with_name(f"{out.stem}-{i:05}{out.suffix}") for i in range(len(starts))]
    complete = [_made_before(file, request) for file in files]
    for file, made in zip(files, complete):
        if file.exists() and not made:
            raise Error(f"{file} exists: remove it, or choose another name")
    about = settings(events)
    done = progress(sum(min(each, len(events) - start) for start, made in zip(starts, complete) if not made))
    for file, start, made in zip(files, starts, complete):
        if made:
            continue
        some, partial = events[start:start + each], file.with_name(file.name + ".partial")
        if kind == "parquet":
            write_parquet(str(partial), some, names, about, done)
        elif kind == "root":
            write_root(str(partial), some, names, about, done, ttree)
        else:
            write_lh5(str(partial), some, names, about, done, waveforms or [])
        file.with_name(file.name + ".request").write_text(request)
        partial.rename(file)
    for file in files:
        file.with_name(file.name + ".request").unlink(missing_ok=True)
    return files


def _sample_bytes(events: Events, waveforms: list[str] | None) -> int:
    menu = next((menu for menu, _ in events._menus() if menu), None)
    return sum(len(rows) * length * 2 for rows, length in (menu.find([w]) for w in waveforms or [])) if menu else 1


def main(arguments: list[str] | None = None) -> int:
    p = argparse.ArgumentParser("koto-l3-export", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("input", nargs="+", help="stores, spools, .kl3, .l2raw; ledgers of daemons")
    p.add_argument("-o", "--out", required=True, help="name ending in .parquet, .root, .h5, .hdf5 or .lh5")
    p.add_argument("--run", type=int, nargs="+", help="only these runs")
    p.add_argument("--kept-by", nargs="+", metavar="LINE", help="only events that one of these lines kept")
    p.add_argument("--fired", nargs="+", metavar="LINE", help="only events on which one of these lines fired, before its prescale")
    p.add_argument("--columns", nargs="+", help="only these columns; photon and hit are lists (by default all)")
    p.add_argument("--waveforms", action="append", metavar="CHANNELS", help='HDF5: samples of "CSI", "CBAR", "crystal 17" …; may be repeated')
    p.add_argument("--ttree", action="store_true", help="ROOT: a TTree instead of an RNTuple")
    p.add_argument("--per-file", type=int, metavar="EVENTS", help="start another file after this many")
    p.add_argument("--skip-damaged", action="store_true", help="leave damaged events out, and say how many")
    o = p.parse_args(arguments)
    try:
        store = open_store(o.input, skip_damaged=o.skip_damaged)
        events = store.events(o.run, kept_by=o.kept_by, fired=o.fired)
        request = json.dumps([sorted(vars(o).items()), [int(n) for n in (len(events), events.raw["bytes"].sum())]])
        files = export(store, events, o.out, columns=o.columns, waveforms=o.waveforms, ttree=o.ttree, per_file=o.per_file, request=request)
        damage = store.damage
    except (Error, KeyError, MemoryError, OSError) as e:
        print(f"koto-l3-export: {e.args[0] if isinstance(e, KeyError) else e}", file=sys.stderr)
        return 1
    size = sum(f.stat().st_size for f in files)
    print(f"{len(events)} events in {', '.join(map(str, files[:3]))}{' …' if len(files) > 3 else ''}, {size / 1e6:.1f} MB")
    if len(damage):
        print(f"koto-l3-export: left out damage in {len(damage)} places, the first in {damage.file[0]} at {damage.offset[0]}: {damage.what[0]}",
              file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
