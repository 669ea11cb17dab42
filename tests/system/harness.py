# SPDX-License-Identifier: Apache-2.0
"""Runs the real programs for a test: a configuration in a folder of its own, free ports on 127.0.0.1 (as root, of a network of its
own), and bounded waits for conditions instead of sleeps. Whatever a test starts is gone when it ends, also when the test itself is
killed.

A test program is a file of unittest cases that derive from `SystemTest` and end with `harness.main()`. CTest names the folder
of the programs in KOTO_L3_BIN; by hand: KOTO_L3_BIN=build/bin tests/system/link.py [-v] [SystemTest.case]. KOTO_L3_KEEP=1
keeps the folders. Exit code 77 means that every case was skipped, with the reasons above."""
import contextlib
import ctypes
import http.client
import json
import os
import pathlib
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE / "peers")]

import l2raw  # noqa: E402
import level2  # noqa: E402
import own_space  # noqa: E402
import store_reader  # noqa: E402
from level2_sender import UdpSender  # noqa: E402
from stream_sender import StreamSender  # noqa: E402

BIN = pathlib.Path(os.environ.get("KOTO_L3_BIN", HERE.parents[1] / "build" / "bin")).resolve()
SANITIZED = bool(os.environ.get("KOTO_L3_SANITIZED"))
SKIPPED = 77
HOST = "127.0.0.1"
UDP_PORTS = 8
PATIENCE = 180 if SANITIZED else 60  # seconds that anything may take before a test calls it hung

_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None)


def begin_in(space):
    """A child process: it dies with its parent, and is in this network."""
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if space is not None:
        own_space.join(space)


def wait_until(condition, what, seconds=PATIENCE):
    """The first true value of a condition; a failure that says what was waited for if it does not come."""
    until = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > until:
            raise AssertionError(f"waited {seconds} s in vain for {what() if callable(what) else what}")
        time.sleep(0.01)


# Ports

def _is_free(kind, port):
    with socket.socket(socket.AF_INET, kind) as s:
        try:
            s.bind((HOST, port))
            return True
        except OSError:
            return False


def connected(address):
    """A socket, or None."""
    s = socket.socket()
    if s.connect_ex(address) == 0:
        return s
    s.close()
    return None


class Ports:
    """A run of ports below the range from which the kernel takes those of outgoing connections; which run depends on the
    process, so that tests side by side do not meet."""
    _runs = None
    RUN = 16

    def __init__(self):
        if Ports._runs is None:
            first = os.getpid() * 7 % 1200
            Ports._runs = iter([10000 + (first + i) % 1200 * self.RUN for i in range(1200)])
        for base in Ports._runs:
            if all(_is_free(kind, base + i) for i in range(self.RUN) for kind in (socket.SOCK_DGRAM, socket.SOCK_STREAM)):
                break
        self.udp = base
        self.tcp, self.monitor, self.receiver = base + 8, base + 9, base + 10


def bytes_waiting(sockets, port):
    """In the sockets of the daemon's UDP ports, of which this is the first, by a file /proc/…/net/udp."""
    total = 0
    for line in sockets.readlines()[1:]:
        fields = line.split()
        if 0 <= int(fields[1].split(b":")[1], 16) - port < UDP_PORTS:
            total += int(fields[4].split(b":")[1], 16)
    return total


def http_ask(connection, method, path, body=None):
    """(status, type of the body, body)"""
    with contextlib.closing(connection):
        connection.request(method, path, body, {"Content-Type": "application/json"} if body else {})
        answer = connection.getresponse()
        return answer.status, answer.headers["Content-Type"], answer.read()


def http_get(host, port, path, raw=False):
    """(status, body)"""
    status, _, body = http_ask(http.client.HTTPConnection(host, port, timeout=PATIENCE), "GET", path)
    return status, body if raw else body.decode()


# Programs

def failing(fault):
    """The environment of a daemon whose device fails so: imagine_a_fault() of daemon/main.cpp."""
    return {"KOTO_L3_TEST_FAULT": fault}


