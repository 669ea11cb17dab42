# SPDX-License-Identifier: Apache-2.0
"""An independent reader of a store, written from sections 5, 6, 7 and 9 of docs/formats.md: it checks every checksum and every
length, unpacks the records and rebuilds the fragments byte for byte."""
import json
import pathlib
import re
import struct
import sys
from array import array
from typing import NamedTuple

import strong_reader
from crc32c import crc32c

FILE_HEADER = struct.Struct("<4sB3sQ")
BLOCK_HEADER = struct.Struct("<4sBBHIIQQIIQIIII")
EVENT_HEADER = struct.Struct("<IIIHHIIIBBH")
PAYLOAD_HEADER = struct.Struct("<IIII")
LINE_PAYLOAD = struct.Struct("<B3sI")
PULSE = struct.Struct("<HHHBBi")
PAYLOADS = ["all", "suppressed", "features", "summary"]
SUMMARY_HEADER = struct.Struct("<BBBBHBBHHIIIII")
LINE = struct.Struct("<II")
PHOTON = struct.Struct("<iihhHH")
HIT = struct.Struct("<iiHBB")
MOST_SETTINGS = 1 << 20
HISTOGRAMS = 16  # the key of an entry
MOST_LINES, MOST_PHOTONS, MOST_HITS_OF_A_COUNTER = 32, 16, 3
NOT_JUDGED, MORE_PHOTONS, RECORDED = 3, 4, 8  # bits of a summary's status
PRESCALED, LAST_REASON = 5, 8  # of a line; from 16 on a quantity's number + 16
UNDEFINED = -(1 << 31)
# Section 7 of docs/formats.md, in their order.
QUANTITIES = ["calorimeter_energy", "crystals", "clusters", "photons", "photon_energy", "photon_energy_min", "photon_energy_max",
              "photon_inner", "photon_radius", "photon_distance", "photon_time_spread", "centre_radius", "opening", "vertex_z",
              "transverse_momentum", "event_time"]
LONG, HEADER_STORED, FOOTER_STORED, RAW, LIMITED, FEATURES, STRONG, NO_FORM = 1, 2, 4, 8, 16, 32, 64, 128
RECORDS_OF_A_BOARD = 16
KOTO_CODEC, STRONG_CODEC = 1, 2


class StoreError(Exception):
    pass


class Settings(NamedTuple):
    """What decided events, as a block holds it."""
    software: str
    crates: list  # (number, boards, kind)
    mode: str
    selection: str
    detector: str
    calibration: str


class Block(NamedTuple):
    codec: int
    session: int
    sequence: int
    run: int
    node: int
    sealed: int
    repeated: int  # events that were left out
    events: list
    settings: Settings  # None if it holds none
    histograms: dict  # of a spill, as its JSON has them; None if it holds none


class Photon(NamedTuple):
    energy: int
    time: int
    x: int
    y: int
    crystals: int


class Summary(NamedTuple):
    """What the selection said of an event; bit n of the masks is line n or counter n."""
    trigger: int
    status: int
    photons_found: int
    settings: int
    fired: int
    kept_by: int
    vetoes: int
    unknown: int
    lines: list  # (id, prescale)
    photons: list
    quantities: dict  # name -> value, None if the event does not have it
    hits: list  # (counter, module, energy, time)
    reasons: list  # of each line, 0 if it kept the event


class Pulse(NamedTuple):
    row: int
    pedestal: int
    peak: int
    time: int
    peak_sample: int
    flags: int
    sum: int


class Payload(NamedTuple):
    """What is kept of an event's waveforms."""
    kept: str  # of PAYLOADS
    levels: int
    asked: int
    control: int
    lines: list  # (payload, control)


class Event(NamedTuple):
    spill: int
    number: int
    flags: int
    fragments: dict  # place of the crate -> bytes; words of waveforms that were not kept are 0
    damaged_boards: int  # boards stored raw
    summary: Summary  # None if no selection ran
    payload: Payload  # None if no line limits what is kept
    records: dict  # (place of the crate, slot) -> mask of the records that are there
    pulses: dict  # (place of the crate, slot) -> list of pulses, of boards whose features are kept


def need(condition, text):
    if not condition:
        raise StoreError(text)


