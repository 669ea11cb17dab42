#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Electronics that misbehave: each kind of wrong datagram or fragment gives its one counted reason, and its neighbours are
stored as if nothing had happened."""
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


def with_word(data, at, word):
    return data[:at] + struct.pack(">H", word) + data[at + 2:]


def flipped(data, at, bits):
    return with_word(data, at, struct.unpack_from(">H", data, at)[0] ^ bits)


BOARD = 4  # where the first board of a fragment starts
NEXT_BOARD = BOARD + 2072


def slot_word(spill, slot):
    return 0xC000 | (spill & 0xFF) << 6 | (spill >> 8) << 5 | slot


# Fragments whose bytes all arrive but are wrong: reason -> ways to make it from a good one.
MALFORMED = {
    "crate_header": [lambda f: flipped(f, 0, 0x8000), lambda f: b"\x24" + f[1:]],
    "crate_trailer": [lambda f: flipped(f, len(f) - 4, 0x1000), lambda f: f[:-4] + bytes(4)],
    "wrong_l1a": [lambda f: flipped(f, 2, 1), lambda f: flipped(f, BOARD + 10, 1), lambda f: flipped(f, NEXT_BOARD + 10, 0x2000)],
    "wrong_spill": [lambda f: with_word(f, NEXT_BOARD + 8, slot_word(SPILL + 1, 4))],
    "wrong_slot": [lambda f: with_word(f, BOARD + 8, slot_word(SPILL, 2)),
                   lambda f: with_word(f, NEXT_BOARD + 8, slot_word(SPILL, 3)),
                   lambda f: with_word(f, NEXT_BOARD + 2072 + 8, slot_word(SPILL, 19))],
    "header_tag": [lambda f: flipped(f, BOARD, 0x8000), lambda f: flipped(f, NEXT_BOARD + 10, 0x4000)],
    "truncated": [lambda f: f[:NEXT_BOARD + 1000] + f[-4:], lambda f: f[:NEXT_BOARD + 2] + f[-4:]],
    "trailing_bytes": [lambda f: f[:-4] + bytes(8) + f[-4:]],
}


class BadDatagrams(harness.SystemTest):
    def datagrams_that_are_refused(self, spill):
        """reason -> datagrams, each to be refused for it."""
        n, largest = len(self.crates), self.chunk_bytes
        d = HEADER.pack
        data = os.urandom(100)
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
        receiver = self.start_receiver()
        daemon = self.start_daemon(building={"max_events_per_spill": 1000, "chunk_bytes": self.chunk_bytes})
        sender = self.udp_sender(daemon)
        maker = level2.EventMaker(self.crates, 11)
        sent, expected = {}, {}
        bad = [(reason, datagram) for reason, all_of_it in self.datagrams_that_are_refused(SPILL).items() for datagram in all_of_it]
        random.Random(1).shuffle(bad)
        for number, (reason, datagram) in enumerate(bad, 1):
            fragments = sent[SPILL, number] = maker.fragments(SPILL, number)
            good = [g for place, f in enumerate(fragments)
                    for g in level2_sender.datagrams(self.crates, SPILL, number, place, f, self.chunk_bytes)]
            sender.send(good[:3] + [datagram] + good[3:])
            expected[reason] = expected.get(reason, 0) + 1
        sender.end(SPILL, len(bad))
        status = daemon.wait_for_stored(len(bad))
        self.assertEqual(nonzero(status["refused"]), expected)
        ledger = self.stop_daemon(daemon)
        self.assertEqual(nonzero(ledger["datagrams"]["malformed"]), expected)
        self.assertEqual(ledger["datagrams"]["received"], sender.sent)
        self.assertEqual(ledger["fragments"]["seen"], len(bad) * len(self.crates))
        receiver.stop()
        self.assert_stored(sent)

    def test_garbage_of_random_lengths(self):
        receiver = self.start_receiver()
        daemon = self.start_daemon()
        sender = self.udp_sender(daemon)
        maker, rng = level2.EventMaker(self.crates, 12), random.Random(12)
        sent = {}
        for number in range(1, 101):
            sent[5, number] = maker.fragments(5, number)
            sender.event(5, number, sent[5, number])
            for _ in range(20):
                sender.send([rng.randbytes(rng.choice([0, rng.randint(0, 15), rng.randint(12, 2100), rng.randint(0, 60000)]))])
        sender.end(5, 100)
        daemon.wait_for_stored(100)
        d = self.stop_daemon(daemon)["datagrams"]
        self.assertEqual(d["received"], sender.sent)
        self.assertEqual(sum(d["malformed"].values()) + d["late"] + d["duplicate"], 2000, d)
        receiver.stop()
        self.assert_stored(sent)


class BadFragments(harness.SystemTest):
    chunk_bytes = 8000  # a fragment is one chunk: a chunk with the header of a wrong spill does not go astray alone

    def run_spill(self, bad, spill=SPILL, good_between=1, ports=harness.UDP_PORTS, **building):
        """Sends good events with a bad one after each; `bad` is a list of functions (sender, number, fragments) that send an
        event. With one port the daemon sees everything in the order in which it was sent.
        Returns (daemon's /status after everything was settled, good events, bad events' numbers)."""
        self.receiver = self.start_receiver()
        self.daemon = self.start_daemon(building=building)
        sender = self.sender = self.udp_sender(self.daemon, ports)
        maker = self.maker = level2.EventMaker(self.crates, 13)
        good, numbers, number = {}, [], 0
        for send in bad:
            for _ in range(good_between):
                number += 1
                good[spill, number] = maker.fragments(spill, number)
                sender.event(spill, number, good[spill, number])
            number += 1
            numbers.append(number)
            send(sender, number, maker.fragments(spill, number))
        number += 1
        good[spill, number] = maker.fragments(spill, number)
        sender.event(spill, number, good[spill, number])
        sender.end(spill, number)
        status = self.daemon.wait_for(
            lambda s: s["fragments"]["seen"] and not s["fragments"]["in_flight"] and not s["events"]["in_flight"] and
            s["events"]["forwarded"] >= len(good) and s["spills"] >= 1, "everything settled")
        return status, good, numbers

    def finish(self, expected):
        ledger = self.stop_daemon(self.daemon)
        self.receiver.stop()
        return ledger, self.assert_stored(expected)

    def replacing(self, change):
        def send(sender, number, fragments):
            fragments[CRATE] = change(fragments[CRATE])
            sender.event(SPILL, number, fragments)
        return send

    def test_malformed_fragments_by_reason(self):
        bad, expected = [], {}
        for reason, changes in MALFORMED.items():
            bad += [self.replacing(c) for c in changes]
            expected[reason] = len(changes)
        status, good, numbers = self.run_spill(bad)
        f = status["fragments"]
        self.assertEqual(nonzero(f["malformed"]), expected)
        self.assertEqual(f["admitted"], len(good) * len(self.crates))
        self.assertEqual(f["incomplete"], len(numbers) * (len(self.crates) - 1))
        self.assertEqual(status["events"]["incomplete"], len(numbers))
        ledger, _ = self.finish(good)
        self.assertEqual(nonzero(ledger["fragments"]["malformed"]), expected)
        self.assertEqual(nonzero(ledger["datagrams"]["malformed"]), {})

    def test_chunks_that_disagree(self):
        self.chunk_bytes = 2000

        def all_of(sender, number, fragments):
            return [level2_sender.datagrams(self.crates, SPILL, number, place, f, self.chunk_bytes)
                    for place, f in enumerate(fragments)]

        def other_bytes_in_a_repeated_chunk(sender, number, fragments):
            queues = all_of(sender, number, fragments)
            queues[CRATE].insert(1, queues[CRATE][0][:-4] + b"\xff\xfe\xfd\xfc")
            sender.send(sum(queues, []))

        def other_length_in_a_repeated_chunk(sender, number, fragments):
            queues = all_of(sender, number, fragments)
            queues[CRATE].insert(1, queues[CRATE][0][:-4])
            sender.send(sum(queues, []))

        def trailer_says_one_chunk_less(sender, number, fragments):
            queues = all_of(sender, number, fragments)
            queues[CRATE][-1] = level2_sender.trailer(self.crates, SPILL, number, CRATE, len(queues[CRATE]) - 2)
            sender.send(sum(queues, []))

        def two_trailers_that_differ(sender, number, fragments):
            queues = all_of(sender, number, fragments)
            first = level2_sender.trailer(self.crates, SPILL, number, CRATE, len(queues[CRATE]) - 2)
            queues[CRATE].insert(0, first)
            sender.send(sum(queues, []))

        def short_chunk_in_the_middle(sender, number, fragments):
            queues = all_of(sender, number, fragments)
            queues[CRATE][1] = queues[CRATE][1][:-4]
            sender.send(sum(queues, []))

        status, good, numbers = self.run_spill([other_bytes_in_a_repeated_chunk, other_length_in_a_repeated_chunk,
                                                trailer_says_one_chunk_less, two_trailers_that_differ,
                                                short_chunk_in_the_middle], ports=1)
        f = status["fragments"]
        self.assertEqual(nonzero(f["malformed"]), {"conflicting_chunks": 2, "chunk_count": 3})
        self.assertEqual((f["incomplete"], status["events"]["incomplete"]), (5 * (len(self.crates) - 1), 5))
        self.finish(good)

    def test_repeated_datagrams(self):
        self.chunk_bytes = 2000

        def twice(sender, number, fragments):
            for place, f in enumerate(fragments):
                for d in level2_sender.datagrams(self.crates, SPILL, number, place, f, self.chunk_bytes):
                    sender.send([d, d])

        def again_after_it_was_complete(sender, number, fragments):
            sender.event(SPILL, number, fragments)
            sender.event(SPILL, number, fragments)

        status, good, numbers = self.run_spill([twice] * 10 + [again_after_it_was_complete] * 10)
        for n in numbers:
            good[SPILL, n] = self.maker.fragments(SPILL, n)
        self.assertEqual(status["events"]["incomplete"], 0)
        ledger, _ = self.finish(good)
        repeated_chunks = 20 * sum(-(-len(f) // self.chunk_bytes) for f in self.maker.fragments(SPILL, 1))
        self.assertEqual(ledger["datagrams"]["duplicate"] + ledger["datagrams"]["late"], repeated_chunks)

    def test_lost_datagrams(self):
        def without(place, index):
            def send(sender, number, fragments):
                queues = [level2_sender.datagrams(self.crates, SPILL, number, p, f, self.chunk_bytes)
                          for p, f in enumerate(fragments)]
                del queues[place][index]
                sender.send(sum(queues, []))
            return send

        self.chunk_bytes = 2000
        status, good, numbers = self.run_spill([without(0, 0), without(1, 1), without(2, -2)] * 3)
        self.assertEqual(nonzero(status["fragments"]["malformed"]), {})
        self.assertEqual(status["events"]["incomplete"], 9)
        self.assertEqual(status["fragments"]["incomplete"], 9 * len(self.crates))
        ledger, _ = self.finish(good)
        self.assertEqual([(s["admitted"], s["incomplete"]) for s in ledger["spills"]], [(len(good), 9)])

    def test_lost_trailers(self):
        """A last chunk that is shorter than the others says as much as the trailer; one that is not cannot."""
        def without_trailer(sender, number, fragments):
            queues = [level2_sender.datagrams(self.crates, SPILL, number, p, f, self.chunk_bytes)
                      for p, f in enumerate(fragments)]
            del queues[CRATE][-1]
            sender.send(sum(queues, []))

        for self.chunk_bytes, incomplete in ((2000, 0), (1556, 5)):
            with self.subTest(chunk_bytes=self.chunk_bytes):
                self.ports, self.store = harness.Ports(), self.folder / f"store-{self.chunk_bytes}"
                status, good, numbers = self.run_spill([without_trailer] * 5)
                self.assertEqual(status["events"]["incomplete"], incomplete)
                if not incomplete:
                    good.update(((SPILL, n), self.maker.fragments(SPILL, n)) for n in numbers)
                self.finish(good)

    def test_a_crate_that_never_comes(self):
        def send(sender, number, fragments):
            sender.event(SPILL, number, fragments, without=[CRATE])
        status, good, _ = self.run_spill([send] * 30)
        self.assertEqual(status["events"]["incomplete"], 30)
        self.assertEqual(status["fragments"]["incomplete"], 30 * (len(self.crates) - 1))
        self.finish(good)

    def test_incomplete_events_are_forwarded_with_the_flag(self):
        def without_a_crate(sender, number, fragments):
            sender.event(SPILL, number, fragments, without=[CRATE])

        def without_a_chunk(sender, number, fragments):
            queues = [level2_sender.datagrams(self.crates, SPILL, number, p, f, self.chunk_bytes)
                      for p, f in enumerate(fragments)]
            del queues[CRATE][1]
            sender.send(sum(queues, []))

        # All of this one arrived: it comes back as it was, with the other flag.
        wrong_slot = self.replacing(MALFORMED["wrong_slot"][0])
        self.chunk_bytes = 2000
        status, expected, numbers = self.run_spill([without_a_crate] * 10 + [without_a_chunk] * 5 + [wrong_slot] * 5,
                                                   incomplete="forward")
        self.daemon.wait_for_stored(len(expected) + 20)
        good = set(expected)
        for n in numbers:
            fragments = self.maker.fragments(SPILL, n)
            if n in numbers[15:]:
                fragments[CRATE] = MALFORMED["wrong_slot"][0](fragments[CRATE])
                expected[SPILL, n] = fragments
            else:
                expected[SPILL, n] = {p: f for p, f in enumerate(fragments) if p != CRATE}
        ledger, found = self.finish(expected)
        for key, event in found.items():
            self.assertEqual(event.flags, 0 if key in good else 2 if key[1] in numbers[15:] else 1, key)
        self.assertEqual(ledger["fragments"]["malformed"]["wrong_slot"], 5)
        self.assert_extracted(expected)

    def test_damaged_boards_come_back_as_they_were(self):
        """Wrong marks of sample or footer words do not keep a fragment from being walked: the board is stored raw."""
        changes = [lambda f: flipped(f, BOARD + 12, 0x4000), lambda f: flipped(f, NEXT_BOARD + 12 + 1000, 0x8000),
                   lambda f: flipped(f, NEXT_BOARD - 12, 0x8000), lambda f: flipped(f, NEXT_BOARD - 2, 0x2000)]
        status, expected, numbers = self.run_spill([self.replacing(c) for c in changes])
        for n, change in zip(numbers, changes):
            fragments = self.maker.fragments(SPILL, n)
            fragments[CRATE] = change(fragments[CRATE])
            expected[SPILL, n] = fragments
        self.assertEqual(status["boards"]["damaged"], 4)
        _, found = self.finish(expected)
        self.assertEqual([found[SPILL, n].flags for n in numbers], [2] * 4)
        self.assertEqual([found[SPILL, n].damaged_boards for n in numbers], [1] * 4)


class Spills(harness.SystemTest):
    def test_an_end_of_spill_that_never_comes(self):
        receiver = self.start_receiver()
        daemon = self.start_daemon()
        sender, maker = self.udp_sender(daemon), level2.EventMaker(self.crates, 14)
        sent = {}
        for spill in (20, 21):
            for number in range(1, 31):
                sent[spill, number] = maker.fragments(spill, number)
                sender.event(spill, number, sent[spill, number])
            sender.hold()
            daemon.wait_for(lambda s: s["spills"] == spill - 19, "the spill to end by silence")
        # Part of the crates' ends are lost.
        for number in range(1, 31):
            sent[22, number] = maker.fragments(22, number)
            sender.event(22, number, sent[22, number])
        sender.end(22, 30, without=[0])
        daemon.wait_for(lambda s: s["spills"] == 3, "the spill to end")
        daemon.wait_for_stored(90)
        ledger = self.stop_daemon(daemon)
        self.assertEqual([(s["spill"], s["admitted"], s["incomplete"], s["expected"]) for s in ledger["spills"]][:2],
                         [(20, 30, 0, None), (21, 30, 0, None)])
        self.assertEqual((ledger["spills"][2]["spill"], ledger["spills"][2]["admitted"]), (22, 30))
        receiver.stop()
        self.assert_stored(sent)

    def test_chunks_of_the_last_spill_do_not_fall_into_this_one(self):
        receiver = self.start_receiver()
        daemon = self.start_daemon()
        sender, maker = self.udp_sender(daemon), level2.EventMaker(self.crates, 15)
        sent = {}
        for number in range(1, 51):
            sent[511, number] = maker.fragments(511, number)
            sender.event(511, number, sent[511, number])
        sender.end(511, 50)
        for number in range(1, 51):
            sent[0, number] = maker.fragments(0, number)
            sender.event(0, number, sent[0, number])
            if number > 10:
                sender.hold()
                sender.event(511, number - 10, sent[511, number - 10])
        sender.end(0, 50)
        daemon.wait_for_stored(100)
        ledger = self.stop_daemon(daemon)
        self.assertEqual((ledger["events"]["admitted"], ledger["fragments"]["admitted"]), (100, 300))
        self.assertEqual(nonzero(ledger["fragments"]["malformed"]), {})
        self.assertGreater(ledger["datagrams"]["late"] + ledger["datagrams"]["duplicate"], 0)
        receiver.stop()
        self.assert_stored(sent)

    def test_a_late_chunk_ahead_of_its_namesake(self):
        """Most chunks hold a board header, which names the spill: they harm nobody. The last one of a fragment does not: the event
        that it spoils may be lost, and then counted, but it is never stored wrong."""
        receiver = self.start_receiver()
        daemon = self.start_daemon()
        sender, maker = self.udp_sender(daemon), level2.EventMaker(self.crates, 16)
        sent = {}
        for number in range(1, 21):
            sent[3, number] = maker.fragments(3, number)
            sender.event(3, number, sent[3, number])
        sender.end(3, 20)
        for number in range(1, 21):
            sent[4, number] = maker.fragments(4, number)
            if number % 5 != 0:
                sender.event(4, number, sent[4, number])
                continue
            # All over one port, so that they come in this order: the late chunk; the event but for the chunk of that place; that one.
            late = level2_sender.data_datagrams(self.crates, number, CRATE, sent[3, number][CRATE], self.chunk_bytes)[number // 5 - 1]
            queues = [level2_sender.datagrams(self.crates, 4, number, place, f, self.chunk_bytes)
                      for place, f in enumerate(sent[4, number])]
            last = [queues[CRATE].pop(number // 5 - 1), queues[CRATE].pop()]
            sender.hold()
            for datagram in [late, *queues[CRATE], *queues[0], *queues[2], *last]:
                sender.send_to(0, datagram)
            sender.hold()
        sender.end(4, 20)
        daemon.wait_for(lambda s: s["events"]["forwarded"] + s["events"]["incomplete"] == 40, "all events")
        ledger = self.stop_daemon(daemon)
        receiver.stop()
        if (4, 20) not in self.stored():
            del sent[4, 20]
            self.assertEqual(nonzero(ledger["fragments"]["malformed"]), {"conflicting_chunks": 1})
        self.assert_stored(sent)


if __name__ == "__main__":
    harness.main()