class Program:
    def __init__(self, arguments, log, environment=None, space=None, answer=None):
        """`space`: an open file of the network namespace in which it shall run. `answer`: a file for standard output alone, where what
        standard error says must not stand within it."""
        self.log = pathlib.Path(log)
        self.arguments = [str(a) for a in arguments]
        self._output = open(self.log, "ab")
        self._said = slice(self.log.stat().st_size, None)
        with open(answer, "wb") if answer else contextlib.nullcontext(self._output) as output:
            self.process = subprocess.Popen(self.arguments, stdin=subprocess.DEVNULL, stdout=output,
                                            stderr=self._output, preexec_fn=lambda: begin_in(space),
                                            env={**os.environ, **(environment or {})})

    @property
    def pid(self):
        return self.process.pid

    def running(self):
        return self.process.poll() is None

    def said(self):
        """What this run of the program wrote; its log may also hold that of others before and after."""
        return self.log.read_bytes()[self._said].decode(errors="replace")

    def wait_to_say(self, text, seconds=PATIENCE):
        """A text, or what a compiled pattern matches. A program does not wait until its log is written."""
        def has_said():
            return text.search(self.said()) if isinstance(text, re.Pattern) else text in self.said()
        wait_until(lambda: has_said() or not self.running(), f"'{text}' from {self.name()}", seconds)
        if not has_said():
            raise AssertionError(f"{self.name()} ended with {self.process.returncode}: {self.said()[-2000:]}")

    def name(self):
        return pathlib.Path(self.arguments[0]).name + " " + (self.arguments[1] if len(self.arguments) > 1 else "")

    def signal(self, number):
        if self.running():
            self.process.send_signal(number)

    def kill(self):
        """kill -9, and it is gone when this returns."""
        self.signal(signal.SIGKILL)
        self.wait()

    def wait(self, seconds=PATIENCE):
        try:
            code = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"{self.name()} does not end; it said: {self.said()[-2000:]}") from None
        if not self._output.closed:
            self._output.close()
            self._said = slice(self._said.start, self.log.stat().st_size)
        return code

    def stop(self, seconds=PATIENCE):
        """SIGTERM; the exit code."""
        self.signal(signal.SIGTERM)
        return self.wait(seconds)

    def catches(self, number):
        """Whether it has a handler for this signal."""
        text = pathlib.Path(f"/proc/{self.pid}/status").read_text()
        return int(re.search(r"SigCgt:\s+([0-9a-f]+)", text)[1], 16) >> number - 1 & 1 == 1

    def limit(self, resource, value):
        """As prlimit names it; "unlimited" takes it back."""
        subprocess.run(["prlimit", "--pid", str(self.pid), f"--{resource}={value}:"], check=True)

    def memory(self):
        """Resident bytes; 0 once it has ended."""
        resident = re.search(r"VmRSS:\s+(\d+) kB", pathlib.Path(f"/proc/{self.pid}/status").read_text())
        return int(resident[1]) * 1024 if resident else 0


class Daemon(Program):
    host = HOST  # where its monitoring address is, as this process sees it

    def __init__(self, config, ports, folder, environment=None, space=None):
        self.ports = ports
        self.ledger_file = folder / "daemon-ledger.json"
        self.config = config
        super().__init__([BIN / "koto-l3d", "--config", config], folder / "daemon.log", environment, space)

    def get(self, path, raw=False):
        return http_get(self.host, self.ports.monitor, path, raw)

    def ready(self, text=None):
        """`text`: by which it says so, where /readyz does not."""
        if text:
            self.wait_to_say(text)
            return self

        def is_ready():
            if not self.running():
                raise AssertionError(f"koto-l3d ended with {self.process.returncode}: {self.said()[-2000:]}")
            try:
                return self.get("/readyz")[0] == 200
            except OSError:
                return False
        wait_until(is_ready, "/readyz")
        return self

    def status(self):
        return json.loads(self.get("/status")[1])

    def metrics(self):
        """{name{labels}: value} of /metrics."""
        values = {}
        for line in self.get("/metrics")[1].splitlines():
            if line and not line.startswith("#"):
                name, value = line.rsplit(" ", 1)
                values[name] = float(value)
        return values

    def wait_for(self, condition, what, seconds=PATIENCE):
        """The first /status for which the condition holds. /status is up to a second old: a condition on what is
        no longer there (nothing in flight) must also name something that has come."""
        last = {}

        def holds():
            last.update(self.status())
            return dict(last) if condition(last) else None
        return wait_until(holds, lambda: f"{what}; /status: {json.dumps(last)}", seconds)

    def wait_for_stored(self, events, seconds=PATIENCE):
        return self.wait_for(lambda s: s["events"]["forwarded"] >= events and not s["events"]["in_flight"] and
                             not s["fragments"]["in_flight"],
                             f"{events} events stored", seconds)

    def waiting(self):
        """Bytes in the sockets of its UDP ports. What the sender shall pace itself by: a shared processor is no loss."""
        with open("/proc/net/udp", "rb") as f:
            return bytes_waiting(f, self.ports.udp)

    def ledger(self):
        return json.loads(self.ledger_file.read_text())


