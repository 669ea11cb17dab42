# SPDX-License-Identifier: Apache-2.0
"""R12–14: the device that computes fails, hangs, or computes wrong. The fault executor (KOTO_L3_TEST_FAULT) stands in for it;
tests/daemon/compute/supervised_engine_test.cpp has each of its faults. A sender over TCP waits, and nothing may be lost; over UDP a hang
costs what comes meanwhile and finds no frame: each such event must be counted."""
import time

import harness
from breaks import Watch
from harness import unbalanced
from scenario import Scenario, counted
from table import Row

FRAMES_OVER_UDP, RATE_OVER_UDP = {"count": 4, "events": 64}, 2000
ENDED_FOR_A_NEW_START = 75


def since_growth(run):
    """Gives the time for which the store has not grown."""
    last = [run.stored_bytes(), time.monotonic()]

    def look():
        now, pause = run.stored_bytes(), time.monotonic() - last[1]
        if now != last[0]:
            last[:] = now, time.monotonic()
        return pause
    return look


def device(fault, environment=None, **settings):
    """Prepares a daemon whose device fails so."""
    def prepare(run):
        run.sections["environment"] = harness.failing(fault) | (environment or {})
        run.sections["compute"] = {"verify_one_in": 1} | settings
    return prepare


def seen(kind, longest, times=1, comes_back=True):
    """Until the status names the fault, and the device computes again."""
    def fault(run):
        run.wait_for_growth()
        pause = Watch(since_growth(run), 0.02)
        run.wait_for(lambda s: s["engine"]["failures"][kind] >= times, f"the {kind}", 600)
        if comes_back:
            run.wait_for(lambda s: s["engine"]["restarts"] and not s["engine"]["bypassed"], "the device again")
        run.wait_for_growth()
        run.findings.time(f"longest pause of the output: {kind}", pause.end(), longest)
        engine = run.daemon.status()["engine"]
        run.findings.inject(kind, engine["failures"][kind])
        for what, name in (("frames computed on the CPU instead", "frames_bypassed"), ("tries of the device that it passed", "restarts"),
                           ("wrong events found", "events_wrong")):
            run.findings.see(what, engine[name])
    return fault


def lost_for_good(run):
    """The CPU computes everything from then on."""
    run.wait_for(lambda s: s["engine"]["frames_bypassed"] >= 20, "twenty frames on the CPU")
    run.findings.equal("tries of the device that it passed", run.daemon.status()["engine"]["restarts"], 0)
    run.findings.equal("device_lost", run.daemon.metrics()['koto_l3_trouble{name="device_lost",severity="warning"}'], 1)
    run.daemon.wait_to_say("only a restart of the daemon can recover it")
    run.findings.inject("a lost device", 1)


def ends_for_a_new_start(run):
    """Between spills, when a service manager would start the daemon anew; the next one goes on, and nothing is lost. It loses its device,
    too, and knows what it is sent once more."""
    for again in (True, False):
        run.findings.equal("exit code of a daemon that has lost its device", run.daemon.wait(), ENDED_FOR_A_NEW_START)
        run.findings.inject("devices lost to their process", 1)
        ledger = run.daemon.ledger()
        run.findings.equal("clean, forwarded, admitted", (ledger["clean"], ledger["events"]["forwarded"], ledger["events"]["admitted"]), (True, 24, 24))
        run.findings.none(unbalanced(ledger))
        if again:
            run.begin_daemon()
            run.begin_replay()


def hangs_over_udp(run):
    """All frames hang, and hold less than comes in the time after which that is noticed. One that hangs alone delays no other."""
    seen("hang", 2, comes_back=False)(run)
    run.wait_for(lambda s: not s["engine"]["bypassed"], "the device again")


def shed_for_want_of_a_frame(run):
    shed = run.ledger["events"]["shed"]["no_frame"]
    run.findings.check(shed > 0, "nothing was shed: this proves no more than over TCP")
    run.findings.equal("events shed for another reason", run.shed - shed, 0)
    run.findings.equal("datagrams received − sent", run.ledger["datagrams"]["received"] - run.journal.counts["sent"], 0)
    run.findings.equal("events forwarded − stored", run.ledger["events"]["forwarded"] - len(run.found.stored), 0)
    run.findings.see("events that hangs over UDP cost, shed for want of a frame and counted", shed)


def devices(plan):
    tcp = {"over": "tcp", "rate": 1000, "events": 2000, "daemon": {"frames": {"count": 16, "events": 16}}}
    few = tcp | {"daemon": {"frames": {"events": 4}}}
    managed = {"NOTIFY_SOCKET": "@koto-l3-test"}
    yield Scenario("errors", prepare=device("error:every=40"), fault=seen("error", 1, plan.pick(1, 5), comes_back=False), **tcp)
    yield Scenario("a hang", prepare=device("hang:at=60:for=3 s"), fault=seen("hang", 2), **tcp)
    yield Scenario("a wrong bit", prepare=device("wrong_bit:at=60"), fault=seen("wrong", 1), **tcp)
    yield Scenario("a wrong decision", prepare=device("wrong_decision:at=60"), fault=seen("wrong", 1), **tcp)
    yield Scenario("a lost device", prepare=device("lost:from=3"), fault=lost_for_good, **few)
    yield Scenario("a new start", prepare=device("lost:from=3", environment=managed), fault=ends_for_a_new_start,
                   **few | {"spills": 1, "events": 24, "to_the_end": True})
    if harness.SANITIZED:
        yield lambda findings, plan: findings.skip_part("a hang over UDP: with a sanitizer so little comes that the frames hold it")
    else:
        yield Scenario(f"hangs over UDP at {RATE_OVER_UDP} events/s", fault=hangs_over_udp,
                       prepare=device(f"hang:from={plan.pick(300, 1500)}:for=3 s", verify_one_in=1000),
                       events=2000, rate=RATE_OVER_UDP, daemon={"frames": FRAMES_OVER_UDP}, lost=counted, judge=shed_for_want_of_a_frame)


ROWS = [Row("R12–14", "GPU error, hang, silent error: bypass, restart, alarm", "switch ≤ 1 s, hang seen ≤ 2 s, wrong bit found", devices)]
