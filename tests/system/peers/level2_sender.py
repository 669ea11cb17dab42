# SPDX-License-Identifier: Apache-2.0
"""An independent sender of level-2 data over UDP, written from section 3 of docs/formats.md.

`datagrams()` gives a fragment's datagrams as plain bytes, so that a test can leave out, repeat, reorder or damage whichever it
likes before it hands them to `UdpSender.send`."""
import socket
import struct
import time

HEADER = struct.Struct(">III")
LARGEST_COUNT = (1 << 15) - 1


def fragment_id(crates, number, place):
    return len(crates) * (number - 1) + place + 1


def discriminator(count, spill, crate):
    return count << 17 | spill << 8 | crate


def data_datagrams(crates, number, place, fragment, chunk_bytes=8000):
    name = fragment_id(crates, number, place)
    return [HEADER.pack(name, i, 0) + fragment[at:at + chunk_bytes]
            for i, at in enumerate(range(0, len(fragment), chunk_bytes))]


def trailer(crates, spill, number, place, chunks):
    return HEADER.pack(fragment_id(crates, number, place), chunks, discriminator(0, spill, crates[place].number))


def datagrams(crates, spill, number, place, fragment, chunk_bytes=8000):
    data = data_datagrams(crates, number, place, fragment, chunk_bytes)
    return data + [trailer(crates, spill, number, place, len(data))]


def end_of_spill(crates, spill, place, events):
    """The parts of one crate's end of spill; section 3 has no way to say that there were no events."""
    counts = [LARGEST_COUNT] * (events // LARGEST_COUNT) + [events % LARGEST_COUNT] * (events % LARGEST_COUNT > 0)
    return [HEADER.pack(part, len(counts), discriminator(count, spill, crates[place].number))
            for part, count in enumerate(counts)]


class UdpSender:
    """Sends datagrams round robin over the ports. The electronics cannot be slowed down, but a test must not depend on how
    soon the daemon's threads get a processor: with `waiting` (bytes that stand in the daemon's sockets) the sender holds back
    while they are half full."""

    def __init__(self, crates, host, port, ports=8, chunk_bytes=8000, waiting=None, most_waiting=100_000):
        self.crates = crates
        self.chunk_bytes = chunk_bytes
        self.sent = 0
        self._to = [(host, port + i) for i in range(ports)]
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._waiting = waiting
        self._most_waiting = most_waiting

    def close(self):
        self._socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def send(self, these):
        for datagram in these:
            if self._waiting and self.sent % 16 == 0:
                self.hold(self._most_waiting)
            self._socket.sendto(datagram, self._to[self.sent % len(self._to)])
            self.sent += 1

    def hold(self, most=0, seconds=30):
        """Returns once no more than this stands in the daemon's sockets."""
        until = time.monotonic() + seconds
        while self._waiting and self._waiting() > most:
            if time.monotonic() > until:
                raise TimeoutError("the daemon does not empty its sockets")
            time.sleep(0.0005)

    def event(self, spill, number, fragments, without=()):
        """An event as the crates send it, all at once: their datagrams take turns."""
        queues = [datagrams(self.crates, spill, number, place, fragment, self.chunk_bytes)
                  for place, fragment in enumerate(fragments) if place not in without]
        for turn in range(max(map(len, queues), default=0)):
            self.send(q[turn] for q in queues if turn < len(q))

    def end(self, spill, events, without=()):
        """The end of a spill, after everything before it was taken."""
        self.hold()
        for place in range(len(self.crates)):
            if place not in without and events:
                self.send(end_of_spill(self.crates, spill, place, events))
        self.hold()
