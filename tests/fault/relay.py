#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A relay for the datagrams of level 2 that loses, doubles, delays and damages what it chooses to, and writes down which: one line of
JSON each, so that the events that were hit are known, not guessed.

It takes everything on one port, in the order in which it was sent, and deals it out over the daemon's ports. While the daemon's
sockets are half full it waits, and its own socket is large: a processor that others use too must not look like a loss.

  relay.py --listen 10.77.1.2:42000 --to 10.77.1.1:42000+8 --watch PID --journal FILE [--drop 0.01] [--double 0.01] …

It ends at SIGTERM, when everything that it holds has left, and writes its counts as the journal's last line."""
import argparse
import heapq
import json
import random
import select
import signal
import socket
import struct
import time

HEADER = struct.Struct(">III")
BUFFER = 256 << 20
WATCHED_EVERY, MOST_WAITING = 64, 500_000
SO_RCVBUFFORCE = 33


class Relay:
    def __init__(self, options):
        self.o = options
        host, port = options.listen.split(":")
        self._in = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        try:
            self._in.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, BUFFER)
        except PermissionError:
            self._in.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER)
        self._in.bind((host, int(port)))
        self._in.setblocking(False)
        to, ports = options.to.split("+")
        to, first = to.split(":")
        self.first_port, self.ports = int(first), int(ports)
        self._to = [(to, self.first_port + i) for i in range(self.ports)]
        self._out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._out.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4 << 20)
        self._random = random.Random(options.seed)
        self._later = []  # (time, n, datagram)
        self._journal = open(options.journal, "w")
        self._spill = 0  # of the datagrams that come now
        self.counts = dict.fromkeys(("taken", "sent", "dropped", "doubled", "delayed", "damaged", "late"), 0)
        self._ends = [float(x) for x in (options.drop, options.double, options.reorder, options.damage)]
        for i in range(1, len(self._ends)):
            self._ends[i] += self._ends[i - 1]
        self.stopping = False

    def waiting(self):
        """Bytes in the daemon's sockets."""
        total = 0
        try:
            with open(f"/proc/{self.o.watch}/net/udp", "rb") as f:
                for line in f.readlines()[1:]:
                    fields = line.split()
                    if 0 <= int(fields[1].split(b":")[1], 16) - self.first_port < self.ports:
                        total += int(fields[4].split(b":")[1], 16)
        except OSError:
            pass
        return total

    def send(self, datagram):
        if self.o.watch and self.counts["sent"] % WATCHED_EVERY == 0:
            while self.waiting() > MOST_WAITING:
                time.sleep(0.0005)
        self._out.sendto(datagram, self._to[self.counts["sent"] % self.ports])
        self.counts["sent"] += 1

    def note(self, fault, datagram, **more):
        fragment, chunk, discriminator = HEADER.unpack_from(datagram)
        self._journal.write(json.dumps({"fault": fault, "spill": self._spill, "fragment": fragment, "chunk": chunk,
                                        "discriminator": discriminator, "length": len(datagram), **more}) + "\n")

    def learn_spill(self, datagram):
        """From a trailer or an end of spill, or from the first board header, which is in the first chunk. Nothing overtakes on the
        way here, so what names no spill belongs to the last one named."""
        chunk, discriminator = struct.unpack_from(">II", datagram, 4)
        if len(datagram) == HEADER.size:
            self._spill = discriminator >> 8 & 0x1FF
        elif chunk == 0:
            word = struct.unpack_from(">H", datagram, HEADER.size + 4 + 8)[0]
            self._spill = word >> 6 & 0xFF | (word >> 5 & 1) << 8

    def take(self, datagram):
        self.learn_spill(datagram)
        self.counts["taken"] += 1
        if self.counts["taken"] == self.o.late_one:
            self.put_off(datagram, self.o.late_by, "late")
            return
        chance = self._random.random()
        dropped, doubled, delayed, damaged = self._ends
        if chance >= damaged:
            self.send(datagram)
        elif chance < dropped:
            self.counts["dropped"] += 1
            self.note("dropped", datagram)
        elif chance < doubled:
            self.counts["doubled"] += 1
            self.note("doubled", datagram)
            self.send(datagram)
            self.send(datagram)
        elif chance < delayed:
            self.put_off(datagram, self._random.random() * self.o.within, "delayed")
        else:
            self.send(self.damage(datagram))

    def put_off(self, datagram, seconds, why):
        self.counts[why] += 1
        self.note(why, datagram, seconds=round(seconds, 4))
        heapq.heappush(self._later, (time.monotonic() + seconds, self.counts["taken"], datagram))

    def damage(self, datagram):
        """One bit of it, anywhere."""
        bit = self._random.randrange(8 * len(datagram))
        changed = bytearray(datagram)
        changed[bit // 8] ^= 1 << bit % 8
        self.counts["damaged"] += 1
        self.note("damaged", datagram, bit=bit, now=HEADER.unpack_from(changed))
        return bytes(changed)

    def run(self):
        until_idle = 0.2
        last = time.monotonic()
        while not self.stopping or self._later or time.monotonic() - last < until_idle:
            now = time.monotonic()
            wait = min(0.05, self._later[0][0] - now) if self._later else 0.05
            if select.select([self._in], [], [], max(0.0, wait))[0]:
                for _ in range(256):
                    try:
                        self.take(self._in.recv(65536))
                    except BlockingIOError:
                        break
                last = time.monotonic()
            now = time.monotonic()
            while self._later and self._later[0][0] <= now:
                self.send(heapq.heappop(self._later)[2])
        self._journal.write(json.dumps({"counts": self.counts}) + "\n")
        self._journal.close()


def main():
    p = argparse.ArgumentParser(description="relay level-2 datagrams, with faults")
    p.add_argument("--listen", required=True)
    p.add_argument("--to", required=True)
    p.add_argument("--journal", required=True)
    p.add_argument("--watch", type=int, help="process whose sockets must not run over")
    p.add_argument("--seed", type=int, default=1)
    for name in ("drop", "double", "reorder", "damage"):
        p.add_argument(f"--{name}", type=float, default=0.0, help="part of the datagrams")
    p.add_argument("--within", type=float, default=0.05, help="seconds by which a reordered one is late at most")
    p.add_argument("--late-one", type=int, default=0, help="the datagram, from 1, that comes very late")
    p.add_argument("--late-by", type=float, default=10.0, help="seconds")
    relay = Relay(p.parse_args())

    def stop(*_):
        relay.stopping = True
    signal.signal(signal.SIGTERM, stop)
    print("relaying", flush=True)
    relay.run()


if __name__ == "__main__":
    main()
