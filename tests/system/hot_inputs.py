#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Inputs that have pulses all the time: log, status and metrics name them, and nothing else changes. The rule is that of
docs/selection.md, applied here to the histograms of each spill in the store."""
import json
import re
import statistics

import harness
import store_reader
from selection_stage import RUN, Selecting, counters_of_inputs

EVENTS = 250


def heat_in(histograms):
    """{address: whether it is hot}, by the rule: more than half of the waveforms, and five times the lower median of the counter."""
    channels, counters = histograms["channels"], counters_of_inputs()
    shares = {a: lit / waveforms for a, lit, waveforms in zip(histograms["inputs"], channels["lit"], channels["waveforms"])
              if waveforms >= 100 and a in counters}
    usual = {c: statistics.median_low([s for a, s in shares.items() if counters[a] == c]) for c in set(counters.values())}
    return {a: s > max(0.5, 5 * usual[counters[a]]) for a, s in shares.items()}


class HotInputs(Selecting):
    def test_are_reported_with_the_line_that_takes_one_out(self):
        self.start_receiver()
        daemon = self.start_daemon(run={"number": RUN}, selection={"lines": "built-in", "mode": "record"}, histograms={"one_in": 1},
                                   frames=self.frames, building={"chunk_bytes": self.chunk_bytes})
        file = self.folder / "sent.l2raw"
        code, said = self.run_tool("simulate", file, "--events", str(EVENTS), "--seed", "11", "--run", str(RUN), "--hot", "0.002")
        self.assertEqual(code, 0, said)
        code, said = self.run_tool("replay", file, "--to", f"tcp://{harness.HOST}:{self.ports.tcp}", "--rate", "max")
        self.assertEqual(code, 0, said)
        daemon.wait_for_stored(EVENTS)
        harness.wait_until(lambda: (h := json.loads(daemon.get("/histograms")[1]))["run"]["events"] == EVENTS and h["spill"], "the spill's end")
        before = daemon.wait_for(lambda s: s["hot_inputs"], "hot inputs")
        status = daemon.wait_for(lambda s: s["uptime"] > before["uptime"] + 1, "two looks later")
        self.assertEqual(status["problem"]["name"], "hot_inputs")
        first = status["hot_inputs"][0]
        self.assertIn(f"hot: {first}", status["problem"]["text"])
        daemon.wait_to_say(re.compile(rf"hot inputs: {first} \(.*\): more than 50 % of their waveforms in a spill have a pulse"))
        daemon.wait_to_say(f"the line {first},,,,1 in selection.calibration takes the first one out")
        self.assertEqual(daemon.metrics()["koto_l3_hot_inputs"], len(status["hot_inputs"]))
        self.assertEqual(daemon.stop(), 0, daemon.said())
        self.programs[0].stop()
        heat = {}
        for block in sorted(store_reader.read_store(self.store, read=store_reader.packed), key=lambda b: b.sequence):
            if block.histograms:
                heat.update(heat_in(block.histograms))
        self.assertGreaterEqual(sum(heat.values()), 2, "or this says little")
        self.assertEqual(set(status["hot_inputs"]), {address for address, is_hot in heat.items() if is_hot})


if __name__ == "__main__":
    harness.main()
