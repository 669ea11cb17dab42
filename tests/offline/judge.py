#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The table of robustness: `koto-l3 simulate`, `evaluate` and `select` make the events of each row and decide them, and the offline reconstruction of
this folder says which of them are signal. Prints a row for each. Ends with 1 if the selection keeps less of the signal, more of the mixture, or less of the
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
MIXTURE_SEED = 1000  # gives other events than the signal's seed
ADD_HITS = {"accidentals", "beam-pile-up", "beam-tail", "veto-inefficiency", "backsplash"}  # the others leave the particles of a seed alone


def row_of(name, least_signal=0.97, most_mixture=0.2, **effects):
    """The least fraction of the signal and the greatest of the mixture that the selection must keep; effects are options of `simulate`."""
    effects = {effect.replace("_", "-"): size for effect, size in effects.items()}
    return {"row": name, "effects": effects, "same_particles": not ADD_HITS & effects.keys(), "least_signal": least_signal, "most_mixture": most_mixture}


# Effects in the waveforms that the selection does not expect, at two or three strengths each.
ROWS = {row["row"]: row for row in (
    row_of("as_simulated", 0.99),
    row_of("noise_board_2", noise_board=2), row_of("noise_board_5", noise_board=5),
    row_of("noise_crate_2", noise_crate=2), row_of("noise_crate_5", noise_crate=5),
    row_of("noise_white_3", noise_white=3), row_of("noise_white_6", noise_white=6),
    row_of("noise_filtered_3", noise_filtered=3), row_of("noise_filtered_6", noise_filtered=6),
    row_of("noise_x2", noise_factor=2), row_of("noise_x4", 0.90, 0.30, noise_factor=4),
    row_of("slope_5", slope=5), row_of("slope_20", slope=20),
    row_of("wander_5", wander=5), row_of("wander_20", wander=20),
    row_of("recovering_2", recovering=0.02), row_of("recovering_20", 0.90, recovering=0.2),
    row_of("undershoot_2", undershoot=0.02), row_of("tail_2", undershoot=-0.02),
    row_of("early_16", event_shift=-16), row_of("late_16", event_shift=16),
    row_of("event_jitter_1", event_jitter=1), row_of("event_jitter_3", event_jitter=3),
    row_of("crate_jitter_1", crate_jitter=1), row_of("crate_jitter_2", 0.90, crate_jitter=2),  # beyond the windows
    row_of("times_5", time_spread=5), row_of("times_10", time_spread=10),
    row_of("counter_times_2", counter_time_spread=2), row_of("counter_times_5", counter_time_spread=5),
    row_of("gains_10", gain_spread=0.1, dead=0.01), row_of("gains_20", gain_spread=0.2, dead=0.03),
    row_of("pulse_form_5", pulse_spread=0.05), row_of("pulse_form_10", pulse_spread=0.1),
    row_of("hot_0.2", 0, hot=0.002), row_of("hot_1", 0, hot=0.01),  # hot inputs are not masked
    row_of("stuck_0.2", stuck=0.002), row_of("stuck_1", stuck=0.01),
    row_of("saturation_8000", saturation=8000), row_of("saturation_4000", saturation=4000),
    row_of("full_scale_98", full_scale=0.977), row_of("full_scale_25", full_scale=0.25),  # 0.977: 16000 counts
    row_of("accidentals_x5", accidentals=5), row_of("accidentals_x10", 0.93, accidentals=10),
    row_of("beam_x2", beam_pile_up=2, beam_tail=0.02), row_of("beam_x3", beam_pile_up=3, beam_tail=0.05),
    row_of("inefficient_1", veto_inefficiency=0.01), row_of("inefficient_5", veto_inefficiency=0.05),
    row_of("backsplash_0.3", backsplash=0.3), row_of("backsplash_1", backsplash=1))}


def tool(*words):
    """What the command answers as JSON."""
    command = [BIN / "koto-l3", *map(str, words), "--json"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, command))}: {done.stderr}")
    return json.loads(done.stdout)


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
        """(the row with what is kept by truth, {event: kept}, {event: why it is no signal})."""
        row = dict(ROWS[name], mixture=proportion(0, 0), calibration=proportion(0, 0), reduction=0.0)
        effects = [f"--{effect}={size}" for effect, size in row["effects"].items()]
        with tempfile.TemporaryDirectory() as folder:
            signal, mixture = pathlib.Path(folder) / "signal.l2raw", pathlib.Path(folder) / "mixture.l2raw"
            # Effects that add hits change the offline decision, so only events that pass it are used.
            tool("simulate", signal, "--events", self.arguments.signal_events, "--seed", seed, "--type", "pi0nunu", "--offline",
                 "photons" if row["same_particles"] else "all", *effects)
            by_truth = tool("evaluate", signal)["evaluations"][0]
            row["signal"] = by_truth["signal"]
            kept = {(e["spill"], e["event"]): by_truth["signal_line"] in e["kept_by"] for e in tool("select", signal)["events"]}
            if mixture_events:
                tool("simulate", mixture, "--events", mixture_events, "--seed", seed + MIXTURE_SEED, *effects)
                of = tool("evaluate", mixture)["evaluations"][0]
                row.update(mixture=of["kept"], calibration=of["calibration_kept"], reduction=of["reduction"])
            judged = self.pool.imap_unordered(judge_one, events_of(signal), 8)
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


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", default="", help="names of rows, separated by commas; by default all")
    parser.add_argument("--signal-events", type=int, default=2000)
    parser.add_argument("--mixture-events", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--all-why", action="store_true", help="print why the reconstruction takes the other events for no signal")
    parser.add_argument("--update", action="store_true", help="write the table into docs/robustness.md")
    arguments = parser.parse_args()
    rows = [name for name in arguments.rows.split(",") if name] or list(ROWS)
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
