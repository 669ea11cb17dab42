# SPDX-License-Identifier: Apache-2.0
"""What the faults that a relay wrote down must do to the events: which cannot be whole, which come with which bits changed, and whether
anybody could see that. Level 2 has no checksum of its own: marks, numbers and lengths can be checked, a sample's 14 bits cannot."""
from level2 import BOARD_BYTES, SLOTS

UNSEEN = "in samples and other free bits, carried as they came"  # what is carried must come out as it came
DAMAGED = "in marks of samples or footers, stored raw and flagged"
OPAQUE = "that call a board compressed, stored raw and flagged"
REFUSED = "in numbers and marks that are checked"
HEADER_WORDS, SAMPLE_WORDS, BOARD_WORDS = 6, 1024, 1036
FLAG_DAMAGED, FLAG_OPAQUE = 2, 4  # of a packed event


def kind_of_bit(fragment_bytes, at, bit):
    """Of bit `bit` (0 is the lowest) of byte `at` of a fragment of one full board, in the first slot."""
    if at < 4 or at >= fragment_bytes - 4:
        return REFUSED  # the crate's first and last word
    word = (at - 4) % BOARD_BYTES // 2
    bit += 8 if at % 2 == 0 else 0  # of the 16-bit word, big-endian
    if word < HEADER_WORDS:
        if word == 4 and bit < 5:  # which boards a crate has is not configured, only how many: another slot may be right
            return UNSEEN if SLOTS[0] ^ 1 << bit in SLOTS else REFUSED
        if bit >= 14 or word >= 4:  # the mark; spill, event number
            return REFUSED
        return OPAQUE if word == 1 and bit == 13 else UNSEEN
    marks_from = 14 if word < HEADER_WORDS + SAMPLE_WORDS else 12
    return DAMAGED if bit >= marks_from else UNSEEN


class Hits:
    def __init__(self, journal, datagrams):
        self.lost = set()     # they cannot have been whole in time
        self.astray = set()   # a datagram that was made to look like one of theirs may have spoiled them
        self.changed = {}     # key: [(crate place, byte, bit, kind)]
        self.strays = {}      # key: [(crate place, chunk, (key, place and chunk that it was))]: a chunk of another event
        self.filled_with_strays = 0
        self.flips = {}       # kind: how many
        for fault in journal.of("dropped", "late"):
            self._leave_out(datagrams, fault)
        for fault in journal.of("damaged"):
            self._change(datagrams, fault)
        for key, flips in self.changed.items():
            if any(kind == REFUSED for *_, kind in flips):
                self.lost.add(key)
        self.carried = {key: flips for key, flips in self.changed.items() if key not in self.lost}

    def _leave_out(self, datagrams, fault):
        key = datagrams.event_hit(fault)
        if key and datagrams.matters(fault["fragment"], fault["chunk"]):
            self.lost.add(key)

    def _change(self, datagrams, fault):
        key, (byte, bit) = datagrams.event_hit(fault), divmod(fault["bit"], 8)
        data = fault["length"] > 12
        if byte < 12:
            self._count("in datagrams' own headers")
            fragment = fault["now"][0]
            if fragment:
                self.astray.add((fault["spill"], datagrams.name(fragment)[0]))
            if data:
                self.lost.add(key)
                self._go_astray(datagrams, fault, key)
            elif key:
                # A trailer that names another spill: the event of this number there is begun too early, and given up before it comes.
                self.astray |= {key, (fault["now"][2] >> 8 & 0x1FF, key[1])}
            return
        place = datagrams.name(fault["fragment"])[1]
        at = fault["chunk"] * datagrams.chunk_bytes + byte - 12
        kind = kind_of_bit(datagrams.fragment_bytes[place], at, bit)
        self._count(kind)
        self.changed.setdefault(key, []).append((place, at, bit, kind))

    def _go_astray(self, datagrams, fault, key):
        """A last chunk names no spill and no event. Where its fragment id was damaged, and the right one comes too late, nothing tells
        them apart: its bytes may stand in the other event."""
        fragment, chunk, discriminator = fault["now"]
        if fragment and not discriminator:
            number, place = datagrams.name(fragment)
            was = key, datagrams.name(fault["fragment"])[1], fault["chunk"]
            self.strays.setdefault((fault["spill"], number), []).append((place, chunk, was))

    def _count(self, kind):
        self.flips[kind] = self.flips.get(kind, 0) + 1

    def as_it_came(self, key, fragments):
        """What an event that was changed must look like where it is stored."""
        changed = [bytearray(f) for f in fragments]
        for place, at, bit, _ in self.carried[key]:
            changed[place][at] ^= 1 << bit
        return [bytes(f) for f in changed]

    def flags(self, key):
        kinds = {kind for *_, kind in self.carried[key]}
        return FLAG_DAMAGED * (DAMAGED in kinds), FLAG_OPAQUE * (OPAQUE in kinds)

    def _holds_a_stray(self, sent, key, fragments, chunk_bytes):
        for place, chunk, (source, its_place, its_chunk) in self.strays.get(key, ()):
            changed = list(sent.fragments(*key))
            stray = sent.fragments(*source)[its_place][its_chunk * chunk_bytes:][:chunk_bytes]
            at = chunk * chunk_bytes
            changed[place] = changed[place][:at] + stray + changed[place][at + len(stray):]
            if changed == fragments:
                return True
        return False

    def wanted(self, found):
        """The events that must be looked at one by one."""
        return self.carried.keys() | found.wrong

    def faults(self, sent, found, events, chunk_bytes=0):
        """In words, what is not as it must be. `events`: those that are `wanted`, unpacked."""
        strays = {key for key in found.wrong & self.strays.keys() - self.carried.keys()
                  if self._holds_a_stray(sent, key, list(events[key].fragments.values()), chunk_bytes)}
        self.filled_with_strays = len(strays)
        events = {key: event for key, event in events.items() if key in self.carried}
        wrong = [*found.faults(may_miss=self.lost | self.astray, may_differ=self.carried.keys() | strays)]
        if stored := self.lost & found.stored:
            wrong.append(f"{len(stored)} events stored though they came neither whole nor right: {sorted(stored)[:6]}")
        for key, event in events.items():
            if list(event.fragments.values()) != self.as_it_came(key, sent.fragments(*key)):
                wrong.append(f"event {key}, changed on its way, is not stored as it came: {self.carried[key]}")
            damaged, opaque = self.flags(key)
            if event.flags & FLAG_DAMAGED != damaged or event.flags & FLAG_OPAQUE != opaque:
                wrong.append(f"event {key} has flags {event.flags}: {self.carried[key]}")
        return wrong
