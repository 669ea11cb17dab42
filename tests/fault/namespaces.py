# SPDX-License-Identifier: Apache-2.0
"""Machines on this one, each a network namespace, joined by virtual cables. Nothing has a name outside, so nothing is left behind whatever
ends it. The three of most rows:

  sender 10.77.1.2 ──── 10.77.1.1 daemon 10.77.2.1 ──── 10.77.2.2 receiver"""
import contextlib
import json
import os
import subprocess

import own_space

SENDER, DAEMON, DAEMON_OUT, RECEIVER = "10.77.1.2", "10.77.1.1", "10.77.2.1", "10.77.2.2"
TO_SENDER, TO_RECEIVER, FAR_END = "to_sender", "to_receiver", "cable"
MTU = 9216


def _here():
    return os.open("/proc/thread-self/ns/net", os.O_RDONLY)


class OneMachine:
    """Everything runs on the machine that this process is on."""
    here = daemon = sender = receiver = None

    def close(self):
        pass


class Machines(OneMachine):
    """This process moves to the first, `here`; others are added, and joined by cables. PermissionError or OSError says what does not work."""

    def __init__(self):
        self.here = _new()
        self.spaces = [self.here]
        own_space.join(self.here)
        self.ip("link", "set", "dev", "lo", "up")

    def add(self):
        space = _new()
        self.spaces.append(space)
        self.ip("link", "set", "dev", "lo", "up", at=space)
        return space

    def join(self, cable, one, its_address, far_end, other, others_address):
        """The name of the cable's end on each machine, and its address there."""
        self.ip("link", "add", "name", cable, "mtu", MTU, "type", "veth", "peer", "name", far_end, "mtu", MTU, "netns",
                f"/proc/{os.getpid()}/fd/{other}", at=one)
        for at, device, address in ((one, cable, its_address), (other, far_end, others_address)):
            self.ip("address", "add", address + "/24", "dev", device, at=at)
            self.ip("link", "set", "dev", device, "up", at=at)

    def close(self):
        """The machines are gone when the last program on them is."""
        for space in self.spaces:
            os.close(space)

    def run(self, *command, at=None, **more):
        """A command on one of the machines; what it printed."""
        space = self.here if at is None else at
        done = subprocess.run([str(c) for c in command], preexec_fn=lambda: own_space.join(space), capture_output=True, text=True, **more)
        if done.returncode != 0:
            raise OSError(f"{' '.join(map(str, command))}: {done.stderr.strip()}")
        return done.stdout

    def ip(self, *arguments, at=None):
        return self.run("ip", *arguments, at=at)

    @contextlib.contextmanager
    def on(self, space):
        """This process is on another machine meanwhile."""
        own_space.join(space)
        try:
            yield
        finally:
            own_space.join(self.here)


class Network(Machines):
    """sender ── daemon ── receiver; this process lives on the daemon's."""

    def __init__(self):
        super().__init__()
        self.daemon, self.sender, self.receiver = self.here, self.add(), self.add()
        self.join(TO_SENDER, self.daemon, DAEMON, FAR_END, self.sender, SENDER)
        self.join(TO_RECEIVER, self.daemon, DAEMON_OUT, FAR_END, self.receiver, RECEIVER)

    def pull_cable(self, pulled=True):
        """The one between daemon and receiver, at the receiver's end: the daemon's side loses its carrier, too."""
        self.ip("link", "set", "dev", FAR_END, "down" if pulled else "up", at=self.receiver)


def _new():
    before = _here()
    own_space.enter(own_space.NETWORK)
    made = _here()
    own_space.join(before)
    os.close(before)
    return made


TABLE = "inet faults"


class Rules:
    """The rules of one machine. A datagram's own fields stand behind the UDP header of 8 bytes: the fragment id at bit 64, the chunk
    index at bit 96 (docs/formats.md, section 3)."""

    def __init__(self, network, at):
        self._network, self._at = network, at

    def load(self, *lines, sets=(), hook="prerouting", priority="-300"):
        """Replaces what was loaded before. {count name} in a line counts under that name."""
        names = sorted({part.split("}")[0] for line in lines for part in line.split("{count ")[1:]})
        text = [f"table {TABLE} {{", *(f"counter of_{n} {{ }}" for n in names), *sets,
                f"chain faults {{ type filter hook {hook} priority {priority};",
                *(line.replace("{count ", "counter name of_").replace("}", "") for line in lines), "}", "}"]
        self.clear()
        self._nft("\n".join(text) + "\n")

    def clear(self):
        self._nft(f"table {TABLE} {{ }}\ndelete table {TABLE}\n")

    def counts(self):
        """{name: packets}"""
        found = json.loads(self._network.run("nft", "-j", "list", "counters", "table", *TABLE.split(), at=self._at))["nftables"]
        return {o["counter"]["name"].removeprefix("of_"): o["counter"]["packets"] for o in found if "counter" in o}

    def _nft(self, text):
        self._network.run("nft", "-f", "-", at=self._at, input=text)


def set_of_datagrams(name, these):
    """A set of (fragment id, chunk index); `@th,64,32 . @th,96,32 @name` looks a datagram up in it."""
    elements = ", ".join(f"{fragment:#x} . {chunk:#x}" for fragment, chunk in these)
    return f"set {name} {{ typeof @th,64,32 . @th,96,32; elements = {{ {elements} }} }}"


def in_set(name):
    return f"@th,64,32 . @th,96,32 @{name}"
