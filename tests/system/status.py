#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""koto-l3 status: a row for each daemon and receiver, with rates and the worst crate, and one for what does not answer."""
import contextlib
import json
import re
import signal
import socket
import subprocess
import threading
import time
import unittest

import harness
import level2

FAILED, USAGE = 1, 2
EVENTS = 40


class Status(harness.SystemTest):
    def status(self, *arguments, code=0):
        p = subprocess.run([harness.BIN / "koto-l3", "status", "--json", "--interval", "600 ms", *arguments], capture_output=True,
                           text=True, timeout=harness.PATIENCE)
        self.assertEqual(p.returncode, code, p.stdout + p.stderr)
        return json.loads(p.stdout)

    def url(self, daemon):
        return f"{harness.HOST}:{daemon.ports.monitor}"

    def send(self, daemon):
        sender, maker = self.udp_sender(daemon), level2.EventMaker(self.crates, 5)
        for number in range(1, EVENTS + 1):
            sender.event(1, number, maker.fragments(1, number))

    def test_a_daemon_and_its_receiver(self):
        receiver = self.start_receiver("--monitor", f"{harness.HOST}:0")
        receiver.wait_to_say("monitoring on")
        its_url = re.search(r"monitoring on (http://[\d.]+:\d+/)", receiver.said())[1]
        daemon = self.start_daemon()
        self.send(daemon)
        daemon.wait_for_stored(EVENTS)
        harness.wait_until(lambda: self.nodes(its_url)[0]["state"] == "receiving, 1 of 1 daemons", "the daemon at the receiver")
        said = self.status(self.url(daemon), its_url)
        self.assertTrue(said["good"], said)
        mine, its = said["nodes"]
        self.assertEqual((mine["program"], mine["run"], mine["node"], mine["state"], mine["failure"]),
                         ("koto-l3d", 7, 3, daemon.status()["state"]["now"], None))
        self.assertGreaterEqual(mine["events_per_second"], 0)
        self.assertEqual((its["program"], its["run"]), ("koto-l3 receive", None))
        self.assertGreater(its["disk_room"], 0)
        code, text = self.run_tool("status", self.url(daemon), its_url)
        self.assertEqual(code, 0, text)
        self.assertRegex(text, r"(?m)^address +node +state +run +events/s +in MB/s +out MB/s +worst crate +disk$")
        self.assertEqual(len(text.splitlines()), 3)

    def nodes(self, *urls):
        p = subprocess.run([harness.BIN / "koto-l3", "status", "--json", "--interval", "100 ms", *urls], capture_output=True, text=True,
                           timeout=harness.PATIENCE)
        return json.loads(p.stdout)["nodes"]

    def test_a_problem_is_told_with_what_to_do(self):
        daemon = self.start_daemon()  # no receiver
        daemon.wait_for(lambda s: "receiver_absent" in s["state"]["degraded"], "receiver_absent")
        said = self.status(self.url(daemon), code=FAILED)
        self.assertEqual((said["good"], said["nodes"][0]["degraded"]), (False, ["receiver_absent"]))
        code, text = self.run_tool("status", self.url(daemon))
        self.assertEqual(code, FAILED)
        self.assertIn(daemon.status()["problem"]["text"], text)

    def test_what_does_not_answer_is_a_row_with_its_reason(self):
        silent = socket.create_server((harness.HOST, 0))
        self.addCleanup(silent.close)
        nothing = f"{harness.HOST}:{self.ports.monitor}"
        garbage = socket.create_server((harness.HOST, 0))
        self.addCleanup(garbage.close)

        def answer():
            try:
                while True:
                    with garbage.accept()[0] as c:
                        c.recv(1000)
                        c.sendall(b"SSH-2.0-other\r\n\r\n")
            except OSError:
                pass

        threading.Thread(target=answer, daemon=True).start()
        urls = [nothing, f"{harness.HOST}:{silent.getsockname()[1]}", f"{harness.HOST}:{garbage.getsockname()[1]}", "no.invalid:9420"]
        said = self.status(*urls, code=FAILED)
        failures = [n["failure"] for n in said["nodes"]]
        for failure, wanted in zip(failures, ("Connection refused", "no answer within 2 s", "does not speak HTTP", "")):
            self.assertIn(wanted, failure)
        self.assertEqual([n["url"] for n in said["nodes"]], urls)
        code, text = self.run_tool("status", nothing)
        self.assertEqual(code, FAILED)
        self.assertRegex(text, rf"(?m)^{nothing} +– +no answer +–")
        self.assertIn(f"{nothing}: Connection refused", text)

    def test_again_and_again_until_a_signal(self):
        self.start_receiver()
        daemon = self.start_daemon()
        daemon.wait_for(lambda s: s["receiver"]["connected"] and not s["state"]["degraded"], "the receiver")
        watching = self.start_tool("status", "--watch", "--interval", "100 ms", self.url(daemon))
        harness.wait_until(lambda: watching.said().count("worst crate") > 2, "three tables")
        watching.signal(signal.SIGINT)
        self.assertEqual(watching.wait(), 0, watching.said())
        self.assertNotIn("\033", watching.said(), "no terminal")

    def test_a_silent_node_delays_little(self):
        self.start_receiver()
        daemon = self.start_daemon()
        silent = socket.create_server((harness.HOST, 0))
        self.addCleanup(silent.close)
        urls = (self.url(daemon), f"{harness.HOST}:{silent.getsockname()[1]}")
        answer = self.folder / "status.answer"
        watching = self.keep(harness.Program([harness.BIN / "koto-l3", "status", "--watch", "--json", "--interval", "500 ms", *urls],
                                             self.folder / "status.log", answer=answer))
        harness.wait_until(lambda: answer.read_text().count("\n") >= 4, "four tables")
        watching.signal(signal.SIGINT)
        watching.wait()
        for said in map(json.loads, answer.read_text().splitlines()):
            self.assertEqual(said["nodes"][1]["failure"], "no answer within 0.5 s", "it has no longer than until the next table")
        # Once: the silent one is not asked a second time, and so keeps its first failure.
        asked = []

        def accept():
            with contextlib.suppress(OSError):
                while True:
                    asked.append(silent.accept()[0])
        threading.Thread(target=accept, daemon=True).start()
        time.sleep(0.5)  # what the watching had asked
        before = len(asked)
        self.assertFalse(self.status(*urls, code=FAILED)["good"])
        self.assertEqual(len(asked) - before, 1)

    def test_over_ipv6_and_by_name(self):
        try:
            socket.create_server(("::1", 0), family=socket.AF_INET6).close()
        except OSError as e:
            raise unittest.SkipTest("this machine has no address ::1") from e
        receiver = self.start_receiver("--monitor", "[::1]:0")
        receiver.wait_to_say("monitoring on")
        its_url = re.search(r"monitoring on (http://\[::1\]:\d+/)", receiver.said())[1]
        daemon = self.start_daemon()
        daemon.wait_for(lambda s: s["receiver"]["connected"], "the receiver")
        self.assertTrue(self.status(its_url, f"localhost:{self.ports.monitor}")["good"])

    def test_mistakes(self):
        for arguments, text in ((("node1:x",), "'node1:x' is not an address like node1:9420"),
                                (("--interval", "soon", "node1"), "--interval: soon is not a time from"),
                                (("--interval", "1 ms", "node1"), "--interval: 1 ms is not a time from")):
            code, said = self.run_tool("status", *arguments)
            self.assertEqual(code, USAGE, said)
            self.assertIn(text, said)


if __name__ == "__main__":
    harness.main()
