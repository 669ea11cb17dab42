# SPDX-License-Identifier: Apache-2.0
"""R4 and R5: what happens to datagrams on their way from the crates, and to blocks in a store or a spool. Datagrams that come twice, late and in
another order are part of R1."""
import random

import namespaces
from rows.mixture_rows import PATIENT, SPILL
from scenario import Scenario, counted, hit, judged
from table import Row

# As in R1, and with its long spills: a machine that stands still for a second must not cost an event that was not hit.
PATIENCE = {"frames": PATIENT["frames"], "building": PATIENT["building"]}


def ports(run):
    return f"udp dport {run.ports.udp}-{run.ports.udp + 7}"


def drop_chosen(of_1000):
    """Datagrams that are chosen before, so that it is known which events they hit; the kernel drops and counts them."""
    def prepare(run):
        rng, d, events = random.Random(f"{run.plan.seed} {of_1000}"), run.datagrams, run.scenario.events
        run.chosen = {datagram for n in range(1, events + 1) for datagram in d.of_event(n) if rng.random() * 1000 < of_1000}
        # The last packets of each spill: a chunk of the last event, all of the last but one, and an end of spill of both crates.
        run.chosen.add((d.fragment(events, 1), 0))
        run.chosen.update(d.of_event(events - 1))
        run.input_faults = namespaces.Rules(run.network, run.network.daemon)
        run.input_faults.load(f"{ports(run)} {namespaces.in_set('chosen')} {{count dropped}} drop",
                              sets=[namespaces.set_of_datagrams("chosen", sorted(run.chosen | {(0, 1)}))])
    return prepare


def chosen_loss_is_seen(run):
    d, chosen, spills = run.datagrams, run.chosen, run.sent.spills
    hit_events = {d.name(f)[0] for f, chunk in chosen if d.matters(f, chunk)}
    came = {n: [datagram for datagram in d.of_event(n) if datagram not in chosen] for n in hit_events}
    unseen = {n for n in hit_events if not came[n]}
    # The spill of these is unknown: each fragment of which a chunk came is counted as late.
    nameless = {n for n in hit_events - unseen if not any(d.names_spill(*datagram) for datagram in came[n])}
    lost = {(spill, n) for spill, n in run.sent.keys() if n in hit_events}
    run.findings.equal("events missing − hit", len(run.found.missing ^ lost), 0)
    dropped = run.input_faults.counts()["dropped"]
    run.findings.equal("datagrams dropped", dropped, (len(chosen) + 2) * spills)
    run.findings.equal("datagrams sent − received − dropped", run.journal.counts["sent"] - run.ledger["datagrams"]["received"] - dropped, 0)
    run.findings.inject("datagrams dropped", dropped)
    run.findings.equal("events reported incomplete − hit and seen", run.incomplete - (len(hit_events) - len(unseen | nameless)) * spills, 0)
    late = sum(len(came[n]) for n in nameless) * spills
    run.findings.equal("fragments late − of nameless chunks", run.ledger["fragments"]["late"] - late, 0)
    run.findings.see("events hit by chosen ones, and incomplete", run.incomplete)
    run.findings.see("of which no datagram came", len(unseen) * spills)
    run.findings.see("of which only chunks came that name no spill, counted as late", len(nameless) * spills)


# R5

def changed_as_seen(run):
    run.findings.inject("bits flipped before the checksum", run.journal.counts["damaged"])
    run.findings.see("events refused", len(run.found.missing))
    run.findings.see("events carried with flipped bits", len(run.hits.changed.keys() & run.found.stored))


def damaged_spool(of_an_earlier_start):
    """Blocks on disk are damaged while nobody receives; events that were acknowledged are lost, and the end says so."""
    def fault(run):
        run.finish_replay()
        if of_an_earlier_start:
            run.stop_daemon()
        for segment in (run.folder / f"spool-{run.ports.tcp}").glob("spool-*.kl3"):
            with open(segment, "r+b") as f:  # the same file: the daemon has it open
                data = f.read()
                for at in range(40_000, len(data), 40_000):  # a block has 64 KiB
                    f.seek(at)
                    f.write(bytes([data[at] ^ 1]))
                    run.findings.inject("bits flipped in blocks on disk", 1)
        if of_an_earlier_start:
            run.begin_daemon()
        run.begin_receiver()
        run.wait_for_empty_spool()
    return fault


def loss_is_told(run):
    run.findings.check(len(run.found.missing) > 0, "nothing was lost: this proves nothing")
    run.findings.equal("clean", run.ledger["clean"], False)
    run.daemon.wait_to_say("acknowledged events are lost on disk")
    run.findings.see("events of damaged blocks on disk", len(run.found.missing))


def damaged(run):
    """An empty block takes the place of a damaged one, so that the blocks behind it follow without a gap."""
    earlier = len(run.ledgers) > 1
    run.findings.check(not earlier or sum(lane["damaged"] for lane in run.ledger["spool"]["lanes"]) > 0, "no lane names its damaged blocks")
    run.found = run.found._replace(hollow=0)
    return run.found.missing if earlier else counted(run)


def lost_input(plan):
    spills, events = plan.pick((1, 1000), (2, SPILL))
    return [Scenario(f"{of_1000} ‰", prepare=drop_chosen(of_1000), spills=spills, events=events, to_the_end=True, daemon=PATIENCE, lost=judged,
                     judge=chosen_loss_is_seen) for of_1000 in plan.pick((20,), (1, 10, 100))]


def corrupted(plan):
    """Before the checksum of UDP was computed: what can be seen is refused, the rest is carried as it came. In a spool: checksums find it. In a
    store: store_test, and tests/system/selecting.py."""
    spills, events = plan.pick((1, 2000), (10, SPILL))
    yield Scenario("before it", relay={"damage": 0.02}, spills=spills, events=events, to_the_end=True, daemon=PATIENCE, lost=hit,
                   judge=changed_as_seen)
    disk = {"over": "tcp", "rate": 100_000, "spills": 1, "events": 3000, "to_the_end": True, "receiver": None, "exit_code": 1, "judge": loss_is_told}
    little = {"outbox": {"memory": "1 MiB", "block": "64 KiB"}}
    yield Scenario("on disk", fault=damaged_spool(False), daemon=little, lost=damaged, **disk)
    yield Scenario("on disk, by an earlier start", fault=damaged_spool(True), daemon=little | {"spool": {"segment": "1 MiB"}}, lost=damaged, **disk)


ROWS = [Row("R4", "input loss is seen exactly", "reported − injected = 0", lost_input),
        Row("R5", "corruption is seen", "nothing wrong is forwarded as right", corrupted)]
