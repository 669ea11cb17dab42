#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Level 2, the page and the output link over IPv6, by number and by name, with and without keys. Which names the machine knows stands in a
file that only this process sees, in mounts of its own; without the right to make these, the names are skipped. And the receiver's place on a
machine where the daemon, too, runs."""
import json
import pathlib
import signal
import socket
import subprocess
import time
import unittest

import harness
import own_space
from managing import ServiceManager

NAME = "receiver.test"
V4, V6 = "127.0.0.1", "[::1]"


def has_ipv6():
    try:
        with socket.socket(socket.AF_INET6) as s:
            s.bind(("::1", 0))
            return True
    except OSError:
        return False


class Names(harness.SystemTest):
    def know(self, *addresses):
        """The machine's names are these in this test."""
        hosts = self.folder / "hosts"
        hosts.write_text("".join(f"{a} {NAME}\n" for a in addresses))
        self.enter_space(own_space.MOUNTS)
        self.see(hosts, "/etc/hosts")

    def see(self, file, over):
        own_space.mount_file(file, over)
        self.addCleanup(own_space.unmount, over)


class SilentNameServers(Names):
    """They receive questions and do not answer, and the system's look-up waits for them."""
    bar = 5  # seconds

    def test_the_daemon_ends(self):
        """The receiver had an address, and goes away with it."""
        server = self.enterContext(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        try:
            server.bind(("127.0.0.53", 53))
        except OSError as e:
            self.skipTest(f"no name server may listen here: {e.strerror}")
        servers = self.folder / "resolv.conf"
        servers.write_text("nameserver 127.0.0.53\n")
        self.know(V4)
        self.see(servers, "/etc/resolv.conf")
        receiver, config = self.start_receiver(), self.write_config(forward={"to": f"tcp://{NAME}:{self.ports.receiver}"})
        manager = ServiceManager(self.folder)
        daemon = self.keep(harness.Daemon(config, self.ports, self.folder, manager.environment)).ready()
        daemon.wait_for(lambda s: "receiver_absent" not in s["state"]["degraded"], "the receiver")
        (self.folder / "hosts").write_text("")
        receiver.stop()
        daemon.wait_to_say("no name server answers (/etc/resolv.conf: 127.0.0.53)")
        begun = time.monotonic()
        daemon.signal(signal.SIGTERM)
        self.assertLess(manager.silence(daemon.running, self.bar), self.bar)
        self.assertEqual(daemon.wait(), 0, daemon.said())
        self.assertLess(time.monotonic() - begun, self.bar)


@unittest.skipUnless(has_ipv6(), "this machine has no address ::1")
class OverIpv6(Names):
    def carry(self, receives_at, sends_to, restart=False, forward=(), receive=()):
        """Events over a link between these hosts; each is stored."""
        self.receiver_host = receives_at
        receiver = self.start_receiver(*receive)
        daemon = self.start_daemon(forward={"to": f"tcp://{sends_to}:{self.ports.receiver}", **dict(forward)})
        sender, sent = self.udp_sender(daemon), self.make_events(40)
        self.send_events(sender, dict(list(sent.items())[:20]))
        daemon.wait_for_stored(20)
        if restart:
            receiver.kill()
        self.send_events(sender, dict(list(sent.items())[20:]))
        if restart:
            receiver = self.start_receiver(*receive)
        daemon.wait_for_stored(40)
        self.end_and_compare(daemon, receiver, sent)

    def test_the_output_link(self):
        for name in ("receiver", "daemon"):
            self.assertEqual(self.run_tool("keys", self.folder / name)[0], 0)
        keys = {"receive": ("--secret-key", self.folder / "receiver.secret", "--allow", self.folder / "daemon.public"),
                "forward": {"secret_key": str(self.folder / "daemon.secret"), "receiver_key": str(self.folder / "receiver.public")}}
        self.know("::1", V4)
        for at, to, more in (("[::]", V4, {}), (V6, V6, keys), (V4, NAME, {"restart": True}), (NAME, NAME, {"restart": True})):
            with self.subTest(at, to=to):
                self.ports, self.store = harness.Ports(), self.folder / f"store-{len(list(self.folder.iterdir()))}"
                self.carry(at, to, **more)

    def test_level_2_and_the_page(self):
        """At a number and at a name, with a list of senders."""
        for known, host in (((), V6), (("::1",), NAME)):
            with self.subTest(host):
                if known:
                    self.know(*known)
                self.ports, self.store = harness.Ports(), self.folder / f"store-{len(list(self.folder.iterdir()))}"
                receiver = self.start_receiver()
                allow = {"allow": ["fe80::/10", "::/126", "127.0.0.0/8"]}
                config = self.write_config(udp={"bind": f"{host}:{self.ports.udp}", **allow}, tcp={"bind": f"{host}:{self.ports.tcp}", **allow},
                                           monitor={"bind": f"{host}:{self.ports.monitor}"})
                daemon = self.keep(harness.Daemon(config, self.ports, self.folder))
                daemon.wait_to_say("ready: run 7")
                sent = self.make_events(20, 1) | self.make_events(20, 2)
                for spill, to in ((1, f"tcp://{host}:{self.ports.tcp}"), (2, f"udp://{host}:{self.ports.udp}+{harness.UDP_PORTS}")):
                    file = self.write_events({key: f for key, f in sent.items() if key[0] == spill}, f"{spill}.l2raw")
                    code, said = self.run_tool("replay", file, "--to", to, "--chunk", self.chunk_bytes)
                    self.assertEqual(code, 0, said)
                harness.wait_until(lambda: json.loads(harness.http_get("::1", self.ports.monitor, "/status")[1])["events"]["forwarded"] == len(sent),
                                   "all events stored")
                self.end_and_compare(daemon, receiver, sent)


class ThePlaceOfTheReceiver(harness.SystemTest):
    """A socket that connects to a port of its own machine may be given that very port as its own, and is then connected to itself. That is
    rare; where connections have few ports to choose from, it happens at once."""

    def leave_ports(self, count):
        pathlib.Path("/proc/sys/net/ipv4/ip_local_port_range").write_text(f"{self.ports.receiver} {self.ports.receiver + count - 1}")

    def test_it_stays_free(self):
        self.enter_space(own_space.NETWORK)
        subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
        self.leave_ports(10_000)
        daemon = self.start_daemon()
        self.leave_ports(8)
        daemon.wait_to_say("the connection reached itself")
        self.leave_ports(10_000)


        def receiver_that_starts():
            """The daemon may be trying at that very moment."""
            receiver = self.start_receiver(listening=False)
            harness.wait_until(lambda: not receiver.running() or "listening on" in receiver.said(), "a receiver starts or ends")
            return receiver if receiver.running() else None
        receiver = harness.wait_until(receiver_that_starts, "a receiver")
        daemon.wait_for(lambda s: s["receiver"]["connected"], "a receiver")
        sent = self.make_events(20)
        self.send_events(self.udp_sender(daemon), sent)
        daemon.wait_for_stored(20)
        self.end_and_compare(daemon, receiver, sent)


if __name__ == "__main__":
    harness.main()
