#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A crate with a fault is named, with its fault, on the page, in /status, in the log and in the ledger; the others are not. When a
fault begins and ends is that of tests/daemon/monitor/crate_watch_test.cpp."""
import re
import time

import harness
import level2
import level2_sender

GOOD = 40  # events of each spill before a crate has its fault


def later(fragment, clocks=1000):
    """The same with other time stamps."""
    changed = bytearray(fragment)
    for at in range(4, len(fragment) - 4, level2.BOARD_BYTES):
        stamp = ((int.from_bytes(changed[at + 4:at + 6]) & 0x3fff) << 14 | int.from_bytes(changed[at + 6:at + 8]) & 0x3fff) + clocks
        changed[at + 4:at + 8] = level2.big_endian([0xc000 | stamp >> 14 & 0x3fff, 0xc000 | stamp & 0x3fff])
    return bytes(changed)


class CratesTest(harness.SystemTest):
    crate_lines = ["0-6: 1 x 125 MHz"]
    crates = level2.readout(crate_lines)
    EVENT = level2.EventMaker(crates, 8).fragments(1, 2)  # one of which all boards have the same time stamp

    def setUp(self):
        super().setUp()
        self.start_receiver()
        self.daemon = self.start_daemon()
        self.sender = self.udp_sender(self.daemon)

    def event(self, spill, number):
        return [level2.renamed(f, 1, spill, number) for f in self.EVENT]

    def fragment(self, bad, spill, number, change=lambda fragment: fragment):
        return level2_sender.datagrams(self.crates, spill, number, bad, change(self.event(spill, number)[bad]), self.chunk_bytes)

    def test_nothing_is_said_of_crates_that_send_alike_or_lose_alike(self):
        for spill in (1, 2, 3):
            for number in range(1, GOOD + 1):
                self.sender.event(spill, number, self.event(spill, number))
            self.sender.end(spill, GOOD)
        status = self.daemon.wait_for_stored(3 * GOOD)
        self.assertEqual({c["fault"] for c in status["crates"]}, {None})
        self.assertEqual(status["state"]["degraded"], [])
        self.assertNotIn("crate", self.daemon.said().split("ready:")[1])
        for number in range(1, 61):
            self.sender.event(4, number, self.event(4, number), without=(number % len(self.crates),))
        status = self.daemon.wait_for(lambda s: s["state"]["degraded"] == ["events_incomplete"], "the loss, and no crate")
        self.assertEqual(status["problem"]["name"], "events_incomplete")
        self.daemon.wait_to_say(re.compile(r"events_incomplete (begins|is now critical): \d+ of \d+ events of (this|the last) spill are lost: they lack fragments"))

    def test_a_fault_is_named_with_its_crate(self):
        """A crate and a spill for each."""
        def spoiled(*event):
            return [d[:12] + b"\0\0" + d[14:] if d[4:8] == bytes(4) and len(d) > 12 else d for d in self.fragment(*event)]
        table = (  # fault, what its text says, what the crate sends, the crate's count after so many events
            ("silent", "", lambda *event: [], lambda n: ("missing", n)),
            ("other_spill", "1 spill behind: it sends spill 2, and the others send spill 3", lambda bad, s, n: self.fragment(bad, s - 1, n), None),
            ("jumped", r"jumped by [+](49\d|50\d), to", lambda bad, s, n: self.fragment(bad, s, n + 500), lambda n: ("alone", n)),
            ("repeats", "", lambda *event: 2 * self.fragment(*event), lambda n: ("duplicate", n)),
            ("loses", "", lambda bad, s, n: self.fragment(bad, s, n) if n % 20 else [], lambda n: ("missing", n // 20)),
            ("malformed", "", spoiled, lambda n: ("malformed", {"crate_header": n})),
            ("drifts", r"by \+0.008 ms", lambda *event: self.fragment(*event, later), lambda n: ("time_ahead", 1000 * 8e-9)))
        for spill, (fault, said, of_bad, counted) in enumerate(table, 2):
            bad = len(table) + 1 - spill
            with self.subTest(fault, crate=bad):
                for number in range(1, GOOD + 1):
                    self.sender.event(spill, number, self.event(spill, number))
                number = GOOD

                def is_named(status):
                    nonlocal number
                    for number in range(number + 1, number + 6):
                        self.sender.event(spill, number, self.event(spill, number), without=(bad,))
                        self.sender.send(of_bad(bad, spill, number))
                    return status["crates"][bad]["fault"] == fault
                status = self.daemon.wait_for(is_named, f"crate {bad}: {fault}")
                self.assertEqual({c["fault"] for c in status["crates"][:bad]} - {None}, set())
                text = status["crates"][bad]["text"]
                self.assertRegex(text, f"^crate {bad} .*{said}")
                self.assertIn("crate_fault", status["state"]["degraded"])
                if fault == "silent":
                    self.is_named_everywhere(spill, number, bad, status)
                else:
                    self.sender.end(spill, number)
                if counted:
                    name, count = counted(number - GOOD)
                    self.daemon.wait_for(lambda s: s["crates"][bad][name] == count, f"{count} {name} of crate {bad}")
        ledger = self.stop_daemon(self.daemon)
        crates = ledger["crates"]
        self.assertEqual([c["crate"] for c in crates], list(range(7)))
        for name in ("seen", "admitted", "incomplete", "late", "duplicate"):
            self.assertEqual(sum(c[name] for c in crates), ledger["fragments"][name], name)

    def is_named_everywhere(self, spill, events, bad, status):
        text = status["crates"][bad]["text"].split(":")[0]
        self.assertIn(text, status["problem"]["text"])
        self.daemon.wait_to_say(re.compile("crate_fault (begins|goes on): .*" + re.escape(text)))
        _, said, _ = self.ask_for_json("status", f"{harness.HOST}:{self.daemon.ports.monitor}", "--interval", "100 ms")
        self.assertEqual(said["nodes"][0]["worst_crate"], f"{bad}: silent")
        self.sender.end(spill, events, without=(bad,))
        self.daemon.wait_to_say(f"they lack fragments (crate {bad} in ")
        self.daemon.wait_for(lambda s: s["crates"][bad]["missing"] == events - GOOD, "the count of what the crate did not send")
        m = self.daemon.metrics()
        seen = [m[f'koto_l3_crate_fragments_seen_total{{crate="{c}"}}'] for c in range(7)]
        missing = [m[f'koto_l3_crate_fragments_missing_total{{crate="{c}"}}'] for c in range(7)]
        self.assertEqual((seen, missing), ([events] * 6 + [GOOD], [0] * 6 + [events - GOOD]))
        last = [m[f'koto_l3_crate_last_fragment_timestamp_seconds{{crate="{c}"}}'] for c in range(7)]
        self.assertLess(last[bad], last[0])
        self.assertLess(abs(last[0] - time.time()), harness.PATIENCE)


if __name__ == "__main__":
    harness.main()
