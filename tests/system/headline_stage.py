# SPDX-License-Identifier: Apache-2.0
"""Plays the table of headlines.py. Several systems of sender, daemon and receiver run side by side, each in a process of its own. One
Prometheus and one Alertmanager with the files of deploy/ watch all of them; of their times seconds are a tenth, minutes a hundredth."""
import datetime
import http.client
import http.server
import itertools
import json
import multiprocessing
import os
import pathlib
import random
import re
import shutil
import sys
import threading
import time
import traceback
from typing import NamedTuple

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "fault"))

import harness
import level2
import level2_sender
import own_space
from chain import Skipped

DEPLOY = pathlib.Path(__file__).resolve().parents[2] / "deploy"
PROMETHEUS, ALERTMANAGER = shutil.which("prometheus"), shutil.which("prometheus-alertmanager")
LONG = bool(os.environ.get("L3_LONG"))
MINUTES = float(os.environ.get("L3_MINUTES", 0))  # for which the rows of healthy systems alone take turns
HOLDS = 3 if LONG else 1  # s for which a headline is watched at least
QUIET = 30 if LONG or MINUTES else 6  # s for which a row without a trouble is watched
STOPPED = {"KotoL3Down", "KotoL3NotReady", "KotoL3ReceiverDown", "KotoL3NodeMissing"}  # alerts about programs that a row stops or starts again
SAMPLES = level2.big_endian([0x8000 | x for x in random.Random(1).choices(range(1 << 14), k=level2.SAMPLE_WORDS)])


class Row(NamedTuple):
    what: str
    steps: list       # (what is done, "headline severity" or None, a pattern in its sentence)
    may: tuple = ()   # these may be the headline for a moment, and their alerts may come
    long: bool = False


def row(what, *steps, **more):
    return Row(what, [(*step, "")[:3] for step in steps], **more)


def alert_of(name):
    return "KotoL3" + "".join(word.capitalize() for word in name.split("_"))


def whole(beam, spill, number, place):
    """The datagrams of one crate for an event, or for the end of a spill, which has no number."""
    if number is None:
        return level2_sender.end_of_spill(beam.crates, spill, place, beam.events)
    return level2_sender.datagrams(beam.crates, spill, number, place, level2.renamed(beam.fragment, 1, spill, number), beam.chunk)


class Beam(threading.Thread):
    """Spill after spill to a daemon, whether or not it is there. `set` changes how, and takes earlier changes back."""
    DEFAULT = {"on": True, "of_crate": whole, "events": 40, "rate": 50, "pause": 0.5, "step": 1, "first": 1, "chunk": 2000, "holds": True, "tcp": None,
               "fragment": level2.fragment(2, [level2.header(1, 2, 3, 1000) + SAMPLES + level2.FOOTER]), "sent": lambda number: True,
               "beside": lambda: ()}

    def __init__(self, system):
        super().__init__(daemon=True)
        self.crates, self.spill, self.later = system.crates, 0, []
        self.sender = level2_sender.UdpSender(self.crates, harness.HOST, system.ports.udp, 2,
                                              waiting=lambda: system.daemon.waiting() if self.holds and system.daemon else 0)
        self.set()
        self.start()

    def set(self, **changed):
        self.__dict__.update(self.DEFAULT | changed)

    def run(self):
        while True:
            if self.on:
                self.send_spill()
            time.sleep(self.pause)

    def send_spill(self):
        self.spill = (self.spill + self.step) % 512
        for number in range(self.first, self.first + self.events):
            if not self.on:
                return
            for place in range(len(self.crates)) if self.sent(number) else ():
                self.sender.send(self.of_crate(self, self.spill, number, place))
            self.sender.send(self.beside())
            while self.later and self.later[0][0] < time.monotonic():
                self.sender.send(self.later.pop(0)[1])
            time.sleep(1 / self.rate)
        for place in range(len(self.crates)):
            self.sender.send(self.of_crate(self, self.spill, None, place))


