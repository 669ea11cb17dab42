#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The offline judge, on what it must know and on few events of three rows of the table of robustness."""
import math
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import numpy as np

import geometry
import judge
import pulse_fit
import reconstruction

DETECTOR = judge.ROOT / "deploy" / "detector.toml"


class Judge(unittest.TestCase):
    def test_the_fit_finds_height_and_place_over_a_slope(self):
        places = (22.0, 25.3, 30.75)
        samples = np.array([[500 + 0.7 * k + 300 * pulse_fit.form((k - place) * 8, 27.8, 0.072) for place in places] for k in range(64)])
        _, heights, found = pulse_fit.SLOW.fit(samples, np.arange(3), np.array([round(place) for place in places]))
        for height, at, place in zip(heights, found, places):
            self.assertAlmostEqual(height / 300, 1, delta=0.01)
            self.assertAlmostEqual(at, place, delta=0.1)

    def test_all_pulses_at_500_mhz_are_found(self):
        samples = np.full((256, 2), 400, np.int16)
        for height, place in ((200, 60), (90, 140)):
            samples[:, 1] += np.array([round(height * pulse_fit.form((k - place) * 2, 8.5, 0)) for k in range(256)], np.int16)
        columns, heights, places = reconstruction.Reconstruction.fast_pulses(samples, np.array([20.0, 20.0]))
        self.assertEqual(columns.tolist(), [1, 1])
        self.assertEqual(places.round().tolist(), [60, 140])
        self.assertEqual((heights / 10).round().tolist(), [20, 9])

    def test_crystals_that_touch_are_a_cluster(self):
        def crystal(x, y, energy):
            return geometry.Input(0, True, crystal=(x, y, 25.0)), energy, 1.0
        chain = [crystal(50.0 * k, 0.0, 100.0) for k in (3, 0, 2, 1)]  # each touches only the next
        found = reconstruction.Reconstruction.clusters([*chain, crystal(500, 0, 80), crystal(0, 400, 20), crystal(25, 400, 30)])
        self.assertEqual([round(energy) for energy, *_ in found], [410, 56])
        self.assertAlmostEqual(found[0][2], 75)

    def test_the_vertex_is_that_of_the_pion(self):
        judged = reconstruction.Reconstruction(geometry.Geometry(DETECTOR))
        # A pion that decays 2000 mm before the face into two photons of one energy.
        x, d = 400.0, 2000.0
        energy = reconstruction.PION / 2 / (x / math.hypot(x, d))
        z, momentum = judged.vertex(energy, energy, x, 0.0, -x, 0.0)
        self.assertAlmostEqual(z, judged.geometry.front - d, delta=0.5)
        self.assertAlmostEqual(momentum, 0, delta=1e-6)

    def test_a_counters_delay_is_in_the_times_of_its_inputs(self):
        usual = geometry.Geometry(DETECTOR)
        with tempfile.TemporaryDirectory() as folder:
            late = pathlib.Path(folder) / "late.toml"
            late.write_text(DETECTOR.read_text().replace('name = "CC05"', 'name = "CC05"\ndelay = -24.3'))
            delayed = geometry.Geometry(late)
        later = {i.veto.name if i.veto else "CSI": round(i.offset - usual.inputs[n].offset, 6) for n, i in delayed.inputs.items()}
        self.assertEqual({name: ns for name, ns in later.items() if ns}, {"CC05": -24.3})

    def test_a_floor_that_is_missed_is_told(self):
        full, low, none = judge.proportion(100, 100), judge.proportion(50, 100), judge.proportion(0, 0)
        good = {"least_signal": 0.97, "most_mixture": 0.2, "without": full, "offline": full, "signal": full, "mixture": judge.proportion(15, 100),
                "calibration": judge.proportion(5, 5)}
        self.assertEqual(judge.misses(good), [])
        self.assertEqual(judge.misses({**good, "offline": none}), [], "the reconstruction sees nothing, but did without the effect")
        self.assertEqual(judge.misses({**good, "without": None}), [])
        for part, value, said in (("without", low, "signal"), ("without", none, "signal"), ("offline", low, "signal"), ("signal", low, "signal by truth"),
                                  ("signal", none, "signal by truth"), ("mixture", low, "mixture"), ("calibration", judge.proportion(4, 5), "calibration")):
            self.assertEqual(judge.misses({**good, part: value}), [said], part)
        self.assertEqual(judge.misses({**good, "without": None, "offline": none}), ["signal"])

    def test_the_page_has_every_row(self):
        shown = [[cell.strip() for cell in line.split("|")[1:-1]] for line in judge.TABLE.search(judge.PAGE.read_text())[0].splitlines()[3:-1]]
        there_are = judge.rows_there_are()
        self.assertEqual([cells[0] for cells in shown], [judge.effects_of(row) for row in there_are], "./run stress --update writes the table")
        columns = [cell.strip() for cell in judge.HEAD.splitlines()[0].split("|")[1:-1]]
        for cells, row in zip(shown, there_are):
            self.assertEqual((cells[columns.index("at least")], cells[columns.index("at most")]), judge.limits_of(row), row["row"])

    def test_rows_hold(self):
        done = subprocess.run([sys.executable, "-B", judge.HERE / "judge.py", "--rows", "as_simulated,noise_board_5,late_16,accidentals_x5",
                               "--signal-events", "60", "--mixture-events", "150"], capture_output=True, text=True, env=os.environ)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        rows = [[cell.strip() for cell in line.split("|")[1:]] for line in done.stdout.splitlines() if line.startswith("| ")][2:]
        self.assertEqual(len(rows), 4, done.stdout)
        for row in rows[:3]:
            self.assertGreater(int(row[2]), 20, "signal without the effect: " + done.stdout)
        self.assertEqual(rows[0][1:3], rows[0][3:5], "no effect")
        self.assertGreaterEqual(int(rows[3][4]), 60, "more events are made until so many are signal: " + done.stdout)


if __name__ == "__main__":
    unittest.main()
