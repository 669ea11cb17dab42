# SPDX-License-Identifier: Apache-2.0
"""Events of a receiver while it stores them, against those of its store."""
import contextlib
import os
import pathlib
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import unittest

import zmq

import sample

import koto_l3 as l3
from koto_l3 import take_data

LINES = ["klpi0pi0", "pass_through"]
KEYS = ("run", "node", "session", "spill", "event")


def setUpModule():
    sample.make()


def blocks(file):
    """Bytes of each block of a file of a store, and of each of its events."""
    data, at = pathlib.Path(file).read_bytes(), 16
    while at < len(data):
        payload, count = struct.unpack_from("<II", data, at + 8)
        events, end = [], at + 64
        for _ in range(count):
            length, = struct.unpack_from("<I", data, end)
            events.append(data[end:end + length])
            end += length
        yield data[at:at + 64 + payload], events
        at += 64 + payload


def keys(events):
    return list(zip(*(events.raw[k].tolist() for k in KEYS)))


class Live(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.store = pathlib.Path(folder.name) / "store"
        self.address = f"tcp://127.0.0.1:{take_data.free_ports(1)[0]}"

    def take(self, *begin):
        """Stores a run; `begin` are called when the receiver listens."""
        def files():
            for action in begin:
                action()
            yield sample.MIX
        take_data.take(files(), self.store, run_number=101, receive=["--publish", self.address, "--publish-rate", "1000"])

    def test_events_are_those_of_the_store(self):
        ready, subscriptions, batches = threading.Event(), [], []

        def begin():
            subscriptions.append(l3.subscribe(self.address, LINES, every=0.1, idle=0.1))
            ready.set()
        taking = threading.Thread(target=self.take, args=[begin])
        taking.start()
        self.addCleanup(taking.join)
        while not ready.wait(0.1):
            self.assertTrue(taking.is_alive())
        with subscriptions[0] as live:
            while taking.is_alive():
                batches += live
            self.assertEqual(live.lost, 0)
        stored = l3.open(self.store)
        e = stored.events()
        rows = {key: row for row, key in enumerate(keys(e))}
        packed = [event for file in sorted(self.store.glob("*.kl3")) for _, events in blocks(file) for event in events]
        seen = []
        for batch in batches:
            here = [rows[key] for key in keys(batch)]
            self.assertEqual([event for _, events in blocks(batch.store.readers[0].path) for event in events], [packed[row] for row in here])
            seen += here
            same = e[here]
            for name in set(batch.raw) - {"settings"}:
                self.assertEqual(batch.raw[name].tolist(), same.raw[name].tolist(), name)
            self.assertTrue((batch["kept_klpi0pi0"] | batch["kept_pass_through"]).all())
            self.assertTrue((batch.samples("CSI").data == same.samples("CSI").data).all())
            self.assertTrue((batch.pulses("BHPV").raw["sum"] == same.pulses("BHPV").raw["sum"]).all())
            self.assertEqual(batch.lists("photon").columns["x"].values.tolist(), same.lists("photon").columns["x"].values.tolist())
            self.assertEqual(batch.store.menu().text, stored.menu().text)
        self.assertGreater(len(seen), 0)

    def test_a_stopped_reader_stops_nothing(self):
        script = "import sys, koto_l3 as l3; s = l3.subscribe(sys.argv[1]); print('ready', flush=True); [print(len(e)) for e in s]"
        with contextlib.ExitStack() as at_end:
            def stop():
                reader = at_end.enter_context(subprocess.Popen([sys.executable, "-c", script, self.address], stdout=subprocess.PIPE, env=os.environ))
                at_end.callback(reader.kill)
                reader.stdout.readline()
                reader.send_signal(signal.SIGSTOP)
                os.waitid(os.P_PID, reader.pid, os.WSTOPPED)
            self.take(stop)
        self.assertEqual(len(l3.open(self.store)), len(l3.open(sample.STORE).events(101)))

    def test_mistakes_are_named(self):
        subscriptions = []
        self.take(lambda: subscriptions.append(l3.subscribe(self.address, "klpi0pi00")))
        with subscriptions[0] as live, self.assertRaisesRegex(KeyError, "did you mean klpi0pi0"):
            next(live)
        for address, text in (("127.0.0.1:42300", "tcp://"), (self.address, "nothing publishes")):
            with self.assertRaisesRegex(l3.Error, text):
                l3.subscribe(address)

    def test_another_kind_of_socket_is_no_receiver(self):
        with zmq.Context() as context, context.socket(zmq.ROUTER) as link:
            port = link.bind_to_random_port("tcp://127.0.0.1")
            with self.assertRaisesRegex(l3.Error, "nothing publishes"):
                l3.subscribe(f"tcp://127.0.0.1:{port}")


class Lost(unittest.TestCase):
    """Messages that this test makes."""

    def test_gaps_and_repeats(self):
        file = next(sample.STORE.glob("*101*.kl3"))
        head, events = file.read_bytes()[:16], list(blocks(file))
        messages = (b"a", 1, 5, 0), (b"b", 1, 1, 0), (b"a", 1, 8, 1), (b"b", 1, 2, 0), (b"a", 2, 1, 1), (b"a", 2, 3, 0)
        with zmq.Context() as context, context.socket(zmq.XPUB) as near:
            address = f"tcp://127.0.0.1:{near.bind_to_random_port('tcp://127.0.0.1')}"
            with l3.subscribe(address, every=0.1, idle=60) as live:
                self.assertEqual(near.recv(), b"\x01")
                for topic, mark, number, block in messages:
                    near.send_multipart([topic + b"\0", struct.pack("<QQ", mark, number), head, events[block][0]])
                got = 0
                while live.lost < 3:
                    got += len(next(live))
                self.assertEqual(live.lost, 3)
                self.assertEqual(got, 3 * len(events[0][1]) + 2 * len(events[1][1]), "an event that two lines kept comes once")
                near.send_multipart([b"weather", b"fine"])
                with self.assertRaisesRegex(l3.Error, "no events"):
                    next(live)


if __name__ == "__main__":
    unittest.main()
