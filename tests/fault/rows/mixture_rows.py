# SPDX-License-Identifier: Apache-2.0
"""R1 and R26: everything at once, and what sanitizers say of all programs of all rows. Rounds over UDP, where datagrams are lost, doubled, late and damaged while the far end breaks, and rounds over
TCP, where the daemon itself is killed, too; in each the device fails in one way or none, and the outbox is large or so small that the disk
is in use, or the disk is always. Each event of each round must be where the faults that hit it allow it to be."""
import os
import time

import harness
from breaks import BOTH_ENDS_OF_TCP, WITHOUT_LOSS, at_random
from chain import Chain, Skipped
from scenario import Scenario, hit, play
from table import Row

RATE = 2500  # events a second
SECTIONS = {"outbox": {"block": "64 KiB"}, "forward": {"acknowledge_time_limit": "500 ms"}}
# Other work on this machine may stop replay, relay or daemon for seconds, and the datagrams then come all at once: neither must cost an
# event that no fault has hit.
PATIENT = {**SECTIONS, "frames": {"count": 64}, "building": {"event_time_limit": "6 s", "spill_time_limit": "6 s", "parked_events": 1024}}
LATE_BY = 8  # seconds
# A spill is longer than an event may take: where datagrams that waited come at once, the last chunk of an event, which names no spill, may else
# be taken for that of the event of the same number in the spill before.
SPILL = 20_000
# Of a device; a daemon that is started anew counts its frames anew. Where bits are wrong every event is looked at.
DEVICES = (("", {}), ("error:every=300", {}), ("hang:every=500:for=2 s", {}), ("wrong_bit:every=200", {"verify_one_in": 1}))
OUTBOXES = ({"memory": "1 MiB"}, {"memory": "256 MiB"})
DISKS = ({"use": "overflow"}, {"use": "always"})


def draw(run):
    """A configuration for this round."""
    (fault, compute), outbox, disk = run.random.choice(DEVICES), run.random.choice(OUTBOXES), run.random.choice(DISKS)
    run.sections |= {"environment": harness.failing(fault), "compute": compute,
                     "outbox": {**SECTIONS["outbox"], **outbox}, "spool": disk}
    kind = fault.split(":")[0].replace("_", " ") or "no fault"
    run.findings.inject(f"rounds with {kind} of the device", 1)
    run.findings.inject("rounds with an outbox of 1 MiB", int(outbox is OUTBOXES[0]))
    run.findings.inject("rounds with every block on disk", int(disk is DISKS[1]))


def tell(run):
    may_miss = set()
    if run.relay:
        may_miss = run.hits.may_miss
        run.findings.equal("events shed", run.shed, 0)
        run.findings.equal("events forwarded − stored", run.ledger["events"]["forwarded"] - len(run.found.stored), 0)
        run.findings.equal("datagrams received − sent − garbage", run.ledger["datagrams"]["received"] - run.journal.counts["sent"] - run.garbage, 0)
        for what in ("dropped", "doubled", "delayed", "damaged", "late"):
            run.findings.inject(f"datagrams {what}", run.journal.counts[what])
        run.findings.see("events carried with flipped bits, as injected", len(run.found.wrong))
    run.findings.inject("faults of the device", run.device_faults)
    run.findings.inject("events sent", len(run.keys))
    run.findings.see("events lost on the way in, as injected", len(run.found.missing))
    run.findings.see("events that daemons put on disk for want of room", run.spilled)
    run.findings.see("unaccounted for", len(run.found.missing - may_miss) + len(run.found.doubled) + len(run.found.repeated) + len(run.found.strange))


def mixture(findings, plan):
    if "thread" in os.environ.get("KOTO_L3_SANITIZED", ""):
        raise Skipped("ThreadSanitizer does not see the locks of ZeroMQ, and is so slow over each of its messages that a round does not end")
    rounds, events, begun = 0, 0, time.monotonic()
    least_events, least_seconds = plan.pick((15_000, 0), (plan.events, plan.minutes * 60))
    late_one = 100 * 4 + 1  # four datagrams an event
    relay = {"drop": 0.001, "double": 0.005, "reorder": 0.01, "damage": 0.001, "late_one": late_one, "late_by": LATE_BY}
    while events < least_events or time.monotonic() - begun < least_seconds:
        spills, length = plan.pick((3, 2500), (4, SPILL))
        load = {"spills": spills, "events": length, "rate": RATE, "to_the_end": True, "prepare": draw, "judge": tell}
        over_udp = Scenario(f"round {rounds} over UDP", fault=at_random(WITHOUT_LOSS), relay=relay, daemon=PATIENT, lost=hit, **load)
        over_tcp = Scenario(f"round {rounds} over TCP", fault=at_random(BOTH_ENDS_OF_TCP), over="tcp", replay=("--window", 4), daemon=SECTIONS, **load)
        play(over_tcp if rounds % 2 else over_udp, findings, plan._replace(seed=plan.seed + rounds))
        events += spills * length
        rounds += 1


def sanitizers(findings, plan):
    if not plan.sanitizer:
        raise Skipped("these programs are without a sanitizer: --build build-asan after ./run build asan, or ./run test asan and tsan")
    findings.inject(f"programs run with {plan.sanitizer}", Chain.programs_run)
    findings.see("reports", len(Chain.reports))
    findings.none(Chain.reports)


ROWS = [Row("R1", "conservation under a random mix of faults", "0 of ≥ 10⁶ events unaccounted for", lambda plan: [mixture]),
        Row("R26", "no races, no memory errors", "0 reports", lambda plan: [sanitizers])]
