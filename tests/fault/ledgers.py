# SPDX-License-Identifier: Apache-2.0
"""What was sent against what is stored, event by event and bit for bit, with the reader of tests/system/peers that was written from
docs/formats.md alone. A million events take a minute: the packed form of an event that was unpacked and found right once is
remembered, and the next event of that pattern need only be equal to it."""
import struct
from typing import NamedTuple

import l2raw
import level2
import store_reader
import stream_sender

PATTERNS = 64
PLAIN = 60  # of them; the others have headers and footers that are stored as they are
SPILLS = 512  # numbers wrap
HEADER_BYTES = 12  # of a datagram
UNREADABLE = store_reader.StoreError, struct.error, OverflowError, IndexError


class Sent:
    """Events in spills of equal length, made of a few patterns: which event has which bytes is a function of its key."""

    def __init__(self, crates, spills, events, seed=1, first=1):
        self.crates, self.first, self.spills, self.events = crates, first, spills, events
        self._patterns = self._choose(level2.EventMaker(crates, seed))

    def _choose(self, maker):
        plain, odd, number = [], [], 0
        while len(plain) < PLAIN or len(odd) < PATTERNS - PLAIN:
            number += 1
            fragments = maker.fragments(1, number)
            boards = [f[4 + level2.BOARD_BYTES * i:][:level2.BOARD_BYTES] for c, f in zip(self.crates, fragments) for i in range(c.boards)]
            same = len({b[4:8] for b in boards}) == 1 and all(b.endswith(level2.FOOTER) for b in boards)
            (plain if same else odd).append(fragments)
        return plain[:PLAIN] + odd[:PATTERNS - PLAIN]

    def pattern(self, number):
        return number * 37 % PATTERNS

    def fragments(self, spill, number):
        """As the crates send them, in the order of the readout."""
        return [level2.renamed(f, c.boards, spill, number) for c, f in zip(self.crates, self._patterns[self.pattern(number)])]

    def keys(self):
        return [((self.first + s) % SPILLS, n) for s in range(self.spills) for n in range(1, self.events + 1)]

    def keys_of(self, ledger):
        """Those that replay sent, by its ledger, before it was interrupted."""
        return [(spill["spill"], n) for spill in ledger["spills"] for n in range(1, spill["admitted"] + 1)]

    def write(self, path, spacing=1_000_000):
        """The first spill: `koto-l3 replay --loop` makes the others of it."""
        l2raw.write(path, self.crates, {self.first: [self.fragments(self.first, n) for n in range(1, self.events + 1)]}, spacing=spacing)
        return path


class SentFile(Sent):
    """The events of a .l2raw file of one spill."""

    def __init__(self, path, crates, spills):
        self.crates, self.first, self.spills = crates, 1, spills
        bodies = (body for kind, _, _, body in l2raw.read(path) if kind == stream_sender.EVENT)
        self._patterns = [[fragments[place] for place in sorted(fragments)] for _, _, fragments in map(l2raw.read_event, bodies)]
        self.events = len(self._patterns)

    def pattern(self, number):
        return number - 1


class Comparison(NamedTuple):
    stored: set
    missing: set
    doubled: set   # within one session: never right
    repeated: set  # by another session, because it was sent again: to a daemon that was started anew, or to another node
    strange: set   # nobody sent them
    wrong: set     # other bytes than were sent
    hollow: int    # blocks without an event that do not say why

    def faults(self, may_miss=frozenset(), may_differ=frozenset()):
        """In words: nothing is allowed that is not named."""
        found = (("missing", self.missing - may_miss), ("stored twice", self.doubled), ("never sent", self.strange),
                 ("with wrong bytes", self.wrong - may_differ))
        hollow = [f"{self.hollow} blocks are stored without an event, and do not say that their events were there already"] * (self.hollow > 0)
        return hollow + [f"{len(keys)} events {what}: {sorted(keys)[:6]}" for what, keys in found if keys]


def packed_blocks(store, whole=False):
    """In the order in which they were stored."""
    return store_reader.read_store(store, whole, read=store_reader.packed)


def keyed(block):
    """(key, packed event) of each of its events."""
    return ((store_reader.EVENT_HEADER.unpack_from(packed)[1:3], packed) for packed in block.events)


def compare(sent, *stores, keys=None, whole=True):
    """Several stores if a receiver with an empty folder took over; `whole`: each has every block of its sessions."""
    expected = set(sent.keys() if keys is None else keys)
    seen, doubled, repeated, strange, wrong, right, hollow = {}, set(), set(), set(), set(), {}, 0
    for block in (block for store in stores for block in packed_blocks(store, whole)):
        # A spool sends a hollow block in place of one that it has lost, so that the sequence has no gap. A block of settings is not hollow.
        hollow += not (block.events or block.repeated or block.settings)
        for key, packed in keyed(block):
            if key not in expected:
                strange.add(key)
                continue
            sessions = seen.setdefault(key, set())
            if sessions:
                (doubled if block.session in sessions else repeated).add(key)
            sessions.add(block.session)
            if not _is_right(sent, key, packed, right):
                wrong.add(key)
    return Comparison(set(seen), expected - seen.keys(), doubled, repeated, strange, wrong, hollow)


