# SPDX-License-Identifier: Apache-2.0
"""R2, R3, R9, R30 and R31: sender, receiver, or the way between daemon and receiver go away and come back."""
import signal
import time

import harness
import ledgers
import namespaces
from breaks import reset_line
from scenario import Scenario
from table import Row

CABLE = 10e6  # bits a second that each of several takes
SHARE = 0.03  # that a pulled cable may cost beyond its own
DRAIN = 1.3  # times the input
LONGEST_OUTAGE = 1500  # seconds: then the numbers of spills come again
RESEND_SOON = {"outbox": {"block": "32 KiB"}, "forward": {"acknowledge_time_limit": "500 ms"}}


def killed_receivers(run):
    """Killed while it works, and killed while it stands still with blocks before it. The last one also stands still and goes on: then blocks that
    were sent again in vain must be dropped, and counted. Torn ends: store_crash_test, store_model_test."""
    for kill in range(run.plan.pick(4, 20)):
        if kill % 2:  # a slow one: blocks pile up before it, unacknowledged
            sent = run.daemon.status()["receiver"]["blocks_sent"]
            run.receiver.signal(signal.SIGSTOP)
            run.wait_for(lambda s: s["receiver"]["blocks_sent"] > sent, "blocks to be under way")
        told = run.daemon.status()["events"]["forwarded"]
        run.kill_receiver()
        stored = len(ledgers.stored_order(run.store))
        run.findings.check(stored >= told, f"a reader finds {stored} events, the daemon was told that {told} are stored")
        run.begin_receiver()
        run.wait_for_growth()
    for _ in range(run.plan.pick(2, 10)):
        resent = run.status()["receiver"]["blocks_resent"]
        run.receiver.signal(signal.SIGSTOP)
        run.wait_for(lambda s: s["receiver"]["blocks_resent"] > resent, "blocks to be sent again")
        run.receiver.signal(signal.SIGCONT)
        run.findings.inject("pauses after which blocks come twice", 1)
        run.wait_for_growth()


def some_came_twice(run):
    repeats = harness.json.loads((run.store / "ledger.json").read_text())["datagrams"]["duplicate"]
    run.findings.see("blocks dropped as duplicates by the last receiver", repeats)
    run.findings.check(repeats > 0, "no block came twice: nothing shows that the second would have been dropped")


def broken_link(run):
    resets, longest, packets = run.plan.pick(2, 20), 0, 0
    run.wait_for_growth()
    for _ in range(resets):
        packets += reset_line(run, 1)
        longest = max(longest, run.wait_for_growth())
    run.findings.check(packets >= resets, f"{packets} packets were reset in {resets} times")
    run.findings.time("flowing after a reset", longest, 2)
    pulled = ("cable pulled", run.network.pull_cable, lambda: run.network.pull_cable(False))
    stopped = ("peer stopped", lambda: run.receiver.signal(signal.SIGSTOP), lambda: run.receiver.signal(signal.SIGCONT))
    for (what, begin, end), seconds in ((pulled, 3), *run.plan.pick((), ((pulled, 30),)), (stopped, 0)):
        run.wait_for(lambda s: s["receiver"]["connected"] and not s["state"]["degraded"], "the daemon to be well")
        begun = time.monotonic()
        begin()
        run.wait_for(lambda s: "receiver_absent" in s["state"]["degraded"], "the daemon to notice")
        run.findings.time(f"{what} seen", time.monotonic() - begun, 3)
        time.sleep(max(0.0, begun + seconds - time.monotonic()))
        end()
        run.findings.inject(what, 1)
        run.findings.time("flowing after it", run.wait_for_growth(), 2)


# R9: memory fills first, then the disk. When the receiver is back the backlog goes out beside fresh events.
RATE_OF_OUTAGE = 1000


def outage(seconds, least=0):
    def fault(run):
        run.wait_for_growth()
        run.kill_receiver()
        time.sleep(seconds)  # the fault is as long as this
        run.wait_for(lambda s: s["spool"]["events"] > 0, "events on disk")
        run.begin_receiver()
        begun, run.back = time.monotonic(), run.daemon.status()["events"]
        status = run.wait_for(lambda s: not s["spool"]["events"] and s["events"]["forwarded"] > run.back["admitted"], "an empty spool", 600)
        drained = (status["events"]["forwarded"] - run.back["forwarded"]) / (time.monotonic() - begun) / RATE_OF_OUTAGE
        run.findings.see("times the input is what went out until the disk was empty", round(drained, 2))
        run.findings.check(run.plan.short or drained >= least, f"drained at {drained:.2f} times the input")
        run.findings.inject(f"receiver away for {seconds:.0f} s", 1)
    return fault


def newest_did_not_wait(run):
    # /status is half a second old at most: events behind these came when the receiver was back.
    fresh, order = set(run.keys[run.back["admitted"] + RATE_OF_OUTAGE:]), ledgers.stored_order(run.store)
    first_fresh = next((i for i, key in enumerate(order) if key in fresh), len(order))
    last_old = max(i for i, key in enumerate(order) if key not in fresh)
    run.findings.check(first_fresh < last_old, "no fresh event was stored before the whole backlog was")
    run.findings.see("old events stored behind the first fresh one over a slow link", sum(key not in fresh for key in order[first_fresh:]))


# R30

