#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a receiver shows of itself while a daemon sends to it, and of its log."""
import json
import re
import subprocess

import browser
import harness

EVENTS = 40


class Watched(harness.SystemTest):
    def start_watched(self, port=0, *more):
        receiver = self.start_receiver("--monitor", f"{harness.HOST}:{port}", *more)
        receiver.wait_to_say("monitoring on")
        self.port = int(re.search(r"monitoring on http://[\d.]+:(\d+)/", receiver.said())[1])
        return receiver

    def get(self, path):
        return harness.http_get(harness.HOST, self.port, path)

    def status(self):
        return json.loads(self.get("/status")[1])

    def wait_for(self, condition, what):
        return harness.wait_until(lambda: (lambda s: s if condition(s) else None)(self.status()), what)

    def send(self, daemon, spill=1):
        self.send_events(self.udp_sender(daemon), self.make_events(EVENTS, spill))
        daemon.wait_for_stored(spill * EVENTS)


class ReceiverPages(Watched):
    def test_each_option_may_stand_in_a_file(self):
        """The service's file, with every key in force; the command line comes first."""
        keys = dict(re.findall(r"^#?(\w+) = (.*)$", (harness.HERE.parents[1] / "deploy/receive.toml").read_text(), re.M))
        told = subprocess.run([harness.BIN / "koto-l3", "receive", "--help"], capture_output=True, text=True, check=True).stdout
        options = {name.replace("-", "_") for name in re.findall(r"^  --([\w-]+)", told, re.M)} - {"config", "check_config", "elsewhere", "version"}
        self.assertEqual(set(keys), options)
        subprocess.run([harness.BIN / "koto-l3", "keys", self.folder / "receiver"], check=True, capture_output=True)
        keys |= {"bind": f'"tcp://{harness.HOST}:1"', "out": f'"{self.store}"', "monitor": f'"{harness.HOST}:0"',
                 "secret_key": f'"{self.folder}/receiver.secret"', "allow": f'"{self.folder}/receiver.public"', "json": "true"}
        file = self.folder / "receive.toml"
        file.write_text("".join(f"{key} = {value}\n" for key, value in keys.items()))
        self.assertEqual(self.run_tool("receive", "--config", file, "--check-config"), (0, f"{file}: ok\n"))
        self.assertFalse(self.store.exists())
        receiver = self.keep(harness.Program([harness.BIN / "koto-l3", "receive", "--bind", f"tcp://{harness.HOST}:{self.ports.receiver}",
                                              "--config", file], self.folder / "receiver.log"))
        receiver.wait_to_say(f"listening on tcp://{harness.HOST}:{self.ports.receiver}, storing in {self.store}")
        receiver.wait_to_say("monitoring on")
        self.assertEqual(receiver.stop(), 0)
        self.assertIn('"folder":', receiver.said())
        self.assertTrue((self.store / "ledger.json").is_file())


class Ledger(Watched):
    """It cannot be written."""

    def test_is_a_state_until_it_can_be_written_again_and_no_clean_end(self):
        receiver, daemon = self.start_watched(), self.start_daemon()
        ledger = self.store / "ledger.json"
        cannot = f"cannot write {ledger}: Is a directory"
        ledger.unlink()
        ledger.mkdir()
        self.send(daemon)
        self.wait_for(lambda s: s["state"]["ledger_error"] == cannot, "the state")
        self.assertIn("blocks are stored nevertheless", self.get("/")[1])
        self.assertEqual((self.get("/readyz")[0], self.status()["store"]["events"]), (200, EVENTS))
        ledger.rmdir()
        receiver.wait_to_say("ledger_fails is over")
        self.wait_for(lambda s: not s["state"]["degraded"], "no state")
        self.assertEqual(json.loads(ledger.read_text())["events"]["forwarded"], EVENTS)
        self.assertEqual(receiver.said().count("the ledger: cannot write"), 1)
        ledger.unlink()
        ledger.mkdir()
        self.send(daemon, spill=2)
        self.stop_daemon(daemon)
        self.assertEqual(receiver.stop(), 1)
        self.assertIn(cannot, receiver.said().split("ledger_fails is over")[1])


class InABrowser(browser.InABrowser, Watched):
    def wait_to_see(self, part):
        def seen():
            return self.browser.run("return document.querySelector('main').innerText")
        harness.wait_until(lambda: part in seen(), lambda: f"'{part}' on the page, which says: {seen()}")

    def test_it_lives_on_over_deaths_of_daemon_and_receiver(self):
        """In light, and in the dark on a phone."""
        receiver, daemon = self.start_watched(), self.start_daemon()

        def assert_readable(name):
            for size, dark in ((browser.DESKTOP, False), (browser.PHONE, True)):
                self.browser.look(size, dark)
                self.assert_readable(f"receiver{name}{'-dark-phone' if dark else ''}")
        self.send(daemon)
        self.open(port=self.port)
        self.wait_to_see("event 40 of spill 1")  # sending, or idle on a busy machine
        assert_readable("")
        daemon.kill()
        self.wait_to_see("missing: node 3 of run 7 after event 40 of spill 1")
        assert_readable("-missing")
        self.assert_quiet()
        receiver.kill()
        self.wait_to_see("no answer from the receiver, last answer")
        assert_readable("-lost")
        self.start_watched(self.port)
        self.wait_to_see("not heard yet")
        self.assertEqual(self.browser.run("return document.querySelector('main').className"), "")


if __name__ == "__main__":
    harness.main()
