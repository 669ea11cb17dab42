#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The demo of the README, small: it must end with exit code 0 and say that every event was verified."""
import json
import os
import pathlib
import re
import shutil
import unittest

import harness


class Demo(harness.SystemTest):
    def demo(self, *more):
        code, said = self.run_tool("demo", "--events", "60", "--folder", self.folder / "demo", *more, seconds=3 * harness.PATIENCE)
        self.assertEqual(code, 0, said)
        self.assertRegex(said, r"every event verified, bit for bit +yes +yes")
        self.assertRegex(said, r"both sums balance +yes +yes")
        self.assertRegex(said, r"events sent +60 +60")

    def test_simulated(self):
        self.demo()

    def test_as_json(self):
        code, said = self.run_tool("demo", "--events", "60", "--folder", self.folder / "demo", "--json",
                                   seconds=3 * harness.PATIENCE)
        self.assertEqual(code, 0, said)
        report = json.loads(said[said.index("{"):])  # behind what the log has of standard error
        self.assertTrue(report["holds"])
        self.assertEqual(report["folder"], str(self.folder / "demo"))
        for way in ("udp", "tcp"):
            run = report[way]
            self.assertEqual((run["events_sent"], run["events_stored"], run["problems"]), (60, 60, []))
            self.assertTrue(run["verified"])
            self.assert_conserved(run["daemon"])

    def test_with_a_recording(self):
        folder = os.environ.get("KOTO_L3_WAVEFORMS")
        if not folder:
            self.skipTest("KOTO_L3_WAVEFORMS is not set")
        self.demo("--waveforms", sorted(pathlib.Path(folder).glob("*.u16"))[0])

    def test_it_is_told_when_a_program_is_missing(self):
        alone = self.folder / "bin"
        alone.mkdir()
        shutil.copy(harness.BIN / "koto-l3", alone)
        p = self.keep(harness.Program([alone / "koto-l3", "demo", "--events", "2"], self.folder / "alone.log"))
        self.assertNotEqual(p.wait(), 0)
        self.assertRegex(p.said(), re.compile("koto-l3d"))


class Bench(harness.SystemTest):
    def test_without_iperf3_its_figure_is_not_measured_and_the_rest_is(self):
        nowhere = self.folder / "nowhere"
        nowhere.mkdir()
        p = self.keep(harness.Program([harness.BIN / "koto-l3", "bench", "pipeline", "--events", "60", "--loops", "2", "--udp",
                                       "0.02", "--json"], self.folder / "bench.log", environment={"PATH": str(nowhere)}))
        self.assertEqual(p.wait(3 * harness.PATIENCE), 0, p.said())
        report = json.loads(p.said()[p.said().index("{"):])
        limit, tcp, udp = report["figures"]
        self.assertEqual((limit["bytes_per_second"], limit["note"]), (None, "iperf3 is not in PATH"))
        self.assertIsNone(tcp["limit"])
        self.assertGreater(tcp["bytes_per_second"], 0)
        self.assertIn("120 events, 0 not stored", udp["note"])
        self.assertTrue(report["holds"])


if __name__ == "__main__":
    harness.main()
