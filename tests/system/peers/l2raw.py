# SPDX-License-Identifier: Apache-2.0
"""Writes and reads `.l2raw` files, the record stream of section 4 of docs/formats.md in a file."""
import struct

import stream_sender
from crc32c import crc32c


def write(path, crates, spills, run=7, spacing=1_000_000, first=1):
    """spills: {spill: [fragments of event `first`, of the next, …]}; events stand `spacing` ns apart."""
    with open(path, "wb") as out:
        sequence = 0

        def put(kind, spill, body):
            nonlocal sequence
            sequence += 1
            out.write(stream_sender.record(kind, spill, sequence, body))

        put(stream_sender.HELLO, 0, stream_sender.hello_body(run, crates))
        for spill, events in spills.items():
            put(stream_sender.BEGIN, spill, stream_sender.begin_body(spacing * len(events)))
            for i, fragments in enumerate(events, 1):
                put(stream_sender.EVENT, spill, stream_sender.event_body(first + i - 1, fragments, spacing * i))
            put(stream_sender.END, spill, stream_sender.end_body(len(events), 2 * spacing * len(events)))


def read(path):
    """Records as (type, spill, sequence, body), every checksum and length checked."""
    data = memoryview(path.read_bytes())
    at = 0
    while at < len(data):
        record, at = take(data, at)
        yield record


def take(data, at=0):
    """The record at this place and where the next one stands; raises ValueError if it is not one, IndexError if it is not whole."""
    if at + 32 > len(data):
        raise IndexError
    head = data[at:at + 28]
    magic, version, kind, reserved, length, spill, sequence, body_crc = stream_sender.HEADER.unpack(head)
    if (magic, version, reserved) != (stream_sender.MAGIC, 1, 0):
        raise ValueError(f"no record at {at}")
    if crc32c(head) != int.from_bytes(data[at + 28:at + 32], "little"):
        raise ValueError(f"header checksum at {at}")
    if at + 32 + length > len(data):
        raise IndexError
    body = bytes(data[at + 32:at + 32 + length])
    if crc32c(body) != body_crc:
        raise ValueError(f"body checksum at {at}")
    return (kind, spill, sequence, body), at + 32 + length


def read_event(body):
    """(event number, time in the spill, {place: fragment})"""
    number, count, time = struct.unpack_from("<IIQ", body)
    fragments, at = {}, 16 + 8 * count
    for i in range(count):
        place, _, length = struct.unpack_from("<HHI", body, 16 + 8 * i)
        fragments[place] = body[at:at + length]
        at += length + -length % 4
    if at != len(body):
        raise ValueError(f"event {number}: {len(body)} bytes, of which {at} are used")
    return number, time, fragments
