#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A store on a disk that is full: nothing is acknowledged that is not stored, and data flows again once there is room. The disk is a
small tmpfs in a mount namespace of this process, so it is gone with it; without the right to mount, the test is skipped."""
import os
import unittest

import harness
import level2
import own_space

SIZE = 4 << 20


def mount_small_disk(folder):
    try:
        own_space.enter(own_space.MOUNTS)
        own_space.mount_small_disk(folder, SIZE)
    except PermissionError as e:
        raise unittest.SkipTest(f"no right to mount a small file system: {e.strerror}") from None


class FullDisk(harness.SystemTest):
    def setUp(self):
        super().setUp()
        self.disk = self.folder / "disk"
        self.disk.mkdir()
        mount_small_disk(self.disk)
        self.store = self.disk / "store"

    def fill(self, leave):
        free = os.statvfs(self.disk).f_bavail * os.statvfs(self.disk).f_frsize
        (self.disk / "other").write_bytes(bytes(free - leave))

    def test_data_flows_again_when_there_is_room(self):
        receiver = self.start_receiver()
        daemon = self.start_daemon(outbox={"block": "32 KiB"}, forward={"acknowledge_time_limit": "300 ms"})
        maker, sent = level2.EventMaker(self.crates, 71), {}
        sender = self.stream_sender(run=7).connect()
        sender.begin(1)
        for round in range(3):
            complaints = receiver.said().count("No space left")
            self.fill(leave=100_000)
            for number in range(60 * round + 1, 60 * round + 61):
                sent[1, number] = maker.fragments(1, number)
                last = sender.event(1, number, sent[1, number])
            harness.wait_until(lambda: receiver.said().count("No space left") > complaints, "a full disk")
            daemon.wait_for(lambda s: s["events"]["admitted"] == len(sent) and s["receiver"]["blocks_resent"] > 0
                            and "receiver_refuses" in s["state"]["degraded"], "all events, and the reason why they stay here")
            status = daemon.status()
            self.assertTrue(receiver.running(), receiver.said())
            self.assertGreater(status["events"]["in_flight"], 0)
            self.assertLess(sender.acknowledged, last)
            self.assertGreaterEqual(len(self.stored()), status["events"]["forwarded"])
            (self.disk / "other").unlink()
            sender.wait_for_acknowledgement(last)
        sender.wait_for_acknowledgement(sender.end(1, len(sent)))
        self.assertLessEqual(len(receiver.said().splitlines()), 40, receiver.said())
        self.stop_daemon(daemon)
        self.assertEqual(receiver.stop(), 0)
        self.assert_stored(sent)
        self.assert_extracted(sent)

    def test_a_daemon_that_ends_while_its_receiver_refuses(self):
        """The receiver is there: it is not called absent because nobody asks any more."""
        receiver = self.start_receiver()
        daemon = self.start_daemon(outbox={"block": "32 KiB"}, forward={"acknowledge_time_limit": "300 ms"})
        maker, sender = level2.EventMaker(self.crates, 73), self.udp_sender(daemon)
        self.fill(leave=100_000)
        for number in range(1, 61):
            sender.event(1, number, maker.fragments(1, number))
        daemon.wait_for(lambda s: "receiver_refuses" in s["state"]["degraded"], "a receiver that refuses")
        self.assertEqual(daemon.stop(), 0, daemon.said())
        self.assertNotIn("receiver_absent begins", daemon.said().split("SIGTERM: draining")[1])
        (self.disk / "other").unlink()  # what is left beside the blocks may be too little for the ledger
        self.assertEqual(receiver.stop(), 0, receiver.said())

    def test_a_receiver_killed_on_a_full_disk(self):
        receiver = self.start_receiver()
        daemon = self.start_daemon(outbox={"block": "32 KiB"}, forward={"acknowledge_time_limit": "300 ms"})
        maker, sent = level2.EventMaker(self.crates, 72), {}
        sender = self.udp_sender(daemon)
        self.fill(leave=100_000)
        for number in range(1, 101):
            sent[1, number] = maker.fragments(1, number)
            sender.event(1, number, sent[1, number])
        receiver.wait_to_say("No space left")
        daemon.wait_for(lambda s: s["receiver"]["blocks_resent"] > 0, "blocks to be sent again")
        receiver.kill()
        (self.disk / "other").unlink()
        receiver = self.start_receiver()
        sender.end(1, 100)
        daemon.wait_for_stored(100)
        self.stop_daemon(daemon)
        receiver.stop()
        self.assert_stored(sent)


if __name__ == "__main__":
    harness.main()
