#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Only peers that are meant to send get in: keys on the output link, allow-lists on the inputs. Meanwhile the data of the others go
on, and nothing of them is lost. Key files of no use are rows of mistakes.py."""
import contextlib
import socket

import harness
import level2
import level2_sender


class OnTheOutputLink(harness.SystemTest):
    def setUp(self):
        super().setUp()
        for name in ("receiver", "daemon", "stranger"):
            code, said = self.run_tool("keys", self.folder / name)
            self.assertEqual(code, 0, said)
            self.assertEqual((self.folder / f"{name}.secret").stat().st_mode & 0o777, 0o600)

    def key_of(self, name):
        """The key of NAME.public, without the remark."""
        return (self.folder / f"{name}.public").read_text().splitlines()[-1]

    def start_locked_receiver(self):
        allowed = self.folder / "allowed.keys"
        allowed.write_text(f"# who may send\n{self.key_of('receiver')} unused\n{self.key_of('daemon')} daemon\n")
        return self.start_receiver("--secret-key", self.folder / "receiver.secret", "--allow", allowed, "--json")

    def keys(self, own="daemon", receiver="receiver"):
        return {"secret_key": str(self.folder / f"{own}.secret"), "receiver_key": str(self.folder / f"{receiver}.public")}

    def send(self, daemon, events):
        sender, sent = self.udp_sender(daemon), self.make_events(events, seed=41)
        self.send_events(sender, sent)
        sender.end(1, events)
        return sent

    def start_unwanted_daemon(self, text, **forward):
        """It runs, and says why the receiver does not take it."""
        daemon = self.keep(harness.Daemon(self.write_config(forward=forward, run={"drain_time_limit": "100 ms"}), self.ports, self.folder))
        daemon.wait_to_say("info: ready: ")  # the spool's link may fail before
        daemon.wait_to_say(text)
        return daemon

    def finish(self, receiver):
        """Its ledger's datagrams."""
        self.assertEqual(receiver.stop(), 0)
        return harness.json.loads((self.store / "ledger.json").read_text())["datagrams"]

    def test_the_daemon_whose_key_is_listed_sends_and_the_others_say_why_they_do_not(self):
        receiver = self.start_locked_receiver()
        for text, forward in (("refuses daemons without a key", {}),
                              ("does not know this daemon's key", self.keys("stranger")),
                              ("forward.receiver_key is not its key", self.keys("daemon", "stranger"))):
            with self.subTest(text):
                daemon = self.start_unwanted_daemon(text, **forward)
                self.send(daemon, 3)
                daemon.wait_for(lambda s: s["events"]["admitted"] == 3, "3 events admitted")
                self.assertEqual(daemon.stop(), 0)
        receiver.wait_to_say(self.key_of("stranger"))
        datagrams = self.finish(receiver)
        self.assertGreaterEqual(datagrams["malformed"]["unknown_key"], 1)
        self.assertGreaterEqual(datagrams["malformed"]["mechanism"] + datagrams["malformed"]["handshake"], 2)
        self.assertEqual(datagrams["received"], 0)

        receiver = self.start_receiver()
        daemon = self.start_unwanted_daemon("uses no keys", **self.keys())
        self.assertEqual(daemon.stop(), 0)
        self.assertEqual(self.finish(receiver)["received"], 0)

        receiver = self.start_locked_receiver()
        daemon = self.start_daemon(forward=self.keys())
        sent = self.send(daemon, 40)
        daemon.wait_for_stored(40)
        self.stop_daemon(daemon)
        refused = self.finish(receiver)["malformed"]
        self.assertEqual({k: refused[k] for k in ("unknown_key", "mechanism", "handshake")}, {"unknown_key": 0, "mechanism": 0, "handshake": 0})
        self.assert_stored(sent)


class OnTheInputs(harness.SystemTest):
    OTHER = "127.0.0.2"

    def test_only_listed_machines_send(self):
        """The others send data that are as good, but for the address that they come from."""
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


if __name__ == "__main__":
    harness.main()
