#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A tidy hand: files and folders of the spool are removed, moved, cut and replaced while events flow. What was
acknowledged after that is stored; what was lost is counted; and nothing is written where a link leads."""
import os
import re
import shutil
import time

import harness
import l2raw
import level2
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

    def newest(self, folder, pattern):
        return max(folder.glob(pattern))

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


if __name__ == "__main__":
    harness.main()
