# SPDX-License-Identifier: Apache-2.0
"""A reader of files of the strong codec, written from docs/formats.md, section 5, alone: slow, and plain. It takes the
tables from the page, too."""
import pathlib
import re
import struct

from crc32c import crc32c

PAGE = pathlib.Path(__file__).resolve().parents[3] / "docs/formats.md"


def tables():
    part = re.search(r"<!-- strong tables -->(.*)<!-- end of strong tables -->", PAGE.read_text(), re.S).group(1)
    return [[int(f) for f in row.split()] for row in re.findall(r"^\| \d+ \| ([\d ]+) \|$", part, re.M)]


TABLES = tables()
SLOTS = [[(s, sum(t[:s])) for s, f in enumerate(t) for _ in range(f)] for t in TABLES]


class Damage(Exception):
    pass


def i16(v):
    return ((v + 0x8000) & 0xFFFF) - 0x8000


def unfold(z):
    return z // 2 if z % 2 == 0 else -((z + 1) // 2)


class Model:
    def __init__(self, start, filter_):
        a = (2 + start % 2) << start // 2
        self.filter, self.y, self.level, self.age = filter_, [0] * 4, 8, 0
        self.lead, self.fast, self.slow = 0, a, 64 * a

    def look(self):
        """Table and number of low bits of the next residual."""
        y, c = self.y, self.filter
        self.filtered = ((self.level - 8) * (32 - sum(c)) + 16 * sum(a * b for a, b in zip(c, y)) + 256) >> 9
        self.best = y[0] if self.lead > 9 else self.filtered
        m = max(self.fast + (self.slow >> 6), 4)
        o = m.bit_length() - 1
        n = min(2 * (o - 2) + (m >> o - 1 & 1), 21)
        return (n, 0) if n < 10 else (10 + n % 2, (n - 10) // 2 + 1)

    def take(self, r):
        y = i16(self.best + r)
        self.age += 1
        self.fast += 4 * abs(r) - (self.fast >> 2)
        self.slow += 16 * abs(r) - (self.slow >> 6)
        self.lead += abs(y - self.filtered) - abs(y - self.y[0]) - (self.lead >> 3)
        s = 1 if self.age < 2 else 2 if self.age < 4 else 3 if self.age < 8 else 4
        self.level += (y << 4 - s) - (self.level >> s)
        self.y = [y] + self.y[:3]
        return y


def bits_of(data, width, count):
    number = int.from_bytes(data, "little")
    return [number >> width * i & (1 << width) - 1 for i in range(count)]


def read_group(data, long):
    """The 1024 samples of the group at the begin of data, and its length."""
    length, = struct.unpack_from("<H", data)
    n, start = length & 0x7FF, length >> 11
    if n == 0:
        if start or len(data) < 2050:
            raise Damage("a raw group")
        return list(struct.unpack_from("<1024H", data, 2)), 2050
    end = 2 + n
    if end > len(data):
        raise Damage("a group is cut off")
    filter_bits, tall = struct.unpack_from("<IB", data, 2)
    c = [(v ^ 64) - 64 for v in (filter_bits >> 7 * j & 127 for j in range(4))]
    h, at, high = filter_bits >> 28, 7, [0] * 16
    if not long:
        high = [data[7]] + bits_of(data[8:8 + (15 * h + 7) // 8], h, 15)
        at = 8 + (15 * h + 7) // 8
    x = []
    for lane in range(8):
        size = 3 + (tall >> lane & 1)
        x.append(int.from_bytes(data[at:at + size], "little"))
        at += size
    if at > end or min(x) < 65536 or h > (0 if long else 8):
        raise Damage("the head of a group")

    def word():
        nonlocal at
        if at + 2 > end:
            raise Damage("a group has too few words")
        at += 2
        return int.from_bytes(data[at - 2:at], "little")

    piece, y, models = 128 if long else 64, [[] for _ in range(8)], [None] * 8
    for step in range(128):
        if step % piece == 0:
            models = [Model(start, c) for _ in range(8)]
            for lane in range(8):
                y[lane].append(0)
            continue
        r, escaped = [0] * 8, []
        for lane in range(8):
            t, k = models[lane].look()
            slot, low = x[lane] >> k & 1023, x[lane] & (1 << k) - 1
            s, before = SLOTS[t][slot]
            x[lane] = TABLES[t][s] * (x[lane] >> 10 + k) + slot - before
            r[lane] = unfold(s) * 2 ** k + low
            if s == len(TABLES[t]) - 1:
                escaped.append(lane)
        for lane in range(8):
            if x[lane] < 65536:
                x[lane] = x[lane] << 16 | word()
        for lane in escaped:
            r[lane] = i16(word())
        for lane in range(8):
            y[lane].append(models[lane].take(r[lane]))
    if at != end or any(not 65536 <= v < 131072 for v in x):
        raise Damage("the end of a group")
    rests = [v & 0xFFFF for v in x]
    folded = rests if long else [(rests[i // 2] >> 8 * (i % 2) & 0xFF) | high[i] << 8 for i in range(16)]
    first = [folded[0]]
    for z in folded[1:]:
        first.append((first[-1] + unfold(z)) & 0xFFFF)
    flat = [v for lane in y for v in lane]
    return [(v + first[i // piece]) & 0xFFFF for i, v in enumerate(flat)], end


def read_file(data):
    """All samples of a file."""
    magic, version, codec, _, samples, crc = struct.unpack_from("<4sBBHII", data)
    if (magic, version, codec) != (b"KL3W", 1, 2) or crc32c(data[:12]) != crc:
        raise Damage("the head of the file")
    at, all_samples = 16, []
    while True:
        records, length, groups_crc, crc = struct.unpack_from("<IIII", data, at)
        if crc32c(data[at:at + 12]) != crc:
            raise Damage("the head of a section")
        at += 16
        if records == 0:
            if length or groups_crc != len(all_samples) // 64 or at != len(data):
                raise Damage("the end of the file")
            return samples, all_samples
        groups = data[at:at + length]
        if crc32c(groups) != groups_crc:
            raise Damage("a section")
        at += length
        section, begin = [], 0
        while begin < length:
            values, used = read_group(groups[begin:], samples % 128 == 0)
            section += values
            begin += used
        if (records + 15) // 16 * 1024 != len(section):
            raise Damage("the number of groups")
        all_samples += section[:64 * records]
