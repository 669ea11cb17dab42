#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a receiver shows of itself while a daemon sends to it, and of its log."""
import contextlib
import http.client
import json
import os
import re
import shutil
import subprocess

import browser
import harness
import level2
import own_space

EVENTS = 40


class Watched(harness.SystemTest):
    def start_watched(self, port=0):
        receiver = self.start_receiver("--monitor", f"{harness.HOST}:{port}")
        receiver.wait_to_say("monitoring on")
        self.port = int(re.search(r"monitoring on http://[\d.]+:(\d+)/", receiver.said())[1])
        return receiver

    def get(self, path):
        connection = http.client.HTTPConnection(harness.HOST, self.port, timeout=harness.PATIENCE)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()

    def status(self):
        return json.loads(self.get("/status")[1])

    def wait_for(self, condition, what):
        return harness.wait_until(lambda: (lambda s: s if condition(s) else None)(self.status()), what)

    def send(self, daemon):
        sender, maker = self.udp_sender(daemon), level2.EventMaker(self.crates, 5)
        for number in range(1, EVENTS + 1):
            sender.event(1, number, maker.fragments(1, number))
        daemon.wait_for_stored(EVENTS)


class ReceiverPages(Watched):
    def test_each_option_may_stand_in_a_file(self):
        """The service's file, with every key in force; the command line comes first."""
        keys = dict(re.findall(r"^#?(\w+) = (.*)$", (harness.HERE.parents[1] / "deploy/receive.toml").read_text(), re.M))
        told = subprocess.run([harness.BIN / "koto-l3", "receive", "--help"], capture_output=True, text=True, check=True).stdout
        options = {name.replace("-", "_") for name in re.findall(r"^  --([\w-]+)", told, re.M)} - {"config", "check_config", "version"}
        self.assertEqual(set(keys), options)
        subprocess.run([harness.BIN / "koto-l3", "keys", self.folder / "receiver"], check=True, capture_output=True)
        keys |= {"bind": f'"tcp://{harness.HOST}:1"', "out": f'"{self.store}"', "monitor": f'"{harness.HOST}:0"', "ledger": f'"{self.folder}/mine.json"',
                 "secret_key": f'"{self.folder}/receiver.secret"', "allow": f'"{self.folder}/receiver.public"', "json": "true"}
        file = self.folder / "receive.toml"
        file.write_text("".join(f"{key} = {value}\n" for key, value in keys.items()))
        receiver = self.keep(harness.Program([harness.BIN / "koto-l3", "receive", "--bind", f"tcp://{harness.HOST}:{self.ports.receiver}",
                                              "--config", file], self.folder / "receiver.log"))
        receiver.wait_to_say(f"listening on tcp://{harness.HOST}:{self.ports.receiver}, storing in {self.store}")
        receiver.wait_to_say("monitoring on")
        self.assertEqual(receiver.stop(), 0)
        self.assertIn('"folder":', receiver.said())
        self.assertTrue((self.folder / "mine.json").is_file())

    def test_a_ledger_in_a_store_that_is_still_to_be_made(self):
        code, said = self.run_tool("receive", "--out", self.store, "--ledger", self.store / "mine.json", "--check-config")
        self.assertEqual((code, said), (0, "options: ok\n"))
        self.assertFalse(self.store.exists())
        self.assertEqual(self.start_receiver("--ledger", self.store / "mine.json").stop(), 0)
        self.assertTrue((self.store / "mine.json").is_file())

    def test_a_daemon_is_seen_while_it_sends_and_when_it_is_gone(self):
        receiver, daemon = self.start_watched(), self.start_daemon()
        self.send(daemon)
        seen = self.wait_for(lambda s: s["store"]["events"] == EVENTS, "the events on the page")
        self.assertEqual([d["node"] for d in seen["daemons"]], ["3"])
        self.assertEqual(seen["daemons"][0]["run"], 7)
        self.assertTrue(seen["daemons"][0]["connected"])
        self.assertGreaterEqual(seen["daemons"][0]["lag"], 0)
        self.assertEqual(seen["blocks"]["stored"], sum(seen["blocks"].values()))
        self.assertGreater(seen["disk"]["free"], 0)
        self.assertIn("<th scope=\"row\">3</th>", self.get("/")[1])
        daemon.kill()
        self.wait_for(lambda s: not s["daemons"][0]["connected"], "a daemon that was killed to be gone")
        self.assertEqual(receiver.stop(), 0)

    def test_metrics_are_right_for_prometheus(self):
        if shutil.which("promtool") is None:
            self.skipTest("promtool is missing (package prometheus)")
        receiver, daemon = self.start_watched(), self.start_daemon()
        self.send(daemon)
        self.wait_for(lambda s: s["store"]["events"] == EVENTS, "the events on the page")
        checked = subprocess.run(["promtool", "check", "metrics"], input=self.get("/metrics")[1], capture_output=True, text=True)
        self.assertEqual((checked.returncode, checked.stdout + checked.stderr), (0, ""))
        self.assertEqual((self.get("/healthz")[0], self.get("/readyz")[0]), (200, 200))
        self.stop_daemon(daemon)
        self.assertEqual(receiver.stop(), 0)

    def test_each_line_of_the_log_has_its_time_and_severity(self):
        receiver = self.start_watched()
        self.assertEqual(receiver.stop(), 0)
        lines = [line for line in receiver.said().splitlines() if "store: " not in line]
        self.assertGreaterEqual(len(lines), 2)
        for line in lines[:2]:
            self.assertRegex(line, r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} [+-]\d\d:\d\d info: ")

    def test_an_address_that_is_none_or_taken_is_told(self):
        code, said = self.run_tool("receive", "--out", self.folder / "a", "--monitor", "nowhere")
        self.assertEqual(code, 2, said)
        self.assertIn("is not an address like 127.0.0.1:9421", said)
        self.start_watched()
        code, said = self.run_tool("receive", "--bind", f"tcp://{harness.HOST}:{self.ports.udp}", "--out", self.folder / "b",
                                   "--monitor", f"{harness.HOST}:{self.port}")
        self.assertEqual(code, 69, said)
        self.assertIn(str(self.port), said)


