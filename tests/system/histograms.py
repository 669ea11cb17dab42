#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Histograms from end to end: a daemon counts the same of the same events however they are divided into frames, and the same as is
counted here from the samples; the store holds them. What changed since a reference, and hot inputs, are
rows of tests/fault/rows/headline_rows.py."""
import json
import math

import harness
import level2
import store_reader
from selection_stage import FAILED, MISSING, RUN, Selecting

EVENTS, SPILLS = 30, 3


class Histograms(Selecting):
    def start(self, **sections):
        """A receiver and a daemon on ports and in a store of their own."""
        self.ports, self.store = harness.Ports(), self.folder / f"store-{len(self.programs)}"
        self.start_receiver()
        return self.start_daemon(**{"selection": {"lines": "built-in"}, "frames": self.frames, "histograms": {"one_in": 1}} | sections)

    def as_json(self, *arguments):
        return self.run_for_json("histograms", *arguments)

    def waveforms_in(self, file):
        """{"CRATE/SLOT/CHANNEL": [samples of each event]}"""
        found = {}
        for fragments in (fragments for of_spill in self.events_in(file).values() for fragments in of_spill):
            for address, samples in level2.waveforms(self.crates, fragments):
                found.setdefault(address, []).append(samples)
        return found

    def in_store(self):
        """Each block with histograms that the independent reader finds, and these."""
        return [(b, b.histograms) for b in store_reader.read_store(self.store, read=store_reader.packed) if b.histograms]

    def test_are_those_of_the_samples_in_any_frames_and_in_the_store(self):
        file = self.simulate(EVENTS, spills=SPILLS)
        daemon = self.start()
        self.run_replay(file)

        def page():
            return json.loads(daemon.get("/histograms")[1])
        harness.wait_until(lambda: page()["run"]["events"] == EVENTS and (page()["spill"] or {}).get("spill") == SPILLS, "all events counted")
        of_last_spill, run = page()["spill"], page()["run"]
        self.assertEqual((run["histograms"], run["spill"], run["one_in"], run["sampled"], run["left_out"]), (2, None, 1, EVENTS, 0))
        self.assert_of_samples(run, self.waveforms_in(file))
        self.finish(daemon)
        found = self.in_store()
        self.assertEqual(sorted(h["spill"] for _, h in found), list(range(1, SPILLS + 1)))
        self.assertIn(of_last_spill, [h for _, h in found])
        self.assertTrue(all(b.settings for b, _ in found), "what decided is beside them")
        for name, values in run["channels"].items():
            self.assertEqual([sum(v) for v in zip(*(h["channels"][name] for _, h in found))], values, name)
        self.assertEqual((self.as_json(self.store)["run"], self.as_json(self.store, "--spill", "3")["run"]), (run, of_last_spill))
        saved = self.folder / "saved.json"
        for arguments, code, part in (
                ((self.store, "--spill", "4"), FAILED, "holds no histograms of that spill"),
                ((self.store, "--run", "99"), FAILED, f"has no histograms of run 99: it holds run {RUN}\n"),
                ((self.store, "--save", saved), 0, ()), ((saved, "--reference", self.store), 0, "no input changed since the reference"),
                ((f"{harness.HOST}:1",), MISSING, f"http://{harness.HOST}:1/histograms")):
            self.tool("histograms", *arguments, code=code, says=part)
        self.assertEqual(json.loads(saved.read_text()), run)

        # Of a run that ends with its spills, in other frames.
        daemon = self.start(frames={"count": 3, "events": 3})
        self.run_replay(file)
        self.finish(daemon)
        self.assertEqual(self.as_json(self.store)["run"], run)
        self.assertEqual(sorted((h["spill"], h["events"]) for _, h in self.in_store()), [(s, EVENTS // SPILLS) for s in range(1, SPILLS + 1)])
        self.assertIn([], [b.events for b, _ in self.in_store()], "the last ones come without events")

    def assert_of_samples(self, run, waveforms):
        """Pedestals and noise by their definition; occupancy is that of pulses, which other tests look at."""
        channels = run["channels"]
        quiet = 0
        for number, address in enumerate(run["inputs"]):
            if address == "":
                self.assertEqual(channels["waveforms"][number], 0)
                continue
            mine = waveforms[address]
            fast = len(mine[0]) == 256
            lowest = [min(sum(w[q:q + 16]) for q in range(0, 256, 64)) if fast else min(sum(w[:8]), sum(w[56:])) for w in mine]
            pedestals = [(n + 2) // 4 if fast else (n + 1) // 2 for n in lowest]
            self.assertEqual(channels["waveforms"][number], len(mine))
            self.assertEqual(channels["pedestal"][number], sum(pedestals), address)
            self.assertEqual(channels["pedestal_squares"][number], sum(p * p for p in pedestals), address)
            if channels["quiet"][number] == len(mine):
                quiet += 1
                samples = [w[:32:4] if fast else w[:8] for w in mine]
                logs = [self.noise_log(8 * sum(x * x for x in s) - sum(s) ** 2) for s in samples]
                self.assertEqual(channels["noise_log"][number], sum(logs), address)
                self.assertEqual(channels["noise_log_squares"][number], sum(n * n for n in logs), address)
        self.assertGreater(quiet, 100, "or this says little of noise")
        self.assertGreater(sum(channels["lit"]), 500)

    @staticmethod
    def noise_log(variance):
        """As section 16 of docs/formats.md has it; near the logarithm itself."""
        if variance == 0:
            return 0
        octave = variance.bit_length() - 1
        above = (variance - (1 << octave)) * 32768 >> octave
        made = (32768 * octave + above + 11 * above * (32768 - above) // (1 << 20) + 64) // 128
        assert abs(made - 256 * math.log2(variance)) < 2.6, variance
        return made


if __name__ == "__main__":
    harness.main()
