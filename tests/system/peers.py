#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The independent peers by themselves: what they send adds up to docs/formats.md, and the reader sees everything that is wrong
with a store. Needs none of the programs."""
import pathlib
import random
import struct
import tempfile
import unittest

import harness  # noqa: F401: it finds the peers
import crc32c
import level2
import level2_sender
import line_sender
import store_reader


def crc_by_table(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ crc32c._TABLE[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


def pack_record(samples):
    lowest = min(samples)
    bits = (max(samples) - lowest).bit_length()
    packed = sum((s - lowest) << (bits * i) for i, s in enumerate(samples))
    return struct.pack("<BH", bits, lowest) + packed.to_bytes(8 * bits, "little")


def pack_board(board, long, header=True, footer=True):
    """(form, data): everything stored, which is always allowed."""
    words = [w & 0x3FFF for w in struct.unpack(">1024H", board[12:12 + 2048])]
    channels = 4 if long else 16
    data = (board[:12] if header else b"") + (board[-12:] if footer else b"")
    for channel in range(channels):
        samples = words[channel::channels]
        for at in range(0, len(samples), 64):
            data += pack_record(samples[at:at + 64])
    return long | header << 1 | footer << 2, data


def pack_event(crates, spill, number, fragments):
    boards, data, table = b"", b"", b""
    for place, (crate, fragment) in enumerate(zip(crates, fragments)):
        table += struct.pack("<BBHI", place, 0, crate.boards, len(fragment))
        for i in range(crate.boards):
            board = fragment[4 + 2072 * i:4 + 2072 * (i + 1)]
            form, packed = pack_board(board, crate.kind, footer=board[-12:] != level2.FOOTER)
            boards += struct.pack("<BBH", 3 + i, form, len(packed))
            data += packed
    body = table + boards
    body += bytes(-len(body) % 8) + data
    body += bytes(-len(body) % 8)
    n = sum(c.boards for c in crates)
    return struct.pack("<IIIHHIIII", 32 + len(body), spill, number, 0, len(crates), n, 0, 0, 0) + body


class Checksum(unittest.TestCase):
    def test_the_value_of_the_page_and_any_length(self):
        self.assertEqual(crc32c.crc32c(b"123456789"), 0xE3069283)
        rng = random.Random(1)
        for n in [*range(70), 255, 256, 1000, 4095, 33160]:
            data = rng.randbytes(n)
            self.assertEqual(crc32c.crc32c(data), crc_by_table(data), n)


class Sender(unittest.TestCase):
    def test_sizes_of_the_page(self):
        crates = level2.readout(level2.KOTO)
        self.assertEqual(len(crates), 18)
        self.assertEqual(sum(c.boards for c in crates), 284)
        fragments = level2.EventMaker(crates).fragments(1, 1)
        self.assertEqual({len(f) for f in fragments}, {33160, 24872})
        self.assertEqual(sum(map(len, fragments)), 588592)

    def test_datagrams(self):
        crates = level2.readout(level2.SMALL)
        fragment = level2.EventMaker(crates).fragments(300, 20000)[1]
        *data, trailer = level2_sender.datagrams(crates, 300, 20000, 1, fragment, 2000)
        self.assertEqual(b"".join(d[12:] for d in data), fragment)
        self.assertEqual([struct.unpack(">III", d[:12]) for d in data], [(3 * 19999 + 2, i, 0) for i in range(4)])
        self.assertEqual(struct.unpack(">III", trailer), (3 * 19999 + 2, 4, 300 << 8 | 1))
        parts = [struct.unpack(">III", d) for d in level2_sender.end_of_spill(crates, 300, 2, 50000)]
        self.assertEqual([(p, n) for p, n, _ in parts], [(0, 2), (1, 2)])
        self.assertEqual([(d >> 17, d >> 8 & 511, d & 255) for _, _, d in parts], [(32767, 300, 2), (17233, 300, 2)])


class Reader(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        crates = level2.readout(["4: 1 x 125 MHz", "5: 1 x 500 MHz"])
        maker = level2.EventMaker(crates, 5)
        self.sent = {(511, n): maker.fragments(511, n) for n in range(1, 7)}
        events = [pack_event(crates, s, n, f) for (s, n), f in self.sent.items()]
        blocks = [line_sender.block(77, i + 1, b"".join(events[2 * i:2 * i + 2]), 2) for i in range(3)]
        self.borders = [16, 16 + len(blocks[0]), 16 + len(blocks[0]) + len(blocks[1])]
        self.data = struct.pack("<4sB3sQ", b"KL3S", 2, bytes(3), 1) + b"".join(blocks)
        self.file = self.folder / "blocks-000001.kl3"

    def test_it_rebuilds_what_was_packed(self):
        self.file.write_bytes(self.data)
        found = {(e.spill, e.number): list(e.fragments.values()) for e in store_reader.events_of(self.folder)}
        self.assertEqual(found, self.sent)

    def test_it_sees_every_flipped_bit(self):
        rng = random.Random(2)
        places = [*range(5), *range(8, 16), *range(16, 80), *rng.sample(range(80, len(self.data)), 150)]
        for at in places:
            data = bytearray(self.data)
            data[at] ^= 1 << rng.randrange(8)
            self.file.write_bytes(data)
            with self.assertRaises(store_reader.StoreError, msg=f"byte {at}"):
                list(store_reader.read_store(self.folder))

    def test_it_stops_at_a_block_that_is_not_whole(self):
        for end in [0, 5, 16, 17, 79, 80, *self.borders[1:], self.borders[1] - 1, self.borders[2] + 63, len(self.data) - 1]:
            self.file.write_bytes(self.data[:end])
            whole = sum(end >= border for border in [*self.borders[1:], len(self.data)])
            self.assertEqual(len(list(store_reader.read_store(self.folder))), whole, end)

    def test_it_sees_a_block_that_is_missing_or_there_twice(self):
        first, second = self.data[16:self.borders[1]], self.data[self.borders[1]:self.borders[2]]
        third = self.data[self.borders[2]:]
        for blocks in (first + third, first + first, first + third + second, second + third):
            self.file.write_bytes(self.data[:16] + blocks)
            with self.assertRaises(store_reader.StoreError):
                list(store_reader.read_store(self.folder))


if __name__ == "__main__":
    unittest.main(verbosity=2)
