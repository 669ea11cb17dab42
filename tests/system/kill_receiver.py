#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""kill -9 of the receiver in mid-spill: what it acknowledged is there after a restart, every event is stored once."""
import pathlib
import random
import shutil

import harness
import l2raw
import level2

MISSING = 69


class KillReceiver(harness.SystemTest):
    def newest_file(self):
        return max(pathlib.Path(self.store).glob("blocks-*.kl3"))

    def test_killed_again_and_again_in_mid_spill(self):
        receiver = self.start_receiver()
        daemon = self.start_daemon(outbox={"block": "16 KiB"})
        sender, maker, rng = self.udp_sender(daemon), level2.EventMaker(self.crates, 41), random.Random(41)
        sent, kills, stored_at_kill = {}, sorted(rng.sample(range(50, 750), 6)), []
        for number in range(1, 801):
            sent[12, number] = maker.fragments(12, number)
            sender.event(12, number, sent[12, number])
            if number in kills:
                stored_at_kill.append(daemon.status()["events"]["forwarded"])
                receiver.kill()
                # All that the daemon was told to be stored is there for any reader, also before a restart.
                self.assertGreaterEqual(len(self.stored()), stored_at_kill[-1])
                receiver = self.start_receiver()
        sender.end(12, 800)
        daemon.wait_for_stored(800)
        ledger = self.stop_daemon(daemon)
        self.assertEqual(ledger["events"]["forwarded"], 800)
        self.assertEqual(receiver.stop(), 0)
        self.assert_stored(sent)
        self.assert_extracted(sent)
        file = self.folder / "sent.l2raw"
        l2raw.write(file, self.crates, {12: [sent[12, n] for n in range(1, 801)]})
        code, said = self.run_tool("verify", file, self.store, "--ledger", daemon.ledger_file)
        self.assertEqual(code, 0, said)

    def test_a_torn_end_is_cut_off(self):
        receiver = self.start_receiver()
        daemon = self.start_daemon()
        sender, maker = self.udp_sender(daemon), level2.EventMaker(self.crates, 42)
        sent = {}

        def send(spill):
            for number in range(1, 31):
                sent[spill, number] = maker.fragments(spill, number)
                sender.event(spill, number, sent[spill, number])
            sender.end(spill, 30)
            daemon.wait_for_stored(len(sent))

        send(1)
        whole = self.newest_file().read_bytes()
        block = whole[16:16 + 64 + int.from_bytes(whole[24:28], "little")]
        flipped = block[:200] + bytes([block[200] ^ 4]) + block[201:]
        # As a machine that stopped in the middle of a write may leave it: a header, part of a payload, a page of zeros, a
        # payload that never reached the disk.
        for spill, tail in enumerate((block[:10], block[:64], block[:-1], bytes(4096), flipped), 2):
            receiver.kill()
            last = self.newest_file()
            before = last.read_bytes()
            with open(last, "ab") as f:
                f.write(tail)
            receiver = self.start_receiver()
            receiver.wait_to_say("torn")
            self.assertEqual(harness.store_file(self.store, int(last.stem.split("-")[1])).read_bytes(), before)
            send(spill)
        self.stop_daemon(daemon)
        receiver.stop()
        self.assert_stored(sent)
        self.assert_extracted(sent)

    def check_removal(self, remove):
        """The receiver ends with a sentence. What it had acknowledged went with its file; the rest comes again to the next receiver."""
        self.store_is_whole = False
        receiver = self.start_receiver()
        daemon = self.start_daemon()
        sender, maker = self.udp_sender(daemon), level2.EventMaker(self.crates, 44)
        sent = {(spill, n): maker.fragments(spill, n) for spill in (1, 2) for n in range(1, 31)}

        def send(spill):
            for number in range(1, 31):
                sender.event(spill, number, sent[spill, number])
            sender.end(spill, 30)

        send(1)
        daemon.wait_for_stored(30)
        remove()
        send(2)
        self.assertEqual(receiver.wait(), MISSING)
        self.assertIn(f"{self.store}: the folder, or a file in it that is written, was removed", receiver.said())
        self.start_receiver()
        daemon.wait_for_stored(60)
        self.assertEqual(daemon.stop(), 0)
        self.assert_stored({key: fragments for key, fragments in sent.items() if key[0] == 2})

    def test_a_file_that_is_removed_while_it_is_written_ends_the_receiver(self):
        self.check_removal(lambda: self.newest_file().unlink())

    def test_a_folder_that_is_removed_while_it_is_written_ends_the_receiver(self):
        self.check_removal(lambda: shutil.rmtree(self.store))

    def test_a_receiver_that_is_stopped_for_a_while(self):
        """Nothing is shed as long as the outbox holds it, nothing twice when it goes on."""
        receiver = self.start_receiver("--sync")
        daemon = self.start_daemon(outbox={"block": "16 KiB"}, forward={"acknowledge_time_limit": "200 ms"})
        sender, maker = self.udp_sender(daemon), level2.EventMaker(self.crates, 43)
        sent = {}
        for number in range(1, 401):
            sent[1, number] = maker.fragments(1, number)
            sender.event(1, number, sent[1, number])
            if number in (100, 250):
                receiver.signal(harness.signal.SIGSTOP)
            if number == 200:
                daemon.wait_for(lambda s: s["receiver"]["blocks_resent"] > 0, "blocks to be sent again")
                receiver.signal(harness.signal.SIGCONT)
        sender.end(1, 400)
        receiver.signal(harness.signal.SIGCONT)
        daemon.wait_for_stored(400)
        self.stop_daemon(daemon)
        receiver.stop()
        self.assert_stored(sent)

    def test_an_outbox_that_is_full_is_no_loss_silently(self):
        """Without a receiver the outbox fills; what is shed is counted, whole events, and the rest is stored."""
        daemon = self.start_daemon(outbox={"memory": "1 MiB", "block": "64 KiB"}, spool={"folder": ""}, frames={"count": 2, "events": 16})
        sender, maker = self.udp_sender(daemon), level2.EventMaker(self.crates, 44)
        sent = {}
        for number in range(1, 501):
            sent[1, number] = maker.fragments(1, number)
            sender.event(1, number, sent[1, number])
        sender.end(1, 500)
        status = daemon.wait_for(lambda s: sum(s["events"]["shed"].values()) and s["spills"], "events to be shed")
        receiver = self.start_receiver()
        status = daemon.wait_for(lambda s: not s["events"]["in_flight"] and not s["fragments"]["in_flight"], "the outbox to be empty")
        shed = sum(status["events"]["shed"].values())
        self.assertEqual(status["events"]["forwarded"] + shed + status["events"]["incomplete"], 500)
        ledger = self.stop_daemon(daemon)
        receiver.stop()
        found = self.stored()
        self.assertEqual(len(found), ledger["events"]["forwarded"])
        self.assert_stored({key: sent[key] for key in found})


if __name__ == "__main__":
    harness.main()
