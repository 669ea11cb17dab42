# SPDX-License-Identifier: Apache-2.0
"""Daemon and receiver as services of a machine: what they are told, what is sent to them, and what of it must be stored."""
import json
import pathlib
import threading
import time

from machine import wait_until  # first: it names the folders of the others
import l2raw
import level2

EVENTS = 400
READOUT = level2.SMALL
UNITS = ("koto-l3d", "koto-l3-receive")
LEDGERS = "/var/lib/koto-l3/koto-l3d-ledgers"
STORE = "/var/lib/koto-l3-receive/store"


def small(**more):
    """A configuration for the crates that the files are of, and for two cores."""
    sections = {"readout": {"crates": READOUT}, "frames": {"count": 2}, "outbox": {"memory": "64 MiB"}, **more}
    return "".join(f"[{name}]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in keys.items()) for name, keys in sections.items())


class Service:
    def __init__(self, machine, address="127.0.0.1"):
        """`address`: on which the daemon listens."""
        self.machine = machine
        self.address = address
        self.sent = 0
        self.next_spill = 1
        self.tool = "koto-l3"  # the sender
        self.spills = {}
        crates = level2.readout(READOUT)
        self.event = list(zip(crates, level2.EventMaker(crates, 1).fragments(1, 1)))

    # What the services are asked.

    def active(self, unit):
        return self.machine.ask("systemctl", "is-active", unit) == "active"

    def pid(self, unit="koto-l3d"):
        return int(self.machine.ask("systemctl", "show", "--value", "-p", "MainPID", unit))

    def restarts(self, unit="koto-l3d"):
        return int(self.machine.ask("systemctl", "show", "--value", "-p", "NRestarts", unit))

    def said(self, unit="koto-l3d"):
        return self.machine.ask("journalctl", "--no-pager", "-o", "cat", "-u", unit)

    def stored(self):
        text = self.machine.ask("curl", "-s", "http://127.0.0.1:9421/status")
        return json.loads(text)["store"]["events"] if text else 0

    def small(self, **more):
        self.machine.path("/etc/koto-l3/l3.toml").write_text(small(**more))

    # What is sent: over TCP, so that each event is known to be safe or not.

    def make_file(self, events=EVENTS, loop=1):
        """A file of a spill that none had before, nor will have when it is sent again and again."""
        spill = self.next_spill
        self.next_spill += loop
        assert self.next_spill < 512, "a fragment's id has 9 bits for the spill"
        name = f"/sent/{spill}.l2raw"
        all_of_it = [[level2.renamed(f, c.boards, spill, n) for c, f in self.event] for n in range(1, events + 1)]
        self.spills[spill] = all_of_it
        self.write(name, {spill: all_of_it})
        return name

    def write(self, name, spills):
        """On a disk that is not the machine's, as a sender would have it."""
        l2raw.write(self.machine.sent / pathlib.Path(name).name, level2.readout(READOUT), spills, run=1)

    def begin_replay(self, name, rate="unlimited", loop=1):
        return self.machine.begin(self.tool, "replay", name, "--to", f"tcp://{self.address}:42100", "--rate", rate, "--loop", loop,
                                  "--timeout", 10, "--json")

    def end_replay(self, replay, events):
        said, _ = replay.communicate(timeout=180)
        assert replay.returncode == 0, f"replay ends with {replay.returncode}: {said}"
        self.sent += events

    def replay(self, name, events=EVENTS):
        self.end_replay(self.begin_replay(name), events)

    def check_stored(self):
        """Everything that was acknowledged to a sender is in the store."""
        wait_until(lambda: self.stored() >= self.sent, lambda: f"{self.sent} events in the store, which has {self.stored()}", 60)
        assert self.stored() == self.sent, f"{self.stored()} of {self.sent} events are stored"

    def ledgers(self):
        return [f"/{path.relative_to(self.machine.root)}" for path in self.machine.path(LEDGERS).glob("*.json")]

    def check_added_up(self, ledgers):
        """With all stopped: each event that was sent is stored as it was sent, and the daemons' ledgers say so. Not after --loop."""
        self.write("/sent/all.l2raw", self.spills)
        said = self.machine.run("koto-l3", "verify", "/sent/all.l2raw", STORE, "--ledger", *ledgers)
        admitted = [json.loads(self.machine.run("cat", name))["events"]["admitted"] for name in ledgers]
        assert sum(admitted) >= self.sent and min(admitted) > 0, f"{admitted} events in the daemons' ledgers, {self.sent} sent: {said}"
        return admitted


class Flow:
    """Events that come all the time, whatever happens to the services: files one after the other, each again until the daemon has
    said that all of it is safe."""
    EVENTS = 200

    def __init__(self, service):
        self.service = service
        self.again = 0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._go, daemon=True)
        self._thread.start()

    def _go(self):
        s = self.service
        while not self._over.is_set():
            name = s.make_file(self.EVENTS)
            while True:
                replay = s.begin_replay(name, rate="200ev/s")
                replay.communicate()
                if replay.returncode == 0:
                    break
                self.again += 1
                time.sleep(0.2)
            s.sent += self.EVENTS

    def end(self):
        """What is under way is sent to its end."""
        self._over.set()
        self._thread.join(120)
        assert not self._thread.is_alive(), "events that the daemon takes no more"
