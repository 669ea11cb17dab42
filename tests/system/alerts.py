#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""From a fault to the shift: a Prometheus and an Alertmanager with the files of deploy/, of which only the addresses are changed, watch
a daemon and a receiver to which this test does six things. For each an alert must arrive at the program that Alertmanager tells. By
hand, the time until a bad crate's alert: KOTO_L3_BIN=build/bin python3 -B tests/system/alerts.py Alerts.test_a_bad_crate_is_named"""
import http.server
import json
import pathlib
import shutil
import threading
import time
import unittest

import harness
import level2

DEPLOY = pathlib.Path(__file__).resolve().parents[2] / "deploy"
PROMETHEUS, ALERTMANAGER = shutil.which("prometheus"), shutil.which("prometheus-alertmanager")
SOON = 30  # s; docs/performance.md has what was measured: at most one scrape, one look at the rules, and a second
LONGEST = 90  # s from a fault to its alert: scrapes and rules every 5 s, and what a rule waits


class Shift:
    """Whom Alertmanager tells."""

    def __init__(self):
        told = self.told = {}

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                for alert in json.loads(self.rfile.read(int(self.headers["Content-Length"])))["alerts"]:
                    if alert["status"] == "firing":
                        told[alert["labels"]["alertname"]] = told[alert["labels"]["alertname"], alert["labels"].get("crate")] = alert
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer((harness.HOST, 0), Handler)
        self.port = self.server.server_port
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


@unittest.skipUnless(PROMETHEUS and ALERTMANAGER, "Prometheus or Alertmanager is missing (packages prometheus, prometheus-alertmanager)")
class Alerts(harness.SystemTest):
    store_is_whole = False  # this test cuts it

    def write(self, name, *replaced):
        text = (DEPLOY / name).read_text()
        for old, new in replaced:
            self.assertIn(old, text, f"{name} has another address than the test replaces")
            text = text.replace(old, new)
        path = self.folder / name
        path.write_text(text)
        return path

    def start_watchers(self):
        self.shift = Shift()
        self.addCleanup(self.shift.close)
        own, alertmanager, self.receiver_monitor = harness.Ports(), harness.Ports(), harness.Ports().monitor
        at = lambda port: f"{harness.HOST}:{port}"
        rules = self.write("alerts.yml")
        config = self.write("prometheus.yml", ("127.0.0.1:9420", at(self.ports.monitor)), ("127.0.0.1:9421", at(self.receiver_monitor)),
                            ("127.0.0.1:9093", at(alertmanager.monitor)))
        self.assertTrue(rules.exists())
        telling = self.write("alertmanager.yml", ("127.0.0.1:9422", at(self.shift.port)))
        self.keep(harness.Program([ALERTMANAGER, f"--config.file={telling}", f"--storage.path={self.folder / 'am'}", "--cluster.listen-address=",
                                   f"--web.listen-address={at(alertmanager.monitor)}"], self.folder / "alertmanager.log"))
        self.keep(harness.Program([PROMETHEUS, f"--config.file={config}", f"--storage.tsdb.path={self.folder / 'tsdb'}",
                                   f"--web.listen-address={at(own.monitor)}"], self.folder / "prometheus.log"))

    def wait_for_alert(self, name):
        alert = harness.wait_until(lambda: self.shift.told.get(name), lambda: f"{name}; the shift was told {list(self.shift.told)}", LONGEST)
        self.assertTrue(alert["annotations"]["summary"] and alert["annotations"]["action"])
        return alert

    def send(self, daemon, numbers):
        sender, maker = self.udp_sender(daemon), level2.EventMaker(self.crates, 5)
        for number in numbers:
            sender.event(1, number, maker.fragments(1, number))

    def test_five_faults_reach_the_shift(self):
        self.start_watchers()
        receiver = self.start_receiver("--monitor", f"{harness.HOST}:{self.receiver_monitor}")
        daemon = self.start_daemon(spool={"folder": ""})  # what waits, waits in memory
        self.send(daemon, range(1, 21))
        daemon.wait_for_stored(20)
        daemon.wait_for(lambda s: s["uptime"] > 12, "two scrapes: an increase needs a count before it")

        with self.stream_sender(run=7).connect() as other:
            other.event(1, 1, level2.EventMaker(self.crates, 6).fragments(1, 1))  # other bytes under a number that was taken
            daemon.wait_for(lambda s: s["refused"]["stream_conflict"] == 1, "the conflict to be counted")
        self.wait_for_alert("KotoL3ConflictingEvents")

        receiver.kill()
        self.send(daemon, range(21, 31))
        self.wait_for_alert("KotoL3ReceiverDown")
        self.wait_for_alert("KotoL3ReceiverAbsent")

        daemon.kill()
        self.wait_for_alert("KotoL3Down")
        self.start_daemon(spool={"folder": ""})
        alert = self.wait_for_alert("KotoL3Crashed")
        self.assertIn("10 events were in its memory", alert["annotations"]["summary"])

    def test_a_bad_crate_is_named(self):
        """A crate falls silent, and while that is told another one: each is named at once, the second one does not wait for a group."""
        self.start_watchers()
        self.start_receiver("--monitor", f"{harness.HOST}:{self.receiver_monitor}")
        daemon, maker = self.start_daemon(), level2.EventMaker(self.crates, 1)
        sender, number = self.udp_sender(daemon), 0

        def send_until(told, without):
            """At 100 events/s. The seconds until then."""
            nonlocal number
            begun = time.monotonic()
            while not told():
                number += 1
                sender.event(1, number, maker.fragments(1, number), without=without)
                time.sleep(0.01)
                self.assertLess(time.monotonic() - begun, LONGEST, f"the shift was told {list(self.shift.told)}")
            return time.monotonic() - begun
        scraped = time.monotonic() + 12
        send_until(lambda: time.monotonic() > scraped, ())
        for crate in (1, 2):
            named = send_until(lambda crate=crate: ("KotoL3CrateFault", str(crate)) in self.shift.told, (crate,))
            print(f"the shift hears of crate {crate} {named:.1f} s after its first missing fragment", flush=True)
            self.assertIn(f"Crate {crate} does otherwise", self.shift.told["KotoL3CrateFault", str(crate)]["annotations"]["summary"])
            self.assertLess(named, SOON)


if __name__ == "__main__":
    harness.main()
