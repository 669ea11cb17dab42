# SPDX-License-Identifier: Apache-2.0
"""What crates send: board packets and fragments, built from sections 1 and 2 of docs/formats.md and nothing else.

An `EventMaker` gives every (spill, event number) the same fragments each time it is asked, so that a test can send an
event, forget it, and later say what must have come out."""
import random
import re
import struct
import sys
from array import array
from typing import NamedTuple

SLOTS = range(3, 19)
SAMPLE_WORDS = 1024
BOARD_BYTES = 2072
CHANNELS = {0: 16, 1: 4}  # by kind: 0 is a board at 125 MHz, 1 at 500 MHz

# The default readout of section 2.
KOTO = ["0-10: 16 x 125 MHz", "11: 12 x 125 MHz", "12-14: 16 x 125 MHz", "15-17: 16 x 500 MHz"]
SMALL = ["0-1: 3 x 125 MHz", "2: 2 x 500 MHz"]


class Crate(NamedTuple):
    number: int
    boards: int
    kind: int


def readout(lines):
    crates = []
    for line in lines:
        first, last, boards, rate = re.fullmatch(r"(\d+)(?:-(\d+))?: (\d+) x (125|500) MHz", line).groups()
        for number in range(int(first), int(last or first) + 1):
            crates.append(Crate(number, int(boards), int(rate == "500")))
    return crates


def big_endian(words) -> bytes:
    words = array("H", words)
    if sys.byteorder == "little":
        words.byteswap()
    return words.tobytes()


def header(spill, number, slot, stamp, first=0, second=0) -> bytes:
    return big_endian([0xC000 | first, 0xC000 | second, 0xC000 | stamp >> 14, 0xC000 | stamp & 0x3FFF,
                       0xC000 | (spill & 0xFF) << 6 | (spill >> 8) << 5 | slot, 0xC000 | number & 0x3FFF])


FOOTER = big_endian([0x6000] * 6)
COMPRESSED = 1 << 13


def opaque_board(spill, number, slot, stamp, rng) -> bytes:
    """A board that compressed its samples by itself: any number of compression and sample words."""
    extra = big_endian([0xC000 | rng.getrandbits(14) for _ in range(rng.randint(0, 32))])
    count = rng.randint(1, SAMPLE_WORDS)
    samples = big_endian([0x8000 | rng.getrandbits(14) for _ in range(count)])
    footer = big_endian([0x6000 | rng.getrandbits(12) for _ in range(6)])
    return header(spill, number, slot, stamp, second=COMPRESSED) + extra + samples + footer + bytes(2 * (count % 2))


def fragment(number, boards) -> bytes:
    return struct.pack(">I", 0x3C000000 | number & 0x3FFF) + b"".join(boards) + struct.pack(">I", 0x24000000)


def renamed(fragment_bytes, boards, spill, number) -> bytes:
    """The same fragment, of full boards, as that of another event: quicker than to make one."""
    changed = bytearray(fragment_bytes)
    struct.pack_into(">I", changed, 0, 0x3C000000 | number & 0x3FFF)
    for i, slot in enumerate(SLOTS[:boards]):
        struct.pack_into(">HH", changed, 4 + BOARD_BYTES * i + 8, 0xC000 | (spill & 0xFF) << 6 | (spill >> 8) << 5 | slot,
                         0xC000 | number & 0x3FFF)
    return bytes(changed)


def waveforms(crates, fragments):
    """("CRATE/SLOT/CHANNEL", samples) of each channel of {place: fragment of full boards}."""
    for place, of_crate in fragments.items():
        crate, channels = crates[place], CHANNELS[crates[place].kind]
        for i, slot in enumerate(SLOTS[:crate.boards]):
            words = struct.unpack_from(f">{SAMPLE_WORDS}H", of_crate, 4 + i * BOARD_BYTES + 12)
            for channel in range(channels):
                yield f"{crate.number}/{slot}/{channel}", [w & 0x3FFF for w in words[channel::channels]]


class EventMaker:
    """Events of every kind that section 1 allows: quiet and loud channels, flat ones and ones over the full range, headers and
    footers that can be predicted and ones that cannot, and on demand boards that compressed by themselves."""

    def __init__(self, crates, seed=1, opaque=0.0):
        self.crates = crates
        self.seed = seed
        self.opaque = opaque
        rng = random.Random(seed)
        self._samples = {kind: [big_endian(self._words(rng, CHANNELS[kind])) for _ in range(48)] for kind in (0, 1)}

    @staticmethod
    def _words(rng, channels):
        words = array("H", bytes(2 * SAMPLE_WORDS))
        length = SAMPLE_WORDS // channels
        for channel in range(channels):
            bits = rng.choice([0, 1, 2, 3, 4, 4, 5, 5, 6, 6, 7, 8, 9, 10, 11, 12, 13, 14])
            lowest = rng.randint(0, (1 << 14) - (1 << bits))
            words[channel::channels] = array("H", [0x8000 | lowest + rng.getrandbits(bits) if bits else 0x8000 | lowest
                                                   for _ in range(length)])
        return words

    def fragments(self, spill, number):
        """One fragment for each crate, in the order of the readout."""
        rng = random.Random(self.seed << 40 ^ spill << 24 ^ number)
        stamp = rng.getrandbits(28)
        oddities = rng.random()
        result = []
        for crate in self.crates:
            boards = []
            for slot in SLOTS[:crate.boards]:
                if self.opaque and rng.random() < self.opaque:
                    boards.append(opaque_board(spill, number, slot, stamp, rng))
                    continue
                first = rng.getrandbits(14) if crate.number == 14 and slot == 15 else 0
                mine, footer = stamp, FOOTER
                if oddities < 0.2 and rng.random() < 0.5:
                    mine = rng.getrandbits(28)
                if 0.1 < oddities < 0.3 and rng.random() < 0.5:
                    footer = big_endian([0x6000 | rng.getrandbits(12) for _ in range(6)])
                samples = rng.choice(self._samples[crate.kind])
                # The last sample is the event's own, so that no two boards are equal.
                boards.append(header(spill, number, slot, mine, first) + samples[:-2] +
                              big_endian([0x8000 | rng.getrandbits(14)]) + footer)
            result.append(fragment(number, boards))
        return result
