#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What an operator asks. koto-l3 status: a row for each daemon and receiver, with rates and the worst crate, and one for a node that does
not answer. koto-l3 doctor on this machine, whatever it finds; tests/tools has machines with each trouble."""
import contextlib
import json
import re
import signal
import socket
import threading

import harness
import level2

FAILED = 1
EVENTS = 40


class Status(harness.SystemTest):
    def status(self, *urls, code=0):
        return self.run_for_json("status", "--interval", "600 ms", *urls, code=code)

    def url(self, daemon):
        return f"{harness.HOST}:{daemon.ports.monitor}"

    def test_a_daemon_and_its_receiver(self):
        receiver = self.start_receiver("--monitor", f"{harness.HOST}:0")
        receiver.wait_to_say("monitoring on")
        its_url = re.search(r"monitoring on (http://[\d.]+:\d+/)", receiver.said())[1]
        daemon = self.start_daemon()
        sender, maker = self.udp_sender(daemon), level2.EventMaker(self.crates, 5)
        for number in range(1, EVENTS + 1):
            sender.event(1, number, maker.fragments(1, number))
        daemon.wait_for_stored(EVENTS)
        harness.wait_until(lambda: self.ask_for_json("status", "--interval", "100 ms", its_url)[1]["nodes"][0]["state"] == "receiving, 1 of 1 daemons",
                           "the daemon at the receiver")
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

        watching = self.start_tool("status", "--watch", "--interval", "100 ms", self.url(daemon))
        harness.wait_until(lambda: watching.said().count("worst crate") > 2, "three tables")
        watching.signal(signal.SIGINT)
        self.assertEqual(watching.wait(), 0, watching.said())
        self.assertNotIn("\033", watching.said(), "no terminal")

    def test_a_node_that_does_not_answer_is_a_row_with_its_reason(self):
        silent, garbage = (self.enterContext(socket.create_server((harness.HOST, 0))) for _ in range(2))
        nothing = f"{harness.HOST}:{self.ports.monitor}"

        def answer():
            with contextlib.suppress(OSError):
                while True:
                    with garbage.accept()[0] as c:
                        c.recv(1000)
                        c.sendall(b"SSH-2.0-other\r\n\r\n")

        threading.Thread(target=answer, daemon=True).start()
        urls = [nothing, f"{harness.HOST}:{silent.getsockname()[1]}", f"{harness.HOST}:{garbage.getsockname()[1]}", "no.invalid:9420"]
        said = self.status(*urls, code=FAILED)
        for node, url, wanted in zip(said["nodes"], urls, ("Connection refused", "no answer within 2 s", "does not speak HTTP", ""), strict=True):
            self.assertEqual(node["url"], url)
            self.assertIn(wanted, node["failure"])
        code, text = self.run_tool("status", nothing)
        self.assertEqual(code, FAILED)
        self.assertRegex(text, rf"(?m)^{nothing} +– +no answer +–")
        self.assertIn(f"{nothing}: critical, no_answer: Connection refused; check its service", text)

    def test_troubles_of_all_nodes_are_listed_the_most_urgent_first(self):
        receiver = self.start_receiver("--monitor", f"{harness.HOST}:0")
        receiver.wait_to_say("monitoring on")
        its_url, nothing = re.search(r"monitoring on http://([\d.]+:\d+)/", receiver.said())[1], f"{harness.HOST}:{self.ports.udp}"
        daemon = self.start_daemon()
        daemon.wait_for(lambda s: s["receiver"]["connected"], "the receiver")
        (self.store / "ledger.json").unlink()
        (self.store / "ledger.json").mkdir()
        sender, maker = self.udp_sender(daemon), level2.EventMaker(self.crates, 5)
        sender.event(1, 1, maker.fragments(1, 1))
        harness.wait_until(lambda: self.ask_for_json("status", "--interval", "100 ms", its_url)[1]["troubles"], "the receiver's trouble")
        said = self.status(its_url, nothing, self.url(daemon), code=FAILED)
        self.assertEqual([(t["url"], t["name"], t["severity"]) for t in said["troubles"]],
                         [(nothing, "no_answer", "critical"), (its_url, "ledger_fails", "warning")])
        code, text = self.run_tool("status", its_url, nothing, self.url(daemon))
        self.assertEqual(code, FAILED)
        self.assertRegex(text.splitlines()[-1], rf"^{its_url}: warning, ledger_fails: the ledger: cannot write .*; make room")
        daemon.kill()
        harness.wait_until(lambda: self.ask_for_json("status", "--interval", "100 ms", its_url)[1]["troubles"][0]["name"] == "node_missing",
                           "the missing node before the ledger")

    def test_a_silent_node_delays_little(self):
        daemon = self.start_daemon()
        silent = self.enterContext(socket.create_server((harness.HOST, 0)))
        urls = (self.url(daemon), f"{harness.HOST}:{silent.getsockname()[1]}")
        answer = self.folder / "status.answer"
        watching = self.keep(harness.Program([harness.BIN / "koto-l3", "status", "--watch", "--json", "--interval", "500 ms", *urls],
                                             self.folder / "status.log", answer=answer))
        harness.wait_until(lambda: answer.read_text().count("\n") >= 4, "four tables")
        watching.signal(signal.SIGINT)
        watching.wait()
        for said in map(json.loads, answer.read_text().splitlines()):
            self.assertEqual(said["nodes"][1]["failure"], "no answer within 0.5 s", "it has no longer than until the next table")


class Doctor(harness.SystemTest):
    def test_this_machine(self):
        config = self.write_config(udp={"bind": "0.0.0.0:42000"})
        before = sorted(self.folder.glob("*"))
        code, said, _ = self.ask_for_json("doctor", "--config", config, "--store", self.store.parent)
        self.assertEqual(code, int(any(f["health"] == "bad" for f in said["findings"])), said)
        self.assertEqual([f for f in sorted(self.folder.glob("*")) if not f.name.startswith("doctor.")], before, "nothing is left behind")
        for f in said["findings"]:
            self.assertIn(f["health"], ("ok", "warning", "bad"))
            self.assertEqual(f["health"] != "ok", bool(f["remedy"]), f)
        self.assertLessEqual({"memory.locked", "memory.limit", "processors.governor", "processors.numa", "clock", "device",
                              "disk.room.spool.folder", "disk.room.store"}, {f["what"] for f in said["findings"]})
        its_code, text = self.run_tool("doctor", "--config", config)
        self.assertEqual(its_code, code, text)
        self.assertRegex(text, r"\d+ ok, \d+ warnings, \d+ bad\n$")


if __name__ == "__main__":
    harness.main()
