#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The offline judge, on what it must know and on few events of three rows of the table of robustness."""
import math
import os
import subprocess
import sys
import unittest

import geometry
import judge
import pulse_fit
import reconstruction

DETECTOR = judge.ROOT / "deploy" / "detector.toml"


class Judge(unittest.TestCase):
    def test_the_fit_finds_height_and_place_over_a_slope(self):
        for place in (22.0, 25.3, 30.75):
            samples = [500 + 0.7 * k + 300 * pulse_fit.form((k - place) * 8, 27.8, 0.072) for k in range(64)]
            _, height, found = pulse_fit.SLOW.fit(samples, round(place))
            self.assertAlmostEqual(height / 300, 1, delta=0.01)
            self.assertAlmostEqual(found, place, delta=0.1)

    def test_the_vertex_is_that_of_the_pion(self):
        judged = reconstruction.Reconstruction(geometry.Geometry(DETECTOR))
        # A pion that decays 2000 mm before the face into two photons of one energy.
        x, d = 400.0, 2000.0
        energy = reconstruction.PION / 2 / (x / math.hypot(x, d))
        z, momentum = judged.vertex(energy, energy, x, 0.0, -x, 0.0)
        self.assertAlmostEqual(z, judged.geometry.front - d, delta=0.5)
        self.assertAlmostEqual(momentum, 0, delta=1e-6)

    def test_three_rows_hold(self):
        done = subprocess.run([sys.executable, "-B", judge.HERE / "judge.py", "--rows", "as_simulated,noise_board_2,late_16", "--signal-events", "60",
                               "--mixture-events", "150"], capture_output=True, text=True, env=os.environ)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        rows = [line for line in done.stdout.splitlines() if line.startswith("| ")][2:]
        self.assertEqual(len(rows), 3, done.stdout)
        for row in rows:
            self.assertGreater(int(row.split("|")[3]), 10, "events that offline takes: " + row)


if __name__ == "__main__":
    unittest.main()
