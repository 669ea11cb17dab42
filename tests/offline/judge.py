#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The table of robustness: `koto-l3 evaluate --stress` makes the events of each row and decides them, and the offline reconstruction of this folder
says which of them are signal. Prints a row for each. Ends with 1 if the selection keeps less of the signal, more of the mixture, or less of the
calibration than the row must, by the whole interval; with 2 if it cannot make the table.

  judge.py [--rows A,B] [--signal-events N] [--mixture-events N] [--seed S] [--all-why] [--update]

Many effects leave the particles of a seed alone. Then the signal is also what the reconstruction takes for signal in the same events without the
effect: an effect that blinds the reconstruction, too, is judged all the same. Where an effect adds hits, it decides what is signal, so events are made
until the reconstruction has taken N of them, ten times N at most.

`--update` writes the table into docs/robustness.md."""
import argparse
import collections
import functools
import json
import math
import multiprocessing
import os
import pathlib
import re
import struct
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(ROOT / "tests" / "system" / "peers")]
import geometry  # noqa: E402
import l2raw  # noqa: E402
import reconstruction  # noqa: E402

BIN = pathlib.Path(os.environ.get("KOTO_L3_BIN", ROOT / "build" / "bin"))
PAGE = ROOT / "docs" / "robustness.md"
TABLE = re.compile(r"(<!-- stress -->\n).*?(<!-- end of stress -->)", re.DOTALL)
EVENT_RECORD = 2
RECORD_HEAD = 32
MOST_ROUNDS = 10  # of events, until enough of them are signal


def events_of(file):
    """(file, place of its record) of each event of a .l2raw file (docs/formats.md, section 4)."""
    with open(file, "rb") as data:
        while head := data.read(RECORD_HEAD):
            kind, (length,) = head[5], struct.unpack_from("<I", head, 8)
            if kind == EVENT_RECORD:
                yield str(file), data.tell() - RECORD_HEAD
            data.seek(length, os.SEEK_CUR)


def event_at(file, place):
    """(spill, event number, {crate: fragment}) of the event whose record is there."""
    with open(file, "rb") as data:
        data.seek(place)
        length, spill = struct.unpack_from("<II", data.read(RECORD_HEAD), 8)
        body = data.read(length)
    number, _, fragments = l2raw.read_event(body)
    return spill, number, fragments


JUDGE = None


def begin(description):
    global JUDGE
    JUDGE = reconstruction.Reconstruction(geometry.Geometry(description))


def judge_one(event):
    spill, number, fragments = event_at(*event)
    return spill, number, JUDGE.judge(fragments)


def interval(some, of):
    """Wilson's, of one standard deviation."""
    if of == 0:
        return 0.0, 0.0
    p = some / of
    middle, half = p + 1 / (2 * of), math.sqrt(p * (1 - p) / of + 1 / (4 * of * of))
    return (middle - half) / (1 + 1 / of), (middle + half) / (1 + 1 / of)


def proportion(some, of):
    low, high = interval(some, of)
    return {"some": some, "all": of, "value": some / of if of else 0.0, "lower": low, "upper": high}


def total(a, b):
    return proportion(a["some"] + b["some"], a["all"] + b["all"])


class Table:
    """Makes and judges rows."""

    def __init__(self, arguments, pool):
        self.arguments, self.pool = arguments, pool

    def made(self, name, seed, mixture_events):
        """(what `evaluate --stress` says of the row, {event: kept}, {event: why it is no signal})."""
        with tempfile.TemporaryDirectory() as folder:
            command = [BIN / "koto-l3", "evaluate", "--stress", "--rows", name, "--json", "--out", folder, "--seed", str(seed), "--signal-events",
                       str(self.arguments.signal_events), "--mixture-events", str(mixture_events)]
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode not in (0, 1) or not done.stdout:
                raise RuntimeError(f"{' '.join(map(str, command))}: {done.stderr}")
            row, kept = json.loads(done.stdout)["rows"][0], {}
            for line in (pathlib.Path(folder) / f"{name}.decisions.jsonl").read_text().splitlines():
                decision = json.loads(line)
                kept[decision["spill"], decision["event"]] = decision["kept"]
            judged = self.pool.imap_unordered(judge_one, events_of(pathlib.Path(folder) / f"{name}.l2raw"), 8)
            return row, kept, {(spill, number): why for spill, number, why in judged}

    @functools.cache
    def without_effects(self):
        return self.made("as_simulated", self.arguments.seed, 0)[2]

    def row(self, name):
        row, kept, why = self.made(name, self.arguments.seed, self.arguments.mixture_events)
        row["offline"], row["reasons"] = self.kept_of(why, kept), collections.Counter(why.values())
        if row["same_particles"]:
            before = self.without_effects() if row["effects"] else why
            row["without"] = self.kept_of(before, kept)
            return row
        row["without"] = None
        for more in range(1, MOST_ROUNDS):
            if row["offline"]["all"] >= self.arguments.signal_events:
                break
            next_row, kept, why = self.made(name, self.arguments.seed + more, 0)
            row["offline"] = total(row["offline"], self.kept_of(why, kept))
            row["signal"] = total(row["signal"], next_row["signal"])
            row["reasons"].update(why.values())
        return row

    @staticmethod
    def kept_of(why, kept):
        """Of the events that are signal by this."""
        signal = [event for event, reason in why.items() if reason is None]
        return proportion(sum(kept[event] for event in signal), len(signal))