def toml(value):
    return json.dumps(value)  # strings, numbers and lists of them look the same in both


def merged(*all_of_them):
    """Sections of configurations; the later ones come first."""
    found = {}
    for sections in all_of_them:
        for name, keys in sections.items():
            found[name] = found.get(name, {}) | keys if isinstance(keys, dict) else keys
    return found


def nonzero(counts):
    return {name: n for name, n in counts.items() if n}


def unbalanced(ledger):
    """What of the two sums of docs/formats.md, section 10, does not hold."""
    events, fragments = ledger["events"], ledger["fragments"]
    sums = {"events": (events["admitted"], events["forwarded"] + events["rejected"] + sum(events["shed"].values()) + events["in_flight"]),
            "fragments": (fragments["seen"], sum(fragments[fate] for fate in ("admitted", "incomplete", "late", "duplicate")) +
                          sum(fragments["malformed"].values()))}
    found = [f"{came} {what} came, {ends} ends of them" for what, (came, ends) in sums.items() if came != ends]
    return found if ledger["balanced"] else [*found, "the ledger says that it does not balance"]


def store_file(store, number=1):
    """The file of this number, complete or not."""
    return next(pathlib.Path(store).glob(f"blocks-{number:06}*.kl3"))


class Stage:
    """A folder, ports, and the programs that run there: daemon, receiver, tools, each where it listens and in its namespace."""
    crates = level2.readout(level2.SMALL)
    crate_lines = level2.SMALL
    chunk_bytes = 2000  # so that small fragments have a few chunks
    input_host = receiver_host = HOST
    receiver_space = None

    def set_up_stage(self, ports=None):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="koto-l3-system-"))
        self.store = self.folder / "store"
        self.ports = ports or Ports()
        self.programs = []

    def stop_programs(self):
        for p in self.programs:
            if p.running():
                p.signal(signal.SIGCONT)
                p.kill()

    def say_what_they_said(self):
        for p in self.programs:
            print(f"--- {p.name()} said\n{p.said()[-3000:]}", file=sys.stderr)

    def leave_stage(self):
        if os.environ.get("KOTO_L3_KEEP"):
            print(f"kept {self.folder}", file=sys.stderr)
        else:
            shutil.rmtree(self.folder, ignore_errors=True)

    def keep(self, program):
        self.programs.append(program)
        return program

    # Programs

    def write_config(self, name="l3.toml", **sections):
        """A configuration for this test's ports; sections={"key": value} add to it or change it."""
        all_of_it = merged({
            "run": {"number": 7, "node": 3, "ledger": str(self.folder / "daemon-ledger.json")},
            "readout": {"crates": self.crate_lines},
            "building": {"chunk_bytes": self.chunk_bytes},
            "udp": {"bind": f"{self.input_host}:{self.ports.udp}", "ports": UDP_PORTS},
            "tcp": {"bind": f"{self.input_host}:{self.ports.tcp}"},
            "frames": {"count": 16},  # room for a test's burst while this machine gives the daemon no processor
            # A start touches all that it plans for, which takes longer than the rest of it.
            "compute": {"backend": "pool", "dumps": str(self.folder / "dumps")}, "outbox": {"memory": "64 MiB"}, "spool": {"folder": str(self.folder / f"spool-{self.ports.tcp}")},
            "forward": {"to": f"tcp://{self.receiver_host}:{self.ports.receiver}", "insecure": "on"},  # in namespaces it is not loopback
            "monitor": {"bind": f"{HOST}:{self.ports.monitor}"},
        }, sections)
        path = self.folder / name
        path.write_text("".join(f"[{section}]\n" + "".join(f"{k} = {toml(v)}\n" for k, v in keys.items())
                                for section, keys in all_of_it.items()))
        return path

    def start_daemon(self, environment=None, ready=None, **sections):
        """`ready`: by which text it says that it is."""
        return self.keep(Daemon(self.write_config(**sections), self.ports, self.folder, environment)).ready(ready)

    def start_receiver(self, *more, store=None, listening=True, environment=None, through=()):
        """`through`: a program that starts it."""
        p = self.keep(Program([*through, BIN / "koto-l3", "receive", "--bind", f"tcp://{self.receiver_host}:{self.ports.receiver}",
                               "--insecure", "--out", store or self.store, *more], self.folder / "receiver.log", environment,
                              space=self.receiver_space))
        if listening:
            p.wait_to_say("listening on")
        return p

    def start_tool(self, *arguments, space=None):
        if "--json" in arguments:
            raise AssertionError("warnings would stand within the answer: ask_for_json() keeps them apart")
        return self.keep(Program([BIN / "koto-l3", *arguments], self.folder / f"{arguments[0]}.log", space=space))

    def run_tool(self, *arguments, seconds=PATIENCE):
        """(exit code, what it said)"""
        p = self.start_tool(*arguments)
        return p.wait(seconds), p.said()

    def ask_for_json(self, *arguments, program="koto-l3", seconds=PATIENCE, environment=None):
        """(exit code, what it answers to --json, what it said beside that)"""
        answer = self.folder / f"{arguments[0]}.answer"
        p = self.keep(Program([BIN / program, *arguments, "--json"], self.folder / f"{arguments[0]}.log", environment, answer=answer))
        code, text = p.wait(seconds), answer.read_text()
        if not text:
            raise AssertionError(f"{p.name()} ended with {code} and no answer: {p.said()}")
        return code, json.loads(text), p.said()

    def run_for_json(self, *arguments, code=0, **how):
        """What it answers to --json, when it ends with this code."""
        got, answer, said = self.ask_for_json(*arguments, **how)
        if got != code:
            raise AssertionError(f"{arguments[0]} ended with {got}: {said}{answer}")
        return answer


