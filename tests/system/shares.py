#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A peer of the output link that is let in, and takes all it can get: connections, sessions, places in the store. It has a share, by
its key or by its address, and a daemon beside it goes on."""
import contextlib
import json
import os
import threading

import harness
import level2
import line_sender
from line_sender import BLOCK, HEARTBEAT, WELCOME, LineSender
from sealed_sender import SealedSender

MOST_CONNECTIONS, SHARE_OF_CONNECTIONS, SHARE_OF_SESSIONS = 1024, 128, 4096
OTHER = "127.0.0.2"


class Crowd(threading.Thread):
    """Keeps more connections than there may be, each of which said hello and goes on speaking, and opens more until it is stopped."""

    def __init__(self, port):
        super().__init__(daemon=True)
        self.port, self.peers, self.opened, self.over = port, [], 0, threading.Event()
        self.start()

    def run(self):
        while not self.over.is_set():
            with contextlib.suppress(OSError):
                peer = LineSender(harness.HOST, self.port, harness.PATIENCE, OTHER)
                token = os.urandom(16)
                peer.session = line_sender.session_of(token)
                peer.send(*line_sender.hello(peer.session, token=token))
                self.peers.append(peer)
                self.opened += 1
            if self.opened % 20 == 0 or self.opened > MOST_CONNECTIONS:
                self.speak()

    def speak(self):
        still = []
        for peer in self.peers[-MOST_CONNECTIONS:]:
            with contextlib.suppress(OSError):
                peer.send(line_sender.header(HEARTBEAT, peer.session), b"")
                still.append(peer)
        for peer in set(self.peers) - set(still):
            peer.close()
        self.peers = still

    def stop(self):
        self.over.set()
        self.join()
        for peer in self.peers:
            peer.close()


class Shares(harness.SystemTest):
    store_is_whole = False

    def some_events(self, daemon, sent):
        if not hasattr(self, "sender"):
            self.sender, self.maker = self.udp_sender(daemon), level2.EventMaker(self.crates, 94)
        for number in range(len(sent) + 1, len(sent) + 21):
            sent[1, number] = self.maker.fragments(1, number)
            self.sender.event(1, number, sent[1, number])
        daemon.wait_for_stored(len(sent))

    def malformed(self):
        return json.loads((self.store / "ledger.json").read_text())["datagrams"]["malformed"]

    def test_of_the_connections(self):
        receiver, daemon, sent = self.start_receiver(), self.start_daemon(), {}
        self.some_events(daemon, sent)
        crowd = Crowd(self.ports.receiver)
        harness.wait_until(lambda: crowd.opened > 2 * MOST_CONNECTIONS, "more connections than there may be")
        self.some_events(daemon, sent)
        self.assertEqual(daemon.metrics()["koto_l3_reconnects_total"], 0, "it made way")
        crowd.stop()
        self.stop_daemon(daemon)
        self.assertEqual(receiver.stop(), 0)
        self.assertIn(f"one peer (address {OTHER}) has at most {SHARE_OF_CONNECTIONS} connections", receiver.said())
        self.assertLess(len(receiver.said().splitlines()), 60)
        self.assertGreater(self.malformed()["crowded"], MOST_CONNECTIONS)
        self.assert_stored(sent)

    def test_of_the_places_in_the_store_under_a_listed_key(self):
        """From the daemon's own machine: the key tells them apart."""
        for name in ("receiver", "daemon", "hostile"):
            self.assertEqual(self.run_tool("keys", self.folder / name)[0], 0)
        allow = self.folder / "allow"
        allow.write_text("".join((self.folder / f"{name}.public").read_text() for name in ("daemon", "hostile")))
        receiver = self.start_receiver("--secret-key", self.folder / "receiver.secret", "--allow", allow)
        hostile = SealedSender((harness.HOST, self.ports.receiver), self.folder / "hostile", self.folder / "receiver.public",
                               harness.PATIENCE)
        self.addCleanup(hostile.close)
        for n in range(SHARE_OF_SESSIONS + 1):
            token = os.urandom(16)
            session = line_sender.session_of(token)
            hostile.send(*line_sender.hello(session, token=token))
            kind = hostile.receive_kind()
            if kind != WELCOME:
                break
            hostile.send(line_sender.header(BLOCK, session, 1), line_sender.block(session, 1, b"", 0))
            self.assertEqual(hostile.receive_kind(), line_sender.ACKNOWLEDGEMENT)
        self.assertEqual((n, kind), (SHARE_OF_SESSIONS, line_sender.REFUSAL))
        daemon, sent = self.start_daemon(forward={"secret_key": str(self.folder / "daemon.secret"),
                                                  "receiver_key": str(self.folder / "receiver.public")}), {}
        self.some_events(daemon, sent)
        self.stop_daemon(daemon)
        self.assertEqual(receiver.stop(), 0)
        self.assertIn("which is its share: start the receiver again", receiver.said())
        self.assertEqual(self.malformed()["hello"], 1)
        self.assert_stored(sent)


if __name__ == "__main__":
    harness.main()
