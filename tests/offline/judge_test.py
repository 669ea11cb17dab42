#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The offline judge on few events of four rows of the table of robustness, and how it tells that a row does not hold."""
import os
import subprocess
import sys
import unittest

import judge


class Judge(unittest.TestCase):
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
        there_are = judge.ROWS.values()
        self.assertEqual([cells[0] for cells in shown], [judge.effects_of(row) for row in there_are], "./run stress --update writes the table")
        columns = [cell.strip() for cell in judge.HEAD.splitlines()[0].split("|")[1:-1]]
        options = subprocess.run([judge.BIN / "koto-l3", "simulate", "--help"], capture_output=True, text=True, check=True).stdout
        for cells, row in zip(shown, there_are):
            self.assertLessEqual({f"--{effect}" for effect in row["effects"]}, set(options.split()))
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
