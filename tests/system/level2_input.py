#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Level 2 as docs/formats.md has it. What independent electronics send over UDP comes out of the store byte for byte, and every count is
exact; the daemon acknowledges a record only when it is safe; `koto-l3 replay` sends datagrams of the
page. Each kind of wrong datagram, fragment or event has its one counted reason and its crate, and its neighbours are stored as if nothing had
happened. Wrong records: tcp_receiver_test; spills that do not end, and chunks of another spill: tests/transport/building; records, loops and lost
connections of replay: tests/tools."""
import os
import random
import select
import signal
import socket
import struct
import time
from collections import Counter

import harness
import level2
import level2_sender
from harness import nonzero
from level2_sender import HEADER


class Udp(harness.SystemTest):
    def round_trip(self, spills, opaque=0.0, **config):
        """Sends [(spill, events)] from one maker each, so that a spill number that comes again has other events."""
        receiver = self.start_receiver()
        daemon = self.start_daemon(**config)
        sender, sent = self.udp_sender(daemon), {}
        for seed, (spill, events) in enumerate(spills):
            maker = level2.EventMaker(self.crates, seed, opaque)
            for number in range(1, events + 1):
                fragments = maker.fragments(spill, number)
                sent.setdefault((spill, number), []).append(fragments)
                sender.event(spill, number, fragments)
            sender.end(spill, events)
        self.assert_all_counted(daemon, spills, sender.sent)
        self.assertEqual(receiver.stop(), 0, receiver.said())
        found, flags = {}, []
        for event in harness.store_reader.events_of(self.store):
            found.setdefault((event.spill, event.number), []).append(list(event.fragments.values()))
            flags.append(event.flags)
        self.assertTrue(found == sent, "not the bytes that were sent")
        self.assert_extracted({key: sum(all_of_them, []) for key, all_of_them in sent.items()})
        return flags

    def assert_all_counted(self, daemon, spills, datagrams):
        events, crates = sum(n for _, n in spills), len(self.crates)
        daemon.wait_for_stored(events)
        self.assertEqual(self.assert_metrics_conserved(daemon)['koto_l3_events_total{outcome="forwarded"}'], events)
        ledger = self.stop_daemon(daemon)
        self.assertEqual((ledger["run"], ledger["events"]["admitted"], ledger["events"]["forwarded"]), (7, events, events))
        f = ledger["fragments"]
        self.assertEqual((f["seen"], f["admitted"], f["incomplete"], f["late"], f["duplicate"]),
                         (events * crates, events * crates, 0, 0, 0))
        d = ledger["datagrams"]
        self.assertEqual((d["received"], d["data"], d["trailers"], d["end_of_spill"], d["duplicate"], d["late"]),
                         (datagrams, datagrams - (events + len(spills)) * crates, events * crates, len(spills) * crates, 0, 0))
        self.assertEqual(harness.nonzero(d["malformed"]), {})
        self.assertEqual([(s["spill"], s["admitted"], s["incomplete"], s["expected"]) for s in ledger["spills"]],
                         [(spill, n, 0, n) for spill, n in spills])

    def test_spill_numbers_that_come_around_again_and_boards_that_compressed_by_themselves(self):
        """512 spills later the same numbers are other events, and nobody takes them for repeats."""
        flags = self.round_trip([(5, 150), (200, 20), (400, 20), (510, 20), (511, 30), (0, 30), (1, 20), (5, 20)], opaque=0.1)
        self.assertEqual(set(flags), {0, 4})
        self.assertGreater(flags.count(4), 50)

    def test_what_waits_in_the_sockets_while_the_daemon_is_frozen(self):
        """Crate 2 is behind the others. What it sends meanwhile comes in time, though the daemon reads it only afterwards."""
        receiver, daemon = self.start_receiver(), self.start_daemon(building={"event_time_limit": "2 s"})
        sent, sender = self.make_events(40), self.udp_sender(daemon)
        for (spill, number), fragments in sent.items():
            sender.event(spill, number, fragments, without=(2,))
        sender.hold()
        daemon.signal(signal.SIGSTOP)
        late = level2_sender.UdpSender(self.crates, harness.HOST, self.ports.udp, harness.UDP_PORTS, self.chunk_bytes)
        for (spill, number), fragments in sent.items():
            late.event(spill, number, fragments, without=(0, 1))
        late.close()
        time.sleep(2.5)
        daemon.signal(signal.SIGCONT)
        sender.end(1, 40)
        daemon.wait_for_stored(40)
        ledger = self.end_and_compare(daemon, receiver, sent)
        self.assertEqual([(s["admitted"], s["incomplete"]) for s in ledger["spills"]], [(40, 0)])

    def test_the_strong_codec(self):
        flags = self.round_trip([(3, 12)], opaque=0.1, output={"codec": "strong"})
        self.assertEqual({f & 2 for f in flags}, {0})

    def test_the_whole_readout(self):
        self.crate_lines, self.crates, self.chunk_bytes = level2.KOTO, level2.readout(level2.KOTO), 8000
        self.round_trip([(1, 8)], frames={"events": 16})


class Stream(harness.SystemTest):
    def test_nothing_is_acknowledged_before_it_is_stored(self):
        """Without a receiver, which comes later, and while it stands still; also not what a sender sends again when it comes back."""
        daemon, maker, sent = self.start_daemon(spool={"folder": ""}), level2.EventMaker(self.crates, 21), {}  # a disk would make them safe
        with self.stream_sender(run=7).connect() as sender:
            def event(number):
                sent[9, number] = maker.fragments(9, number)
                return sender.event(9, number, sent[9, number])
            sender.begin(9)
            first = event(1)
            for number in range(2, 41):
                last = event(number)
            daemon.wait_for(lambda s: s["events"]["admitted"] == 40, "the daemon to take all")
            self.assertLess(sender.acknowledged, first)
            receiver = self.start_receiver()
            sender.wait_for_acknowledgement(last)
            receiver.signal(signal.SIGSTOP)
            for number in range(41, 81):
                event(number)
            daemon.wait_for(lambda s: s["events"]["admitted"] == 80, "the daemon to take all")
            sender.reconnect()  # the events are known, but not safe: duplicates
            self.assertEqual(sender.acknowledged, last)
            for number in range(81, 101):
                event(number)
            end = sender.end(9, 100)
            daemon.wait_for(lambda s: s["events"]["admitted"] == 100, "the daemon to take all")
            self.assertFalse(sender.listen(1, lambda: sender.acknowledged > last), "it was acknowledged before it was stored")
            self.assertEqual(daemon.status()["events"]["in_flight"], 60)
            receiver.signal(signal.SIGCONT)
            sender.wait_for_acknowledgement(end)
        ledger = self.end_and_compare(daemon, receiver, sent)
        self.assertEqual(ledger["fragments"]["duplicate"], 40 * 3)
        self.assertEqual((ledger["events"]["admitted"], ledger["events"]["forwarded"]), (100, 100))


class Replay(harness.SystemTest):
    def setUp(self):
        super().setUp()
        self.sent, self.expected = {}, Counter()
        for spill, events in ((0, 20), (511, 30)):
            self.sent |= self.make_events(events, spill)
            for place in range(len(self.crates)):
                for number in range(1, events + 1):
                    self.expected.update(level2_sender.datagrams(self.crates, spill, number, place, self.sent[spill, number][place], self.chunk_bytes))
                self.expected.update(level2_sender.end_of_spill(self.crates, spill, place, events))

    def receive(self, *options):
        """The datagrams that came to each port."""
        sockets = [self.enterContext(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) for _ in range(harness.UDP_PORTS)]
        for i, s in enumerate(sockets):
            s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
            s.bind((harness.HOST, self.ports.udp + i))
        replay = self.start_replay(self.write_events(self.sent), "--chunk", self.chunk_bytes, *options, to="udp", rate="500ev/s")
        by_port = [[] for _ in sockets]
        readable = sockets
        while readable or replay.running():
            readable = select.select(sockets, [], [], 0.1)[0]
            for s in readable:
                by_port[sockets.index(s)].append(s.recv(1 << 16))
        self.assertEqual(replay.wait(), 0, replay.said())
        return by_port

    def test_datagrams_are_those_of_the_page(self):
        by_port = self.receive()
        # They go round the ports: that gives the order in which they were sent.
        came = [by_port[i % 8][i // 8] for i in range(sum(map(len, by_port)))]
        self.assertEqual(Counter(came), self.expected)
        # A fragment's chunks come in order and its trailer last; a spill's end comes after all of it.
        ends, at = 0, {}
        for datagram in came:
            name, chunk, mark = level2_sender.HEADER.unpack_from(datagram)
            if len(datagram) == 12 and mark >> 17:
                ends += 1
                at = {} if ends % len(self.crates) == 0 else at
                continue
            self.assertEqual(ends % len(self.crates), 0)
            self.assertEqual(chunk, at.get(name, 0))
            at[name] = chunk + 1

    def test_several_threads_send_the_same_datagrams(self):
        self.assertEqual(Counter(sum(self.receive("--threads", "3"), [])), self.expected)


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
        expected = dict(Counter(reason for reason, _ in MALFORMED))
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
        self.assertEqual(nonzero(f["malformed"]), dict(Counter(reason for reason, _, _ in CHANGES if reason)))
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
