# SPDX-License-Identifier: Apache-2.0
"""Level 2 that sends spill after spill over UDP and may misbehave in any way, whether or not somebody is there."""
import itertools
import random
import threading
import time

import harness
import level2
import level2_sender

CRATES = ["0-6: 1 x 125 MHz"]  # each with one board
SAMPLES = level2.big_endian([0x8000 | x for x in random.Random(1).choices(range(1 << 14), k=level2.SAMPLE_WORDS)])


def whole(beam, spill, number, place):
    """The datagrams of one crate for an event, or for the end of a spill, which has no number."""
    if number is None:
        return level2_sender.end_of_spill(beam.crates, spill, place, beam.events // len(beam.senders))
    return level2_sender.datagrams(beam.crates, spill, number, place, level2.renamed(beam.fragment, 1, spill, number), beam.chunk)


class Beam(threading.Thread):
    """To the daemons at these UDP ports, event by event in turn. `set` changes how, and takes earlier changes back."""
    DEFAULT = {"on": True, "of_crate": whole, "events": 40, "rate": 50, "pause": 0.5, "step": 1, "first": 1, "chunk": 2000, "holds": True, "tcp": None,
               "fragment": level2.fragment(2, [level2.header(1, 2, 3, 1000) + SAMPLES + level2.FOOTER]), "sent": lambda number: True,
               "beside": lambda: ()}

    def __init__(self, crates, ports, waiting=None, port_count=2, **always):
        """`waiting`: how much stands in the daemon's sockets."""
        super().__init__(daemon=True)
        self.crates, self.spill, self.later, self.ended = crates, 0, [], False
        self.default = self.DEFAULT | always
        self.senders = [level2_sender.UdpSender(crates, harness.HOST, port, port_count, waiting=waiting and (lambda: waiting() if self.holds else 0))
                        for port in ports]
        self.set()
        self.start()

    def set(self, **changed):
        self.__dict__.update(self.default | changed)

    def run(self):
        while not self.ended:
            if self.on:
                self.send_spill()
            time.sleep(self.pause)

    def send_spill(self):
        self.spill = (self.spill + self.step) % 512
        for number, sender in zip(range(self.first, self.first + self.events), itertools.cycle(self.senders)):
            if not self.on:
                return
            for place in range(len(self.crates)) if self.sent(number) else ():
                sender.send(self.of_crate(self, self.spill, number, place))
            sender.send(self.beside())
            while self.later and self.later[0][0] < time.monotonic():
                sender.send(self.later.pop(0)[1])
            time.sleep(1 / self.rate)
        for sender in self.senders:
            for place in range(len(self.crates)):
                sender.send(self.of_crate(self, self.spill, None, place))

    def end(self):
        """With the spill."""
        self.ended, self.holds, self.tcp = True, True, None
        self.join()
        for sender in self.senders:
            sender.close()
