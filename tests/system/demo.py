#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A small demo: it exits with 0 and says that every event was verified, or with 1 if one is missing. The programs that it started always end
with it."""
import json
import os
import pathlib
import re
import shutil
import signal

import harness


def running(pid):
    """Whether a process is there, and is no corpse."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


class Demo(harness.SystemTest):
    def start(self, *arguments, program=harness.BIN / "koto-l3", **environment):
        return self.keep(harness.Program([program, "demo", *arguments], self.folder / "demo.log", environment))

    def test_it_holds_over_udp_and_tcp(self):
        folder = os.environ.get("KOTO_L3_WAVEFORMS")
        demo = self.start("--events", "60", *(("--waveforms", sorted(pathlib.Path(folder).glob("*.u16"))[0]) if folder else ()))
        self.assertEqual(demo.wait(3 * harness.PATIENCE), 0, demo.said())
        for row in ("events sent +60 +60", r"\+ unaccounted +0 +0", "every sum balances +yes +yes", "kept events verified, bit for bit +yes +yes"):
            self.assertRegex(demo.said(), row)
        report = self.run_for_json("demo", "--events", "60", "--folder", self.folder / "demo", seconds=3 * harness.PATIENCE)
        self.assertEqual((report["holds"], report["link_rate"], report["selection"]), (True, "4 Gb/s", "built-in"))
        for way in ("udp", "tcp"):
            run = report[way]
            self.assertEqual((run["events_sent"], run["events_unaccounted"], run["problems"], run["verified"]), (60, 0, [], True))
            self.assertTrue(0 < run["events_stored"] == 60 - run["daemon"]["events"]["rejected"] < 60, run)
            self.assertEqual({sum(line.values()) for line in run["lines"].values()}, {60}, "a line judges every event")
            self.assert_conserved(run["daemon"])

    def test_an_event_that_is_missing(self):
        """Datagrams are lost on the way in; the daemon rejects what the demo's selection keeps, and all ledgers balance."""
        folder, menu = self.folder / "bin", self.folder / "nothing.toml"
        folder.mkdir()
        menu.write_text('[[line]]\nname = "nothing"\ntrigger = ["clock"]\nprescale = 1000000\n')
        shutil.copy(harness.BIN / "koto-l3", folder / "demo")
        for name, change, why in (("koto-l3", 'case "$*" in *udp:*) set -- "$@" --drop 1% ;; esac', r"UDP: events sent and admitted: 60 and \d+\n"),
                                  ("koto-l3d", f'sed -i "s:built-in:{menu}:" "$2"', r"TCP: verify found differences(?s:.*)[1-9] events missing")):
            for program in ("koto-l3", "koto-l3d"):
                (folder / program).write_text(f'#!/bin/sh\n{change if program == name else ""}\nexec "{harness.BIN}/{program}" "$@"\n')
                (folder / program).chmod(0o755)
            demo = self.start("--events", "60", "--folder", self.folder / name, program=folder / "demo")
            self.assertEqual(demo.wait(3 * harness.PATIENCE), 1, demo.said())
            self.assertRegex(demo.said(), why)
            self.assertIn("SOMETHING IS WRONG", demo.said())

    def test_spills_in_a_loop_until_a_signal(self):
        demo = self.start("--watch", "--events", "20")
        demo.wait_to_say(re.compile(r"the page is http://127\.0\.0\.1:\d+/"), 3 * harness.PATIENCE)
        port = int(re.search(r"http://[\d.]+:(\d+)/", demo.said())[1])

        def admitted():
            return json.loads(harness.http_get(harness.HOST, port, "/status")[1])["events"]["admitted"]
        harness.wait_until(lambda: admitted() > 20, "the spills to begin again")  # the file has 20 events
        demo.signal(signal.SIGINT)
        self.assertEqual(demo.wait(), 0, demo.said())
        self.assertRegex(demo.said(), r"\+ unaccounted +0\n(?s:.*)Every event is accounted for\.\n$")

    def test_its_programs_end_with_it(self):
        scratch, kept = self.folder / "scratch", self.folder / "mine"
        scratch.mkdir()
        slowly = ("--events", "60", "--rate", "1ev/s")
        for number, programs, arguments in ((signal.SIGKILL, 3, slowly), (signal.SIGTERM, 3, (*slowly, "--folder", kept)),
                                            (signal.SIGINT, 1, ("--events", "100000"))):  # simulate, for minutes
            with self.subTest(number):
                demo, children = self.start(*arguments, TMPDIR=str(scratch)), set()

                def all_run():
                    """At once; its first line, too, is written."""
                    children.clear()
                    for of_thread in pathlib.Path(f"/proc/{demo.pid}/task").glob("*/children"):
                        children.update(of_thread.read_text().split())
                    return len(children) == programs and "working in" in demo.said()
                harness.wait_until(all_run, lambda: f"{programs} programs; there were {children}; {demo.said()}")
                demo.signal(number)
                code = demo.wait()
                harness.wait_until(lambda: not any(map(running, children)), f"the end of {children}")
                if number == signal.SIGKILL:
                    left, = scratch.iterdir()
                    self.assertIn(str(left), demo.said())
                    shutil.rmtree(left)
                else:
                    self.assertEqual(code, 1, demo.said())
                    self.assertTrue(demo.said().endswith("koto-l3 demo: interrupted\n"), demo.said())
                    self.assertEqual(list(scratch.iterdir()), [])
        self.assertTrue((kept / "udp" / "daemon.log").exists(), "a folder that was given is kept")


if __name__ == "__main__":
    harness.main()
