#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A tidy hand: files and folders of the store and of the spool are removed, moved, cut and replaced while events flow. What was
acknowledged after that is stored; what was lost is counted; and nothing is written where a link leads."""
import json
import os
import random
import re
import shutil
import struct
import sys
import time
import types

import harness
import l2raw
import level2
import line_sender
import store_reader

EVENTS = 120
LITTLE_MEMORY = {"memory": "1 MiB", "block": "64 KiB"}


class Vanishing(harness.SystemTest):
    def setUp(self):
        super().setUp()
        maker = level2.EventMaker(self.crates, 5)
        self.target = self.folder / "target"
        self.target.write_text("not yours")
        self.sent = {}
        self.spool = self.folder / f"spool-{self.ports.tcp}"
        self.maker = maker

    def replay(self, spill):
        """Sends a spill over TCP; it returns when every event is acknowledged."""
        events = {(spill, n): self.maker.fragments(spill, n) for n in range(1, EVENTS + 1)}
        file = self.folder / f"{spill}.l2raw"
        l2raw.write(file, self.crates, {spill: list(events.values())})
        code, said = self.run_tool("replay", file, "--to", f"tcp://{harness.HOST}:{self.ports.tcp}", "--rate", "max")
        self.assertEqual(code, 0, said)
        self.sent |= events
        return events

    def receiver_ledger(self):
        return json.loads((self.store / "ledger.json").read_text())

    def newest(self, folder, pattern):
        return max(folder.glob(pattern))

    def check_store(self, deed, lost=0):
        receiver, daemon = self.start_receiver(), self.start_daemon()
        self.replay(1)
        daemon.wait_for_stored(EVENTS)
        file = self.newest(self.store, "blocks-*.kl3")
        deed(file)
        self.replay(2)
        daemon.wait_for_stored(2 * EVENTS)
        self.stop_daemon(daemon)
        code = receiver.stop()
        self.assertIn("blocks-000001.kl3: ", receiver.said())
        if file.is_symlink():
            file.unlink()
        ledger = self.receiver_ledger()
        self.assertTrue(ledger["balanced"])
        self.assertEqual(ledger["events"]["shed"]["vanished"], lost)
        self.assertEqual(ledger["events"]["forwarded"], 2 * EVENTS - lost)
        self.assertEqual(ledger["clean"], lost == 0)
        self.assertEqual(code, 0 if lost == 0 else 1, receiver.said())
        self.assertEqual(sum(gone["events"] for gone in ledger["lost"]), lost)
        if lost:
            found = store_reader.events_of(self.store, whole=False)
            self.assertEqual({(e.spill, e.number) for e in found}, {key for key in self.sent if key[0] == 2})
        else:
            self.assert_stored(self.sent)

    def test_a_store_file_that_is_removed(self):
        self.check_store(os.unlink)

    def test_a_store_file_that_is_moved(self):
        self.check_store(lambda file: file.rename(self.folder / "tidied"))

    def test_a_store_file_that_is_replaced_by_a_link(self):
        def replace(file):
            file.unlink()
            file.symlink_to(self.target)
        self.check_store(replace)
        self.assertEqual(self.target.read_text(), "not yours")

    def test_a_store_file_that_is_cut_to_nothing_is_counted(self):
        self.check_store(lambda file: os.truncate(file, 0), lost=EVENTS)

    def test_a_store_that_is_removed_with_its_folder(self):
        self.check_store(lambda file: shutil.rmtree(self.store))

    def test_a_store_file_that_vanishes_at_the_very_end(self):
        receiver, daemon = self.start_receiver(), self.start_daemon()
        self.replay(1)
        daemon.wait_for_stored(EVENTS)
        self.stop_daemon(daemon)
        self.assertEqual(receiver.stop(), 0)
        receiver = self.start_receiver()
        harness.store_file(self.store, 1).unlink()
        self.assertEqual(receiver.stop(), 1, receiver.said())
        ledger = self.receiver_ledger()
        self.assertFalse(ledger["clean"])
        self.assertEqual((ledger["events"]["forwarded"], ledger["events"]["shed"]["vanished"]), (0, EVENTS))

    def test_a_store_file_that_is_cut_within_a_block_at_the_very_end(self):
        """The search for a block behind the cut belongs to the ledger: the signal that asks for the ledger does not end it."""
        receiver, daemon = self.start_receiver(), self.start_daemon()
        self.replay(1)
        daemon.wait_for_stored(EVENTS)
        self.stop_daemon(daemon)
        self.assertEqual(receiver.stop(), 0)
        receiver = self.start_receiver()
        os.truncate(harness.store_file(self.store, 1), 4096)
        self.assertEqual(receiver.stop(), 1, receiver.said())
        ledger = self.receiver_ledger()
        self.assertFalse(ledger["clean"])
        self.assertGreater(ledger["events"]["shed"]["vanished"], 0)
        self.assertEqual(ledger["events"]["forwarded"] + ledger["events"]["shed"]["vanished"], EVENTS)

    def test_store_files_that_become_what_no_reader_can_read(self):
        receiver, daemon = self.start_receiver(), self.start_daemon()
        self.replay(1)
        daemon.wait_for_stored(EVENTS)
        self.stop_daemon(daemon)
        self.assertEqual(receiver.stop(), 0)
        file = harness.store_file(self.store)
        whole = file.read_bytes()
        for deed in (lambda: file.write_bytes(b"something else" * 100), lambda: os.mkfifo(file), lambda: file.symlink_to("nowhere"), file.mkdir):
            receiver = self.start_receiver()
            file.unlink()
            deed()
            self.assertEqual(receiver.stop(), 1, receiver.said())
            ledger = self.receiver_ledger()
            self.assertFalse(ledger["clean"])
            self.assertEqual((ledger["events"]["forwarded"], ledger["events"]["shed"]["vanished"]), (0, EVENTS))
            file.rmdir() if file.is_dir() else file.unlink()
            file.write_bytes(whole)

    def write_a_store(self, files):
        """Each receiver begins a file."""
        for spill in range(1, files + 1):
            receiver, daemon = self.start_receiver(), self.start_daemon()
            self.replay(spill)
            daemon.wait_for_stored(EVENTS)
            self.stop_daemon(daemon)
            self.assertEqual(receiver.stop(), 0, receiver.said())

    def test_store_files_that_vanish_while_no_receiver_runs(self):
        self.write_a_store(3)
        harness.store_file(self.store, 2).unlink()
        os.truncate(harness.store_file(self.store, 3), 0)
        receiver = self.start_receiver()
        receiver.wait_to_say("blocks-000002.kl3: the file is gone")
        receiver.wait_to_say("lost although they were called stored: ")
        receiver.kill()
        receiver = self.start_receiver()
        receiver.wait_to_say("lost although they were called stored: ")
        self.assertEqual(receiver.stop(), 1, receiver.said())
        ledger = self.receiver_ledger()
        self.assertFalse(ledger["clean"])
        self.assertEqual((ledger["events"]["forwarded"], ledger["events"]["shed"]["vanished"]), (EVENTS, 2 * EVENTS))
        self.assertEqual([(gone["first"], gone["last"] - gone["first"] + 1, gone["events"]) for gone in ledger["lost"]],
                         [(1, gone["blocks"], EVENTS) for gone in ledger["lost"]])
        self.assertEqual(len(ledger["lost"]), 2)
        receiver = self.start_receiver()
        self.assertNotIn("lost", receiver.said(), "a ledger has it")
        self.assertEqual(receiver.stop(), 0, receiver.said())
        self.assertTrue(self.receiver_ledger()["clean"])

    def test_a_block_that_is_exchanged_while_no_receiver_runs(self):
        receiver, daemon = self.start_receiver(), self.start_daemon(outbox=LITTLE_MEMORY)
        self.replay(1)
        daemon.wait_for_stored(EVENTS)
        self.stop_daemon(daemon)
        self.assertEqual(receiver.stop(), 0, receiver.said())
        file = harness.store_file(self.store, 1)
        whole = file.read_bytes()
        after = lambda at: at + 64 + int.from_bytes(whole[at + 8:at + 12], "little")  # a block
        a, b, c = 16, after(16), after(after(16))
        self.assertLess(c, len(whole))
        file.write_bytes(whole[:a] + whole[b:c] + whole[a:b] + whole[c:])
        for _ in range(2):
            receiver = self.start_receiver()
            self.assertEqual(receiver.stop(), 1, receiver.said())
            self.assertIn("other bytes than its sidecar says", receiver.said())
            self.assertFalse(self.receiver_ledger()["clean"])
        self.assertIn("; its sidecar says ", self.run_tool("info", self.store)[1])
        file.write_bytes(whole[:a] + whole[a:b] * 2 + whole[c:])  # in the place of the second
        receiver = self.start_receiver()
        self.assertEqual(receiver.stop(), 1, receiver.said())
        ledger = self.receiver_ledger()
        self.assertFalse(ledger["clean"])
        self.assertEqual([(gone["first"], gone["last"], gone["blocks"]) for gone in ledger["lost"]], [(2, 2, 1)])
        self.assertEqual(ledger["events"]["forwarded"] + ledger["events"]["shed"]["vanished"], EVENTS)

    def test_a_ledger_of_another_store_under_the_name_of_the_folder(self):
        receiver = self.start_receiver()
        self.store.rename(self.folder / "moved")
        self.store.mkdir()
        other = self.store / "ledger.json"
        other.write_text("another's")
        self.assertEqual(receiver.stop(), 1, receiver.said())
        self.assertEqual(other.read_text(), "another's")
        self.assertIn("something else has taken the folder's name", receiver.said())

    def test_a_store_that_is_removed_with_its_manifest_while_no_receiver_runs(self):
        receiver, daemon = self.start_receiver(), self.start_daemon()
        self.replay(1)
        daemon.wait_for_stored(EVENTS)
        self.assertEqual(receiver.stop(), 0, receiver.said())
        self.assertEqual((self.receiver_ledger()["clean"], self.receiver_ledger()["unseen"]), (True, 0))
        shutil.rmtree(self.store)
        receiver = self.start_receiver()
        self.replay(2)
        daemon.wait_for_stored(2 * EVENTS)
        self.stop_daemon(daemon)
        self.assertEqual(receiver.stop(), 0, "what another receiver has stored is not lost")
        ledger = self.receiver_ledger()
        self.assertGreater(ledger["unseen"], 0)
        self.assertFalse(ledger["clean"])
        self.assertIn("never seen here", receiver.said())

    def test_store_files_that_are_archived(self):
        self.write_a_store(3)
        for number in (1, 2):
            (self.store / f"blocks-00000{number}.archived").touch()
        harness.store_file(self.store, 1).rename(self.folder / "archive")
        receiver = self.start_receiver()
        receiver.wait_to_say("blocks-000001.kl3: archived, with ")
        harness.store_file(self.store, 2).unlink()
        self.assertEqual(receiver.stop(), 0, receiver.said())
        self.assertIn("blocks-000002.kl3: archived, with ", receiver.said())
        ledger = self.receiver_ledger()
        self.assertTrue(ledger["clean"])
        self.assertEqual(ledger["events"]["forwarded"], EVENTS)
        self.assertEqual(list(self.store.glob("*.archived")), [])

    def test_a_session_goes_on_after_its_file_was_archived(self):
        receiver, daemon = self.start_receiver(), self.start_daemon()
        self.replay(1)
        daemon.wait_for_stored(EVENTS)
        self.assertEqual(receiver.stop(), 0)
        (self.store / "blocks-000001.archived").touch()
        harness.store_file(self.store, 1).unlink()
        receiver = self.start_receiver()  # takes note of it, and stores nothing
        self.assertEqual(receiver.stop(), 0)
        self.assertIn("blocks-000001.kl3: archived, with ", receiver.said())
        receiver = self.start_receiver()
        self.replay(2)
        daemon.wait_for_stored(2 * EVENTS)
        self.stop_daemon(daemon)
        self.assertEqual(receiver.stop(), 0)
        self.assertNotIn("never seen here", receiver.said())
        ledger = self.receiver_ledger()
        self.assertEqual((ledger["unseen"], ledger["clean"]), (0, True))
        self.assertEqual(harness.store_file(self.store, 2).name.split("-")[1], "000002")

    def test_an_older_store_file_that_vanishes_under_load_is_told_soon(self):
        self.write_a_store(1)
        receiver, daemon = self.start_receiver(), self.start_daemon()
        self.replay(2)
        daemon.wait_for_stored(EVENTS)
        harness.store_file(self.store, 1).unlink()
        spills = iter(range(3, 500))

        def told():
            self.replay(next(spills))
            return re.search(r"blocks-000001-\S+\.kl3: the file was removed", receiver.said())
        harness.wait_until(told, "the loss to be told")
        self.stop_daemon(daemon)
        self.assertEqual(receiver.stop(), 1)

    def check_spool(self, deed, **sections):
        """Without a receiver, the daemon says that events are safe; then it is killed."""
        daemon = self.start_daemon(outbox=LITTLE_MEMORY, spool={"use": "always"}, **sections)
        self.replay(1)
        harness.wait_until(lambda: daemon.status()["spool"]["events"] >= EVENTS, "every event on disk")
        deed(self.newest(self.spool, "spool-*.kl3"))
        self.replay(2)
        daemon.kill()
        for link in self.spool.glob("spool-*.kl3"):
            if link.is_symlink():
                link.unlink()
        daemon = self.start_daemon(outbox=LITTLE_MEMORY)
        receiver = self.start_receiver()
        daemon.wait_for(lambda s: s["spool"]["events"] == 0 and s["receiver"]["blocks_sent"] >= 0, "an empty spool")
        harness.wait_until(lambda: not list(self.spool.glob("spool-*.kl3")), "no segment")
        self.stop_daemon(daemon)
        self.assertEqual(receiver.stop(), 0, receiver.said())
        self.assert_stored(self.sent)
        self.assertEqual(self.target.read_text(), "not yours")

    def test_a_segment_that_is_removed(self):
        self.check_spool(os.unlink)

    def test_a_segment_that_vanishes_while_no_daemon_runs_is_told(self):
        daemon = self.start_daemon(outbox=LITTLE_MEMORY, spool={"use": "always"})
        self.replay(1)
        harness.wait_until(lambda: daemon.status()["spool"]["events"] >= EVENTS, "every event on disk")
        self.stop_daemon(daemon)
        self.newest(self.spool, "spool-*.kl3").unlink()
        daemon = self.start_daemon()
        daemon.wait_to_say(re.compile(r"spool: blocks 1 to \d+ of session [0-9a-f]{16} were on disk, and their file is gone"))
        gone = daemon.status()["spool"]["missing"]
        self.assertGreater(gone, 0)
        self.assertEqual(daemon.stop(), 1, daemon.said())
        ledger = daemon.ledger()
        self.assertEqual((ledger["spool"]["gone"], ledger["clean"]), (gone, False))
        self.assertIn(f"{gone} blocks that were called safe are in no file of the spool any more", daemon.said())
        daemon = self.start_daemon()  # told once
        self.stop_daemon(daemon)

    def test_a_segment_that_is_replaced_by_a_link(self):
        def replace(file):
            file.unlink()
            file.symlink_to(self.target)
        self.check_spool(replace)

    def test_a_spool_that_is_removed_with_its_folder(self):
        self.check_spool(lambda file: shutil.rmtree(self.spool))

    def test_a_spool_that_is_moved_with_its_folder(self):
        self.check_spool(lambda file: self.spool.rename(self.folder / "tidied"))

    def test_what_is_lost_of_a_spool_is_counted_and_told(self):
        daemon = self.start_daemon(outbox=LITTLE_MEMORY)
        self.replay(1)
        self.replay(2)
        daemon.wait_for(lambda s: s["spool"]["spilled"] and s["spool"]["events"] == len(self.sent), "every event on disk")
        os.truncate(self.newest(self.spool, "spool-*.kl3"), 0)
        status = daemon.wait_for(lambda s: s["spool"]["vanished"] == 1, "the loss to be noticed")
        self.assertIn("spool_vanishing", status["state"]["degraded"])
        harness.wait_until(lambda: "another program has cut the file" in daemon.said(), "a sentence")
        self.assertEqual(daemon.stop(), 1, "events that were called safe are lost: " + daemon.said())
        ledger = daemon.ledger()
        self.assert_conserved(ledger)
        lost = ledger["events"]["shed"]["spool"]
        self.assertGreater(lost, 0)
        self.assertLess(lost, len(self.sent), "what memory had was written again")
        self.assertEqual(ledger["spool"]["waiting"], len(self.sent) - lost)
        daemon, receiver = self.start_daemon(), self.start_receiver()
        harness.wait_until(lambda: not list(self.spool.glob("spool-*.kl3")), "no segment")
        self.assertEqual(daemon.stop(), 1, "it found the hole, too: " + daemon.said())
        self.assertGreater(daemon.ledger()["spool"]["gone"], 0)
        daemon = self.start_daemon()
        self.stop_daemon(daemon)
        self.assertEqual(receiver.stop(), 0)
        self.assertEqual(len(store_reader.events_of(self.store, whole=False)), len(self.sent) - lost)

    def test_a_start_waits_for_no_pipe_and_ends_while_it_reads(self):
        self.spool.mkdir()
        os.mkfifo(self.spool / "spool-000003.kl3")
        daemon = self.start_daemon()
        daemon.wait_to_say("spool-000003.kl3 is a link, a pipe, a device or a folder, and no file")
        self.stop_daemon(daemon)
        # Two gigabytes that have to be read, over and over: each pair of bytes may begin a block.
        with open(self.spool / "spool-000004.kl3", "wb") as file:
            file.write(b"KL3B" * (1 << 22))
        for n in range(5, 70):
            os.link(self.spool / "spool-000004.kl3", self.spool / f"spool-{n:06}.kl3")
        config = self.write_config()
        daemon = self.keep(harness.Daemon(config, self.ports, self.folder))
        harness.wait_until(lambda: daemon.catches(harness.signal.SIGTERM), "signals to be caught")
        time.sleep(0.2)
        self.assertEqual(daemon.stop(), 0, daemon.said())
        self.assertIn("told to end while its files were being read", daemon.said())


class LargeFiles(harness.SystemTest):
    """The files of several nodes, removed at once while they are written: by L3_LONG=1 4.2 GB."""
    NODES = 4
    BLOCK = 1 << 19
    BLOCKS = 2000 if os.environ.get("L3_LONG") else 40

    def store_blocks(self, node, first, last):
        """One after the other, each acknowledged; how often a block was refused, and how long the receiver was silent at most."""
        refused, silent = 0, 0.0
        for sequence in range(first, last + 1):
            block = line_sender.block(node.session, sequence, node.payload, 1, run=1, node=node.number)
            acknowledged, heard = False, time.monotonic()
            while not acknowledged:
                node.peer.send(line_sender.header(line_sender.BLOCK, node.session, sequence), block)
                kind, _, stored, _, _ = node.peer.receive()
                silent = max(silent, time.monotonic() - heard)
                acknowledged = kind == line_sender.ACKNOWLEDGEMENT and stored >= sequence
                if not acknowledged:
                    refused += 1
                    time.sleep(0.1)
                heard = time.monotonic()
        return refused, silent

    def node(self, number):
        node = types.SimpleNamespace(number=number, session=random.getrandbits(63) + 1, peer=line_sender.LineSender(harness.HOST, self.ports.receiver, harness.PATIENCE))
        self.addCleanup(node.peer.close)
        node.payload = struct.pack("<IIIHHIIII", self.BLOCK, number, 1, 1, 0, 0, 0, 0, 0) + os.urandom(self.BLOCK - 32)
        node.peer.send(*line_sender.hello(node.session, run=1, node=number))
        self.assertEqual(node.peer.receive()[0], line_sender.WELCOME)
        return node

    def test_are_written_anew_in_steps_and_without_memory(self):
        receiver = self.start_receiver()
        nodes = [self.node(n) for n in range(1, self.NODES + 1)]
        for node in nodes:
            self.assertEqual(self.store_blocks(node, 1, self.BLOCKS)[0], 0)
        before = receiver.memory()
        files = list(self.store.glob("*.kl3"))
        self.assertEqual(len(files), self.NODES)
        bytes_in_them = sum(f.stat().st_size for f in files)
        begun = time.monotonic()
        for f in files:
            f.unlink()
        refused, silent = self.store_blocks(nodes[0], self.BLOCKS + 1, self.BLOCKS + 1)
        print(f"{bytes_in_them} bytes: no acknowledgement for {time.monotonic() - begun:.2f} s, {refused} refusals, "
              f"{silent:.2f} s between two answers at most, memory from {before >> 20} to {receiver.memory() >> 20} MiB", file=sys.stderr)
        self.assertGreater(refused, 0)
        self.assertLess(receiver.memory() - before, 16 << 20)
        self.assertEqual(receiver.stop(), 0)
        ledger = json.loads((self.store / "ledger.json").read_text())
        self.assertEqual((ledger["events"]["forwarded"], ledger["lost"]), (self.NODES * self.BLOCKS + 1, []))
        self.assertEqual(sum(f.stat().st_size for f in self.store.glob("*.kl3")), bytes_in_them + len(nodes[0].payload) + 64)


if __name__ == "__main__":
    harness.main()
