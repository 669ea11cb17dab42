#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Level 2, the page and the output link over IPv6, the link by number and by name, with and without keys. What names the machine
knows is a file that only this process sees, in mounts of its own; without the right to make these, the names are skipped."""
import http.client
import json
import socket
import subprocess
import unittest

import harness
import l2raw
import level2
import own_space

NAME = "receiver.test"


def has_ipv6():
    try:
        with socket.socket(socket.AF_INET6) as s:
            s.bind(("::1", 0))
            return True
    except OSError:
        return False


@unittest.skipUnless(has_ipv6(), "this machine has no address ::1")
class OverIpv6(harness.SystemTest):
    def carry(self, receives_at, sends_to, restart=False, forward=(), receive=(), meanwhile=lambda: None):
        """Events over a link between these hosts; each is stored."""
        self.receiver_host = receives_at
        receiver = self.start_receiver(*receive)
        to = f"tcp://{sends_to}:{self.ports.receiver}"
        daemon = self.start_daemon(forward={"to": to, **dict(forward)})
        sender, maker, sent = self.udp_sender(daemon), level2.EventMaker(self.crates, 93), {}

        def send(up_to):
            for number in range(len(sent) + 1, up_to + 1):
                sent[1, number] = maker.fragments(1, number)
                sender.event(1, number, sent[1, number])

        send(20)
        daemon.wait_for_stored(20)
        meanwhile()
        if restart:
            receiver.kill()
            send(40)
            receiver = self.start_receiver(*receive)
            daemon.wait_for_stored(40)
        self.stop_daemon(daemon)
        self.assertEqual(receiver.stop(), 0)
        self.assert_stored(sent)
        return receiver.said()

    def test_level_2_and_the_page_of_the_daemon(self):
        def at(port):
            return f"[::1]:{port}"
        self.start_receiver()
        config = self.write_config(udp={"bind": at(self.ports.udp), "allow": ["::1"]},
                                   tcp={"bind": at(self.ports.tcp), "allow": ["fe80::/10", "::/126"]}, monitor={"bind": at(self.ports.monitor)})
        checked = subprocess.run([harness.BIN / "koto-l3d", "--config", config, "--check-config"], capture_output=True, text=True)
        self.assertEqual((checked.returncode, checked.stderr), (0, ""))
        daemon = self.keep(harness.Daemon(config, self.ports, self.folder))
        daemon.wait_to_say(f"monitoring on http://{at(self.ports.monitor)}/")
        daemon.wait_to_say("ready: run 7")
        maker, sent = level2.EventMaker(self.crates, 94), {}
        for spill, to in ((1, f"tcp://{at(self.ports.tcp)}"), (2, f"udp://{at(self.ports.udp)}+{harness.UDP_PORTS}")):
            events = {(spill, n): maker.fragments(spill, n) for n in range(1, 21)}
            file = self.folder / f"{spill}.l2raw"
            l2raw.write(file, self.crates, {spill: list(events.values())})
            code, said = self.run_tool("replay", file, "--to", to, "--chunk", self.chunk_bytes)
            self.assertEqual(code, 0, said)
            sent |= events
        connection = http.client.HTTPConnection("::1", self.ports.monitor, timeout=harness.PATIENCE)
        self.addCleanup(connection.close)

        def status():
            connection.request("GET", "/status")
            return json.loads(connection.getresponse().read())
        harness.wait_until(lambda: status()["events"]["forwarded"] == len(sent), "all events stored")
        self.stop_daemon(daemon)
        self.assert_stored(sent)

    def test_senders_that_are_not_listed(self):
        self.start_receiver()
        others = {"allow": ["2001:db8::/32", "127.0.0.0/8", "::2"]}
        daemon = self.start_daemon(udp={"bind": f"[::1]:{self.ports.udp}", **others}, tcp={"bind": f"[::1]:{self.ports.tcp}", **others})
        with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as sender:
            for _ in range(3):
                sender.sendto(bytes(12), ("::1", self.ports.udp))
        with socket.create_connection(("::1", self.ports.tcp), harness.PATIENCE) as sender:
            self.assertEqual(sender.recv(1), b"")
        ledger = self.stop_daemon(daemon)
        self.assertEqual({reason: n for reason, n in ledger["datagrams"]["malformed"].items() if n}, {"source": 4})

    def know(self, *addresses):
        """The machine's names are these in this test."""
        hosts = self.folder / "hosts"
        hosts.write_text("".join(f"{a} {NAME}\n" for a in addresses))
        try:
            own_space.enter(own_space.MOUNTS)
            own_space.mount_file(hosts, "/etc/hosts")
        except PermissionError as e:
            raise unittest.SkipTest(f"no right to mount: {e.strerror}") from None
        self.addCleanup(own_space.unmount, "/etc/hosts")

    def test_by_number(self):
        said = self.carry("[::1]", "[::1]", restart=True)
        self.assertNotIn("warning: any program", said, "it listens on this machine only")

    def test_at_all_addresses(self):
        self.carry("[::]", "127.0.0.1")

    def test_with_keys(self):
        for name in ("receiver", "daemon"):
            self.assertEqual(self.run_tool("keys", self.folder / name)[0], 0)
        self.carry("[::1]", "[::1]", receive=("--secret-key", self.folder / "receiver.secret", "--allow", self.folder / "daemon.public"),
                   forward={"secret_key": str(self.folder / "daemon.secret"), "receiver_key": str(self.folder / "receiver.public")})

    def test_a_person_reads_the_address_of_a_node(self):
        """Which has its share as one of the network ::/64."""
        port, names = harness.Ports().monitor, []

        def look():
            connection = http.client.HTTPConnection("::1", port, timeout=harness.PATIENCE)
            connection.request("GET", "/status")
            names.extend(d["name"] for d in json.loads(connection.getresponse().read())["daemons"])
            connection.close()
        self.carry("[::1]", "[::1]", receive=("--monitor", f"[::1]:{port}"), meanwhile=look)
        self.assertEqual(names, ["address ::1"])

    def test_a_name_with_an_address_of_ipv6_only(self):
        self.know("::1")
        self.carry(NAME, NAME, restart=True)

    def test_a_name_with_addresses_of_both_kinds_of_which_one_is_the_receivers(self):
        self.know("::1", "127.0.0.1")
        for at in ("[::1]", "127.0.0.1", NAME):
            with self.subTest(at):
                self.ports, self.store = harness.Ports(), self.folder / f"store of {at}"
                self.carry(at, NAME, restart=True)

    def listen_on_the_name(self, addresses, **more):
        """Level 2 of a daemon that is told to listen on a name with these addresses."""
        self.know(*addresses)
        self.start_receiver()
        daemon = self.start_daemon(udp={"bind": f"{NAME}:{self.ports.udp}"}, tcp={"bind": f"{NAME}:{self.ports.tcp}"}, **more)
        maker, sent = level2.EventMaker(self.crates, 95), {}
        for spill, to in ((1, f"tcp://{NAME}:{self.ports.tcp}"), (2, f"udp://{NAME}:{self.ports.udp}+{harness.UDP_PORTS}")):
            events = {(spill, n): maker.fragments(spill, n) for n in range(1, 21)}
            file = self.folder / f"{spill}.l2raw"
            l2raw.write(file, self.crates, {spill: list(events.values())})
            code, said = self.run_tool("replay", file, "--to", to, "--chunk", self.chunk_bytes)
            self.assertEqual(code, 0, said)
            sent |= events
        daemon.wait_for_stored(len(sent))
        self.stop_daemon(daemon)
        self.assert_stored(sent)

    def test_listening_on_a_name(self):
        self.listen_on_the_name(["127.0.0.1"], monitor={"bind": f"{NAME}:{self.ports.monitor}"})

    def test_listening_on_a_name_of_ipv6_only(self):
        self.listen_on_the_name(["::1"])

    def test_listening_on_a_name_without_an_address(self):
        self.know("::1")
        config = self.write_config(tcp={"bind": f"other.invalid:{self.ports.tcp}"})
        done = subprocess.run([harness.BIN / "koto-l3d", "--config", config], capture_output=True, text=True, timeout=harness.PATIENCE)
        self.assertEqual(done.returncode, 69, done.stdout)
        self.assertRegex(done.stderr + done.stdout, r"koto-l3d: other\.invalid has no address here: .* \(tcp\.bind\)")


if __name__ == "__main__":
    harness.main()
