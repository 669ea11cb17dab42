#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Only peers that are meant to send get in: keys on the output link, allow-lists on the inputs. The data of the others go on meanwhile, and
nothing of them is lost. Key files of no use are rows of mistakes.py."""
import contextlib
import json
import socket

import harness
import level2
import level2_sender


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
        daemon = self.keep(harness.Daemon(self.write_config(forward=forward, run={"drain_time_limit": "100 ms"}), self.ports, self.folder))
        daemon.wait_to_say("info: ready: ")  # the spool's link may fail before
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
            self.assertEqual(self.run_tool("keys", self.folder / name)[0], 0)
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
