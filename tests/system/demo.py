#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The demo of the README, small: it must end with exit code 0 and say that every event was verified."""
import contextlib
import os
import pathlib
import re
import shutil
import signal
import subprocess

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
        report = self.run_for_json("demo", "--events", "60", "--folder", self.folder / "demo", seconds=3 * harness.PATIENCE)
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
        p = self.keep(harness.Program([alone / "koto-l3", "demo", "--events", "2", "--folder", self.folder / "demo"],
                                      self.folder / "alone.log"))
        self.assertEqual(p.wait(), 69)
        self.assertIn("koto-l3d: No such file or directory", p.said())

    def test_no_folder_for_temporary_files(self):
        for place, why in (("/nope", "TMPDIR, or /tmp where it is not set, is no folder for temporary files: No"), ("/proc", "cannot make a folder in /proc (TMPDIR): ")):
            p = subprocess.run([harness.BIN / "koto-l3", "demo", "--events", "2"], env={**os.environ, "TMPDIR": place}, capture_output=True, text=True)
            self.assertEqual((p.returncode, p.stdout), (69, ""))
            self.assertRegex(p.stderr, rf"^koto-l3 demo: {re.escape(why)}.*\n$")

    def test_it_tells_what_a_program_said_that_failed(self):
        with_another = self.folder / "bin"
        with_another.mkdir()
        shutil.copy(harness.BIN / "koto-l3", with_another)
        (with_another / "koto-l3d").write_text("#!/bin/sh\necho not in the mood >&2\nexit 3\n")
        (with_another / "koto-l3d").chmod(0o755)
        p = self.keep(harness.Program([with_another / "koto-l3", "demo", "--events", "2", "--folder", self.folder / "demo"],
                                      self.folder / "another.log"))
        self.assertEqual(p.wait(), 1)
        self.assertIn("the daemon did not become ready", p.said())
        self.assertIn("\n    not in the mood", p.said())
        self.assertIn(str(self.folder / "demo"), p.said())


class Interrupted(harness.SystemTest):
    """Whatever ends the demo, the programs that it started end too."""

    def setUp(self):
        super().setUp()
        self.scratch = self.folder / "scratch"
        self.scratch.mkdir()

    def start(self, *more):
        return self.keep(harness.Program([harness.BIN / "koto-l3", "demo", *more], self.folder / "demo.log",
                                         environment={"TMPDIR": str(self.scratch)}))

    def children(self, demo):
        """{pid: (program, command)}. Nothing is asked of other processes: one that is busy with its memory answers late."""
        found = {}
        for of_thread in pathlib.Path(f"/proc/{demo.pid}/task").glob("*/children"):
            with contextlib.suppress(OSError):  # it ended meanwhile
                for pid in of_thread.read_text().split():
                    command = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().decode().split("\0")
                    found[int(pid)] = (pathlib.Path(command[0]).name, command[1] if len(command) > 1 else "")
        return found

    def runs(self, pid):
        try:
            return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
        except OSError:
            return False

    def end(self, demo, number, wanted):
        """The signal, as soon as all these run and the demo's first line is written, for which it does not wait itself."""
        children = {}

        def run():
            children.update(self.children(demo))
            return (wanted <= set(children.values()) and "working in" in demo.said()) or not demo.running()
        harness.wait_until(run, lambda: f"{wanted}; there were {children}; {demo.said()}")
        self.assertLessEqual(wanted, set(children.values()), demo.said())
        demo.signal(number)
        code = demo.wait()
        harness.wait_until(lambda: not any(map(self.runs, children)), f"the end of {children}")
        return code

    def test_its_programs_end_with_it(self):
        whole_chain = {("koto-l3", "receive"), ("koto-l3d", "--config"), ("koto-l3", "replay")}
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
            for wanted, more in ((whole_chain, ("--events", "60", "--rate", "1ev/s")),
                                 ({("koto-l3", "simulate")}, ("--events", "100000"))):  # minutes, if it is not seen at once
                with self.subTest(number=number, wanted=wanted):
                    demo = self.start(*more)
                    code = self.end(demo, number, wanted)
                    if number == signal.SIGKILL:
                        (left,) = self.scratch.iterdir()
                        self.assertIn(str(left), demo.said())
                        shutil.rmtree(left)
                    else:
                        self.assertEqual(code, 1, demo.said())
                        self.assertTrue(demo.said().endswith("koto-l3 demo: interrupted\n"), demo.said())
                        self.assertEqual(list(self.scratch.iterdir()), [])

    def test_a_folder_that_was_given_is_kept(self):
        folder = self.folder / "mine"
        demo = self.start("--events", "60", "--rate", "1ev/s", "--folder", folder)
        self.assertEqual(self.end(demo, signal.SIGTERM, {("koto-l3", "replay")}), 1)
        self.assertTrue((folder / "udp" / "daemon.log").exists())


if __name__ == "__main__":
    harness.main()