def part(p):
    return f"{100 * p['value']:.2f} +{100 * max(0, p['upper'] - p['value']):.2f} −{100 * max(0, p['value'] - p['lower']):.2f}" if p["all"] else "none"


def effects_of(row):
    return ", ".join(f"{name} {size:g}" for name, size in row["effects"].items()) or "none"


def misses(row):
    """What the row should have held and does not. A floor is missed when all of the interval lies below it."""
    wrong, floor = [], row["least_signal"]
    needed, others = ("without", "offline") if row["without"] else ("offline", "without")
    if row[needed]["all"] == 0 or row[needed]["upper"] < floor or (row[others] and row[others]["all"] and row[others]["upper"] < floor):
        wrong.append("signal")
    if row["signal"]["all"] == 0 or row["signal"]["upper"] < floor:
        wrong.append("signal by truth")
    if row["mixture"]["lower"] > row["most_mixture"]:
        wrong.append("mixture")
    if row["calibration"]["some"] != row["calibration"]["all"]:
        wrong.append("calibration")
    return wrong


def limits_of(row):
    return f"{100 * row['least_signal']:.0f}", f"{100 * row['most_mixture']:.0f}"


def line_of(row):
    floor, ceiling = limits_of(row)
    signal = [cell for p in (row["without"], row["offline"]) for cell in ((part(p), str(p["all"])) if p else ("", ""))]
    return (f"| {effects_of(row)} | {' | '.join(signal)} | {part(row['signal'])} | {floor} | {part(row['mixture'])} | {ceiling} | "
            f"{row['calibration']['some']} of {row['calibration']['all']} | {row['reduction']:.1f} |")


HEAD = ("| effects | kept of the signal without them, % | of | kept of the signal with them, % | of | by truth, % | at least | mixture kept, % | at most | "
        "calibration kept | reduction |\n| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |")


def rows_there_are():
    said = subprocess.run([BIN / "koto-l3", "evaluate", "--stress", "--list", "--json"], capture_output=True, text=True, check=True).stdout
    return json.loads(said)["rows"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", default="", help="names, with commas between; all without it")
    parser.add_argument("--signal-events", type=int, default=2000)
    parser.add_argument("--mixture-events", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--all-why", action="store_true", help="why the reconstruction takes the others for no signal")
    parser.add_argument("--update", action="store_true", help="write the table into docs/robustness.md")
    arguments = parser.parse_args()
    rows = [name for name in arguments.rows.split(",") if name] or [row["row"] for row in rows_there_are()]
    lines, failed = [], False
    print(HEAD)
    with multiprocessing.Pool(initializer=begin, initargs=(ROOT / "deploy" / "detector.toml",)) as pool:
        table = Table(arguments, pool)
        for name in rows:
            row = table.row(name)
            wrong = misses(row)
            failed = failed or bool(wrong)
            lines.append(line_of(row))
            print(lines[-1] + (f" MISSED: {', '.join(wrong)}" if wrong else ""), flush=True)
            if arguments.all_why:
                print("   ", ", ".join(f"{why or 'signal'} {n}" for why, n in row["reasons"].most_common()))
    if arguments.update:
        PAGE.write_text(TABLE.sub(lambda m: m[1] + "\n".join([HEAD, *lines]) + "\n" + m[2], PAGE.read_text()))
    return 1 if failed else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (RuntimeError, OSError, subprocess.CalledProcessError) as trouble:
        print(f"judge.py: {trouble}", file=sys.stderr)
        sys.exit(2)
