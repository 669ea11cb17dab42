#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""From a fault to the shift: a Prometheus and an Alertmanager with the files of deploy/ watch a daemon and a receiver, to which this
test does six things. For each an alert must arrive at the program that Alertmanager tells. The addresses in the files are the
test's own, and all their times a tenth: deploy/alerts_test.yml tests the rules with theirs. By hand, the time until a bad crate's
alert: KOTO_L3_REAL_TIMES=1 KOTO_L3_BIN=build/bin python3 -B tests/system/alerts.py"""
import http.client
import http.server
import json
import os
import pathlib
import re
import shutil
import threading
import time
import unittest

import harness
import level2

DEPLOY = pathlib.Path(__file__).resolve().parents[2] / "deploy"
PROMETHEUS, ALERTMANAGER = shutil.which("prometheus"), shutil.which("prometheus-alertmanager")
QUICKER = 1 if os.environ.get("KOTO_L3_REAL_TIMES") else 10
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
                        told[alert["labels"]["alertname"]] = alert
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
        path.write_text(re.sub(r"(_interval|for): (\d+)s", lambda m: f"{m[1]}: {1000 * int(m[2]) // QUICKER}ms", text))
        return path

    def start_watchers(self):
        self.shift = Shift()
        self.addCleanup(self.shift.close)
        own, alertmanager, self.receiver_monitor = harness.Ports(), harness.Ports(), harness.Ports().monitor

        def at(port):
            return f"{harness.HOST}:{port}"
        self.write("alerts.yml")
        config = self.write("prometheus.yml", ("127.0.0.1:9420", at(self.ports.monitor)), ("127.0.0.1:9421", at(self.receiver_monitor)),
                            ("127.0.0.1:9093", at(alertmanager.monitor)))
        telling = self.write("alertmanager.yml", ("127.0.0.1:9422", at(self.shift.port)))
        self.keep(harness.Program([ALERTMANAGER, f"--config.file={telling}", f"--storage.path={self.folder / 'am'}", "--cluster.listen-address=",
                                   f"--web.listen-address={at(alertmanager.monitor)}"], self.folder / "alertmanager.log"))
        self.prometheus = http.client.HTTPConnection(harness.HOST, own.monitor, timeout=harness.PATIENCE)
        self.addCleanup(self.prometheus.close)
        self.keep(harness.Program([PROMETHEUS, f"--config.file={config}", f"--storage.tsdb.path={self.folder / 'tsdb'}",
                                   f"--web.listen-address={at(own.monitor)}"], self.folder / "prometheus.log"))

    def wait_for_alert(self, name):
        alert = harness.wait_until(lambda: self.shift.told.get(name), lambda: f"{name}; the shift was told {list(self.shift.told)}", LONGEST)
        self.assertTrue(alert["annotations"]["summary"] and alert["annotations"]["action"])
        return alert["annotations"]["summary"]

    def has_scraped_twice(self):
        """An increase needs a count before it."""
        try:
            self.prometheus.request("GET", "/api/v1/query?query=koto_l3_events_admitted_total[1m]")
            found = json.loads(self.prometheus.getresponse().read())["data"]["result"]
        except OSError:
            self.prometheus.close()
            return False
        return found and len(found[0]["values"]) > 1

    def test_faults_reach_the_shift(self):
        self.start_watchers()
        receiver = self.start_receiver("--monitor", f"{harness.HOST}:{self.receiver_monitor}")
        daemon = self.start_daemon(spool={"folder": ""})  # what waits, waits in memory
        sender, maker, number = self.udp_sender(daemon), level2.EventMaker(self.crates, 5), 0

        def send_until(happens, without=()):
            """Events at 100/s. The seconds until then."""
            nonlocal number
            begun = time.monotonic()
            while not happens():
                number += 1
                sender.event(1, number, maker.fragments(1, number), without=without)
                time.sleep(0.01)
                self.assertLess(time.monotonic() - begun, LONGEST, f"the shift was told {list(self.shift.told)}")
            return time.monotonic() - begun
        send_until(self.has_scraped_twice)
        with self.stream_sender(run=7).connect() as other:
            other.event(1, 1, level2.EventMaker(self.crates, 6).fragments(1, 1))  # other bytes under a number that was taken
            daemon.wait_for(lambda s: s["refused"]["stream_conflict"] == 1, "the conflict to be counted")
        self.wait_for_alert("KotoL3ConflictingEvents")

        told = send_until(lambda: "KotoL3CrateFault" in self.shift.told, (1,))
        print(f"the shift hears of crate 1 {told:.1f} s after its first missing fragment", flush=True)
        self.assertIn("Named: crate 1.", self.shift.told["KotoL3CrateFault"]["annotations"]["summary"])
        self.assertLess(told, SOON)

        admitted = daemon.wait_for(lambda s: not s["events"]["in_flight"] and not s["fragments"]["in_flight"], "all events to end")["events"]["admitted"]
        receiver.kill()
        for number in range(number + 1, number + 11):
            sender.event(1, number, maker.fragments(1, number))
        daemon.wait_for(lambda s: s["events"]["admitted"] == admitted + 10, "ten events")
        self.wait_for_alert("KotoL3ReceiverDown")
        self.wait_for_alert("KotoL3ReceiverAbsent")

        daemon.kill()
        self.wait_for_alert("KotoL3Down")
        self.start_daemon(spool={"folder": ""})
        self.wait_for_alert("KotoL3CrashedBefore")


if __name__ == "__main__":
    harness.main()
