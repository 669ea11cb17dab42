#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the checks cost: the whole chain over TCP as fast as it goes, with all checks (one event in 1000 verified, every block
copied to disk before it counts as safe) and without any, in turns. Prints seconds and the ratio; by hand, on a machine that is
otherwise idle: KOTO_L3_BIN=build/bin tests/fault/checks_cost.py [EVENTS [ROUNDS]]."""
import pathlib
import statistics
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "system"))

import harness  # noqa: E402

WITH = {"spool": {"use": "always"}, "compute": {"verify_one_in": 1000}}
WITHOUT = {"spool": {"folder": ""}, "compute": {"verify_one_in": 0}}


class Cost(harness.SystemTest):
    events, rounds = 3000, 5
    crate_lines = ["0-10: 16 x 125 MHz", "11: 12 x 125 MHz", "12-14: 16 x 125 MHz", "15-17: 16 x 500 MHz"]
    chunk_bytes = 8000

    def once(self, settings, number):
        store = self.folder / f"store-{number}"
        receiver = self.start_receiver(store=store)
        daemon = self.start_daemon(**{"frames": {"count": 4}, "forward": {"rate": "unlimited"}, **settings})
        daemon.wait_for(lambda s: s["receiver"]["connected"], "the receiver's welcome")
        begin = time.monotonic()
        code, said = self.run_tool("replay", self.folder / "sent.l2raw", "--to", f"tcp://{harness.HOST}:{self.ports.tcp}",
                                   "--rate", "max")
        seconds = time.monotonic() - begin
        self.assertEqual(code, 0, said)
        self.stop_daemon(daemon)
        receiver.stop()
        harness.shutil.rmtree(store)
        return seconds

    def test_checks(self):
        code, said = self.run_tool("simulate", self.folder / "sent.l2raw", "--events", str(self.events), "--run", "7")
        self.assertEqual(code, 0, said)
        times = {"with": [], "without": []}
        for turn in range(self.rounds):
            for name, settings in (("with", WITH), ("without", WITHOUT)):
                times[name].append(self.once(settings, f"{turn}-{name}"))
        for name, all_of_them in times.items():
            print(f"{name:8} all checks: {statistics.median(all_of_them):.2f} s median of",
                  " ".join(f"{t:.2f}" for t in all_of_them))
        ratio = statistics.median(times["without"]) / statistics.median(times["with"])
        print(f"throughput with all checks / without: {ratio:.3f}   ({self.events} events a run)")


if __name__ == "__main__":
    arguments = [int(a) for a in sys.argv[1:]]
    Cost.events, Cost.rounds = (arguments + [Cost.events, Cost.rounds][len(arguments):])[:2]
    del sys.argv[1:]
    harness.main()