class Ledger(Watched):
    """That cannot be written."""
    def degraded(self):
        return self.status()["state"]["degraded"]

    def test_at_the_start_is_told_and_nothing_is_listened_to(self):
        (self.folder / "place").mkdir()
        os.mkfifo(self.folder / "pipe")
        (self.folder / "text").write_text("mine")
        for name, why in (("none/ledger.json", "No such file or directory"), ("place", "directory"), ("pipe", "no regular file"),
                          ("text/ledger.json", "Not a directory")):
            with self.subTest(name):
                receiver = self.start_receiver("--ledger", self.folder / name, listening=False)
                self.assertEqual(receiver.wait(), 69)
                self.assertIn(f"the ledger: cannot write {self.folder / name}", receiver.said())
                self.assertIn(why, receiver.said())
                self.assertNotIn("listening", receiver.said())

    def put_a_folder_in_its_place(self):
        self.ledger = self.store / "ledger.json"
        self.ledger.unlink()
        self.ledger.mkdir()

    def test_is_a_state_until_it_can_be_written_again(self):
        receiver, daemon = self.start_watched(), self.start_daemon()
        self.assertEqual(self.status()["state"]["ledger_error"], "")
        self.put_a_folder_in_its_place()
        self.send(daemon)
        self.wait_for(lambda s: s["state"]["degraded"] == ["ledger_fails"], "the state")
        self.assertEqual(self.status()["state"]["ledger_error"], f"cannot write {self.ledger}: Is a directory")
        self.assertIn('koto_l3_receive_degraded{reason="ledger_fails"} 1', self.get("/metrics")[1])
        self.assertIn("Blocks are stored all the same", self.get("/")[1])
        self.assertEqual(self.get("/readyz")[0], 200)
        self.assertEqual(self.status()["store"]["events"], EVENTS)
        self.ledger.rmdir()
        receiver.wait_to_say("the ledger can be written again")
        self.wait_for(lambda s: not s["state"]["degraded"], "no state")
        self.assertEqual(json.loads(self.ledger.read_text())["events"]["forwarded"], EVENTS)
        self.stop_daemon(daemon)
        self.assertEqual(receiver.stop(), 0)
        self.assertEqual(receiver.said().count("the ledger: cannot write"), 1)

    def test_at_the_end_is_no_clean_end(self):
        receiver, daemon = self.start_watched(), self.start_daemon()
        self.put_a_folder_in_its_place()
        self.send(daemon)
        self.stop_daemon(daemon)
        self.assertEqual(receiver.stop(), 1)
        self.assertIn(f"the ledger: cannot write {self.ledger}: Is a directory", receiver.said())

    def test_of_a_full_disk_at_the_start_is_a_state(self):
        disk = self.folder / "disk"
        disk.mkdir()
        try:
            own_space.enter(own_space.MOUNTS)
            own_space.mount_small_disk(disk, 1 << 20)
        except PermissionError as e:
            self.skipTest(f"no right to mount a small file system: {e.strerror}")
        other = disk / "other"
        with contextlib.suppress(OSError):
            other.write_bytes(bytes(1 << 20))
        receiver = self.start_receiver("--ledger", disk / "ledger.json", "--monitor", f"{harness.HOST}:0")
        receiver.wait_to_say("monitoring on")
        self.port = int(re.search(r"monitoring on http://[\d.]+:(\d+)/", receiver.said())[1])
        self.wait_for(lambda s: s["state"]["degraded"] == ["ledger_fails"], "the state")
        other.unlink()
        receiver.wait_to_say("the ledger can be written again")
        self.assertEqual(receiver.stop(), 0)


class InABrowser(browser.InABrowser, Watched):
    def seen(self):
        return self.browser.run("return document.querySelector('main').innerText")

    def wait_to_see(self, part):
        return harness.wait_until(lambda: part in self.seen(), lambda: f"'{part}' on the page, which says: {self.seen()}")

    def test_it_lives_on_over_deaths_of_daemon_and_receiver(self):
        receiver, daemon = self.start_watched(), self.start_daemon()
        self.send(daemon)
        self.open(size=browser.PHONE, dark=True, port=self.port)
        self.wait_to_see("event 40 of spill 1")  # sending, or idle on a busy machine
        self.assert_readable()
        self.keep_screenshot("receiver-dark-phone")
        daemon.kill()
        self.wait_to_see("Missing: node 3 of run 7 after event 40 of spill 1")
        self.assert_readable()
        self.keep_screenshot("receiver-missing-dark-phone")
        self.assert_quiet()
        receiver.kill()
        self.wait_to_see("no answer from the receiver, last answer")
        self.assert_readable()
        self.keep_screenshot("receiver-lost-dark-phone")
        self.start_watched(self.port)
        self.wait_to_see("not heard yet")
        self.assertEqual(self.browser.run("return document.querySelector('main').className"), "")

    def test_it_can_be_read_in_light(self):
        receiver, daemon = self.start_watched(), self.start_daemon()
        self.send(daemon)
        self.open(port=self.port)
        self.wait_to_see("event 40 of spill 1")  # sending, or idle on a busy machine
        self.assert_readable()
        self.keep_screenshot("receiver")
        daemon.kill()
        self.wait_to_see("Missing: node 3")
        self.assert_readable()
        self.assert_quiet()
        self.assertEqual(receiver.stop(), 0)


if __name__ == "__main__":
    harness.main()
