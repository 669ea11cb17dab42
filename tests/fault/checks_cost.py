#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the checks cost: the whole chain over TCP as fast as it goes, with all checks (one event in 1000 verified, every block
copied to disk before it counts as safe) and without any, in turns. Prints seconds and the ratio; by hand, on a machine that is
otherwise idle: KOTO_L3_BIN=build/bin tests/fault/checks_cost.py [EVENTS [ROUNDS]].

With --programs FOLDER both have all settings on, and the turns without take the daemon and the receiver of that folder, built with
a check left out. Then it also compares the processor's time of daemon and receiver, which other work on the machine disturbs less."""
import os
import pathlib
import statistics
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "system"))

import harness  # noqa: E402

WITH = {"spool": {"use": "always"}, "compute": {"verify_one_in": 1000}}
WITHOUT = {"spool": {"folder": ""}, "compute": {"verify_one_in": 0}}


class Cost(harness.SystemTest):
    events, rounds = 3000, 5
    crate_lines = ["0-10: 16 x 125 MHz", "11: 12 x 125 MHz", "12-14: 16 x 125 MHz", "15-17: 16 x 500 MHz"]
    chunk_bytes = 8000

    other = None  # a folder of programs

    def processor_time(self, program):
        fields = pathlib.Path(f"/proc/{program.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def once(self, settings, number):
        store = self.folder / f"store-{number}"
        receiver = self.start_receiver(store=store)
        daemon = self.start_daemon(**{"frames": {"count": 4}, "forward": {"rate": "unlimited"}, **settings})
        daemon.wait_for(lambda s: s["receiver"]["connected"], "the receiver's welcome")
        said = self.run_for_json("replay", self.folder / "sent.l2raw", "--to", f"tcp://{harness.HOST}:{self.ports.tcp}", "--rate", "max")
        # From the first connection to the last acknowledgement. Before, replay reads the file, which takes the longer, the less of it the system has in memory.
        seconds = said["seconds"]
        busy = self.processor_time(daemon) + self.processor_time(receiver)
        self.stop_daemon(daemon)
        receiver.stop()
        harness.shutil.rmtree(store)
        return seconds, busy

    def test_checks(self):
        code, said = self.run_tool("simulate", self.folder / "sent.l2raw", "--events", str(self.events), "--run", "7")
        self.assertEqual(code, 0, said)
        runs = {"with": [], "without": []}
        own = harness.BIN
        for turn in range(self.rounds):
            turns = [("with", WITH, own), ("without", WITH if self.other else WITHOUT, self.other or own)]
            for name, settings, harness.BIN in turns if turn % 2 == 0 else reversed(turns):
                runs[name].append(self.once(settings, f"{turn}-{name}"))
        for what, n in (("seconds", 0), ("seconds of processor", 1)):
            medians = {name: statistics.median(run[n] for run in all_of_them) for name, all_of_them in runs.items()}
            for name, all_of_them in runs.items():
                print(f"{name:8} {medians[name]:.3f} {what}, median of", " ".join(f"{run[n]:.2f}" for run in all_of_them))
            print(f"throughput with / without, by {what}: {medians['without'] / medians['with']:.3f}   ({self.events} events a run)")
            best = {name: statistics.mean(sorted(run[n] for run in all_of_them)[:max(1, len(all_of_them) // 4)]) for name, all_of_them in runs.items()}
            print(f"by the fastest quarter of the runs of each kind, which other work disturbs least: {best['without'] / best['with']:.3f}")
            pairs = sorted(off[n] / on[n] for on, off in zip(runs["with"], runs["without"]))
            lower, middle, upper = statistics.quantiles(pairs, n=4)
            print(f"of the {len(pairs)} pairs: median {middle:.3f}, a half from {lower:.3f} to {upper:.3f}, all from {pairs[0]:.3f} to {pairs[-1]:.3f}")


if __name__ == "__main__":
    if "--programs" in sys.argv:
        at = sys.argv.index("--programs")
        Cost.other = pathlib.Path(sys.argv[at + 1]).resolve()
        del sys.argv[at:at + 2]
    arguments = [int(a) for a in sys.argv[1:]]
    Cost.events, Cost.rounds = (arguments + [Cost.events, Cost.rounds][len(arguments):])[:2]
    del sys.argv[1:]
    harness.main()
