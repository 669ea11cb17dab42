# SPDX-License-Identifier: Apache-2.0
"""R4, R5 and R6: what happens to datagrams on their way from the crates."""
import random

import faults
import ledgers
from chain import Chain, unbalanced
from table import Row


def lost_input(findings, plan):
    """Datagrams that are chosen before, so that it is known which events they hit; the kernel drops and counts them."""
    for of_1000 in plan.pick((10, 100), (1, 10, 100)):
        with Chain() as c:
            _drop_chosen(findings, c, plan, of_1000)
    with Chain() as c:
        _drop_at_random(findings, c, plan)


def _drop_chosen(findings, c, plan, of_1000):
    events = plan.pick(1000, 4000)
    sent = c.write_events(spills=plan.pick(1, 10), events=events, seed=plan.seed)
    rng = random.Random(f"{plan.seed} {of_1000}")
    chosen = {d for n in range(1, events + 1) for d in c.datagrams.of_event(n) if rng.random() * 1000 < of_1000}
    # The last packets of each spill: a chunk of the last event, all of the last but one, and an end of spill of both crates.
    chosen.add((c.datagrams.fragment(events, 1), 0))
    chosen.update(c.datagrams.of_event(events - 1))
    ends = {(0, 1)}
    receiver, daemon = c.start_receiver(), c.start_daemon()
    relay = c.start_relay(daemon, seed=plan.seed)
    c.input_faults.load(f"udp dport {c.ports.udp}-{c.ports.udp + 7} {faults.in_set('chosen')} {{count dropped}} drop",
                        sets=[faults.set_of_datagrams("chosen", sorted(chosen | ends))])
    replay = c.replay("relay", 2000)
    ledger_of_replay = c.finish_replay(replay, 600)
    journal = c.finish_relay(relay, ledger_of_replay)
    c.drain(daemon)
    dropped = c.input_faults.counts()["dropped"]
    ledger = c.stop_daemon(daemon)
    receiver.stop()

    hit = {c.datagrams.name(f)[0] for f, chunk in chosen if c.datagrams.matters(f, chunk)}
    unseen = {n for n in hit if all(d in chosen for d in c.datagrams.of_event(n))}
    lost = {(spill, n) for spill, n in sent.keys() if n in hit}
    found = ledgers.compare(sent, c.store)
    findings.none(found.faults(may_miss=lost))
    findings.equal(f"{of_1000} ‰: events stored though a datagram of theirs was dropped", len(lost & found.stored), 0)
    findings.equal(f"{of_1000} ‰: datagrams dropped", dropped, (len(chosen) + 2 * len(ends)) * sent.spills)
    findings.equal(f"{of_1000} ‰: datagrams sent − received − dropped",
                   journal.counts["sent"] - ledger["datagrams"]["received"] - dropped, 0)
    incomplete = sum(s["incomplete"] for s in ledger["spills"])
    findings.equal(f"{of_1000} ‰: events reported incomplete − hit and seen", incomplete - (len(hit) - len(unseen)) * sent.spills, 0)
    findings.none(unbalanced(ledger))
    findings.inject("datagrams dropped", dropped)
    findings.inject("events hit by chosen ones", len(lost))
    findings.see("events of them incomplete", incomplete)
    findings.see("of which nothing came", len(unseen) * sent.spills)
    findings.see("events stored bit for bit", len(found.stored))


def _drop_at_random(findings, c, plan):
    """The kernel chooses by itself; the sums alone say what it hit. Ends of spill are not dropped: they say how many events there were."""
    sent = c.write_events(spills=plan.pick(1, 10), events=plan.pick(2000, 4000), seed=plan.seed)
    receiver, daemon = c.start_receiver(), c.start_daemon()
    relay = c.start_relay(daemon, seed=plan.seed)
    ports = f"udp dport {c.ports.udp}-{c.ports.udp + 7}"
    c.input_faults.load(f"{ports} @th,64,32 0 accept", f"{ports} {faults.some(10)} {{count dropped}} drop")
    ledger_of_replay = c.finish_replay(c.replay("relay", 2000), 600)
    journal = c.finish_relay(relay, ledger_of_replay)
    c.drain(daemon)
    dropped = c.input_faults.counts()["dropped"]
    ledger = c.stop_daemon(daemon)
    receiver.stop()
    found = ledgers.compare(sent, c.store)
    reported = sum(s["expected"] - s["admitted"] for s in ledger["spills"])
    findings.none(found.faults(may_miss=found.missing))
    findings.equal("at random: datagrams sent − received − dropped", journal.counts["sent"] - ledger["datagrams"]["received"] - dropped, 0)
    findings.equal("at random: events reported as lost − not stored", reported - len(found.missing), 0)
    findings.check(0 < reported <= dropped, f"at random: {dropped} datagrams dropped, {reported} events reported as lost")
    findings.none(unbalanced(ledger))
    findings.inject("datagrams dropped", dropped)
    findings.see("incomplete by those dropped at random", reported)
    findings.see("events stored bit for bit", len(found.stored))


ROWS = [Row("R4", "input loss is seen exactly", "reported − injected = 0", lost_input)]