def _is_right(sent, key, packed, right):
    tail = packed[12:]  # behind length, spill and number
    pattern = sent.pattern(key[1])
    known = right.setdefault(pattern, set())
    if tail in known:
        return True
    try:
        event = store_reader.read_event(packed)
    except UNREADABLE:  # in a block that came as it was sealed: the event was wrong before
        return False
    if list(event.fragments.values()) != sent.fragments(*key):
        return False
    known.add(tail)
    return True


def stored_order(store):
    """The keys, in the order in which they were stored."""
    return [key for block in packed_blocks(store) for key, _ in keyed(block)]


class Datagrams:
    """Which datagrams an event has, and which of them it cannot do without."""

    def __init__(self, crates, chunk_bytes):
        self.crates, self.chunk_bytes = crates, chunk_bytes
        self.fragment_bytes = [8 + level2.BOARD_BYTES * c.boards for c in crates]

    def chunks(self, place):
        return -(-self.fragment_bytes[place] // self.chunk_bytes)

    def trailer_is_needed(self, place):
        """A last chunk that is shorter than the others says as much as the trailer."""
        return self.fragment_bytes[place] % self.chunk_bytes == 0

    def name(self, fragment):
        """(event number, crate place)"""
        return (fragment - 1) // len(self.crates) + 1, (fragment - 1) % len(self.crates)

    def fragment(self, number, place):
        return len(self.crates) * (number - 1) + place + 1

    def of_event(self, number):
        """[(fragment id, chunk index)], trailers last in each fragment."""
        return [(self.fragment(number, p), c) for p in range(len(self.crates)) for c in range(self.chunks(p) + 1)]

    def names_spill(self, fragment, chunk):
        """A board header does, and a trailer; the last chunk of a fragment holds the end of its one board."""
        return chunk == 0 or chunk == self.chunks(self.name(fragment)[1])

    def matters(self, fragment, chunk):
        place = self.name(fragment)[1]
        return chunk < self.chunks(place) or self.trailer_is_needed(place)

    def event_hit(self, fault):
        """The key of the event that a datagram of a journal belongs to; None for an end of spill."""
        if fault["length"] == 12 and fault["discriminator"] >> 17:
            return None
        return fault["spill"], self.name(fault["fragment"])[0]


class Hits:
    """What the faults that a relay wrote down may do to events. Level 2 has no checksum of its own: its marks, numbers and lengths are checked,
    and what is carried comes out as it came."""

    def __init__(self, journal, datagrams):
        self.lost = set()     # they cannot have been whole in time
        self.astray = set()   # a datagram that was made to look like one of theirs may have spoiled them
        self.changed = {}     # key: [(crate place, byte, bit)]
        for fault in journal.of("dropped", "late"):
            key = datagrams.event_hit(fault)
            if key and datagrams.matters(fault["fragment"], fault["chunk"]):
                self.lost.add(key)
        for fault in journal.of("damaged"):
            key, (byte, bit) = datagrams.event_hit(fault), divmod(fault["bit"], 8)
            if byte >= HEADER_BYTES:
                place = datagrams.name(fault["fragment"])[1]
                self.changed.setdefault(key, []).append((place, fault["chunk"] * datagrams.chunk_bytes + byte - HEADER_BYTES, bit))
                continue
            fragment, _, discriminator = fault["now"]
            if fragment:
                self.astray.add((fault["spill"], datagrams.name(fragment)[0]))
            if fault["length"] > HEADER_BYTES:
                self.lost.add(key)
            elif key:
                # A trailer that names another spill: the event of this number there is begun too early, and given up before it comes.
                self.astray |= {key, (discriminator >> 8 & 0x1FF, key[1])}
        self.may_miss = self.lost | self.astray | self.changed.keys()

    def _as_it_came(self, key, fragments):
        changed = [bytearray(f) for f in fragments]
        for place, at, bit in self.changed[key]:
            changed[place][at] ^= 1 << bit
        return [bytes(f) for f in changed]

    def faults(self, sent, found, store):
        """In words, what is not as it must be."""
        yield from found.faults(self.may_miss, self.astray | self.changed.keys())
        if stored := self.lost & found.stored:
            yield f"{len(stored)} events stored though they came neither whole nor right: {sorted(stored)[:6]}"
        for key, packed in (event for block in packed_blocks(store) for event in keyed(block)):
            if key in self.changed and key not in self.astray:
                if list(store_reader.read_event(packed).fragments.values()) != self._as_it_came(key, sent.fragments(*key)):
                    yield f"event {key}, changed on its way, is not stored as it came: {self.changed[key]}"
