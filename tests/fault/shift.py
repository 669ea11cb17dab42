# SPDX-License-Identifier: Apache-2.0
"""What people see of a scenario: the headline of daemon and receiver, the exit code of `koto-l3 status`, and the alerts that reach the shift. One
Prometheus and one Alertmanager with the files of deploy/ watch all systems; of their times seconds are a tenth, minutes a hundredth."""
import contextlib
import datetime
import http.server
import json
import pathlib
import re
import shutil
import threading
import time

import harness

DEPLOY = pathlib.Path(__file__).resolve().parents[2] / "deploy"
PROMETHEUS, ALERTMANAGER = shutil.which("prometheus"), shutil.which("prometheus-alertmanager")
STOPPED = {"KotoL3Down", "KotoL3NotReady", "KotoL3ReceiverDown", "KotoL3NodeMissing"}  # alerts about programs that a row stops or starts again


def alert_of(name):
    return "KotoL3" + "".join(word.capitalize() for word in name.split("_"))


def urls_of(ports):
    """Of the daemon and of the receiver."""
    return [f"{harness.HOST}:{port}" for port in (ports.monitor, ports.receiver + 1)]


class Shift(harness.Stage):
    """Watches systems of these names: `ports` has those of each, and others for a daemon beside it."""

    def __init__(self, names):
        self.set_up_stage()
        self.ports = {name: harness.Ports() for name in names}
        self.others, own = {name: harness.Ports() for name in names}, harness.Ports()
        self.file = self.folder / "told.jsonl"
        self.file.touch()
        self._write("alerts.yml")
        config = self._write("prometheus.yml", ("127.0.0.1:9093", f"{harness.HOST}:{own.monitor}"),
                             *((f"127.0.0.1:{9420 + n}", '", "'.join(urls_of(ports)[n] for ports in self.ports.values())) for n in (0, 1)))
        telling = self._write("alertmanager.yml", ("127.0.0.1:9422", f"{harness.HOST}:{self._listen()}"))
        for program, file, port, *more in ((ALERTMANAGER, telling, own.monitor, f"--storage.path={self.folder / 'am'}", "--cluster.listen-address="),
                                           (PROMETHEUS, config, own.tcp, f"--storage.tsdb.path={self.folder / 'tsdb'}")):
            self.keep(harness.Program([program, f"--config.file={file}", f"--web.listen-address={harness.HOST}:{port}", *more], f"{file}.log"))

    def _write(self, name, *replaced):
        """A file of deploy/ with the test's addresses and times."""
        text = (DEPLOY / name).read_text()
        for old, new in replaced:
            if old not in text:
                raise AssertionError(f"{name} has another address than the test replaces")
            text = text.replace(old, new)
        path = self.folder / name
        path.write_text(re.sub(r"(_interval|for): (\d+)([sm])\b", lambda m: f"{m[1]}: {int(m[2]) * (100 if m[3] == 's' else 600)}ms", text))
        return path

    def _listen(self):
        """Whom Alertmanager tells: each alert is a line of the file. The port."""
        file = self.file

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                with open(file, "a") as f:
                    for alert in json.loads(self.rfile.read(int(self.headers["Content-Length"])))["alerts"]:
                        f.write(json.dumps(alert) + "\n")
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_):
                pass

        self._server = http.server.ThreadingHTTPServer((harness.HOST, 0), Handler)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self._server.server_port

    def close(self):
        self.stop_programs()
        self._server.shutdown()
        self.leave_stage()

    def lines(self):
        return self.file.read_text().count("\n")

    def told(self, urls, since=0):
        """{(alert, severity): since when it fires, or False} of what it was told of these programs since this line of its file."""
        alerts = {}
        for alert in map(json.loads, self.file.read_text().split("\n")[since:-1]):
            if alert["labels"].get("instance") in urls:
                assert alert["annotations"]["summary"] and alert["annotations"]["action"], alert
                alerts[alert["labels"]["alertname"], alert["labels"]["severity"]] = alert["status"] == "firing" and datetime.datetime.fromisoformat(alert["startsAt"])
        return alerts


