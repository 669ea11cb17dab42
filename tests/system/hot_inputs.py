#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Inputs that have pulses all the time: a run tells of them, the next one masks them if it is asked to, and the stream says so. The rule
is that of docs/selection.md, applied here to the histograms of each spill in the store."""
import collections
import json
import re
import statistics

import harness
import store_reader
from runs import Controlled
from selection_stage import RUN, Selecting, counters_of_inputs

# The rule asks for 100 waveforms. On a busy machine a spill may end in two parts: one of them has enough, whatever their lengths.
SPILLS, EVENTS_A_SPILL = 2, 250
EVENTS = SPILLS * EVENTS_A_SPILL
HEADER = "input,gain,time,threshold,dead\n"
FILE = "node3.hot-inputs.csv"


def heat_in(histograms):
    """{address: whether it is hot}, by the rule: more than half of the waveforms, and five times the lower median of the counter."""
    channels, counters = histograms["channels"], counters_of_inputs()
    shares = {a: lit / waveforms for a, lit, waveforms in zip(histograms["inputs"], channels["lit"], channels["waveforms"])
              if waveforms >= 100 and a in counters}
    usual = {c: statistics.median_low([s for a, s in shares.items() if counters[a] == c]) for c in set(counters.values())}
    return {a: s > max(0.5, 5 * usual[counters[a]]) for a, s in shares.items()}


def hot_after(parts):
    """{address: in how many spills on end it was hot}, after these parts of spills in their order."""
    spills = {}
    for h in parts:
        for address, is_hot in heat_in(h).items():
            if is_hot:
                spills.setdefault(address, set()).add(h["spill"])
            else:
                spills.pop(address, None)
    return {address: len(those) for address, those in spills.items()}


class HotInputs(Controlled, Selecting):
    def simulate_with_hot(self, run):
        file = self.folder / f"{run}.l2raw"
        code, said = self.run_tool("simulate", file, "--events", str(EVENTS), "--spills", str(SPILLS), "--seed", "11", "--run", str(run),
                                   "--hot", "0.002")
        self.assertEqual(code, 0, said)
        return file

    def take(self, daemon, run):
        """/status of a run of the simulated events, when its last spill has ended, in one part or in several."""
        self.start(number=run)
        self.wait_for_run("running", run)
        code, said = self.run_tool("replay", self.simulate_with_hot(run), "--to", f"tcp://{harness.HOST}:{self.ports.tcp}", "--rate", "max")
        self.assertEqual(code, 0, said)
        daemon.wait_for_stored(EVENTS)
        parts = []

        def whole():
            latest = json.loads(daemon.get("/histograms")[1])["spill"]
            if latest and latest["spill"] == SPILLS and latest not in parts[-1:]:
                parts.append(latest)
            return sum(h["events"] for h in parts) == EVENTS_A_SPILL
        harness.wait_until(whole, "the last spill's end")
        hot = set(hot_after(parts))
        return daemon.wait_for(lambda s: set(s["hot_inputs"]) == hot, f"the hot inputs {hot}")

    def two_runs(self, what):
        """The daemon, and /status of each run."""
        self.start_receiver()
        daemon = self.start_controlled(selection={"lines": "built-in", "mode": "record", "hot_inputs": what}, histograms={"one_in": 1},
                                       frames=self.frames, building={"chunk_bytes": self.chunk_bytes})
        found = []
        for run in (RUN, RUN + 1):
            status, m = self.take(daemon, run), daemon.metrics()
            self.assertEqual((m["koto_l3_hot_inputs"], m["koto_l3_masked_inputs"]), (len(status["hot_inputs"]), len(status["masked_inputs"])))
            self.assertEqual("hot_inputs" in status["state"]["degraded"], bool(status["hot_inputs"]))
            found.append(status)
        self.assertEqual(daemon.stop(), 0, daemon.said())
        self.programs[0].stop()
        return daemon, found

    def in_store(self, run):
        """The histograms of the run's spills, or of parts of them, in their order, and the calibration in force."""
        blocks = [b for b in store_reader.read_store(self.store, read=store_reader.packed) if b.run == run]
        parts = [b.histograms for b in sorted(blocks, key=lambda b: b.sequence) if b.histograms]
        events = collections.Counter()
        for h in parts:
            events[h["spill"]] += h["events"]
        self.assertEqual(events, {spill: EVENTS_A_SPILL for spill in range(1, SPILLS + 1)})
        calibration, = {b.settings.calibration for b in blocks if b.settings}
        return parts, calibration

    def test_are_told_in_one_run_and_masked_in_the_next(self):
        daemon, (first, second) = self.two_runs("mask")
        parts, calibration = self.in_store(RUN)
        hot = hot_after(parts)
        lasting = sorted((a for a, spills in hot.items() if spills == SPILLS), key=lambda a: [int(n) for n in a.split("/")])
        self.assertGreaterEqual(len(lasting), 2, "or this says little")
        self.assertEqual(set(first["hot_inputs"]), set(hot))
        self.assertEqual((first["masked_inputs"], calibration), ([], None))
        self.assertEqual(first["problem"]["name"], "hot_inputs")
        self.assertIn(f"hot: {first['hot_inputs'][0]}", first["problem"]["text"])
        daemon.wait_to_say(re.compile(rf"hot inputs: {first['hot_inputs'][0]} \(.*\): more than 50 % of their waveforms in a spill have a pulse"))

        self.assertEqual((self.ledgers / FILE).read_text(), HEADER + "".join(f"{a},,,,1\n" for a in lasting))
        daemon.wait_to_say(f"hot inputs: {len(lasting)} masked in run {RUN + 1}: {lasting[0]}")
        self.assertEqual(second["masked_inputs"], lasting)
        self.assertFalse(set(second["hot_inputs"]) & set(lasting))
        parts, calibration = self.in_store(RUN + 1)
        self.assertEqual(calibration, HEADER + "".join(f"{a},,,,1\n" for a in lasting))
        for h in parts:
            lit = dict(zip(h["inputs"], h["channels"]["lit"]))
            self.assertEqual([lit[a] for a in lasting], [0] * len(lasting), "they decide nothing")

        total = self.run_for_json("select", self.store, "--as-recorded")["total"]
        self.assertEqual((total["events"], total["as_stored"]), (2 * EVENTS, 2 * EVENTS))

    def test_are_only_told_as_long_as_nothing_else_is_asked_for(self):
        daemon, (first, second) = self.two_runs("tell")
        self.assertFalse((self.ledgers / FILE).exists())
        self.assertEqual((first["masked_inputs"], second["masked_inputs"]), ([], []))
        self.assertEqual(set(second["hot_inputs"]), set(hot_after(self.in_store(RUN + 1)[0])))
        self.assertEqual([self.in_store(run)[1] for run in (RUN, RUN + 1)], [None, None])
        self.assertNotIn("masked in run", daemon.said())

    def masked_by_a_start(self):
        """Without run control: what a daemon says to mask, and its log."""
        daemon = self.start_daemon(run={"ledger": f"{self.ledgers}/"}, selection={"lines": "built-in", "hot_inputs": "mask"})
        masked = daemon.status()["masked_inputs"]
        self.assertEqual(daemon.stop(), 0, daemon.said())
        return masked, daemon.said()

    def test_are_masked_from_start_to_start_until_a_person_takes_them_back(self):
        self.start_receiver()
        self.ledgers.mkdir()
        file = self.ledgers / FILE
        file.write_text("# told to the expert\n" + HEADER + "0/3/7,,,,1\n12/4/0,,,,1\n")
        masked, said = self.masked_by_a_start()
        self.assertEqual(masked, ["0/3/7", "12/4/0"])
        self.assertIn(f"hot inputs: 2 masked in run 7: 0/3/7, 12/4/0; to take one back, remove its line from {file}", said)
        file.write_text(file.read_text().replace("0/3/7,,,,1\n", ""))
        self.assertEqual(self.masked_by_a_start()[0], ["12/4/0"])
        damaged = HEADER + "12/4/0,,,,1\n12/4/"
        file.write_text(damaged)
        masked, said = self.masked_by_a_start()
        self.assertEqual((masked, file.read_text()), ([], damaged))
        self.assertIn(f"hot inputs: no input is masked: {file}:3:1: ", said)
        self.assertIn(f"mend {file} or remove it", said)


if __name__ == "__main__":
    harness.main()