def several_cables(run):
    """Each with a rate of its own, one of them the cable that every chain has."""
    network, names, ways = run.network, [namespaces.TO_RECEIVER], [(namespaces.DAEMON_OUT, namespaces.RECEIVER)]
    for n in range(1, 4):
        ways.append((f"10.77.{n + 2}.1", f"10.77.{n + 2}.2"))
        names.append(f"to_receiver_{n}")
        network.join(names[-1], network.daemon, ways[-1][0], f"cable_{n}", network.receiver, ways[-1][1])
    for name in names:
        network.run("tc", "qdisc", "add", "dev", name, "root", "tbf", "rate", f"{CABLE:.0f}", "burst", "64k", "latency", "50ms")
    run.receiver_host = "*"
    run.sections["forward"] = {"rate": "unlimited", "to": f"tcp://{namespaces.RECEIVER}:{run.ports.receiver}",
                               "from": [f"{near} to tcp://{far}:{run.ports.receiver}" for near, far in ways]}


def one_pulled(run):
    run.finish_replay()
    run.begin_receiver()
    run.wait_for_growth()
    rates, seconds = [], 10
    for state in (None, "down", "up"):
        if state:
            run.network.ip("link", "set", "dev", "cable_2", state, at=run.network.receiver)
            time.sleep(3)  # a silent cable is left after 0.25 s; its blocks go again behind those that the others have queued
        begun, before = time.monotonic(), run.stored_bytes()
        time.sleep(seconds)
        rates.append((run.stored_bytes() - before) * 8 / (time.monotonic() - begun))
    run.findings.inject("cables pulled", 1)
    four, three, again = rates
    for what, rate in (("four", four), ("one of them pulled", three), ("four again", again)):
        run.findings.see(f"Mb/s with {what}", round(rate / 1e6))
    run.findings.check(run.daemon.status()["events"]["in_flight"] > 0, "all had left before the last was measured: this would prove less than it says")
    run.findings.check(four < 1.0125 * 4 * CABLE and three < 1.0125 * 3 * CABLE, f"more than the cables take: {rates}")
    run.findings.check(three > (0.75 - SHARE) * four, f"a cable that is pulled costs more than its share: {rates}")
    run.findings.check(again > 1.15 * three, f"a cable that is there again is not used: {rates}")


# R31

def killed_senders(run):
    """Each is killed within a spill and begins anew from the first event; the last one comes to the end."""
    for _ in range(run.plan.pick(3, 20)):
        admitted = run.daemon.status()["events"]["admitted"]
        run.wait_for(lambda s: s["events"]["admitted"] > admitted + 20, "events that are new")
        run.findings.check(run.replay.running(), "it ended before it was killed: this proves nothing")
        run.replay.kill()
        run.findings.inject(f"kills −9 of a sender over {run.scenario.over.upper()}", 1)
        run.begin_replay()


def repeats_counted(run):
    fragments, datagrams = run.ledger["fragments"], run.ledger["datagrams"]
    repeats = sum(counts["duplicate"] + counts["late"] for counts in (fragments, datagrams))
    run.findings.check(repeats > 0, "nothing came twice: this proves less than it says")
    run.findings.equal("events admitted", run.ledger["events"]["admitted"], len(run.keys))


def outages(plan):
    busy = {"rate": RATE_OF_OUTAGE, "events": 5000}
    some = {"outbox": {"memory": "4 MiB", "block": "64 KiB"}}
    yield Scenario("the link as fast as it can be", fault=outage(plan.pick(2, min(plan.minutes * 60, LONGEST_OUTAGE)), DRAIN), **busy, daemon=some)
    if harness.SANITIZED:
        yield lambda findings, plan: findings.skip_part("fresh events beside a backlog: with a sanitizer too little comes for there to be one")
    else:
        yield Scenario("a link of 32 Mb/s", fault=outage(plan.pick(3, 60)), **busy, daemon=some | {"forward": {"rate": "32 Mb/s"}},
                       judge=newest_did_not_wait)


def senders(plan):
    few = {"spills": 1, "events": plan.pick(500, 4000), "rate": 150, "to_the_end": True, "fault": killed_senders, "judge": repeats_counted}
    return [Scenario("over UDP", over="udp", **few), Scenario("over TCP", over="tcp", **few)]


ROWS = [Row("R2", "no loss after admission", "0 lost, duplicates dropped", lambda plan: [
            Scenario(events=2000, fault=killed_receivers, daemon=RESEND_SOON, judge=some_came_twice)]),
        Row("R3", "half-open link resumes by itself", "0 lost; seen ≤ 3 s; flowing ≤ 2 s after", lambda plan: [
            Scenario(events=2000, fault=broken_link, daemon=RESEND_SOON)]),
        Row("R9", "an outage is ridden out", "0 lost; drain ≥ 1.3 × input; the newest not starved", outages),
        Row("R30", "several cables, one pulled", "≥ 0.72 of the rate with 3 of 4, 0 lost", lambda plan: [
            Scenario(over="tcp", rate=100_000, spills=1, events=100_000, to_the_end=True, receiver=None, prepare=several_cables, fault=one_pulled,
                     daemon={"frames": {"count": 4}, "outbox": {"block": "64 KiB", "memory": "64 MiB"}})], long=True),
        Row("R31", "kill −9 of a sender, which begins anew", "0 lost, 0 doubled in the store", senders)]
