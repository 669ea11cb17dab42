#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The table of robustness: `koto-l3 evaluate --stress` makes the events of each row and decides them, and the offline reconstruction of this folder
says which of them are signal. Prints a row for each; fails if the selection keeps less than the row's floor.

  judge.py [--rows A,B] [--signal-events N] [--mixture-events N] [--seed S] [--all-why] [--update]

`--update` writes the table into docs/selection.md."""
import argparse
import collections
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
sys.path.insert(0, str(HERE))
import geometry  # noqa: E402
import reconstruction  # noqa: E402

BIN = pathlib.Path(os.environ.get("KOTO_L3_BIN", ROOT / "build" / "bin"))
PAGE = ROOT / "docs" / "selection.md"
TABLE = re.compile(r"(<!-- stress -->\n).*?(<!-- end of stress -->)", re.DOTALL)
EVENT_RECORD = 2


def events_of(file):
    """(spill, event number, {crate: fragment}) for each event of a .l2raw file (docs/formats.md, section 4)."""
    with open(file, "rb") as data:
        while head := data.read(32):
            kind, length, spill = head[5], *struct.unpack_from("<II", head, 8)
            body = data.read(length)
            if kind != EVENT_RECORD:
                continue
            number, count, _ = struct.unpack_from("<IIQ", body)
            fragments, at = {}, 16 + 8 * count
            for i in range(count):
                place, _, size = struct.unpack_from("<HHI", body, 16 + 8 * i)
                fragments[place] = body[at:at + size]
                at += size + -size % 4
            yield spill, number, fragments


JUDGE = None


def begin(description):
    global JUDGE
    JUDGE = reconstruction.Reconstruction(geometry.Geometry(description))


def judge_one(event):
    spill, number, fragments = event
    return spill, number, JUDGE.judge(fragments)


def interval(some, of):
    """Wilson's, of one standard deviation."""
    if of == 0:
        return 0.0, 0.0
    p = some / of
    middle, half = p + 1 / (2 * of), math.sqrt(p * (1 - p) / of + 1 / (4 * of * of))
    return (middle - half) / (1 + 1 / of), (middle + half) / (1 + 1 / of)


def judge_row(name, arguments, pool):
    with tempfile.TemporaryDirectory() as folder:
        command = [BIN / "koto-l3", "evaluate", "--stress", "--rows", name, "--json", "--out", folder, "--seed", str(arguments.seed),
                   "--signal-events", str(arguments.signal_events), "--mixture-events", str(arguments.mixture_events)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode not in (0, 1) or not done.stdout:
            raise RuntimeError(f"{' '.join(map(str, command))}: {done.stderr}")
        row = json.loads(done.stdout)["rows"][0]
        decisions = {}
        for line in (pathlib.Path(folder) / f"{name}.decisions.jsonl").read_text().splitlines():
            decision = json.loads(line)
            decisions[decision["spill"], decision["event"]] = decision["kept"]
        reasons, some, of = collections.Counter(), 0, 0
        for spill, number, why in pool.imap_unordered(judge_one, events_of(pathlib.Path(folder) / f"{name}.l2raw"), 4):
            reasons[why] += 1
            if why is None:
                of += 1
                some += decisions[spill, number]
    low, high = interval(some, of)
    row["offline"] = {"some": some, "all": of, "value": some / of if of else 0.0, "lower": low, "upper": high}
    row["reasons"] = reasons
    return row


def part(p):
    return f"{100 * p['value']:.2f} +{100 * max(0, p['upper'] - p['value']):.2f} −{100 * max(0, p['value'] - p['lower']):.2f}" if p["all"] else "none"


def effects_of(row):
    return ", ".join(f"{name} {size:g}" for name, size in row["effects"].items()) or "none"


def misses(row):
    """What the row should have held and does not. A floor is missed when all of the interval lies below it."""
    wrong = []
    if row["offline"]["upper"] < row["least_signal"] or row["offline"]["all"] == 0:
        wrong.append("signal")
    if row["mixture"]["lower"] > row["most_mixture"]:
        wrong.append("mixture")
    if row["calibration"]["some"] != row["calibration"]["all"]:
        wrong.append("calibration")
    return wrong


def lines_of(row):
    floor, ceiling = f"{100 * row['least_signal']:.0f}", f"{100 * row['most_mixture']:.0f}"
    return (f"| {effects_of(row)} | {part(row['offline'])} | {row['offline']['all']} | {part(row['signal'])} | {floor} | {part(row['mixture'])} | "
            f"{ceiling} | {row['calibration']['some']} of {row['calibration']['all']} | {row['reduction']:.1f} |")


HEAD = ("| effects | signal kept, offline's, % | of | signal kept, by truth, % | at least | mixture kept, % | at most | calibration kept | reduction |\n"
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |")


def rows_there_are():
    said = subprocess.run([BIN / "koto-l3", "evaluate", "--stress", "--list"], capture_output=True, text=True, check=True).stdout
    return said.split()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", default="", help="names, with commas between; all without it")
    parser.add_argument("--signal-events", type=int, default=2000)
    parser.add_argument("--mixture-events", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--all-why", action="store_true", help="why the reconstruction takes the others for no signal")
    parser.add_argument("--update", action="store_true", help="write the table into docs/selection.md")
    arguments = parser.parse_args()
    rows = [name for name in arguments.rows.split(",") if name] or rows_there_are()
    table, failed = [], False
    print(HEAD)
    with multiprocessing.Pool(initializer=begin, initargs=(ROOT / "deploy" / "detector.toml",)) as pool:
        for name in rows:
            row = judge_row(name, arguments, pool)
            wrong = misses(row)
            failed = failed or bool(wrong)
            table.append(lines_of(row))
            print(table[-1] + (f" MISSED: {', '.join(wrong)}" if wrong else ""), flush=True)
            if arguments.all_why:
                print("   ", ", ".join(f"{why or 'signal'} {n}" for why, n in row["reasons"].most_common()))
    if arguments.update:
        PAGE.write_text(TABLE.sub(lambda m: m[1] + "\n".join([HEAD, *table]) + "\n" + m[2], PAGE.read_text()))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