class Watch:
    """A run of a scenario, as people see it."""

    def __init__(self, run, may):
        """`may`: these may be the headline for a moment, and their alerts may come."""
        self.run, self.urls, self.shift = run, urls_of(run.ports), run.plan.shift
        self.daemon = run.daemon  # the first one
        self.may = {None, *may}
        self.alerts = {alert_of(prefix + name) for name in may for prefix in ("", "receiver_")} | STOPPED
        harness.wait_until(lambda: self.headline()[0] is None and not any(fires and a[0] in self.alerts for a, fires in self.told(0).items()),
                           lambda: f"a calm begin: {self.last}, {self.told(0)}")
        self.since, self.begun = self.shift.lines(), datetime.datetime.now(datetime.UTC)

    def told(self, since=None):
        return self.shift.told(self.urls, self.since if since is None else since)

    def headline(self, of_receiver=False):
        """(name, severity, sentence) of the first trouble that is more than a note. Of a receiver's only the alert has a severity."""
        try:
            status = json.loads(harness.http_get(*self.urls[of_receiver].split(":"), "/status")[1])
        except ConnectionRefusedError:
            return "receiver_down" if of_receiver else "down", "critical", ""
        self.last = status.get("troubles"), status["state"]
        if of_receiver:
            return next(iter(status["state"]["degraded"]), None), None, ""
        first = next((t for t in status["troubles"] if t["severity"] != "note"), {"name": None, "severity": None})
        text = status["problem"]["text"] if first["name"] else ""
        assert first["name"] == (status["problem"] and status["problem"]["name"]), status["problem"]
        return first["name"], first["severity"], text

    def ask_status(self):
        return self.run.run_tool("status", "--interval", "100 ms", *self.urls)

    def step(self, expected, says, seconds):
        """The headline must come, reach the shift, and stay for so long."""
        begun = time.monotonic()
        name, severity = (expected or "None None").split()
        of_receiver, name = name.startswith("receiver:"), name.removeprefix("receiver:")
        may = {str(n) for n in self.may} | ({"receiver_absent"} if self.run.daemon is not self.daemon else set())

        def look():
            its_name, its_severity, text = self.headline(of_receiver)
            assert str(its_name) in may, f"the headline is {its_name}, and not of {may}: {self.last}"
            return str(its_name) == name and (of_receiver or str(its_severity) == severity and (re.search(says, text) or name == "down"))
        harness.wait_until(look, lambda: f"{expected} that says '{says}'; {self.last}")
        self.run.findings.time(expected or "over", time.monotonic() - begun, harness.PATIENCE)
        if expected:
            code, said = self.ask_status()
            assert code == 1 and (of_receiver or name == "down" or re.search(says, said)), f"status ends with {code}: {said}"
        until, alert = time.monotonic() + seconds, alert_of(name)

        def is_told():
            return any(a[0] in (alert, alert.replace("KotoL3", "KotoL3Receiver")) and a[1] == severity and fires for a, fires in self.told().items())
        while time.monotonic() < until or expected and not is_told():
            now = self.headline(of_receiver)
            assert now[:2] in ((name, severity), (name, None)) if expected else now[1] != "critical", f"{now} after {expected}: {self.last}"
            assert time.monotonic() < until + harness.PATIENCE, f"the shift was told {self.told()}, and not of {alert}"
            time.sleep(0.1)

    def end(self):
        early = self.begun + datetime.timedelta(seconds=1)  # what the row before has left
        false = {a for a, fires in self.told().items() if a[1] == "critical" and a[0] not in self.alerts and fires and fires > early}
        assert not false, f"the shift was told {false}"


def headlines(*steps, may=()):
    """Each step is (what is done, "headline severity" or None, a pattern in its sentence). The last one takes everything back: no headline is left.
    One step alone disturbs a healthy system: no trouble may become critical."""
    steps = [(*step, "")[:3] for step in steps]
    names = {expected.split()[0].removeprefix("receiver:") for _, expected, _ in steps if expected}

    def fault(run):
        run.watch = Watch(run, {*names, *may})
        healthy = len(steps) == 1
        for act, expected, says in steps:
            act(run)
            run.watch.step(expected, says, run.plan.pick(6, 30) if healthy else run.plan.pick(1, 3) if expected else 0)
        if not healthy:
            harness.wait_until(lambda: run.watch.ask_status()[0] == 0, lambda: f"a status that ends with 0: {run.watch.ask_status()}")
        run.watch.end()
    return fault


def missing():
    if not (PROMETHEUS and ALERTMANAGER):
        return "Prometheus or Alertmanager is missing (packages prometheus, prometheus-alertmanager)"


def shift_of(names):
    """Returns a context with a Shift for systems of these names, or with None if there are no names."""
    return contextlib.closing(Shift(names)) if names else contextlib.nullcontext()
