#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Who is not meant to send does not get in: keys on the output link, allow-lists on the inputs, a frame that is too long. Meanwhile the
data of those who are meant to goes on, and nothing of it is lost."""
import contextlib
import socket
import struct

import harness
import level2
import level2_sender
import line_sender

MOST_MEMORY_PER_PEER = 1 << 20


class Keys(harness.SystemTest):
    def make_keys(self, *names):
        for name in names:
            code, said = self.run_tool("keys", self.folder / name)
            self.assertEqual(code, 0, said)

    def key_of(self, name):
        """What stands in NAME.public, without the remark."""
        return (self.folder / f"{name}.public").read_text().splitlines()[-1]

    def allow(self, *names):
        path = self.folder / "allowed.keys"
        path.write_text("# who may send\n" + "".join(f"{self.key_of(n)} {n}\n" for n in names))
        return path

    def start_locked_receiver(self, *allowed):
        return self.start_receiver("--secret-key", self.folder / "receiver.secret", "--allow", self.allow(*allowed), "--json")

    def keys_in_config(self, own="daemon", receiver="receiver"):
        return {"secret_key": str(self.folder / f"{own}.secret"), "receiver_key": str(self.folder / f"{receiver}.public"),
                "to": f"tcp://{harness.HOST}:{self.ports.receiver}"}

    def start_unwanted_daemon(self, text, **forward):
        """It runs, and says why the receiver does not take it."""
        config = self.write_config(forward={"to": f"tcp://{harness.HOST}:{self.ports.receiver}", **forward},
                                   run={"drain_time_limit": "100 ms"})
        daemon = self.keep(harness.Daemon(config, self.ports, self.folder))
        daemon.wait_to_say("info: ready: ")  # the spool's link may fail before
        daemon.wait_to_say(text)
        return daemon

    def receiver_ledger(self, receiver):
        self.assertEqual(receiver.stop(), 0)
        return harness.json.loads((self.store / "ledger.json").read_text())

    def send(self, daemon, events, seed=41):
        sender, maker = self.udp_sender(daemon), level2.EventMaker(self.crates, seed)
        sent = {(1, n): maker.fragments(1, n) for n in range(1, events + 1)}
        for (spill, number), fragments in sent.items():
            sender.event(spill, number, fragments)
        sender.end(1, events)
        return sent


class OnTheOutputLine(Keys):
    def test_a_daemon_with_keys(self):
        self.make_keys("receiver", "daemon", "another")
        receiver = self.start_locked_receiver("another", "daemon")
        daemon = self.start_daemon(forward=self.keys_in_config())
        sent = self.send(daemon, 40)
        daemon.wait_for_stored(40)
        self.stop_daemon(daemon)
        ledger = self.receiver_ledger(receiver)
        refused = ledger["datagrams"]["malformed"]
        self.assertEqual({k: refused[k] for k in ("unknown_key", "mechanism", "handshake")},
                         {"unknown_key": 0, "mechanism": 0, "handshake": 0})
        self.assert_stored(sent)

    def test_who_is_not_let_in_says_why(self):
        self.make_keys("receiver", "daemon", "stranger")
        receiver = self.start_locked_receiver("daemon")
        for text, forward in (("refuses daemons without a key", {}),
                              ("does not know this daemon's key", self.keys_in_config("stranger")),
                              ("forward.receiver_key is not its own", self.keys_in_config("daemon", "stranger"))):
            with self.subTest(text):
                daemon = self.start_unwanted_daemon(text, **forward)
                self.send(daemon, 3)
                daemon.wait_for(lambda s: s["events"]["admitted"] == 3, "3 events admitted")
                self.assertEqual(daemon.stop(), 0)
        ledger = self.receiver_ledger(receiver)
        refused = ledger["datagrams"]["malformed"]
        self.assertGreaterEqual(refused["unknown_key"], 1)
        self.assertGreaterEqual(refused["mechanism"] + refused["handshake"], 2)
        self.assertEqual((ledger["datagrams"]["received"], ledger["events"]["admitted"]), (0, 0))
        receiver.wait_to_say(self.key_of("stranger"))

        receiver = self.start_receiver()
        daemon = self.start_unwanted_daemon("uses no keys", **self.keys_in_config())
        self.assertEqual(daemon.stop(), 0)
        self.assertEqual(self.receiver_ledger(receiver)["datagrams"]["received"], 0)

    def test_key_files_of_no_use(self):
        self.make_keys("receiver", "daemon")
        before = (self.folder / "daemon.secret").read_bytes()
        code, said = self.run_tool("keys", self.folder / "daemon")
        self.assertEqual((code, (self.folder / "daemon.secret").read_bytes()), (69, before))
        self.assertEqual((self.folder / "daemon.secret").stat().st_mode & 0o777, 0o600)

        def daemon_says(**forward):
            config = self.write_config(forward={"to": f"tcp://{harness.HOST}:{self.ports.receiver}", **forward})
            daemon = self.keep(harness.Daemon(config, self.ports, self.folder))
            self.assertEqual(daemon.wait(), 78)
            return daemon.said()

        (self.folder / "daemon.secret").chmod(0o640)
        self.assertRegex(daemon_says(**self.keys_in_config()), r"forward\.secret_key: .*daemon\.secret may be read .* chmod 600")
        code, said = self.run_tool("receive", "--out", self.store, "--secret-key", self.folder / "daemon.secret", "--allow",
                                   self.folder / "receiver.public")
        self.assertEqual(code, 69)
        self.assertIn("chmod 600", said)
        (self.folder / "daemon.secret").chmod(0o600)
        (self.folder / "receiver.public").write_text("no key\n")
        self.assertRegex(daemon_says(**self.keys_in_config()), r"forward\.receiver_key: .*receiver\.public:1: no key")
        self.assertIn("is of no use without forward.receiver_key", daemon_says(secret_key=str(self.folder / "daemon.secret")))
        self.assertEqual(self.run_tool("receive", "--out", self.store, "--secret-key", self.folder / "daemon.secret")[0], 2)

    def test_a_link_without_keys_to_another_machine_is_asked_for_by_name(self):
        bind = ("--bind", f"tcp://0.0.0.0:{self.ports.receiver}", "--out", self.store)
        code, said = self.run_tool("receive", *bind)
        self.assertEqual(code, 2, said)
        self.assertIn(f"other machines reach tcp://0.0.0.0:{self.ports.receiver}, and the link has no keys", said)
        receiver = self.start_tool("receive", *bind, "--insecure")
        receiver.wait_to_say("listening on")
        self.assertEqual(receiver.stop(), 0)

        for insecure, code, text in (("off", 78, "the link to tcp://192.0.2.1:42200 has no keys"), ("on", 0, "ok")):
            config = self.write_config(forward={"to": "tcp://192.0.2.1:42200", "insecure": insecure})
            daemon = self.keep(harness.Program([harness.BIN / "koto-l3d", "--check-config", "--config", config],
                                               self.folder / f"{insecure}.log"))
            self.assertEqual(daemon.wait(), code, daemon.said())
            self.assertIn(text, daemon.said())


class OnTheInputs(harness.SystemTest):
    OTHER = "127.0.0.2"

    def test_only_listed_machines_send(self):
        """The others send what is as good as the data of those who may, but for where it comes from."""
        receiver = self.start_receiver()
        daemon = self.start_daemon(udp={"allow": [harness.HOST, "10.1.0.0/16"]}, tcp={"allow": ["127.0.0.0/31"]})
        sender, maker, sent, refused = self.udp_sender(daemon), level2.EventMaker(self.crates, 47), {}, 0
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
            other.bind((self.OTHER, 0))
            for number in range(1, 31):
                sent[1, number] = maker.fragments(1, number)
                strange = maker.fragments(1, 1000 + number)
                for place, fragment in enumerate(strange):
                    for datagram in level2_sender.datagrams(self.crates, 1, 1000 + number, place, fragment, self.chunk_bytes):
                        other.sendto(datagram, (harness.HOST, self.ports.udp + refused % harness.UDP_PORTS))
                        refused += 1
                sender.event(1, number, sent[1, number])
        sender.end(1, 30)
        for _ in range(3):
            with socket.create_connection((harness.HOST, self.ports.tcp), harness.PATIENCE, (self.OTHER, 0)) as s:
                with contextlib.suppress(ConnectionError):
                    self.assertEqual(s.recv(1), b"")
            refused += 1
        stream = self.stream_sender(run=7).connect()
        stream.wait_for_acknowledgement(stream.begin(2))
        stream.wait_for_acknowledgement(stream.end(2, 0))
        daemon.wait_for(lambda s: s["refused"]["source"] == refused, f"{refused} refused")
        daemon.wait_for_stored(30)
        ledger = self.stop_daemon(daemon)
        self.assertEqual(harness.nonzero(ledger["datagrams"]["malformed"]), {"source": refused})
        receiver.stop()
        self.assert_stored(sent)


class Strangers(Keys):
    def test_a_frame_of_a_gibibyte(self):
        """Announced by a peer that is in: without keys everybody is."""
        receiver = self.start_receiver()
        before = receiver.memory()
        peers = [line_sender.LineSender(harness.HOST, self.ports.receiver, harness.PATIENCE) for _ in range(20)]
        for peer in peers:
            self.addCleanup(peer.close)
            peer.send_raw(struct.pack(">BQ", line_sender.LONG, 1 << 30))
        for peer in peers:
            with self.assertRaises((ConnectionError, AssertionError)):
                while True:
                    peer.receive()
        self.assertLess(receiver.memory() - before, len(peers) * MOST_MEMORY_PER_PEER)
        ledger = self.receiver_ledger(receiver)
        self.assertEqual(ledger["datagrams"]["received"], 0)


if __name__ == "__main__":
    harness.main()
