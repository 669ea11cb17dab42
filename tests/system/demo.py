#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The demo of the README, small: it must end with exit code 0 and say that every event was verified, or with 1 if one is missing."""
import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import urllib.request

import harness


class Demo(harness.SystemTest):
    def test_with_a_recording(self):
        folder = os.environ.get("KOTO_L3_WAVEFORMS")
        more = ("--waveforms", sorted(pathlib.Path(folder).glob("*.u16"))[0]) if folder else ()
        code, said = self.run_tool("demo", "--events", "60", "--folder", self.folder / "demo", *more, seconds=3 * harness.PATIENCE)
        self.assertEqual(code, 0, said)
        for row in ("events sent +60 +60", r"\+ unaccounted +0 +0", "every sum balances +yes +yes", "kept events verified, bit for bit +yes +yes"):
            self.assertRegex(said, row)
        if not folder:
            self.assertRegex(said, r"output paced at 4 Gb/s; selection built-in\n(?s:.*)  pi0nunu +\d+/0/\d+ +\d+/0/\d+\n")

    def test_simulated_and_as_json(self):
        report = self.run_for_json("demo", "--events", "60", "--folder", self.folder / "demo", seconds=3 * harness.PATIENCE)
        self.assertTrue(report["holds"])
        self.assertEqual((report["folder"], report["link_rate"], report["selection"]), (str(self.folder / "demo"), "4 Gb/s", "built-in"))
        for way in ("udp", "tcp"):
            run = report[way]
            self.assertEqual((run["events_sent"], run["events_unaccounted"], run["problems"], run["verified"]), (60, 0, [], True))
            self.assertTrue(0 < run["events_stored"] == 60 - run["daemon"]["events"]["rejected"] < 60, run)
            self.assertEqual({sum(line.values()) for line in run["lines"].values()}, {60}, "a line judges every event")
            self.assertGreater(run["reduction"], run["ratio"])
            self.assert_conserved(run["daemon"])

    def test_an_event_that_is_missing(self):
        """Datagrams are lost on the way in; the daemon rejects what the demo's selection keeps, and all ledgers balance."""
        folder, menu = self.folder / "bin", self.folder / "nothing.toml"
        folder.mkdir()
        shutil.copy(harness.BIN / "koto-l3", folder / "demo")
        menu.write_text('[[line]]\nname = "nothing"\ntrigger = ["clock"]\nprescale = 1000000\n')
        for name, change, why in (("koto-l3", 'case "$*" in *udp:*) set -- "$@" --drop 1% ;; esac', r"UDP: events sent and admitted: 60 and \d+\n"),
                                  ("koto-l3d", f'sed -i "s:built-in:{menu}:" "$2"', r"TCP: verify found differences(?s:.*)[1-9] events missing")):
            for program in ("koto-l3", "koto-l3d"):
                (folder / program).write_text(f'#!/bin/sh\n{change if program == name else ""}\nexec "{harness.BIN}/{program}" "$@"\n')
                (folder / program).chmod(0o755)
            demo = self.keep(harness.Program([folder / "demo", "demo", "--events", "60", "--folder", self.folder / name], self.folder / "demo.log"))
            self.assertEqual(demo.wait(3 * harness.PATIENCE), 1, demo.said())
            self.assertRegex(demo.said(), why)
            self.assertIn("SOMETHING IS WRONG", demo.said())

    def test_no_folder_for_temporary_files(self):
        for place, why in (("/nope", "TMPDIR, or /tmp if it is not set, is not a folder for temporary files: No"), ("/proc", "cannot make a folder in /proc (TMPDIR): ")):
            p = subprocess.run([harness.BIN / "koto-l3", "demo", "--events", "2"], env={**os.environ, "TMPDIR": place}, capture_output=True, text=True)
            self.assertEqual((p.returncode, p.stdout), (69, ""))
            self.assertRegex(p.stderr, rf"^koto-l3 demo: {re.escape(why)}.*\n$")

    def test_it_tells_of_a_daemon_that_is_missing_or_fails(self):
        folder = self.folder / "bin"
        folder.mkdir()
        shutil.copy(harness.BIN / "koto-l3", folder)
        for code, texts in ((69, ("koto-l3d: No such file or directory",)),
                            (1, ("the daemon did not become ready", "\n    not in the mood", str(self.folder / "demo")))):
            p = self.keep(harness.Program([folder / "koto-l3", "demo", "--events", "2", "--folder", self.folder / "demo"], self.folder / "another.log"))
            self.assertEqual(p.wait(), code)
            for text in texts:
                self.assertIn(text, p.said())
            (folder / "koto-l3d").write_text("#!/bin/sh\necho not in the mood >&2\nexit 3\n")
            (folder / "koto-l3d").chmod(0o755)


