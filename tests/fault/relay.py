# SPDX-License-Identifier: Apache-2.0
"""A relay for the datagrams of level 2, in a process of its own, that loses, doubles, delays and damages what it chooses to, and remembers which,
so that the events that were hit are known, not guessed.

It takes everything on one port, in the order in which it was sent, and deals it out over the daemon's ports. While the daemon's
sockets are half full it waits, and its own socket is large: a processor that others use too must not look like a loss."""
import heapq
import multiprocessing
import random
import select
import socket
import struct
import time

import harness

HEADER = struct.Struct(">III")
BUFFER = 256 << 20
WATCHED_EVERY, MOST_WAITING = 64, 500_000
SO_RCVBUFFORCE = 33


class Relay:
    """`space`: where it runs; `to`: (host, first port); `watch`: the process whose sockets must not run over. The parts of the datagrams that are
    lost, doubled, late by at most `within` seconds, damaged by one bit; and the number of one that comes very late."""

    def __init__(self, space, port, to, watch, seed, drop=0.0, double=0.0, reorder=0.0, damage=0.0, within=0.05, late_one=0, late_by=10.0):
        self._to, self._watch = [(to[0], to[1] + i) for i in range(harness.UDP_PORTS)], watch
        self._ends = [drop, drop + double, drop + double + reorder, drop + double + reorder + damage]
        self._within, self._late_one, self._late_by = within, late_one, late_by
        self._random, self._later = random.Random(seed), []  # (time, n, datagram)
        self._spill = 0  # of the datagrams that come now
        self.faults, self.counts = [], dict.fromkeys(("taken", "sent", "dropped", "doubled", "delayed", "damaged", "late"), 0)
        fork = multiprocessing.get_context("fork")
        self._ready, self._stopping, self._found = fork.Event(), fork.Event(), fork.SimpleQueue()
        self._process = fork.Process(target=self._run, args=(space, port), daemon=True)
        self._process.start()
        harness.wait_until(self._ready.is_set, "the relay")

    def running(self):
        return self._process.is_alive()

    def kill(self):
        self._process.kill()
        self._process.join()

    def finish(self):
        """Everything has left it: what it has done is known from now on."""
        self._stopping.set()
        self.faults, self.counts = self._found.get()
        self._process.join()
        return self

    def of(self, *kinds):
        return [fault for fault in self.faults if fault["fault"] in kinds]

    # Its process

    def _run(self, space, port):
        harness.begin_in(space)
        self._out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._out.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4 << 20)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as source:
            try:
                source.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, BUFFER)
            except PermissionError:
                source.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER)
            source.bind(("", port))
            source.setblocking(False)
            self._ready.set()
            last = time.monotonic()
            while not self._stopping.is_set() or self._later or time.monotonic() - last < 0.2:
                wait = min(0.05, self._later[0][0] - time.monotonic()) if self._later else 0.05
                if select.select([source], [], [], max(0.0, wait))[0]:
                    for _ in range(256):
                        try:
                            self._take(source.recv(65536))
                        except BlockingIOError:
                            break
                    last = time.monotonic()
                while self._later and self._later[0][0] <= time.monotonic():
                    self._send(heapq.heappop(self._later)[2])
        self._found.put((self.faults, self.counts))

    def _waiting(self):
        """Bytes in the daemon's sockets."""
        try:
            with open(f"/proc/{self._watch}/net/udp", "rb") as f:
                return harness.bytes_waiting(f, self._to[0][1])
        except OSError:
            return 0

    def _send(self, datagram):
        while self.counts["sent"] % WATCHED_EVERY == 0 and self._waiting() > MOST_WAITING:
            time.sleep(0.0005)
        self._out.sendto(datagram, self._to[self.counts["sent"] % len(self._to)])
        self.counts["sent"] += 1

    def _note(self, fault, datagram, **more):
        fragment, chunk, discriminator = HEADER.unpack_from(datagram)
        self.counts[fault] += 1
        self.faults.append({"fault": fault, "spill": self._spill, "fragment": fragment, "chunk": chunk, "discriminator": discriminator,
                            "length": len(datagram), **more})

    def _learn_spill(self, datagram):
        """From a trailer or an end of spill, or from the first board header, which is in the first chunk. Nothing overtakes on the
        way here, so what names no spill belongs to the last one named."""
        chunk, discriminator = struct.unpack_from(">II", datagram, 4)
        if len(datagram) == HEADER.size:
            self._spill = discriminator >> 8 & 0x1FF
        elif chunk == 0:
            word = struct.unpack_from(">H", datagram, HEADER.size + 4 + 8)[0]
            self._spill = word >> 6 & 0xFF | (word >> 5 & 1) << 8

    def _take(self, datagram):
        self._learn_spill(datagram)
        self.counts["taken"] += 1
        if self.counts["taken"] == self._late_one:
            self._put_off(datagram, self._late_by, "late")
            return
        chance = self._random.random()
        dropped, doubled, delayed, damaged = self._ends
        if chance >= damaged:
            self._send(datagram)
        elif chance < dropped:
            self._note("dropped", datagram)
        elif chance < doubled:
            self._note("doubled", datagram)
            self._send(datagram)
            self._send(datagram)
        elif chance < delayed:
            self._put_off(datagram, self._random.random() * self._within, "delayed")
        else:
            self._send(self._damage(datagram))

    def _put_off(self, datagram, seconds, why):
        self._note(why, datagram)
        heapq.heappush(self._later, (time.monotonic() + seconds, self.counts["taken"], datagram))

    def _damage(self, datagram):
        """One bit of it, anywhere."""
        bit = self._random.randrange(8 * len(datagram))
        changed = bytearray(datagram)
        changed[bit // 8] ^= 1 << bit % 8
        self._note("damaged", datagram, bit=bit, now=HEADER.unpack_from(changed))
        return bytes(changed)
