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

PROGRAMS = pathlib.Path(sys.argv.pop(1)).resolve()
SCHEDULES = {"converged": "converged", "at random": "random:7:8"}


def run(*words, folder=None, schedule="converged", timeout=300):
    """What the program says, as JSON. A fault of the imagined device is an error, whatever the program makes of it."""
    environment = dict(os.environ, L3_DEVICE_SCHEDULE=schedule)
    done = subprocess.run([PROGRAMS / "koto-l3", *map(str, words)], capture_output=True, text=True, timeout=timeout, check=False,
                          env=environment, cwd=folder)
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
        expected = run("select", file, "--backend", "serial", "--json")
        for name, schedule in SCHEDULES.items():
            with self.subTest(name):
                got = run("select", file, "--backend", "cuda", "--json", schedule=schedule)
                for figures in (expected, got):
                    figures.pop("executor", None)
                self.assertEqual(got, expected)

    def test_cub_sorts_as_the_blocks_do(self):
        done = subprocess.run([PROGRAMS / "koto-l3-bench", "sort", "--segments", "3", "--rounds", "1", "--json"], capture_output=True,
                              text=True, timeout=300, check=True)
        rows = json.loads(done.stdout)["rows"]
        self.assertEqual({row["library"] for row in rows}, {"std::sort", "CUB"})
        self.assertTrue(all(row["right"] for row in rows), rows)

    def test_each_of_the_first_kernels_packs_as_one_core_does_and_nvml_counts_its_energy(self):
        nvml = """int nvmlInit_v2(void) { return 0; }
            int nvmlDeviceGetHandleByIndex_v2(unsigned n, void** device) { *device = &nvmlInit_v2; return n; }
            int nvmlDeviceGetTotalEnergyConsumption(void* device, unsigned long long* mJ) {
              static unsigned long long used; *mJ = used += 1000; return device != &nvmlInit_v2; }"""
        subprocess.run(["cc", "-shared", "-fPIC", "-xc", "-", "-o", self.folder / "libnvidia-ml.so.1"], input=nvml, text=True, check=True)
        for schedule in SCHEDULES.values():
            with self.subTest(schedule):
                words = ["device", "--backend", "cuda", "--least", "4KiB", "--most", "4KiB", "--rounds", "1", "--json"]
                done = subprocess.run([PROGRAMS / "koto-l3-bench", *words], capture_output=True, text=True, timeout=300, check=True,
                                      env=dict(os.environ, L3_DEVICE_SCHEDULE=schedule, LD_LIBRARY_PATH=str(self.folder)))
                report = json.loads(done.stdout)
                self.assertTrue(all(row["right"] for row in report["rows"]), report)
                self.assertEqual(sum(row["what"].startswith("a ") for row in report["rows"]), 5)
                self.assertTrue(all(fit.get("device_joules_per_gib", 1) > 0 for fit in report["fits"]), report)

    def test_decoders_and_finders_of_clusters_agree_with_the_cpu(self):
        for words in (["decode", "--events", "1", "--varied"], ["select", "--events", "2"]):
            for schedule in SCHEDULES.values():
                with self.subTest(words[0], schedule=schedule):
                    done = subprocess.run([PROGRAMS / "koto-l3-bench", *words, "--backend", "cuda", "--rounds", "1", "--json"], capture_output=True,
                                          text=True, timeout=300, check=True, env=dict(os.environ, L3_DEVICE_SCHEDULE=schedule))
                    rows = json.loads(done.stdout)["rows"]
                    self.assertTrue(all(row["right"] for row in rows), rows)
                    self.assertGreater(sum("warp_instructions" in row for row in rows), 6)

    def test_frames_in_flight_give_the_bytes_of_the_cpu_with_and_without_a_selection(self):
        words = ["engine", "--backend", "cuda", "--select", "--events", "8", "--frames", "2", "--batches", "2", "--rounds", "1", "--json"]
        done = subprocess.run([PROGRAMS / "koto-l3-bench", *words], capture_output=True, text=True, timeout=300, check=True)
        rows = json.loads(done.stdout)["rows"]
        self.assertTrue(all(row["right"] for row in rows), rows)
        self.assertEqual(sum("selection" in row["what"] for row in rows), 1, rows)

    def test_frames_are_chosen_for_the_devices(self):
        file = self.folder / "l3.toml"
        for settings, chosen in (("", "frames.count = 6, frames.events = 64: chosen for 2 × interpreted PTX"),
                                 ("[frames]\ncount = 3", "frames.events = 64: chosen for 2 × interpreted PTX"),
                                 ("devices = [1]", "frames.count = 6, frames.events = 64: chosen for interpreted PTX"),
                                 ("[frames]\ncount = 3\nevents = 16", None)):
            file.write_text(f"[compute]\nbackend = \"cuda\"\n{settings}\n")
            done = subprocess.run([PROGRAMS / "koto-l3d", "--config", file, "--print-config"], capture_output=True, text=True,
                                  timeout=60, check=True, env=dict(os.environ, L3_DEVICE_COUNT="2"))
            said = [line for line in done.stdout.splitlines() if "chosen for" in line]
            self.assertEqual(len(said), 0 if chosen is None else 1, done.stdout)
            self.assertTrue(chosen is None or said[0].startswith(f"# {chosen}"), said)

    def test_the_demo_verifies_every_event(self):
        said = run("demo", "--events", "8", "--backend", "cuda", "--rate", "8ev/s", "--selection", "none", "--json", folder=self.folder)
        self.assertIn("interpreted PTX", json.dumps(said))
        self.assertTrue(said["holds"])
        self.assertEqual([said[way]["events_stored"] for way in ("udp", "tcp")], [8, 8])

    def test_a_demo_whose_device_fails_is_none_of_the_device(self):
        done = subprocess.run([PROGRAMS / "koto-l3", "demo", "--events", "2", "--backend", "cuda", "--rate", "8ev/s", "--selection", "none", "--json"],
                              cwd=self.folder, capture_output=True, text=True, timeout=300, env=dict(os.environ, L3_DEVICE_ERRORS="cudaGraphLaunch=719:6"))
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertRegex(done.stdout, "the CPU computed [1-9][0-9]* frames in place of the device")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v"])