def up_to(n, multiple):
    return -(-n // multiple) * multiple


def unpack_record(data, at):
    """The 64 samples of the KOTO record at this place, and where the next one stands."""
    need(at + 3 <= len(data), "a record's head is cut")
    bits, lowest = struct.unpack_from("<BH", data, at)
    need(bits <= 16, f"a record of {bits} bits")
    end = at + 3 + 8 * bits
    need(end <= len(data), "a record is cut")
    if bits == 0:
        return [lowest] * 64, end
    packed = int.from_bytes(data[at + 3:end], "little")
    mask = (1 << bits) - 1
    return [lowest + (packed >> shift & mask) for shift in range(0, 64 * bits, bits)], end


def big_endian(words) -> bytes:
    if sys.byteorder == "little":
        words.byteswap()
    return words.tobytes()


def read_pulses(data):
    """The rows of pulses that end the data of a board."""
    rows, = struct.unpack_from("<H", data)
    need(len(data) == 2 + PULSE.size * rows.bit_count(), "rows of pulses")
    numbers = [row for row in range(16) if rows >> row & 1]
    return [Pulse(row, *PULSE.unpack_from(data, 2 + PULSE.size * n)) for n, row in enumerate(numbers)]


def read_group(data, is_long):
    try:
        return strong_reader.read_group(bytes(data), is_long)
    except strong_reader.Damage as e:
        raise StoreError(str(e)) from None


def rebuild_board(data, form, slot, spill, number, reference, payload=0):
    """The packet, the mask of its records, and its pulses."""
    need(form & NO_FORM == 0, f"board form {form}")
    if form & RAW:
        need(form & (LIMITED | FEATURES | STRONG) == 0, f"board form {form}")
        return bytes(data), 0xFFFF, []
    at, records, pulses = 0, 0xFFFF, []
    if form & LIMITED:
        records, at = struct.unpack_from("<H", data)[0], 2
        need(payload != 0 and records != 0xFFFF, "a board is limited, and its event is not, or it is whole")
        need(records == 0 or payload == 1, "records of an event that keeps none")
    need(bool(form & FEATURES) == (bool(form & LIMITED) and payload == 2), "features of a board")
    if form & HEADER_STORED:
        header, at = bytes(data[at:at + 12]), at + 12
    else:
        header = big_endian(array("H", [0xC000, 0xC000, 0xC000 | reference >> 14, 0xC000 | reference & 0x3FFF,
                                        0xC000 | (spill & 0xFF) << 6 | (spill >> 8) << 5 | slot,
                                        0xC000 | number & 0x3FFF]))
    if form & FOOTER_STORED:
        footer, at = bytes(data[at:at + 12]), at + 12
    else:
        footer = b"\x60\x00" * 6
    channels = 4 if form & LONG else 16
    records_of_a_channel = RECORDS_OF_A_BOARD // channels
    words = array("H", bytes(2048))
    if form & STRONG:
        need(not form & LIMITED, "a group of a limited board")
        samples, used = read_group(data[at:], bool(form & LONG))
        found, at = {r: samples[64 * r:64 * r + 64] for r in range(RECORDS_OF_A_BOARD)}, at + used
    else:
        found = {}
        for record in (r for r in range(RECORDS_OF_A_BOARD) if records >> r & 1):
            found[record], at = unpack_record(data, at)
    for channel in range(channels):
        of_channel = range(channel * records_of_a_channel, (channel + 1) * records_of_a_channel)
        there = {record in found for record in of_channel}
        need(len(there) == 1, "a waveform of which a part is there")
        if True in there:
            words[channel::channels] = array("H", (0x8000 | sample for record in of_channel for sample in found[record]))
    if form & FEATURES:
        pulses, at = read_pulses(data[at:]), len(data)
    need(at == len(data), f"a board of {len(data)} bytes, of which {at} are used")
    return header + big_endian(words) + footer, records, pulses


def line_id(name):
    """FNV-1a, 32 bits."""
    value = 2166136261
    for byte in name.encode():
        value = (value ^ byte) * 16777619 % (1 << 32)
    return value


def _mix(x):
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 % (1 << 64)
    x = (x ^ x >> 27) * 0x94D049BB133111EB % (1 << 64)
    return x ^ x >> 31


def survives_prescale(run, spill, number, line, prescale):
    """Whether a line of this id, having fired, keeps the event."""
    return _mix(_mix(run << 32 | spill) ^ (number << 32 | line)) % prescale == 0


def read_summary(data) -> Summary:
    need(len(data) >= SUMMARY_HEADER.size, "a summary's head is cut")
    (version, n_lines, n_photons, n_quantities, trigger, status, n_hits, found, zero, settings, fired, kept_by, vetoes,
     unknown) = SUMMARY_HEADER.unpack_from(data)
    need(version == 2, f"summary version {version}")
    need(n_lines <= MOST_LINES and n_photons <= MOST_PHOTONS and n_quantities <= len(QUANTITIES), "a summary's tables")
    need(status <= 15 and zero == 0 and trigger < 1 << 14, "a summary's head")
    photons_at = SUMMARY_HEADER.size + LINE.size * n_lines
    quantities_at = photons_at + PHOTON.size * n_photons
    hits_at = quantities_at + 4 * n_quantities
    reasons_at = hits_at + HIT.size * n_hits
    end = reasons_at + n_lines
    need(up_to(end, 8) == len(data) and not any(data[end:]), f"a summary of {len(data)} bytes, of which {end} are used")
    lines = [LINE.unpack_from(data, SUMMARY_HEADER.size + LINE.size * n) for n in range(n_lines)]
    photons = [PHOTON.unpack_from(data, photons_at + PHOTON.size * n) for n in range(n_photons)]
    need(all(p[-1] == 0 for p in photons), "a photon's reserved bytes")
    need(all(prescale > 0 for _, prescale in lines), "a prescale of 0")
    need(fired >> n_lines == 0 and kept_by & ~fired == 0, "a line keeps what it did not fire on, or is none")
    need(kept_by != 0 or status & (NOT_JUDGED | RECORDED), "a stored event that nothing kept")
    hits = [HIT.unpack_from(data, hits_at + HIT.size * n) for n in range(n_hits)]
    need(all(h[-1] == 0 and h[3] < 30 for h in hits), "a hit's counter or its reserved byte")
    need(hits == sorted(hits, key=lambda h: (h[3], -h[0])), "hits out of order")
    need(all(a[3] != b[3] for a, b in zip(hits, hits[MOST_HITS_OF_A_COUNTER:])), "too many hits of a counter")
    need(not status & RECORDED or kept_by == 0, "an event is recorded that a line kept")
    reasons = list(data[reasons_at:end])
    for n, reason in enumerate(reasons):
        need(reason <= LAST_REASON or 16 <= reason < 16 + n_quantities, f"reason {reason}")
        need((reason == 0) == bool(kept_by >> n & 1), "a reason of a line that kept the event, or none")
        need((reason in (0, PRESCALED)) == bool(fired >> n & 1), "a reason against a line that fired")
    need(bool(status & MORE_PHOTONS) == (found > n_photons) and found >= n_photons, "photons found")
    values = struct.unpack_from(f"<{n_quantities}i", data, quantities_at)
    return Summary(trigger, status, found, settings, fired, kept_by, vetoes, unknown, lines, [Photon(*p[:-1]) for p in photons],
                   {name: None if v == UNDEFINED else v for name, v in zip(QUANTITIES, values)},
                   [(h[3], h[2], h[0], h[1]) for h in hits], reasons)


def summary_of(data):
    """Of a packed event; None if no selection ran."""
    _, _, _, _, n_fragments, n_boards, _, length, _, _, _ = EVENT_HEADER.unpack_from(data)
    at = up_to(EVENT_HEADER.size + 8 * n_fragments + 4 * n_boards, 8)
    need(at + length <= len(data), "a summary is cut")
    return read_summary(bytes(data[at:at + length])) if length else None


def is_control(run, spill, number, line, control):
    """Whether the control sample of a line of this id takes the event."""
    return control != 0 and survives_prescale(run, spill, number, line ^ 0x6374726C, control)


def read_payload(data, kept, summary) -> Payload:
    need(len(data) >= PAYLOAD_HEADER.size and (len(data) - PAYLOAD_HEADER.size) % LINE_PAYLOAD.size == 0, "a payload table")
    levels, asked, control, zero = PAYLOAD_HEADER.unpack_from(data)
    rows = [LINE_PAYLOAD.unpack_from(data, at) for at in range(PAYLOAD_HEADER.size, len(data), LINE_PAYLOAD.size)]
    need(zero == 0 and all(row[0] < len(PAYLOADS) and row[1] == bytes(3) for row in rows), "a payload table's fields")
    need(summary is not None and len(rows) == len(summary.lines), "a payload for each line")
    need((asked | control) & ~summary.kept_by == 0, "a line asks for what it does not keep")
    wanted = [row[0] for n, row in enumerate(rows) if summary.kept_by >> n & 1]
    most = 0 if control or not wanted else min(wanted)
    need(kept == most, f"an event keeps {PAYLOADS[kept]}, and its lines ask for {PAYLOADS[most]}")
    need(asked == sum(1 << n for n, row in enumerate(rows) if summary.kept_by >> n & 1 and row[0] == most), "who asked")
    return Payload(PAYLOADS[kept], levels, asked, control, [(PAYLOADS[row[0]], row[2]) for row in rows])


def packed(data, _codec) -> bytes:
    """In the place of read_event: its waveforms are not looked at."""
    return bytes(data)


def read_event(data, codec=None) -> Event:
    """`codec` is that of its block, where the event stands in one."""
    (length, spill, number, flags, n_fragments, n_boards, reference, summary, version, kept,
     table) = EVENT_HEADER.unpack_from(data)
    need(length == len(data) and length % 8 == 0 and summary % 8 == 0, "an event's length")
    need(spill <= 511 and number >= 1 and flags < 8 and reference < 1 << 28, "an event's head")
    boards_at = EVENT_HEADER.size + 8 * n_fragments
    need(version == 1 if table else version == kept == 0, f"an event of version {version}")
    at = up_to(boards_at + 4 * n_boards, 8) + summary + table
    need(at <= length, "an event's tables")
    found = summary_of(data)
    payload = read_payload(bytes(data[at - table:at]), kept, found) if table else None
    fragments, next_board, raw_boards, last_place, records, pulses = {}, 0, 0, -1, {}, {}
    for i in range(n_fragments):
        place, form, boards, original = struct.unpack_from("<BBHI", data, EVENT_HEADER.size + 8 * i)
        need(place > last_place, "fragments in rising crate place")
        last_place = place
        if form == 1:
            need(boards == 0, "a raw fragment with boards")
            fragments[place] = bytes(data[at:at + original])
            at += original
            continue
        need(form == 0, f"fragment form {form}")
        parts = [struct.pack(">I", 0x3C000000 | number & 0x3FFF)]
        for _ in range(boards):
            need(next_board < n_boards, "more boards than the table has")
            slot, board_form, size = struct.unpack_from("<BBH", data, boards_at + 4 * next_board)
            next_board += 1
            raw_boards += bool(board_form & RAW)
            need(codec is None or board_form & (RAW | LIMITED) or bool(board_form & STRONG) == (codec == STRONG_CODEC),
                 f"a board of form {board_form} in a block of codec {codec}")
            need(at + size <= length, "a board is cut")
            packet, records[place, slot], pulses[place, slot] = rebuild_board(
                data[at:at + size], board_form, slot, spill, number, reference, kept)
            parts.append(packet)
            at += size
        parts.append(struct.pack(">I", 0x24000000))
        fragments[place] = b"".join(parts)
        need(len(fragments[place]) == original,
             f"a fragment of {original} bytes was rebuilt to {len(fragments[place])}")
    need(next_board == n_boards, "fewer boards than the table has")
    need(up_to(at, 8) == length and not any(data[at:]), "zeros up to a multiple of 8 at the end")
    return Event(spill, number, flags, fragments, raw_boards, found, payload, records, pulses)


def read_block(payload, fields, read=read_event) -> Block:
    (_, version, codec, flags, _, events, session, sequence, run, node, sealed, repeated, settings, payload_crc, _) = fields
    need((version == 2) == (settings != 0), f"version {version} with {settings} bytes of settings")
    need(codec in (KOTO_CODEC, STRONG_CODEC), f"codec {codec}")
    need(crc32c(payload) == payload_crc, "payload checksum")
    need(sequence >= 1, "sequence numbers count from 1")
    at, found = 0, []
    for _ in range(events):
        need(at + EVENT_HEADER.size <= len(payload), "a block ends within an event")
        length = struct.unpack_from("<I", payload, at)[0]
        need(EVENT_HEADER.size <= length <= len(payload) - at, "an event's length")
        found.append(read(payload[at:at + length], codec))
        at += length
    need(at == len(payload) - settings, "bytes after the last event of a block")
    return Block(codec, session, sequence, run, node, sealed, repeated, found, *(read_entries(payload[at:]) if settings else (None, None)))


def read_entries(data):
    """The entries behind the events of a block: the settings, and the histograms of a spill if it holds some."""
    need(len(data) % 8 == 0 and len(data) <= MOST_SETTINGS, "the settings' length")
    at, entries = 0, {}
    while at < len(data):
        key, length = struct.unpack_from("<II", data, at)
        end = up_to(at + 8 + length, 8)
        need(key != 0 and key not in entries and end <= len(data) and not any(data[at + 8 + length:end]), f"settings entry {key}")
        entries[key] = bytes(data[at + 8:at + 8 + length])
        at = end
    need(list(entries) == sorted(entries), "what stands once is behind the settings")
    histograms = json.loads(entries.pop(HISTOGRAMS)) if HISTOGRAMS in entries else None
    need(set(entries) <= set(range(1, 7)) and len(entries[2]) % 4 == 0, "settings entries")
    crates = [(number, boards, kind) for number, boards, kind, zero in struct.iter_unpack("<4B", entries[2]) if not zero]
    texts = {key: entries[key].decode() for key in entries if key != 2}
    need(texts.get(3, "record") == "record" and (4 in texts) == (5 in texts), "the settings' mode or texts")
    return Settings(texts[1], crates, texts.get(3, "select"), texts.get(4), texts.get(5), texts.get(6)), histograms


def open_file(path):
    """A file of a store that a receiver writes may get its complete name at any time."""
    try:
        return open(path, "rb")
    except FileNotFoundError:
        complete, = path.parent.glob(f"{path.name[:13]}-*.kl3")
        return open(complete, "rb")


def read_file(path, read=read_event):
    """Blocks of one file, up to the first that is not whole."""
    with open_file(path) as f:
        data = f.read()
        path = pathlib.Path(f.name)
    if len(data) < FILE_HEADER.size:
        return
    magic, version, _, number = FILE_HEADER.unpack_from(data)
    need(magic == b"KL3S" and version == 2, f"{path.name}: not a store file")
    need(number == int(re.fullmatch(r"blocks-(\d{6})(-run\d{6}-node\d+)?\.kl3", path.name)[1]), f"{path.name}: says it is file {number}")
    at, view = FILE_HEADER.size, memoryview(data)
    while at + BLOCK_HEADER.size <= len(data):
        head = view[at:at + BLOCK_HEADER.size]
        fields = BLOCK_HEADER.unpack(head)
        need(fields[0] == b"KL3B" and fields[1] in (1, 2), f"{path.name}: no block at {at}")
        need(crc32c(head[:60]) == fields[-1], f"{path.name}: header checksum at {at}")
        end = at + BLOCK_HEADER.size + fields[4]
        if end > len(data):
            return
        try:
            yield read_block(view[at + BLOCK_HEADER.size:end], fields, read)
        except StoreError as e:
            raise StoreError(f"{path.name} at {at}: {e}") from None
        at = end


def read_store(folder, whole=True, read=read_event):
    """Blocks of all files in order; raises StoreError at anything that docs/formats.md does not allow. A store that is not
    `whole` lacks blocks that the daemon sent to another one. `read` makes of a packed event what stands in the blocks."""
    last = {}
    for path in sorted(pathlib.Path(folder).glob("blocks-*.kl3")):
        for block in read_file(path, read):
            before = last.get(block.session, 0)
            need(block.sequence == before + 1 or not whole and block.sequence > before,
                 f"session {block.session:016x}: block {block.sequence} after {before}")
            last[block.session] = block.sequence
            yield block


def events_of(folder, whole=True):
    return [event for block in read_store(folder, whole) for event in block.events]


def packed_events_of(folder):
    """{(spill, number): packed event}, each of which must be there once; its waveforms are not looked at."""
    found = {}
    for block in read_store(folder, read=packed):
        for event in block.events:
            key = EVENT_HEADER.unpack_from(event)[1:3]
            need(key not in found, f"event {key} is stored twice")
            found[key] = event
    return found
