# SPDX-License-Identifier: Apache-2.0
"""R20: the clock of the day jumps while data flow. This machine's own clock is left alone: a small library, preloaded into daemon and
receiver, shifts what they read of it. (A time namespace shifts the steady clocks alone, which never jump.)"""
import time

import ledgers
import preload
import store_reader
from chain import Chain, unbalanced
from table import Row

HOUR = 3600


def jumps(findings, plan):
    with Chain() as c:
        made, shift = preload.library(c, "clock_shift"), preload.Numbers(c.folder / "shift", 1)
        sent = c.write_events(spills=400, events=2000, seed=plan.seed)
        with preload.preloaded(made, KOTO_L3_CLOCK_SHIFT=shift.path):
            receiver = c.start_receiver()
            daemon = c.start_daemon()
        relay = c.start_relay(daemon, seed=plan.seed)
        replay = c.replay("relay", 2000)
        c.wait_for_growth()
        before = daemon.status()["receiver"]
        complaints = daemon.said().count("warning") + daemon.said().count("error")
        for _ in range(plan.pick(1, 10)):
            for hours in (1, -1, 0):
                shift.set(0, hours * HOUR)
                findings.inject("jumps of the clock by 1 or 2 h", 1)
                time.sleep(1.7)  # longer than an event's time limit and a spill's, so that one that is wrong shows
                c.wait_for_growth()
        ledger_of_replay = c.interrupt_replay(replay)
        c.finish_relay(relay, ledger_of_replay)
        keys = sent.keys_of(ledger_of_replay)
        status = daemon.wait_for_stored(len(keys))["receiver"]
        spurious = {what: status[what] - before[what] for what in ("blocks_resent", "reconnects", "refusals")}
        complaints = daemon.said().count("warning") + daemon.said().count("error") - complaints
        ledger = c.stop_daemon(daemon)
        receiver.stop()
        found = ledgers.compare(sent, c.store, keys=keys)
        findings.none([*found.faults(), *unbalanced(ledger)])
        findings.equal("events incomplete", sum(s["incomplete"] for s in ledger["spills"]), 0)
        findings.equal("resent, reconnected, refused", sum(spurious.values()), 0)
        findings.equal("warnings of the daemon", complaints, 0)
        sealed = [block.sealed / 1e9 - time.time() for block in store_reader.read_store(c.store, read=store_reader.packed)]
        findings.check(max(sealed) > HOUR / 2 and min(sealed) < -HOUR / 2, "no block has a time of a shifted clock: this proves nothing")
        findings.see("spurious timeouts", sum(spurious.values()) + complaints)
        findings.see("events stored once, bit for bit", len(found.stored))


ROWS = [Row("R20", "clock jumps: steady clock everywhere", "0 spurious timeouts", jumps)]
