#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Who reaches whom. Level 2, the page and the output link over IPv6, by number and by name; keys on the output link, allow-lists on the inputs:
only peers that are meant to send get in, and the data of the others go on meanwhile. Which names the machine knows stands in a
file that only this process sees, in mounts of its own; without the right to make these, the names are skipped. And the receiver's place on a
machine where the daemon, too, runs. Key files of no use are rows of mistakes.py."""
import contextlib
import json
import pathlib
import signal
import socket
import subprocess
import time
import unittest

import harness
import level2
import level2_sender
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
        manager, receiver = ServiceManager(self.folder), self.start_receiver()
        daemon = self.start_daemon(manager.environment, forward={"to": f"tcp://{NAME}:{self.ports.receiver}"})
        manager.wait_for("STATUS=run 7: receiving, 0 events", "the receiver")
        (self.folder / "hosts").write_text("")
        receiver.stop()
        manager.wait_for("STATUS=run 7: receiving; warning: receiver_absent, 0 events", "the state")
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
            self.tool("keys", self.folder / name)
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
                daemon = self.start_daemon(ready="ready: run 7", monitor={"bind": f"{host}:{self.ports.monitor}"},
                                           udp={"bind": f"{host}:{self.ports.udp}", **allow}, tcp={"bind": f"{host}:{self.ports.tcp}", **allow})
                sent = self.make_events(20, 1) | self.make_events(20, 2)
                for spill, to in ((1, f"tcp://{host}:{self.ports.tcp}"), (2, f"udp://{host}:{self.ports.udp}+{harness.UDP_PORTS}")):
                    file = self.write_events({key: f for key, f in sent.items() if key[0] == spill}, f"{spill}.l2raw")
                    self.tool("replay", file, "--to", to, "--chunk", self.chunk_bytes)
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


class OnTheOutputLink(harness.SystemTest):
    def keys(self, own="daemon", receiver="receiver"):
        return {"secret_key": str(self.folder / f"{own}.secret"), "receiver_key": str(self.folder / f"{receiver}.public")}

    def send(self, daemon, events):
        sent = self.make_events(events, seed=41)
        self.send_events(self.udp_sender(daemon), sent)
        daemon.wait_for(lambda s: s["events"]["admitted"] == events, "all events")
        return sent

    def be_unwanted(self, text, forward):
        """A daemon runs, and says why the receiver does not take it."""
        daemon = self.start_daemon(ready="info: ready: ", forward=forward, run={"drain_time_limit": "100 ms"})  # the spool's link may fail before
        daemon.wait_to_say(text)
        self.send(daemon, 3)
        self.assertEqual(daemon.stop(), 0)

    def end(self, receiver):
        """Its ledger's datagrams."""
        self.assertEqual(receiver.stop(), 0)
        return json.loads((self.store / "ledger.json").read_text())["datagrams"]

    def test_the_daemon_whose_key_is_listed_sends_and_the_others_say_why_they_do_not(self):
        public = {}
        for name in ("receiver", "daemon", "stranger"):
            self.tool("keys", self.folder / name)
            self.assertEqual((self.folder / f"{name}.secret").stat().st_mode & 0o777, 0o600)
            public[name] = (self.folder / f"{name}.public").read_text().splitlines()[-1]  # without the remark
        (self.folder / "allowed.keys").write_text(f"# who may send\n{public['receiver']} unused\n{public['daemon']} daemon\n")
        locked = "--secret-key", self.folder / "receiver.secret", "--allow", self.folder / "allowed.keys"
        receiver = self.start_receiver(*locked)
        for text, forward in (("refuses daemons without a key", {}), ("does not know this daemon's key", self.keys("stranger")),
                              ("forward.receiver_key is not its key", self.keys("daemon", "stranger"))):
            with self.subTest(text):
                self.be_unwanted(text, forward)
        receiver.wait_to_say(public["stranger"])
        datagrams = self.end(receiver)
        self.assertGreaterEqual(datagrams["malformed"]["unknown_key"], 1)
        self.assertGreaterEqual(datagrams["malformed"]["mechanism"] + datagrams["malformed"]["handshake"], 2)
        self.assertEqual(datagrams["received"], 0)
        receiver = self.start_receiver()
        self.be_unwanted("uses no keys", self.keys())
        self.assertEqual(self.end(receiver)["received"], 0)

        receiver = self.start_receiver(*locked)
        daemon = self.start_daemon(forward=self.keys())
        sent = self.send(daemon, 40)
        daemon.wait_for_stored(40)
        self.stop_daemon(daemon)
        self.assertEqual(harness.nonzero(self.end(receiver)["malformed"]), {})
        self.assert_stored(sent)


class OnTheInputs(harness.SystemTest):
    def test_only_listed_machines_send(self):
        """The others send data that are as good, but for the address that they come from."""
        other, maker, strange = ("127.0.0.2", 0), level2.EventMaker(self.crates, 47), 0
        receiver = self.start_receiver()
        daemon = self.start_daemon(udp={"allow": [harness.HOST, "10.1.0.0/16"]}, tcp={"allow": ["127.0.0.0/31"]})
        sender, sent = self.udp_sender(daemon), self.make_events(30)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
            s.bind(other)
            for (spill, number), fragments in sent.items():
                for place, fragment in enumerate(maker.fragments(1, 1000 + number)):
                    for datagram in level2_sender.datagrams(self.crates, 1, 1000 + number, place, fragment, self.chunk_bytes):
                        s.sendto(datagram, (harness.HOST, self.ports.udp + strange % harness.UDP_PORTS))
                        strange += 1
                sender.event(spill, number, fragments)
        sender.end(1, 30)
        for _ in range(3):
            with socket.create_connection((harness.HOST, self.ports.tcp), harness.PATIENCE, other) as s, contextlib.suppress(ConnectionError):
                self.assertEqual(s.recv(1), b"")
            strange += 1
        stream = self.stream_sender(run=7).connect()
        stream.wait_for_acknowledgement(stream.begin(2))
        stream.wait_for_acknowledgement(stream.end(2, 0))
        daemon.wait_for(lambda s: s["refused"]["source"] == strange, f"{strange} refused")
        daemon.wait_for_stored(30)
        ledger = self.end_and_compare(daemon, receiver, sent)
        self.assertEqual(harness.nonzero(ledger["datagrams"]["malformed"]), {"source": strange})


if __name__ == "__main__":
    harness.main()
