#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Electronics that misbehave: each kind of wrong datagram, fragment or event has its one counted reason and its crate, and its neighbours
are stored as if nothing had happened. Spills that do not end, and chunks of another spill: tests/transport/building."""
import collections
import os
import random
import struct

import harness
import level2
import level2_sender
from harness import nonzero
from level2_sender import HEADER

CRATE = 1  # the place of the crate that misbehaves
SPILL = 6
BOARD = 4  # where the first board of a fragment starts
NEXT_BOARD = BOARD + 2072


def with_word(data, at, word):
    return data[:at] + struct.pack(">H", word) + data[at + 2:]


def flipped(data, at, bits):
    return with_word(data, at, struct.unpack_from(">H", data, at)[0] ^ bits)


def slot_word(spill, slot):
    return 0xC000 | (spill & 0xFF) << 6 | (spill >> 8) << 5 | slot


# Fragments whose bytes all arrive but are wrong: (reason, how one is made from a good one).
MALFORMED = [
    ("crate_header", lambda f: flipped(f, 0, 0x8000)), ("crate_header", lambda f: b"\x24" + f[1:]),
    ("crate_trailer", lambda f: flipped(f, len(f) - 4, 0x1000)), ("crate_trailer", lambda f: f[:-4] + bytes(4)),
    ("wrong_l1a", lambda f: flipped(f, 2, 1)), ("wrong_l1a", lambda f: flipped(f, BOARD + 10, 1)),
    ("wrong_l1a", lambda f: flipped(f, NEXT_BOARD + 10, 0x2000)),
    ("wrong_spill", lambda f: with_word(f, NEXT_BOARD + 8, slot_word(SPILL + 1, 4))),
    ("wrong_slot", lambda f: with_word(f, BOARD + 8, slot_word(SPILL, 2))),
    ("wrong_slot", lambda f: with_word(f, NEXT_BOARD + 8, slot_word(SPILL, 3))),
    ("wrong_slot", lambda f: with_word(f, NEXT_BOARD + 2072 + 8, slot_word(SPILL, 19))),
    ("header_tag", lambda f: flipped(f, BOARD, 0x8000)), ("header_tag", lambda f: flipped(f, NEXT_BOARD + 10, 0x4000)),
    ("truncated", lambda f: f[:NEXT_BOARD + 1000] + f[-4:]), ("truncated", lambda f: f[:NEXT_BOARD + 2] + f[-4:]),
    ("trailing_bytes", lambda f: f[:-4] + bytes(8) + f[-4:]),
]
# Wrong marks of sample or footer words do not keep a fragment from being walked: the board is stored raw.
DAMAGED_BOARDS = [lambda f: flipped(f, BOARD + 12, 0x4000), lambda f: flipped(f, NEXT_BOARD + 12 + 1000, 0x8000),
                  lambda f: flipped(f, NEXT_BOARD - 12, 0x8000), lambda f: flipped(f, NEXT_BOARD - 2, 0x2000)]


def one_chunk_less(trailer):
    name, chunks, mark = HEADER.unpack(trailer)
    return HEADER.pack(name, chunks - 1, mark)


# What happens to the datagrams of an event, a list for each crate: (why its crate is malformed, or None; how many of the event's three
# fragments are then incomplete; the change).
CHANGES = [
    ("conflicting_chunks", 2, lambda crates: crates[CRATE].insert(1, crates[CRATE][0][:-4] + b"\xff\xfe\xfd\xfc")),
    ("conflicting_chunks", 2, lambda crates: crates[CRATE].insert(1, crates[CRATE][0][:-4])),
    ("chunk_count", 2, lambda crates: crates[CRATE].append(one_chunk_less(crates[CRATE].pop()))),
    ("chunk_count", 2, lambda crates: crates[CRATE].insert(0, one_chunk_less(crates[CRATE][-1]))),
    ("chunk_count", 2, lambda crates: crates[CRATE].insert(1, crates[CRATE].pop(1)[:-4])),
    (None, 3, lambda crates: crates[0].pop(0)),
    (None, 3, lambda crates: crates[1].pop(1)),
    (None, 3, lambda crates: crates[2].pop(-2)),
    (None, 2, lambda crates: crates[CRATE].clear()),
    (None, 0, lambda crates: crates[CRATE].pop()),  # a last chunk that is shorter than the others says as much as the trailer
    (None, 0, lambda crates: [crate.__setitem__(slice(None), [d for d in crate for _ in range(2)]) for crate in crates]),
    (None, 0, lambda crates: crates.extend([list(crate) for crate in crates])),  # all of it again, when it is complete
]


class BadInput(harness.SystemTest):
    def begin(self, ports=harness.UDP_PORTS, **building):
        self.receiver, self.daemon = self.start_receiver(), self.start_daemon(building=building)
        self.sender, self.maker, self.sent = self.udp_sender(self.daemon, ports), level2.EventMaker(self.crates, 13), {}

    def datagrams(self, spill, number, fragments):
        """A list for each crate."""
        return [level2_sender.datagrams(self.crates, spill, number, place, f, self.chunk_bytes) for place, f in enumerate(fragments)]

    def send(self, spill, number):
        """A good event; gives its fragments."""
        self.sent[spill, number] = self.maker.fragments(spill, number)
        self.sender.event(spill, number, self.sent[spill, number])
        return self.sent[spill, number]

    def finish(self):
        ledger = self.stop_daemon(self.daemon)
        self.receiver.stop()
        return ledger, self.assert_stored(self.sent)


class BadDatagrams(BadInput):
    def refused(self, spill):
        """reason -> datagrams, each to be refused for it."""
        n, largest, d, data = len(self.crates), self.chunk_bytes, HEADER.pack, os.urandom(100)
        known = level2_sender.fragment_id(self.crates, 90, 0)
        return {
            "too_short": [b"", b"x", os.urandom(4), os.urandom(11)],
            "too_long": [d(known, 0, 0) + bytes(largest + 1), d(known, 0, 0) + bytes(largest + 4), d(known, 0, 0) + bytes(60000)],
            "discriminator": [d(known, 0, 1) + data, d(known, 0, level2_sender.discriminator(0, spill, 0)) + data,
                              d(known, 4, level2_sender.discriminator(0, spill, 99)), d(known, 1, 0xFFFFFFFF) + data],
            "fragment_id": [d(0, 0, 0) + data, d(n * 1000 + 1, 0, 0) + data, d(0xFFFFFFFF, 0, 0) + data],
            "chunk_length": [d(known, 0, 0) + data[:99], d(known, 3, 0) + b"x"],
            "chunk_index": [d(known, 1000, 0) + data, d(known, 0xFFFFFFFF, 0) + data,
                            d(known, 1000, level2_sender.discriminator(0, spill, 0))],
        }

    def test_wrong_datagrams_are_refused_by_reason(self):
        self.begin(max_events_per_spill=1000, chunk_bytes=self.chunk_bytes)
        refused = self.refused(SPILL)
        bad = [datagram for datagrams in refused.values() for datagram in datagrams]
        random.Random(1).shuffle(bad)
        for number, datagram in enumerate(bad, 1):
            fragments = self.sent[SPILL, number] = self.maker.fragments(SPILL, number)
            good = sum(self.datagrams(SPILL, number, fragments), [])
            self.sender.send(good[:3] + [datagram] + good[3:])
        self.sender.end(SPILL, len(bad))
        expected = {reason: len(datagrams) for reason, datagrams in refused.items()}
        self.assertEqual(nonzero(self.daemon.wait_for_stored(len(bad))["refused"]), expected)
        ledger, _ = self.finish()
        self.assertEqual(nonzero(ledger["datagrams"]["malformed"]), expected)
        self.assertEqual(ledger["datagrams"]["received"], self.sender.sent)
        self.assertEqual(ledger["fragments"]["seen"], len(bad) * len(self.crates))


class BadEvents(BadInput):
    def send_with_good_between(self, bad):
        """Sends the events (fragments, change of the datagrams), and a good one before each. Gives their numbers and /status."""
        numbers = range(2, 2 * len(bad) + 1, 2)
        for number, (of_event, change) in zip(numbers, bad):
            self.send(SPILL, number - 1)
            crates = self.datagrams(SPILL, number, of_event(self.maker.fragments(SPILL, number)))
            change(crates)
            self.sender.send(sum(crates, []))
        self.send(SPILL, numbers[-1] + 1)
        self.sender.end(SPILL, numbers[-1] + 1)
        return numbers, self.daemon.wait_for(
            lambda s: s["fragments"]["seen"] and not s["fragments"]["in_flight"] and not s["events"]["in_flight"] and
            s["events"]["forwarded"] >= len(self.sent) and s["spills"] >= 1, "everything settled")

    @staticmethod
    def replaced(change):
        return lambda fragments: [change(f) if place == CRATE else f for place, f in enumerate(fragments)]

    def test_fragments_that_are_wrong(self):
        """A fragment is one chunk here: a chunk with the header of a wrong spill does not go astray alone."""
        self.chunk_bytes = 8000
        self.begin()
        changes = [change for _, change in MALFORMED] + DAMAGED_BOARDS
        numbers, status = self.send_with_good_between([(self.replaced(change), lambda crates: None) for change in changes])
        raw = numbers[len(MALFORMED):]
        for number, change in zip(raw, DAMAGED_BOARDS, strict=True):
            self.sent[SPILL, number] = self.replaced(change)(self.maker.fragments(SPILL, number))
        expected = dict(collections.Counter(reason for reason, _ in MALFORMED))
        f = status["fragments"]
        self.assertEqual(nonzero(f["malformed"]), expected)
        self.assertEqual((f["admitted"], f["incomplete"]), (len(self.sent) * 3, len(MALFORMED) * 2))
        self.assertEqual((status["events"]["incomplete"], status["boards"]["damaged"]), (len(MALFORMED), len(raw)))
        self.assertEqual([c["malformed"] for c in status["crates"]], [expected if place == CRATE else {} for place in range(3)])
        ledger, found = self.finish()
        self.assertEqual((nonzero(ledger["fragments"]["malformed"]), nonzero(ledger["datagrams"]["malformed"])), (expected, {}))
        self.assertEqual([(found[SPILL, n].flags, found[SPILL, n].damaged_boards) for n in raw], [(2, 1)] * len(raw))

    def test_datagrams_that_are_lost_or_repeated_or_disagree(self):
        self.begin(ports=1)  # the daemon sees everything in the order in which it was sent
        numbers, status = self.send_with_good_between([(list, change) for _, _, change in CHANGES])
        self.sent.update({(SPILL, n): self.maker.fragments(SPILL, n) for n, (_, incomplete, _) in zip(numbers, CHANGES) if not incomplete})
        f = status["fragments"]
        self.assertEqual(nonzero(f["malformed"]), dict(collections.Counter(reason for reason, _, _ in CHANGES if reason)))
        self.assertEqual((f["admitted"], f["incomplete"]), (len(self.sent) * 3, sum(incomplete for _, incomplete, _ in CHANGES)))
        self.assertEqual(status["events"]["incomplete"], sum(incomplete > 0 for _, incomplete, _ in CHANGES))
        m = self.daemon.metrics()
        for name in ("seen", "missing"):
            self.assertEqual([m[f'koto_l3_crate_fragments_{name}_total{{crate="{c}"}}'] for c in range(3)], [c[name] for c in status["crates"]])
        self.assertGreater(status["crates"][CRATE]["missing"], 0)
        ledger, _ = self.finish()
        for name in ("seen", "admitted", "incomplete", "late", "duplicate"):
            self.assertEqual(sum(c[name] for c in ledger["crates"]), ledger["fragments"][name], name)
        self.assertEqual([(s["admitted"], s["incomplete"]) for s in ledger["spills"]], [(len(self.sent), status["events"]["incomplete"])])
        repeated = 2 * sum(-(-len(fragment) // self.chunk_bytes) for fragment in self.maker.fragments(SPILL, 1))
        self.assertGreaterEqual(ledger["datagrams"]["duplicate"] + ledger["datagrams"]["late"], repeated)

    def test_incomplete_events_are_forwarded_with_the_flag(self):
        self.begin(incomplete="forward")
        wrong_slot = dict(MALFORMED)["wrong_slot"]  # all of this one arrived: it comes back as it was, with the other flag
        kinds = [(list, lambda crates: crates[CRATE].clear(), 1), (list, lambda crates: crates[CRATE].pop(1), 1),
                 (self.replaced(wrong_slot), lambda crates: None, 2)] * 5
        numbers, _ = self.send_with_good_between([kind[:2] for kind in kinds])
        self.daemon.wait_for_stored(len(self.sent) + len(kinds))
        flags = dict.fromkeys(self.sent, 0)
        for number, (of_event, _, flag) in zip(numbers, kinds):
            fragments = dict(enumerate(of_event(self.maker.fragments(SPILL, number))))
            if flag == 1:
                del fragments[CRATE]
            self.sent[SPILL, number], flags[SPILL, number] = fragments, flag
        ledger, found = self.finish()
        self.assertEqual({key: event.flags for key, event in found.items()}, flags)
        self.assertEqual(ledger["fragments"]["malformed"]["wrong_slot"], 5)
        self.assert_extracted(self.sent)


if __name__ == "__main__":
    harness.main()