class Interrupted(harness.SystemTest):
    """Whatever ends the demo, the programs that it started end too."""

    def test_spills_in_a_loop_until_a_signal(self):
        scratch = self.folder / "scratch"
        scratch.mkdir()
        demo = self.keep(harness.Program([harness.BIN / "koto-l3", "demo", "--watch", "--events", "20"], self.folder / "demo.log", environment={"TMPDIR": str(scratch)}))
        demo.wait_to_say(re.compile(r"the page is http://127\.0\.0\.1:\d+/"), 3 * harness.PATIENCE)
        page, = re.findall(r"http://\S+/", demo.said())

        def status():
            with urllib.request.urlopen(page + "status") as answer:
                return json.load(answer)
        harness.wait_until(lambda: status()["events"]["admitted"] > 20, "the spills to begin again")  # the file has 20 events
        self.assertIn(b"</html>", urllib.request.urlopen(page).read())
        demo.signal(signal.SIGINT)
        self.assertEqual(demo.wait(), 0, demo.said())
        self.assertRegex(demo.said(), r"\+ unaccounted +0\n(?s:.*)Every event is accounted for\.\n$")
        self.assertEqual(list(scratch.iterdir()), [])

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

    def test_its_programs_end_with_it(self):
        scratch, kept = self.folder / "scratch", self.folder / "mine"
        scratch.mkdir()
        chain = {("koto-l3", "receive"), ("koto-l3d", "--config"), ("koto-l3", "replay")}
        slowly = ("--events", "60", "--rate", "1ev/s")
        for number, wanted, arguments in (
                (signal.SIGINT, chain, slowly), (signal.SIGKILL, chain, slowly), (signal.SIGTERM, chain, (*slowly, "--folder", kept)),
                (signal.SIGTERM, {("koto-l3", "simulate")}, ("--events", "100000"))):  # minutes, if it is not seen at once
            with self.subTest(number=number, wanted=wanted):
                demo = self.keep(harness.Program([harness.BIN / "koto-l3", "demo", *arguments], self.folder / "demo.log",
                                                 environment={"TMPDIR": str(scratch)}))
                children = {}

                def run():
                    """All these, and the demo's first line is written, for which it does not wait itself."""
                    children.update(self.children(demo))
                    return (wanted <= set(children.values()) and "working in" in demo.said()) or not demo.running()
                harness.wait_until(run, lambda: f"{wanted}; there were {children}; {demo.said()}")
                self.assertLessEqual(wanted, set(children.values()), demo.said())
                demo.signal(number)
                code = demo.wait()
                harness.wait_until(lambda: not any(map(self.runs, children)), f"the end of {children}")
                if number == signal.SIGKILL:
                    (left,) = scratch.iterdir()
                    self.assertIn(str(left), demo.said())
                    shutil.rmtree(left)
                else:
                    self.assertEqual(code, 1, demo.said())
                    self.assertTrue(demo.said().endswith("koto-l3 demo: interrupted\n"), demo.said())
                    self.assertEqual(list(scratch.iterdir()), [])
                    self.assertTrue(kept not in arguments or (kept / "udp" / "daemon.log").exists(), "a folder that was given is kept")


if __name__ == "__main__":
    harness.main()