class System(harness.Stage):
    """Sender, daemon and receiver, and what a row does to them."""
    crate_lines = ["0-6: 1 x 125 MHz"]
    crates = level2.readout(crate_lines)
    SECTIONS = {"udp": {"ports": 2}, "frames": {"count": 4, "events": 16}, "outbox": {"memory": "16 MiB", "block": "64 KiB"},
                "compute": {"threads": 1}, "run": {"drain_time_limit": "1 s"}}

    def __init__(self, rows, **sections):
        self.set_up_stage()
        self.rows, self.own_sections, self.undoing, self.daemon = rows, sections, [], None
        self.urls = [f"{harness.HOST}:{port}" for port in (self.ports.monitor, self.ports.receiver + 1)]
        self.disk = self.folder / "disk"
        self.disk.mkdir()

    def begin_receiver(self, *more, **how):
        self.receiver = self.start_receiver("--monitor", self.urls[1], *more, **how)

    def begin_daemon(self, environment=None, ready=True, **sections):
        all_of_it = {s: self.SECTIONS.get(s, {}) | self.own_sections.get(s, {}) | sections.get(s, {}) for s in self.SECTIONS | self.own_sections | sections}
        self.daemon = self.keep(harness.Daemon(self.write_config(**all_of_it), self.ports, self.folder, environment))
        self.daemon.ready() if ready else self.daemon.wait_to_say("ready for runs")
        self.restarted = True

    def restart(self, kill=False, **how):
        """The daemon, with other settings; the beam pauses meanwhile."""
        before, self.beam.on = self.beam.on, False
        self.daemon.kill() if kill else self.daemon.stop()
        self.begin_daemon(**how)
        self.beam.on = before

    # What is seen

    def headline(self, of_receiver=False):
        """(name, severity, sentence) of the first trouble that is more than a note. Of a receiver's only the alert has a severity."""
        connection = http.client.HTTPConnection(self.urls[of_receiver], timeout=harness.PATIENCE)
        try:
            connection.request("GET", "/status")
            status = json.loads(connection.getresponse().read())
        except ConnectionRefusedError:
            return "receiver_down" if of_receiver else "down", "critical", ""
        finally:
            connection.close()
        self.last = status.get("troubles"), status["state"]
        if of_receiver:
            return next(iter(status["state"]["degraded"]), None), None, ""
        first = next((t for t in status["troubles"] if t["severity"] != "note"), {"name": None, "severity": None})
        text = status["problem"]["text"] if first["name"] else ""
        assert first["name"] == (status["problem"] and status["problem"]["name"]), status["problem"]
        return first["name"], first["severity"], text

    def ask_status(self):
        return self.run_tool("status", "--interval", "100 ms", *self.urls)

    def told(self, since=0):
        """{(alert, severity): since when it fires, or None} of what the shift was told of this system since this line of its file."""
        alerts = {}
        for alert in map(json.loads, self.shift.read_text().split("\n")[since:-1]):
            if alert["labels"].get("instance") in self.urls:
                assert alert["annotations"]["summary"] and alert["annotations"]["action"], alert
                alerts[alert["labels"]["alertname"], alert["labels"]["severity"]] = alert["status"] == "firing" and datetime.datetime.fromisoformat(alert["startsAt"])
        return alerts

    # Rows

    def play(self, name, shift, results):
        """In a process of its own."""
        self.shift, self.may_mount = shift, True
        try:
            own_space.enter(own_space.MOUNTS)
        except PermissionError:
            self.may_mount = False
        self.beam, until = Beam(self), time.monotonic() + 60 * MINUTES
        for number, row in itertools.cycle(enumerate(self.rows)):
            times, skipped, wrong = [], None, None
            try:
                if self.daemon is None:
                    self.begin_anew()
                self.play_row(row, times)
            except Skipped as e:
                self.daemon, skipped = None, str(e)
            except Exception:
                said = "".join(f"--- {p.name()} said\n{p.said()[-3000:]}" for p in self.programs if p.running())
                self.daemon, wrong = None, traceback.format_exc() + said
            results.put((name, number, times, skipped, wrong))
            if number == len(self.rows) - 1 and time.monotonic() >= until:
                break
        self.stop_programs()
        results.put(None)

    def begin_anew(self):
        """Whatever a row has left."""
        while self.undoing:
            self.undoing.pop()()
        self.stop_programs()
        self.programs.clear()
        for path in set(self.folder.iterdir()) - {self.disk}:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        self.beam.set(on=False)  # half a spill would be a loss
        self.begin_receiver()
        self.begin_daemon()
        self.beam.set()

    def play_row(self, row, times):
        names = {step[1].split()[0].removeprefix("receiver:") for step in row.steps if step[1]}
        may = {alert_of(prefix + name) for name in {*names, *row.may} for prefix in ("", "receiver_")} | STOPPED
        harness.wait_until(lambda: self.headline()[0] is None and not any(fires and a[0] in may for a, fires in self.told().items()),
                           lambda: f"a calm begin: {self.last}, {self.told()}")
        since, begun, self.restarted = self.shift.read_text().count("\n"), datetime.datetime.now(datetime.UTC), False
        for step in row.steps:
            self.play_step(step, {None, *names, *row.may}, since, times, quiet=len(row.steps) == 1)
        if len(row.steps) == 1:
            self.beam.set()
        else:
            harness.wait_until(lambda: self.ask_status()[0] == 0, lambda: f"a status that ends with 0: {self.ask_status()}")
        early = begun + datetime.timedelta(seconds=1)  # what the row before has left
        false = {a for a, fires in self.told(since).items() if a[1] == "critical" and a[0] not in may and fires and fires > early}
        assert not false, f"the shift was told {false}"

    def play_step(self, step, may, since, times, quiet):
        act, expected, says = step
        act(self)
        begun = time.monotonic()
        name, severity = (expected or "None None").split()
        of_receiver, name = name.startswith("receiver:"), name.removeprefix("receiver:")
        may = {str(n) for n in may} | ({"receiver_absent"} if self.restarted else set())

        def look():
            its_name, its_severity, text = self.headline(of_receiver)
            assert str(its_name) in may, f"the headline is {its_name}, and not of {may}: {self.last}"
            return str(its_name) == name and (of_receiver or str(its_severity) == severity and (re.search(says, text) or name == "down"))
        harness.wait_until(look, lambda: f"{expected} that says '{says}'; {self.last}")
        times.append(time.monotonic() - begun)
        if expected:
            code, said = self.ask_status()
            assert code == 1 and (of_receiver or name == "down" or re.search(says, said)), f"status ends with {code}: {said}"
        until, alert = time.monotonic() + (QUIET if quiet else HOLDS if expected else 0), alert_of(name)

        def is_told():
            return any(a[0] in (alert, alert.replace("KotoL3", "KotoL3Receiver")) and a[1] == severity and fires for a, fires in self.told(since).items())
        while time.monotonic() < until or expected and not is_told():
            now = self.headline(of_receiver)
            assert now[:2] in ((name, severity), (name, None)) if expected else now[1] != "critical", f"{now} after {expected}: {self.last}"
            assert time.monotonic() < until + harness.PATIENCE, f"the shift was told {self.told(since)}, and not of {alert}"
            time.sleep(0.1)


