#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bench.py STORE.kl3 STRONG.kl3 [--events N]: how quick koto_l3 reads, beside what analysts use otherwise, for the same events: in one
run, in one thread, in processor seconds, the best of five rounds that take turns. Needs h5py, hdf5plugin and uproot.

Both are files of the same recorded events, one with each codec: take_data.take([FILE], STORE, mode="record", codec="strong")"""
import os
os.environ["OPENBLAS_NUM_THREADS"] = "1"  # its threads wait busily after numpy's import

import argparse
import collections
import datetime
import mmap
import pathlib
import struct
import sys
import tempfile
import time

import awkward as ak
import h5py
import hdf5plugin
import numpy as np
import uproot

import koto_l3 as l3

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests" / "system" / "peers"))

import store_reader  # noqa: E402 pure Python

ROUNDS = 5
TOGETHER = 128  # events in an array that is filled again and again: larger than a cache


def best(*contestants):
    """Processor seconds of each. A contestant is (open, read): files are opened anew for each round, so nothing is known from the
    round before, and reading alone is timed."""
    found = [np.inf] * len(contestants)
    for _ in range(ROUNDS):
        for i, (opened, read) in enumerate(contestants):
            file = opened()
            begin = time.process_time()
            read(file)
            found[i] = min(found[i], time.process_time() - begin)
            del file
    return found


def read_from_disk(path):
    """Brings a file into the page cache in the pieces of the kernel's read-ahead: a file that was just written may lie there in much
    smaller or larger ones, which costs or saves half of the time to read it."""
    file = os.open(path, os.O_RDONLY)
    os.fsync(file)
    os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
    while os.read(file, 1 << 20):
        pass
    os.close(file)


def summaries_in_python(data):
    """Columns and lists of all summaries, without checksums."""
    at, columns = store_reader.FILE_HEADER.size, collections.defaultdict(list)
    while at < len(data):
        header = store_reader.BLOCK_HEADER.unpack_from(data, at)
        event = at + store_reader.BLOCK_HEADER.size
        at = event + header[4]
        for _ in range(header[5]):
            length, spill, number = struct.unpack_from("<III", data, event)
            columns["spill"].append(spill)
            columns["event"].append(number)
            summary = store_reader.summary_of(data[event:event + length])
            for name, value in zip(summary._fields, summary):
                columns[name].append(value)
            event += length
    quantities = {name: np.array([np.nan if q[name] is None else q[name] for q in columns["quantities"]]) for name in store_reader.QUANTITIES}
    return quantities | {name: np.array(column) for name, column in columns.items() if isinstance(column[0], int)} | {
        name: ak.Array(columns[name]) for name in ("photons", "hits", "reasons")}


def ten_gigabytes(path, folder):
    """A store of ten files of 1 GB, of which the headers of blocks alone are written."""
    with open(path, "rb") as f:
        head, blocks, at = f.read(16), [], 16
        while len(header := f.read(64)) == 64:
            length, = struct.unpack_from("<I", header, 8)
            blocks.append((header, length))
            at += 64 + length
            f.seek(at)
    for number in range(1, 11):
        with open(folder / f"blocks-{number:06}-run000102-node0.kl3", "wb") as f:
            f.write(struct.pack("<8sQ", head[:8], number))
            at, i = 16, 0
            while at < 1e9:
                header, length = blocks[i % len(blocks)]
                f.seek(at)
                f.write(header)
                at, i = at + 64 + length, i + 1
            f.truncate(at)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("store")
    p.add_argument("strong")
    p.add_argument("--events", type=int, default=256)
    p.add_argument("--skip", type=int, default=0, help="events before these: the kernel reads the first 30 MB of a file in small pieces")
    o = p.parse_args()
    for path in (o.store, o.strong):
        read_from_disk(path)  # before they are mapped: mapped pages stay as they are
    koto, strong = (l3.open(path).events()[o.skip:][:o.events] for path in (o.store, o.strong))
    n = len(koto) // TOGETHER * TOGETHER
    rows = np.flatnonzero(koto.store.menu().channels.length == 64)
    table = []
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        array = np.empty((TOGETHER, len(rows), 64), np.uint16)
        every = koto[:n].samples(rows).data
        assert (strong[:n].samples(rows).data == every).all()
        with h5py.File(folder / "plain.h5", "w") as f:
            f["w"] = every
        with h5py.File(folder / "events.h5", "w") as f:
            f.create_dataset("w", data=every, chunks=(1, *every.shape[1:]))
        with h5py.File(folder / "packed.h5", "w") as f:
            f.create_dataset("w", data=every, chunks=(1, *every.shape[1:]), **hdf5plugin.Bitshuffle(cname="zstd", clevel=5))
        with uproot.recreate(folder / "w.root", compression=uproot.ZSTD(5)) as f:
            flat = every.reshape(n, -1)
            out = f.mkrntuple("w", ak.Array({"w": ak.from_regular(flat[:0])}))
            for i in range(0, n, TOGETHER):
                out.extend(ak.Array({"w": ak.from_regular(flat[i:i + TOGETHER])}))

        for path in folder.iterdir():
            read_from_disk(path)

        def opened(path, column="settings"):
            events = l3.open(path).events()[o.skip:][:n]
            events.store.menu(), events.raw[column]
            return events

        def read_before():
            events = opened(o.store)
            events.samples("crystal 1235", threads=1)
            return events

        def one_channel(events):
            events.samples("crystal 1234", threads=1)

        def read(events):
            for i in range(0, n, TOGETHER):
                events[i:i + TOGETHER].samples(rows, out=array, threads=1)

        def direct(file):
            for i in range(0, n, TOGETHER):
                file["w"].read_direct(array, np.s_[i:i + TOGETHER])

        def root(file):
            for i in range(0, n, TOGETHER):
                file["w"].arrays(entry_start=i, entry_stop=i + TOGETHER)

        def summaries(events):
            for name in events.raw:
                events.raw[name]
            for name in ("photon", "hit", "decision"):
                events.lists(name)

        def mapped():
            with open(o.store, "rb") as f:
                return memoryview(mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ))

        def h5(name):
            return lambda: h5py.File(folder / name)
        here, strong_here = (lambda: opened(o.store)), (lambda: opened(o.strong))
        for what, against, us, them, bar in (
                ("KOTO codec, all samples", "h5py read_direct, uncompressed, a chunk an event", (here, read), (h5("events.h5"), direct), 1.2),
                ("KOTO codec, all samples", "h5py read_direct, uncompressed, contiguous", (here, read), (h5("plain.h5"), direct), None),
                ("strong codec, all samples", "uproot, RNTuple zstd-5", (strong_here, read), (lambda: uproot.open(folder / "w.root"), root), 4),
                ("strong codec, all samples", "h5py, bitshuffle-zstd", (strong_here, read), (h5("packed.h5"), direct), 2),
                ("one channel of every event", "h5py uncompressed, a chunk an event",
                 (here, one_channel), (h5("events.h5"), lambda file: file["w"][:, 1234, :]), 50),
                ("one channel of events whose summaries were read", "h5py uncompressed, a chunk an event",
                 (lambda: opened(o.store, "fired"), one_channel), (h5("events.h5"), lambda file: file["w"][:, 1234, :]), 50),
                ("one channel of events of which another was read", "h5py uncompressed, a chunk an event",
                 (read_before, one_channel), (h5("events.h5"), lambda file: file["w"][:, 1234, :]), 50),
                ("summaries", "a pure-Python reader", (lambda: l3.open(o.store).events(), summaries), (mapped, summaries_in_python), 20)):
            table.append((what, against, *best(us, them), bar))
        size = every.nbytes / 1e9
        ten_gigabytes(o.store, folder)
        begin = time.monotonic()
        opened = l3.open([folder / f"blocks-{i:06}-run000102-node0.kl3" for i in range(1, 11)])
        seconds = time.monotonic() - begin
        number = len(opened)
        begin = time.monotonic()
        for name in ("plain.h5", "events.h5", "packed.h5", "w.root"):
            (folder / name).unlink()
        as_folder = l3.open(folder)
        seconds = min(seconds, time.monotonic() - begin)
        del opened, as_folder
    print(f"{n} events, {size:.2f} GB of samples; {os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}; {datetime.date.today()}; "
          f"koto_l3 {l3.version()}, numpy {np.__version__}, h5py {h5py.__version__}, uproot {uproot.__version__}")
    print("| what | against | here, s | there, s | ratio | at least |\n| --- | --- | --- | --- | --- | --- |")
    for what, against, here, there, bar in table:
        print(f"| {what} | {against} | {here:.4f} | {there:.4f} | {there / here:.1f} | {bar or ''} |")
    print(f"| opening a store of 10 GB, {number} events | | {seconds:.3f} | | | 0.2 s at most |")


if __name__ == "__main__":
    main()
