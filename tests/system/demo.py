#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The demo of the README, small: it must end with exit code 0 and say that every event was verified."""
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


if __name__ == "__main__":
    harness.main()