class Watched(harness.SystemTest):
    def write(self, name, *replaced):
        """A file of deploy/ with the test's addresses and times."""
        text = (DEPLOY / name).read_text()
        for old, new in replaced:
            self.assertIn(old, text, f"{name} has another address than the test replaces")
            text = text.replace(old, new)
        path = self.folder / name
        path.write_text(re.sub(r"(_interval|for): (\d+)([sm])\b", lambda m: f"{m[1]}: {int(m[2]) * (100 if m[3] == 's' else 600)}ms", text))
        return path

    def start_shift(self):
        """Whom Alertmanager tells: each alert is a line of a file. Its port."""
        file = self.shift = self.folder / "told.jsonl"
        file.touch()

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                with open(file, "a") as f:
                    for alert in json.loads(self.rfile.read(int(self.headers["Content-Length"])))["alerts"]:
                        f.write(json.dumps(alert) + "\n")
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_):
                pass

        server = self.enterContext(http.server.ThreadingHTTPServer((harness.HOST, 0), Handler))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.shutdown)
        return server.server_port

    def start_watchers(self, systems):
        ports = harness.Ports()
        self.write("alerts.yml")
        config = self.write("prometheus.yml", ("127.0.0.1:9093", f"{harness.HOST}:{ports.monitor}"),
                            *((f"127.0.0.1:{port}", '", "'.join(s.urls[port % 2] for s in systems)) for port in (9420, 9421)))
        telling = self.write("alertmanager.yml", ("127.0.0.1:9422", f"{harness.HOST}:{self.start_shift()}"))
        self.keep(harness.Program([ALERTMANAGER, f"--config.file={telling}", f"--storage.path={self.folder / 'am'}", "--cluster.listen-address=",
                                   f"--web.listen-address={harness.HOST}:{ports.monitor}"], self.folder / "alertmanager.log"))
        self.keep(harness.Program([PROMETHEUS, f"--config.file={config}", f"--storage.tsdb.path={self.folder / 'tsdb'}",
                                   f"--web.listen-address={harness.HOST}:{ports.tcp}"], self.folder / "prometheus.log"))

    def play(self, table, only):
        """{system: (sections, rows)}; of the rows only those in whose names one of these parts is."""
        if not (PROMETHEUS and ALERTMANAGER):
            self.skipTest("Prometheus or Alertmanager is missing (packages prometheus, prometheus-alertmanager)")
        systems, fork = {}, multiprocessing.get_context("fork")
        for name, (sections, rows) in table.items():
            rows = [row for row in rows if (LONG or not row.long) and (not MINUTES or len(row.steps) == 1) and (not only or any(part in f"{name}: {row.what}" for part in only))]
            if rows:
                systems[name] = System(rows, **sections)
                self.addCleanup(systems[name].leave_stage)
        self.start_watchers(systems.values())
        results = fork.Queue()
        for name, system in systems.items():
            player = fork.Process(target=system.play, args=(name, self.shift, results), daemon=True)
            player.start()
            self.addCleanup(player.kill)
        print("| what is done | headline | seconds until it comes, until it goes |\n| --- | --- | --- |", flush=True)
        playing = len(systems)
        while playing:
            result = results.get(timeout=600)
            if result is None:
                playing -= 1
                continue
            name, number, times, skipped, wrong = result
            row = systems[name].rows[number]
            print(f"| {name}: {row.what} | {', then '.join(step[1] for step in row.steps if step[1]) or 'nothing critical'} | "
                  f"{' '.join(f'{t:.1f}' for t in times)}{f' skipped: {skipped}' if skipped else ' FAILS' if wrong else ''} |", flush=True)
            with self.subTest(f"{name}: {row.what}"):
                self.assertIsNone(wrong)
        if MINUTES:
            print(self.shift.read_text())
