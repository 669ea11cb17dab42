# SPDX-License-Identifier: Apache-2.0
"""R12–14: the device that computes fails, hangs, or computes wrong. The fault executor (compute.fault) stands in for it."""
import threading
import time

import ledgers
from chain import Chain, unbalanced
from table import Row

# What is done to it, what the status calls it, and the longest that no event may be stored meanwhile.
FAULTS = (("error:every=40", "error", 1), ("hang:at=60:for=3 s", "hang", 2), ("wrong_bit:at=60", "wrong", 1))


class LongestPause:
    """The longest time for which the store did not grow."""

    def __init__(self, chain):
        self.seconds = 0.0
        self._chain, self._stop = chain, threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def _look(self):
        held, since = self._chain.stored_bytes(), time.monotonic()
        while not self._stop.wait(0.02):
            now = self._chain.stored_bytes()
            self.seconds = max(self.seconds, time.monotonic() - since)
            if now != held:
                held, since = now, time.monotonic()

    def end(self):
        self._stop.set()
        self._thread.join()
        return self.seconds


def device_faults(findings, plan):
    for fault, kind, longest in FAULTS:
        with Chain() as c:
            sent = c.write_events(spills=400, events=2000, seed=plan.seed)
            receiver = c.start_receiver()
            daemon = c.start_daemon(frames={"count": 16, "events": 16}, compute={"fault": fault, "verify_one_in": 1, "dumps": str(c.folder / "dumps")})
            replay = c.replay("tcp", 1000)
            c.wait_for_growth()
            pause = LongestPause(c)
            seen = daemon.wait_for(lambda s: s["engine"]["failures"][kind] >= plan.pick(1, 5 if "every" in fault else 1), f"the {kind}")
            daemon.wait_for(lambda s: s["engine"]["restarts"] and not s["engine"]["bypassed"] or "every" in fault, "the device again")
            c.wait_for_growth()
            findings.time(f"longest pause of the output: {kind}", pause.end(), longest)
            ledger_of_replay = c.interrupt_replay(replay)
            c.drain(daemon)
            engine = daemon.status()["engine"]
            ledger = c.stop_daemon(daemon)
            receiver.stop()
            keys = sent.keys_of(ledger_of_replay)
            found = ledgers.compare(sent, c.store, keys=keys)
            acknowledged = set(keys[:ledger_of_replay["events"]["forwarded"]])
            findings.none(f"{kind}: {text}" for text in [*found.faults(may_miss=set(keys) - acknowledged), *unbalanced(ledger)])
            findings.equal(f"{kind}: events shed", sum(ledger["events"]["shed"].values()), 0)
            findings.check(seen["engine"]["failures"][kind] >= 1, f"no {kind} was seen")
            findings.inject(fault.split(":")[0].replace("_", " "), engine["failures"][kind])
            findings.see("frames computed on the CPU instead", engine["frames_bypassed"])
            findings.see("tries of the device that it passed", engine["restarts"])
            findings.see("wrong events found", engine["events_wrong"])
            findings.see("wrong events stored", len(found.wrong))
            findings.see("events stored once, bit for bit", len(found.stored - found.wrong))


ROWS = [Row("R12–14", "GPU error, hang, silent error: bypass, restart, alarm", "switch ≤ 1 s, hang seen ≤ 2 s, wrong bit found", device_faults)]
