# SPDX-License-Identifier: Apache-2.0
"""R2 and R3: the receiver, or the way to it, goes away and comes back."""
import signal
import time

import ledgers
from chain import Chain, unbalanced
from faults import Rules
from table import Row

RATE = 2000  # events a second
DUPLICATES = "of them dropped as duplicates by the last receiver"


def _run_under(findings, plan, breaking, what):
    """Sends for as long as `breaking(chain, daemon, receiver)` does its work; then every event must be stored once."""
    with Chain() as c:
        sent = c.write_events(spills=400, events=2000, seed=plan.seed)
        receiver = c.start_receiver()
        daemon = c.start_daemon(outbox={"block": "32 KiB"}, forward={"acknowledge_time_limit": "500 ms"})
        relay = c.start_relay(daemon, seed=plan.seed)
        replay = c.replay("relay", RATE)
        c.wait_for_growth()
        receiver = breaking(c, daemon, receiver)
        ledger_of_replay = c.interrupt_replay(replay)
        c.finish_relay(relay, ledger_of_replay)
        keys = sent.keys_of(ledger_of_replay)
        daemon.wait_for_stored(len(keys))
        resent = daemon.status()["receiver"]["blocks_resent"]
        ledger = c.stop_daemon(daemon)
        findings.equal(f"{what}: the receiver's exit code", receiver.stop(), 0)
        findings.see("blocks sent again", resent)
        findings.see(DUPLICATES, c.receiver_ledger()["datagrams"]["duplicate"])
        found = ledgers.compare(sent, c.store, keys=keys)
        findings.none(f"{what}: {text}" for text in [*found.faults(), *unbalanced(ledger)])
        findings.see("events stored once, bit for bit", len(found.stored))
        findings.see("lost", len(found.missing))


def receiver_killed(findings, plan):
    """Killed while it works, and killed while it stands still with blocks before it. Who is started anew tells what is stored, and hardly
    anything comes twice; the last one also stands still and goes on: then what was sent again in vain must be dropped, and counted."""
    kills, pauses = plan.pick(4, 20), plan.pick(2, 10)

    def breaking(c, daemon, receiver):
        for kill in range(kills):
            if kill % 2:  # a slow one: blocks pile up before it, unacknowledged
                sent = daemon.status()["receiver"]["blocks_sent"]
                receiver.signal(signal.SIGSTOP)
                daemon.wait_for(lambda s: s["receiver"]["blocks_sent"] > sent, "blocks to be under way")
            receiver.kill()
            receiver = c.start_receiver()
            c.wait_for_growth()
        for _ in range(pauses):
            resent = daemon.status()["receiver"]["blocks_resent"]
            receiver.signal(signal.SIGSTOP)
            daemon.wait_for(lambda s: s["receiver"]["blocks_resent"] > resent, "blocks to be sent again")
            receiver.signal(signal.SIGCONT)
            c.wait_for_growth()
        return receiver

    _run_under(findings, plan, breaking, "killed")
    findings.check(findings.seen[DUPLICATES] > 0, "no block came twice: nothing shows that the second would have been dropped")
    findings.inject("pauses after which blocks come twice", pauses)
    findings.inject("kills −9", kills)
    findings.inject("of them while it was stopped", kills // 2)


def line_broken(findings, plan):
    resets, down = plan.pick(2, 20), plan.pick(3, 30)

    def well(daemon):
        daemon.wait_for(lambda s: s["receiver"]["connected"] and not s["state"]["degraded"], "the daemon to be well")

    def notice(daemon, begun):
        daemon.wait_for(lambda s: "receiver_absent" in s["state"]["degraded"], "the daemon to notice")
        return time.monotonic() - begun

    def reset_again_and_again(c, daemon, receiver):
        rules = Rules(c.network, c.network.receiver)
        longest = packets = 0
        for _ in range(resets):
            rules.load(f"tcp dport {c.ports.receiver} {{count reset}} reject with tcp reset", hook="input", priority="0")
            time.sleep(1)  # the fault is as long as this
            packets += rules.counts()["reset"]
            rules.clear()
            longest = max(longest, c.wait_for_growth())
        findings.check(packets >= resets, f"{packets} packets were reset in {resets} times")
        findings.inject("resets of 1 s", resets)
        findings.inject("packets reset", packets)
        findings.time("flowing after a reset", longest, 2)
        return receiver

    def pull(c, daemon, receiver):
        for seconds in (3, down) if down != 3 else (3,):
            well(daemon)
            begun = time.monotonic()
            c.network.pull_cable()
            noticed = notice(daemon, begun)
            time.sleep(max(0.0, begun + seconds - time.monotonic()))
            c.network.pull_cable(False)
            findings.inject(f"cable pulled for {max(seconds, noticed):.0f} s", 1)
            findings.time("pulled cable seen", noticed, 3)
            findings.time("flowing after it", c.wait_for_growth(), 2)
        return receiver

    def stop_peer(c, daemon, receiver):
        well(daemon)
        begun = time.monotonic()
        receiver.signal(signal.SIGSTOP)
        findings.time("stopped peer seen", notice(daemon, begun), 3)
        receiver.signal(signal.SIGCONT)
        findings.inject("peer stopped", 1)
        findings.time("flowing after it", c.wait_for_growth(), 2)
        return receiver

    def all_of_it(c, daemon, receiver):
        for fault in (reset_again_and_again, pull, stop_peer):
            receiver = fault(c, daemon, receiver)
        return receiver

    _run_under(findings, plan, all_of_it, "line broken")


ROWS = [Row("R2", "no loss after admission", "0 lost, duplicates dropped", receiver_killed),
        Row("R3", "half-open link resumes by itself", "0 lost; seen ≤ 3 s; flowing ≤ 2 s after", line_broken)]
