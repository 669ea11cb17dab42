#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The programs on the imagined device: what `koto-l3 select` decides there is what it decides on the CPU, and the demo verifies
every event of a daemon whose kernels are interpreted."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

PROGRAMS = pathlib.Path(sys.argv.pop(1))
SCHEDULES = {"converged": "converged", "at random": "random:7:8"}


def run(*words, schedule="converged", timeout=300):
    """What the program says, as JSON. A fault of the imagined device is an error, whatever the program makes of it."""
    environment = dict(os.environ, L3_DEVICE_SCHEDULE=schedule)
    done = subprocess.run([PROGRAMS / "koto-l3", *map(str, words)], capture_output=True, text=True, timeout=timeout, check=False,
                          env=environment)
    if done.returncode != 0 or "device: " in done.stderr:
        raise AssertionError(f"{words}: exit {done.returncode}\n{done.stdout}\n{done.stderr}")
    return json.loads(done.stdout) if done.stdout else None


class Programs(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def test_the_selection_decides_as_on_the_cpu(self):
        file = self.folder / "events.l2raw"
        subprocess.run([PROGRAMS / "koto-l3", "simulate", file, "--events", "12"], check=True, capture_output=True)
        expected = run("select", file, "--executor", "serial", "--json")
        for name, schedule in SCHEDULES.items():
            with self.subTest(name):
                got = run("select", file, "--executor", "cuda", "--json", schedule=schedule)
                for figures in (expected, got):
                    figures.pop("executor", None)
                self.assertEqual(got, expected)

    def test_the_demo_verifies_every_event(self):
        said = run("demo", "--events", "8", "--backend", "cuda", "--rate", "8ev/s", "--json")
        self.assertIn("interpreted PTX", json.dumps(said))
        self.assertTrue(said["holds"])
        self.assertEqual([said[way]["events_stored"] for way in ("udp", "tcp")], [8, 8])


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v"])