class SystemTest(Stage, unittest.TestCase):
    maxDiff = 4000
    store_is_whole = True  # no session leaves out a number

    def setUp(self):
        self.set_up_stage()
        self.addCleanup(self._clean_up)

    def _clean_up(self):
        self.stop_programs()
        if len(self._result.failures) + len(self._result.errors) > self._failed_before:
            self.say_what_they_said()
        self.leave_stage()

    def run(self, result=None):
        self._result = result
        self._failed_before = len(result.failures) + len(result.errors)
        return super().run(result)

    def enter_space(self, kinds):
        """Namespaces of this process's own, where it may make them."""
        try:
            own_space.enter(kinds)
        except PermissionError as e:
            self.skipTest(f"no right to make namespaces here: {e.strerror}")

    def tool(self, *arguments, code=0, says=()):
        """What the command says, which ends with this code; each of these patterns is in it."""
        its_code, said = self.run_tool(*arguments)
        self.assertEqual(its_code, code, said)
        for pattern in [says] if isinstance(says, str) else says:
            self.assertRegex(said, pattern)
        return said

    def udp_sender(self, daemon, ports=UDP_PORTS, **more):
        sender = UdpSender(self.crates, HOST, self.ports.udp, ports, self.chunk_bytes, waiting=daemon.waiting, **more)
        self.addCleanup(sender.close)
        return sender

    def stream_sender(self, **more):
        sender = StreamSender(self.crates, HOST, self.ports.tcp, seconds=PATIENCE, **more)
        self.addCleanup(sender.close)
        return sender

    # Events

    def make_events(self, events, spill=1, seed=1):
        """{(spill, number): fragments}"""
        maker = level2.EventMaker(self.crates, seed)
        return {(spill, n): maker.fragments(spill, n) for n in range(1, events + 1)}

    def send_events(self, sender, sent):
        for (spill, number), fragments in sent.items():
            sender.event(spill, number, fragments)

    def write_events(self, sent, name="sent.l2raw"):
        """A .l2raw file of them."""
        spills = {}
        for (spill, _), fragments in sorted(sent.items()):
            spills.setdefault(spill, []).append(fragments)
        l2raw.write(self.folder / name, self.crates, spills)
        return self.folder / name

    def start_replay(self, file, *more, to="tcp", rate="unlimited"):
        address = f"tcp://{HOST}:{self.ports.tcp}" if to == "tcp" else f"udp://{HOST}:{self.ports.udp}+{UDP_PORTS}"
        return self.start_tool("replay", file, "--to", address, "--rate", rate, *more)

    def run_replay(self, file, *more, **how):
        """It ends when every event is acknowledged."""
        replay = self.start_replay(file, *more, **how)
        self.assertEqual(replay.wait(), 0, replay.said())

    def end_and_compare(self, daemon, receiver, sent):
        """Both end; exactly these events are stored. The daemon's ledger."""
        ledger = self.stop_daemon(daemon)
        self.assertEqual(receiver.stop(), 0, receiver.said())
        self.assert_stored(sent)
        return ledger

    # What must hold

    def stop_daemon(self, daemon, clean=True):
        """SIGTERM; its ledger, which must balance and be clean, or not be clean."""
        self.assertEqual(daemon.stop(), 0, daemon.said()[-2000:])
        ledger = daemon.ledger()
        self.assert_conserved(ledger)
        self.assertEqual(ledger["clean"], clean, ledger)
        return ledger

    def assert_conserved(self, ledger):
        self.assertEqual(unbalanced(ledger), [])
        self.assertEqual(ledger["datagrams"]["kernel_drops"], 0, "the sender ran over the sockets: this test proves nothing")

    def assert_metrics_conserved(self, daemon):
        m = daemon.metrics()
        total = sum(v for k, v in m.items() if k.startswith("koto_l3_events_total"))
        self.assertEqual(m["koto_l3_events_admitted_total"], total + m["koto_l3_events_in_flight"])
        total = sum(v for k, v in m.items() if k.startswith("koto_l3_fragments_total"))
        self.assertEqual(m["koto_l3_fragments_seen_total"], total + m["koto_l3_fragments_in_flight"])
        self.assertEqual((m["koto_l3_events_unaccounted"], m["koto_l3_fragments_unaccounted"]), (0, 0))
        return m

    def stored(self, store=None):
        """{(spill, number): event}, each of which must be there once."""
        found = {}
        for event in store_reader.events_of(store or self.store, self.store_is_whole):
            key = (event.spill, event.number)
            self.assertNotIn(key, found, "stored twice")
            found[key] = event
        return found

    def assert_stored(self, expected, store=None):
        """Exactly these {(spill, number): list or {place: fragment}} are stored, each byte as it was sent; returns them."""
        found = self.stored(store)
        missing, extra = sorted(expected.keys() - found.keys()), sorted(found.keys() - expected.keys())
        self.assertFalse(missing or extra, f"{len(missing)} missing: {missing[:9]}, {len(extra)} extra: {extra[:9]}")
        for key, fragments in expected.items():
            fragments = fragments if isinstance(fragments, dict) else dict(enumerate(fragments))
            self.assertEqual(found[key].fragments.keys(), fragments.keys(), f"crates of event {key}")
            for place, fragment in fragments.items():
                if found[key].fragments[place] != fragment:
                    self.fail(f"event {key}, crate place {place}: not the bytes that were sent")
        return found

    def assert_extracted(self, expected, store=None):
        out = self.folder / "extracted.bin"
        self.tool("extract", store or self.store, out)
        parts = []
        for key in sorted(expected):
            fragments = expected[key]
            parts += [fragments[p] for p in sorted(fragments)] if isinstance(fragments, dict) else fragments
        self.assertTrue(out.read_bytes() == b"".join(parts), "extract does not give the bytes that were sent")


def _take_a_network():
    """Of this process's own, where it may: what listens and connects beside it cannot take a port of the test. A program that asks
    for an address with AI_ADDRCONFIG finds none on a machine that has no address but 127.0.0.1."""
    if os.geteuid() == 0:
        with contextlib.suppress(PermissionError):
            own_space.enter(own_space.NETWORK)
            subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
            subprocess.run(["ip", "address", "add", "127.0.1.1/8", "dev", "lo"], check=True)  # behind 127.0.0.1, which others see


def main():
    for program in ("koto-l3", "koto-l3d"):
        if not os.access(BIN / program, os.X_OK):
            sys.exit(f"{BIN / program} is not there: build it, and say where it is in KOTO_L3_BIN")
    _take_a_network()
    random.seed(1)
    result = unittest.main(module="__main__", exit=False, verbosity=2).result
    if not result.wasSuccessful():
        sys.exit(1)
    sys.exit(SKIPPED if result.testsRun and len(result.skipped) == result.testsRun else 0)
