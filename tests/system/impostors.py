#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Peers that use the number of a session that is another daemon's, or the name of its connection. A daemon's ledger shows its
sessions; its tokens are secret: what a daemon has on disk or is sending is stored, whatever such a peer says."""
import json
import pathlib
import random
import threading
import time

import harness
import l2raw
import level2
import line_sender
import store_reader
from line_sender import ACKNOWLEDGEMENT, BLOCK, GOODBYE, HEARTBEAT, REFUSAL, WELCOME, LineSender
from sealed_sender import SealedSender

EVENTS = 300
FAR = 1_000_000


def empty_block(session, sequence):
    return line_sender.header(BLOCK, session, sequence), line_sender.block(session, sequence, b"", 0)


class Impostor(threading.Thread):
    """Says all it can in the name of these sessions, over two connections, until it is stopped."""

    def __init__(self, port, sessions, seed=1):
        super().__init__(daemon=True)
        self.port, self.sessions, self.random = port, sessions, random.Random(seed)
        self.said, self.welcomes, self.over = 0, 0, threading.Event()
        self.start()

    def one_round(self, peer, session):
        number = self.random.choice([1, 2, self.random.randrange(1, 400), FAR, (1 << 63) - 1, 1 << 63, (1 << 64) - 1])
        messages = [line_sender.hello(session, number), line_sender.hello(session, number, token=self.random.randbytes(16))]
        messages += [empty_block(session, n) for n in range(1, 60)]
        messages += [empty_block(session, number), (line_sender.header(HEARTBEAT, session, number), b""),
                     (line_sender.header(GOODBYE, session, number), b"")]
        for message in messages:
            peer.send(*message)
        self.said += len(messages)

    def run(self):
        while not self.over.is_set():
            try:
                with LineSender(harness.HOST, self.port) as peer:
                    for _ in range(10):
                        for session in self.sessions:
                            self.one_round(peer, session)
                        while not peer.silent(0.02) and not self.over.is_set():
                            self.welcomes += peer.receive()[0] == WELCOME
            except OSError:
                time.sleep(0.01)  # the receiver is being started

    def stop(self):
        self.over.set()
        self.join()
        return self


class Impostors(harness.SystemTest):
    store_is_whole = False  # what they store under their own proof leaves out what it likes

    def setUp(self):
        super().setUp()
        maker = level2.EventMaker(self.crates, 141)
        self.sent = {(1, n): maker.fragments(1, n) for n in range(1, EVENTS + 1)}
        self.file = self.folder / "sent.l2raw"
        l2raw.write(self.file, self.crates, {1: [self.sent[1, n] for n in range(1, EVENTS + 1)]})

    def sessions(self, daemon):
        """As everybody may read them."""
        harness.wait_until(daemon.ledger_file.exists, "the ledger of the start")
        ledger = daemon.ledger()
        return [int(ledger["session"], 16), int(ledger["spool"]["session"], 16)]

    def replay(self):
        replay = self.start_tool("replay", self.file, "--to", f"tcp://{harness.HOST}:{self.ports.tcp}", "--rate", "200ev/s")
        return replay

    def assert_few_lines(self, *programs):
        for program in programs:
            self.assertLess(len(program.said().splitlines()), 60, program.said()[-3000:])

    def test_a_live_session_stays_its_daemons_also_over_a_restart_of_the_receiver(self):
        receiver = self.start_receiver()
        daemon = self.start_daemon(outbox={"block": "16 KiB"})
        impostor = Impostor(self.ports.receiver, self.sessions(daemon))
        replay = self.replay()
        daemon.wait_for(lambda s: s["events"]["forwarded"] > EVENTS // 3, "a third of the events stored")
        receiver.kill()
        receiver = self.start_receiver()
        self.assertEqual(replay.wait(), 0, replay.said())
        daemon.wait_for_stored(EVENTS)
        impostor.stop()
        self.assertGreater(impostor.said, 100)
        ledger = self.stop_daemon(daemon)
        self.assertEqual(ledger["events"]["forwarded"], EVENTS)
        self.assertEqual(receiver.stop(), 0)
        self.assert_stored(self.sent)
        account = json.loads((self.store / "ledger.json").read_text())
        self.assertGreater(account["datagrams"]["malformed"]["hello"], 0)
        self.assertGreater(account["datagrams"]["malformed"]["stranger"], 0)
        self.assertIn("refused a hello from 127.0.0.1", receiver.said())
        self.assert_few_lines(receiver, daemon)

    def test_what_waits_on_disk_is_stored_although_its_sessions_were_used_meanwhile(self):
        daemon = self.start_daemon(spool={"use": "always"}, outbox={"memory": "1 MiB", "block": "16 KiB"})
        sessions = self.sessions(daemon)
        replay = self.replay()
        self.assertEqual(replay.wait(), 0, replay.said())
        self.assertEqual(daemon.stop(), 0)
        receiver = self.start_receiver()
        impostor = Impostor(self.ports.receiver, sessions)
        harness.wait_until(lambda: impostor.welcomes > 10, "a receiver that takes the sessions for new ones")
        self.assertEqual(receiver.stop(), 0)  # what it remembers of them is what is in its store
        receiver = self.start_receiver()
        daemon = self.start_daemon(spool={"use": "always"}, outbox={"memory": "1 MiB", "block": "16 KiB"})
        harness.wait_until(lambda: daemon.status()["spool"]["events"] == 0, "an empty spool")
        impostor.stop()
        ledger = self.stop_daemon(daemon)
        self.assertEqual(sum(lane["delivered"] for lane in ledger["spool"]["lanes"]), EVENTS)
        self.assertEqual(receiver.stop(), 0)
        self.assert_stored(self.sent)
        self.assertIn("without it is another peer's", receiver.said())
        self.assert_few_lines(receiver, daemon)

    def test_a_lane_is_proven_again_after_kill_9(self):
        receiver = self.start_receiver()
        daemon = self.start_daemon(spool={"use": "always"}, outbox={"block": "16 KiB"})
        sessions = self.sessions(daemon)
        replay = self.replay()
        daemon.wait_for(lambda s: s["events"]["forwarded"] > 50, "some events stored")
        receiver.kill()
        self.assertEqual(replay.wait(), 0, replay.said())
        daemon.kill()
        token_file = next(pathlib.Path(self.folder).glob("spool-*/tokens.kl3t"))
        self.assertEqual(token_file.stat().st_mode & 0o777, 0o600)
        receiver = self.start_receiver()
        impostor = Impostor(self.ports.receiver, sessions)
        harness.wait_until(lambda: impostor.said > 200, "some attacks")
        daemon = self.start_daemon(spool={"use": "always"}, outbox={"block": "16 KiB"})
        harness.wait_until(lambda: daemon.status()["spool"]["events"] == 0, "an empty spool")
        impostor.stop()
        self.stop_daemon(daemon)
        self.assertEqual(receiver.stop(), 0)
        self.assert_stored(self.sent)

    def test_a_stranger_who_comes_and_goes_does_not_end_a_receiver_that_waits_for_a_goodbye(self):
        receiver = self.start_receiver("--exit-after-goodbye")
        token = random.Random(5).randbytes(16)
        session = line_sender.session_of(token)
        for proof in (b"", token):
            with LineSender(harness.HOST, self.ports.receiver) as stranger:
                stranger.send(*line_sender.hello(session, token=proof))
                self.assertEqual(stranger.receive()[0], WELCOME)
                stranger.send(line_sender.header(GOODBYE, session), b"")
                stranger.send(*line_sender.hello(session, token=token))  # the goodbye before it was read
                self.assertEqual(stranger.receive()[0], WELCOME)
                stranger.send(line_sender.header(GOODBYE, session), b"")
        daemon = self.start_daemon()
        replay = self.replay()
        self.assertEqual(replay.wait(), 0, replay.said())
        self.assertTrue(receiver.running())
        daemon.wait_for_stored(EVENTS)
        self.stop_daemon(daemon)
        self.assertEqual(receiver.wait(), 0)
        self.assert_stored(self.sent)

    def assert_no_name_is_taken(self, names):
        """Of peers that choose these for their connections."""
        for name in names:
            with self.subTest(name=name[:8]), LineSender(harness.HOST, self.ports.receiver, harness.PATIENCE, identity=name) as peer:
                with self.assertRaises(ConnectionError):
                    peer.receive()

    def test_the_name_of_a_connection_is_nobodys_choice(self):
        """ZeroMQ gives the names 00 and a number that counts up. It never seeds rand(), whose first two numbers make the first name."""
        first = 0xe43c9869
        names = [b"\0" + (first + n).to_bytes(4, "big") for n in range(4)] + [b"name", b"\0", b"\0" + bytes(4), b"x" * 200]
        receiver = self.start_receiver()
        self.assert_no_name_is_taken(names)
        token = random.Random(6).randbytes(16)
        session = line_sender.session_of(token)
        with LineSender(harness.HOST, self.ports.receiver) as owner:
            owner.send(*line_sender.hello(session, token=token))
            self.assertEqual(owner.receive()[:3], (WELCOME, session, 0))
            owner.send(*empty_block(session, 1))
            self.assertEqual(owner.receive()[2], 1)
            self.assert_no_name_is_taken(names)
            owner.send(*line_sender.hello(session, 2, token=token))
            self.assertEqual(owner.receive()[:3], (WELCOME, session, 1))
        self.assertEqual(receiver.stop(), 0)
        self.assertIn("refused a connection that chooses a ZeroMQ name", receiver.said())
        self.assertEqual(receiver.said().count("chooses a ZeroMQ name"), 1)
        self.assertGreaterEqual(json.loads((self.store / "ledger.json").read_text())["datagrams"]["malformed"]["handshake"], 2 * len(names))

    def test_under_a_listed_key_the_name_of_anothers_connection_is_not_enough(self):
        """With keys a peer's choice of a name is sealed, so that it is taken; its key is not the other's."""
        for name in ("receiver", "daemon", "hostile"):
            self.assertEqual(self.run_tool("keys", self.folder / name)[0], 0)
        allow = self.folder / "allow"
        allow.write_text("".join((self.folder / f"{name}.public").read_text() for name in ("daemon", "hostile")))
        receiver = self.start_receiver("--secret-key", self.folder / "receiver.secret", "--allow", allow)

        def come(who):
            peer = SealedSender((harness.HOST, self.ports.receiver), self.folder / who, self.folder / "receiver.public",
                                harness.PATIENCE, identity=b"name")
            self.addCleanup(peer.close)
            return peer

        token = random.Random(7).randbytes(16)
        session = line_sender.session_of(token)
        owner = come("daemon")
        owner.send(*line_sender.hello(session, token=token))
        self.assertEqual(owner.receive_kind(), WELCOME)
        owner.send(*empty_block(session, 1))
        self.assertEqual(owner.receive_kind(), ACKNOWLEDGEMENT)
        hostile = come("hostile")
        for n in (2, 3):
            hostile.send(*empty_block(session, n))
            self.assertEqual(hostile.receive_kind(), REFUSAL)
        owner = come("daemon")
        owner.send(*line_sender.hello(session, 2, token=token))
        self.assertEqual(owner.receive_kind(), WELCOME)
        self.assertEqual(receiver.stop(), 0)
        self.assertEqual([b.sequence for b in store_reader.read_store(self.store)], [1])
        self.assertEqual(json.loads((self.store / "ledger.json").read_text())["datagrams"]["malformed"]["stranger"], 2)

    def test_a_daemon_without_tokens_is_taken_as_before(self):
        """As of version 0.1.0: its session is a random number, and its hello has no token."""
        receiver = self.start_receiver()
        session = 0x1122334455667788
        for first in (1, 3):
            with LineSender(harness.HOST, self.ports.receiver) as peer:
                peer.send(*line_sender.hello(session, first))
                self.assertEqual(peer.receive()[:3], (WELCOME, session, first - 1))
                for n in (first, first + 1):
                    peer.send(*empty_block(session, n))
                    self.assertEqual(peer.receive()[2], n)
            receiver.kill()
            receiver = self.start_receiver()
        self.assertEqual(receiver.stop(), 0)
        blocks = list(store_reader.read_store(self.store))
        self.assertEqual([(b.sequence, b.proven) for b in blocks], [(n, False) for n in range(1, 5)])


if __name__ == "__main__":
    harness.main()
