#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A crate with a fault is named, with its fault, on the page, in /status, in the log and in the ledger; the others are not."""
import re
import time

import harness
import level2
import level2_sender

BAD = 1  # place and number in the small readout: three crates


class CratesTest(harness.SystemTest):
    def setUp(self):
        super().setUp()
        self.start_receiver()
        self.daemon = self.start_daemon()
        self.sender = self.udp_sender(self.daemon)
        self.maker = level2.EventMaker(self.crates, 1)

    def send(self, spill, numbers, of_bad=None, of_others=None):
        """Events; of_bad(spill, number) names the events whose fragments the bad crate sends in their place."""
        for number in numbers:
            self.sender.event(spill, number, self.maker.fragments(spill, number), without=(BAD,) if of_bad else ())
            for s, n in of_bad(spill, number) if of_bad else ():
                fragment = self.maker.fragments(s, n)[BAD]
                self.sender.send(level2_sender.datagrams(self.crates, s, n, BAD, fragment, self.chunk_bytes))

    def wait_for_fault(self, fault):
        """/status once it names the fault of the bad crate, and of no other."""
        status = self.daemon.wait_for(lambda s: s["crates"][BAD]["fault"] == fault, f"crate {BAD}: {fault}")
        self.assertEqual([c["fault"] for c in status["crates"] if c["crate"] != str(BAD)], [None, None])
        text = status["crates"][BAD]["text"]
        self.assertTrue(text.startswith(f"crate {BAD} "), text)
        self.assertIn("crate_fault", status["state"]["degraded"])
        self.assertEqual(status["problem"]["name"], "crate_fault")
        self.assertTrue(status["problem"]["text"].startswith(text.split(":")[0]), status["problem"])
        self.daemon.wait_to_say(text.split(":")[0])
        return status

    def test_a_silent_crate(self):
        self.send(1, range(1, 41))
        self.daemon.wait_for_stored(40)
        self.send(1, range(41, 101), of_bad=lambda s, n: [])
        self.wait_for_fault("silent")
        _, said, _ = self.ask_for_json("status", f"{harness.HOST}:{self.daemon.ports.monitor}", "--interval", "100 ms")
        self.assertEqual(said["nodes"][0]["worst_crate"], f"{BAD}: silent")
        self.sender.end(1, 100, without=(BAD,))
        self.daemon.wait_to_say(f"60 events incomplete: 60 lack crate {BAD}")
        self.daemon.wait_for(lambda s: s["crates"][BAD]["missing"] == 60, "the count of what the crate did not send")
        m = self.daemon.metrics()
        seen = [m[f'koto_l3_crate_fragments_seen_total{{crate="{c}"}}'] for c in range(3)]
        missing = [m[f'koto_l3_crate_fragments_missing_total{{crate="{c}"}}'] for c in range(3)]
        self.assertEqual((seen, missing), ([100, 40, 100], [0, 60, 0]))
        last = [m[f'koto_l3_crate_last_fragment_timestamp_seconds{{crate="{c}"}}'] for c in range(3)]
        self.assertLess(last[BAD], last[0])
        self.assertLess(abs(last[0] - time.time()), harness.PATIENCE)
        ledger = self.stop_daemon(self.daemon)
        self.assertTrue(ledger["balanced"])
        crates = ledger["crates"]
        self.assertEqual([c["crate"] for c in crates], [0, 1, 2])
        self.assertEqual([c["missing"] for c in crates], [0, 60, 0])
        for name in ("seen", "admitted", "incomplete", "late", "duplicate"):
            self.assertEqual(sum(c[name] for c in crates), ledger["fragments"][name], name)

    def test_a_crate_that_is_a_spill_behind(self):
        self.send(1, range(1, 41))
        self.sender.end(1, 40)
        self.daemon.wait_for_stored(40)
        self.send(2, range(1, 41), of_bad=lambda s, n: [(s - 1, n)])
        status = self.wait_for_fault("other_spill")
        self.assertIn("1 spill behind: it sends spill 1, and the others send spill 2", status["crates"][BAD]["text"])

    def test_a_counter_that_jumps(self):
        self.send(1, range(1, 41))
        self.daemon.wait_for_stored(40)
        self.send(1, range(41, 81), of_bad=lambda s, n: [(s, n + 500)])
        status = self.wait_for_fault("jumped")
        told = re.search(r"jumped by ([+-]\d+), to", status["crates"][BAD]["text"])
        self.assertAlmostEqual(int(told[1]), 500, delta=2, msg="the crates are looked at while they send, through sockets of their own")
        status = self.daemon.wait_for(lambda s: s["crates"][BAD]["alone"] == 40, "its events to end")
        self.assertEqual([c["missing"] for c in status["crates"]], [0, 40, 0])

    def test_a_crate_that_repeats_itself(self):
        self.send(1, range(1, 41), of_bad=lambda s, n: [(s, n), (s, n)])
        self.wait_for_fault("repeats")
        self.daemon.wait_for(lambda s: s["crates"][BAD]["duplicate"] == 40, "all that it sent")

    def test_a_crate_that_loses_a_few_fragments(self):
        self.send(1, range(1, 101), of_bad=lambda s, n: [(s, n)] if n % 20 else [])
        self.wait_for_fault("loses")
        status = self.daemon.wait_for(lambda s: s["crates"][BAD]["missing"] == 5, "its events to end")
        self.assertEqual(status["events"]["admitted"], 95)

    def test_a_loss_that_all_crates_share(self):
        for number in range(1, 61):
            self.sender.event(1, number, self.maker.fragments(1, number), without=(number % len(self.crates),))
        status = self.daemon.wait_for(lambda s: s["state"]["degraded"] == ["events_incomplete"], "the loss, and no crate")
        self.assertEqual(status["problem"]["name"], "events_incomplete")
        self.daemon.wait_to_say("events_incomplete begins: more than one event in a hundred lacks fragments")

    def test_a_crate_with_malformed_fragments(self):
        def spoil(datagram):
            return datagram[:12] + b"\0\0" + datagram[14:] if datagram[4:8] == bytes(4) and len(datagram) > 12 else datagram
        for number in range(1, 21):
            fragments = self.maker.fragments(1, number)
            self.sender.event(1, number, fragments, without=(BAD,))
            self.sender.send(map(spoil, level2_sender.datagrams(self.crates, 1, number, BAD, fragments[BAD], self.chunk_bytes)))
        self.wait_for_fault("malformed")
        self.daemon.wait_for(lambda s: s["crates"][BAD]["malformed"] == {"crate_header": 20}, "all that it sent")

    def test_two_crates_with_one_number(self):
        other = level2.EventMaker(self.crates, 99)
        for number in range(1, 21):  # chunk by chunk, before the events can be whole
            both = [level2_sender.datagrams(self.crates, 1, number, BAD, maker.fragments(1, number)[BAD], self.chunk_bytes)
                    for maker in (self.maker, other)]
            self.sender.send(datagram for pair in zip(*both) for datagram in pair)
        harness.wait_until(lambda: self.daemon.waiting() == 0, "the daemon to take them")
        self.send(1, range(1, 21), of_bad=lambda s, n: [])
        self.sender.end(1, 20)
        self.wait_for_fault("malformed")
        self.daemon.wait_to_say(re.compile(r"crate 1 sends malformed fragments: \d+, most of them conflicting_chunks"))
        self.daemon.wait_to_say("20 events incomplete: 20 have a malformed fragment of crate 1")

    def test_time_stamps_that_drift(self):
        def later(fragment, clocks):
            changed = bytearray(fragment)
            for at in range(4, len(fragment) - 4, level2.BOARD_BYTES):
                stamp = ((int.from_bytes(changed[at + 4:at + 6]) & 0x3fff) << 14 | int.from_bytes(changed[at + 6:at + 8]) & 0x3fff) + clocks
                changed[at + 4:at + 8] = level2.big_endian([0xc000 | stamp >> 14 & 0x3fff, 0xc000 | stamp & 0x3fff])
            return bytes(changed)
        self.maker = level2.EventMaker(self.crates, 8)
        number = 0

        def drifts(status):
            nonlocal number
            for number in range(number + 1, number + 6):
                fragments = self.maker.fragments(1, number)
                fragments[BAD] = later(fragments[0][:len(fragments[BAD]) - 4] + fragments[BAD][-4:], 1000)
                self.sender.event(1, number, fragments)
            return status["crates"][BAD]["fault"] == "drifts"
        status = self.daemon.wait_for(drifts, "a drift")
        self.assertIn("by +0.008 ms", status["crates"][BAD]["text"])
        self.assertAlmostEqual(status["crates"][BAD]["time_ahead"], 1000 * 8e-9)

    def test_nothing_is_said_of_crates_that_send_alike(self):
        for spill in (1, 2, 3):
            self.send(spill, range(1, 41))
            self.sender.end(spill, 40)
        status = self.daemon.wait_for_stored(120)
        self.assertEqual([c["fault"] for c in status["crates"]], [None] * 3)
        self.assertEqual(status["state"]["degraded"], [])
        self.assertNotIn("crate", self.daemon.said().split("ready:")[1])


if __name__ == "__main__":
    harness.main()
