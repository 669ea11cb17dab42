#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Folders and files of programs that run: each belongs to one program, and one that is removed meanwhile ends its program with a
sentence. Such a removal is an operator's error; nothing is made anew, and `verify` and the ledgers show what is missing."""
import shutil

import harness

FAILED, MISSING = 1, 69


class Removed(harness.SystemTest):
    store_is_whole = False

    def test_a_store_that_is_removed_while_it_is_written_ends_the_receiver(self):
        """The events that it had acknowledged went with its file; the others come again to the next receiver."""
        for remove in (lambda: max(self.store.glob("blocks-*.kl3")).unlink(), lambda: shutil.rmtree(self.store)):
            self.ports = harness.Ports()
            receiver, daemon = self.start_receiver(), self.start_daemon()
            sender, lost, kept = self.udp_sender(daemon), self.make_events(30, 1), self.make_events(30, 2)
            self.send_events(sender, lost)
            sender.end(1, 30)
            daemon.wait_for_stored(30)
            remove()
            self.send_events(sender, kept)
            sender.end(2, 30)
            self.assertEqual(receiver.wait(), MISSING)
            self.assertIn(f"{self.store}: the folder, or an open file in it, was removed", receiver.said())
            receiver = self.start_receiver()
            daemon.wait_for_stored(60)
            self.end_and_compare(daemon, receiver, kept)
            shutil.rmtree(self.store)

    def test_a_segment_of_a_spool_that_is_removed_ends_the_daemon(self):
        daemon, file = self.start_daemon(outbox={"memory": "1 MiB", "block": "64 KiB"}), self.write_events(self.make_events(500))
        self.run_replay(file)
        segment = min((self.folder / f"spool-{self.ports.tcp}").glob("spool-*.kl3"))
        segment.unlink()
        receiver = self.start_receiver()
        self.assertEqual(daemon.wait(), FAILED, daemon.said())
        self.assertIn(f"draining: {segment} was removed while the daemon used it", daemon.said())
        ledger = daemon.ledger()
        self.assert_conserved(ledger)
        self.assertEqual((ledger["ended"], ledger["clean"]), (True, False))
        daemon = self.start_daemon()
        daemon.wait_to_say("are missing from the spool")
        self.assertEqual(daemon.stop(), FAILED, "blocks that were acknowledged are gone: " + daemon.said())
        self.assertGreater(daemon.ledger()["spool"]["gone"], 0)
        self.assertEqual(receiver.stop(), 0)
        self.assertNotEqual(self.run_tool("verify", file, self.store)[0], 0)


class Shared(harness.SystemTest):
    def test_each_belongs_to_one_program(self):
        first, receiver = self.start_daemon(), self.start_receiver()
        harness.wait_until(first.ledger_file.exists, "its first ledger")
        session, spool, mine = first.ledger()["session"], self.folder / f"spool-{self.ports.tcp}", self.ports
        store = self.folder / "other-store"
        store.mkdir()
        (store / "blocks-000001.kl3").touch()
        for sections, sentence in (
                ({"run": {"ledger": ""}, "spool": {"folder": str(spool)}}, "in use by another daemon: give each its own"),
                ({"spool": {"folder": ""}}, f"{first.ledger_file} is in use by another daemon: give each its own run.ledger"),
                ({"run": {"ledger": ""}, "spool": {"folder": str(store)}}, "it is a store: blocks-000001.kl3 is one of its files")):
            with self.subTest(sentence):
                self.ports = harness.Ports()
                second = self.keep(harness.Program([harness.BIN / "koto-l3d", "--config", self.write_config("other.toml", **sections)],
                                                   self.folder / "second.log"))
                self.assertNotEqual(second.wait(), 0)
                self.assertIn(sentence, second.said())
        for place, port, sentence in ((self.folder / "other", mine.receiver, "in use"), (self.store, mine.receiver + 1, str(self.store)),
                                      (self.folder / "no" / "place", mine.receiver + 1, ""), (first.ledger_file, mine.receiver + 1, "")):
            with self.subTest("a receiver", place=place):
                second = self.keep(harness.Program([harness.BIN / "koto-l3", "receive", "--bind", f"tcp://{harness.HOST}:{port}", "--out", place],
                                                   self.folder / "second.log"))
                self.assertEqual(second.wait(), MISSING, second.said())
                self.assertIn(sentence, second.said())
        self.ports = mine
        sent, sender = self.make_events(20), self.udp_sender(first)
        self.send_events(sender, sent)
        sender.end(1, 20)
        first.wait_for_stored(20)
        self.assertEqual(self.end_and_compare(first, receiver, sent)["session"], session)


if __name__ == "__main__":
    harness.main()
