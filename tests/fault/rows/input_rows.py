# SPDX-License-Identifier: Apache-2.0
"""R4, R5 and R6: what happens to datagrams on their way from the crates, and to blocks in a store or a spool."""
import filecmp
import itertools
import random

import ledgers
import namespaces
import store_reader
from rows.mixture_rows import LATE_BY, PATIENT, SPILL
from scenario import Scenario, counted, hit, judged
from table import Row

# As in R1, and with its long spills: a machine that stands still for a second must not cost an event that was not hit.
PATIENCE = {"frames": PATIENT["frames"], "building": PATIENT["building"]}
FLIPS = 1_000_000  # in stored blocks


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


def loss_is_seen(run):
    """Datagrams that the kernel dropped, and events that the daemon reports as lost."""
    dropped = run.input_faults.counts()["dropped"]
    run.findings.equal("datagrams sent − received − dropped", run.journal.counts["sent"] - run.ledger["datagrams"]["received"] - dropped, 0)
    run.findings.inject("datagrams dropped", dropped)
    return dropped


def chosen_loss_is_seen(run):
    d, chosen, spills = run.datagrams, run.chosen, run.sent.spills
    hit_events = {d.name(f)[0] for f, chunk in chosen if d.matters(f, chunk)}
    came = {n: [datagram for datagram in d.of_event(n) if datagram not in chosen] for n in hit_events}
    unseen = {n for n in hit_events if not came[n]}
    # The spill of these is unknown: each fragment of which a chunk came is counted as late.
    nameless = {n for n in hit_events - unseen if not any(d.names_spill(*datagram) for datagram in came[n])}
    lost = {(spill, n) for spill, n in run.sent.keys() if n in hit_events}
    run.findings.equal("events missing − hit", len(run.found.missing ^ lost), 0)
    run.findings.equal("datagrams dropped", loss_is_seen(run), (len(chosen) + 2) * spills)
    run.findings.equal("events reported incomplete − hit and seen", run.incomplete - (len(hit_events) - len(unseen | nameless)) * spills, 0)
    late = sum(len(came[n]) for n in nameless) * spills
    run.findings.equal("fragments late − of nameless chunks", run.ledger["fragments"]["late"] - late, 0)
    run.findings.see("events hit by chosen ones, and incomplete", run.incomplete)
    run.findings.see("of which no datagram came", len(unseen) * spills)
    run.findings.see("of which only chunks came that name no spill, counted as late", len(nameless) * spills)


def drop_at_random(run):
    """Ends of spill are not dropped: they say how many events there were."""
    run.input_faults = namespaces.Rules(run.network, run.network.daemon)
    run.input_faults.load(f"{ports(run)} @th,64,32 0 accept", f"{ports(run)} {namespaces.some(10)} {{count dropped}} drop")


def random_loss_is_seen(run):
    dropped, reported = loss_is_seen(run), sum(s["expected"] - s["admitted"] for s in run.ledger["spills"])
    run.findings.equal("events reported as lost − not stored", reported - len(run.found.missing), 0)
    run.findings.check(0 < reported <= dropped, f"{dropped} datagrams dropped, {reported} events reported as lost")
    run.findings.see("incomplete by those dropped at random", reported)


# R5

def change_on_the_cable(run):
    run.network.compute_checksums()
    places = (64, 160, 168, 1200)  # bits behind the start of the UDP header: fragment id, crate and board header, a sample
    run.input_faults = namespaces.Rules(run.network, run.network.daemon)
    run.input_faults.load(*(f"{ports(run)} @th,{bit},8 != 0xa5 {namespaces.some(3)} @th,{bit},8 set 0xa5 {{count changed}} accept" for bit in places))
    run.refused_before = run.network.udp_counts()["InCsumErrors"]


def kernel_refuses(run):
    changed, refused = run.input_faults.counts()["changed"], run.network.udp_counts()["InCsumErrors"] - run.refused_before
    run.findings.equal("datagrams changed − refused by the kernel", changed - refused, 0)
    run.findings.equal("sent − received − refused", run.journal.counts["sent"] - run.ledger["datagrams"]["received"] - refused, 0)
    run.findings.check(0 < len(run.found.missing) <= changed, f"{changed} datagrams changed, {len(run.found.missing)} events lost")
    run.findings.inject("datagrams changed on the cable, and refused by the kernel", changed)


def changed_as_seen(run):
    run.findings.inject("bits flipped before the checksum", run.journal.counts["damaged"])
    for kind, n in sorted(run.hits.flips.items()):
        run.findings.see(kind, n)
    run.findings.see("events refused", len(run.found.missing))
    run.findings.see("events carried with flipped bits", len(run.hits.carried.keys() & run.found.stored))
    run.findings.see("filled with a stray chunk for want of the right one", run.hits.filled_with_strays)
    _change_the_store(run)


def _change_the_store(run):
    """A bit in every other block of a copy of the store, again and again: the events of the others are all there, and no other."""
    originals, rng, least = {p.name: p.read_bytes() for p in sorted(run.store.glob("blocks-*.kl3"))}, random.Random(run.plan.seed), run.plan.pick(0, FLIPS)
    intact = [_extract_every_other(run, originals, of) for of in (0, 1)]
    damaged, flips = run.folder / "damaged", 0
    damaged.mkdir()
    for turn in itertools.count():
        for name, original in originals.items():
            data = bytearray(original)
            for n, (at, end) in enumerate(_blocks(original)):
                if n & 1 != turn & 1:
                    bit = rng.randrange(8 * at, 8 * end)
                    data[bit // 8] ^= 1 << bit % 8
                    flips += 1
            (damaged / name).write_bytes(data)
        run.run_tool("extract", damaged, damaged / "events")
        if not filecmp.cmp(damaged / "events", intact[turn & 1], shallow=False):
            run.findings.check(False, f"turn {turn}: what is read of a damaged store is not what its intact blocks hold")
            break
        if flips >= least:
            break
    run.findings.check(flips > 100, f"{flips} blocks damaged: this proves little")
    run.findings.inject("bits flipped in stored blocks", flips)
    run.findings.see("blocks left out", flips)


def _blocks(data):
    """Where each begins and ends."""
    at = store_reader.FILE_HEADER.size
    while at < len(data):
        end = at + store_reader.BLOCK_HEADER.size + int.from_bytes(data[at + 8:at + 12], "little")
        yield at, end
        at = end


def _extract_every_other(run, files, which):
    """What is read of a store that has those blocks alone, in a file."""
    folder = run.folder / f"intact{which}"
    folder.mkdir()
    for name, data in files.items():
        still_written = "-".join(name.split("-")[:2]).removesuffix(".kl3") + ".kl3"  # a complete one has a sidecar
        (folder / still_written).write_bytes(data[:store_reader.FILE_HEADER.size] +
                                             b"".join(data[at:end] for n, (at, end) in enumerate(_blocks(data)) if n & 1 == which))
    code, said = run.run_tool("extract", folder, folder / "events")
    run.findings.check(code == 0, f"extract: {said[-300:]}")
    return folder / "events"


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
    earlier = len(run.ledger_files) > 1
    run.findings.check(not earlier or sum(lane["damaged"] for lane in run.ledger["spool"]["lanes"]) > 0, "no lane names its damaged blocks")
    run.found = run.found._replace(hollow=0)
    return run.found.missing if earlier else counted(run)


# R6

def each_event_once(run):
    repeats = [run.ledger["datagrams"][why] for why in ("duplicate", "late")] + [run.ledger["datagrams"]["malformed"]["wrong_spill"]]
    doubled = sum(f["length"] > 12 for f in run.journal.of("doubled"))
    run.findings.equal("datagrams received − sent", run.ledger["datagrams"]["received"] - run.journal.counts["sent"], 0)
    # The very late one may come when every spill is over: then it begins one that is never confirmed, and is incomplete.
    run.findings.check(sum(repeats) - doubled in (0, 1), f"{doubled} chunks doubled and one very late, {sum(repeats)} seen as such")
    run.findings.equal("events lost to the late datagram", len(run.found.missing), 1)
    for what in ("doubled", "delayed", "late"):
        run.findings.inject(f"datagrams {what}", run.journal.counts[what])
    run.findings.see("chunks seen as double or late", sum(repeats))


def lost_input(plan):
    load = {"to_the_end": True, "daemon": PATIENCE, "lost": judged}
    for of_1000 in plan.pick((20,), (1, 10, 100)):
        spills, events = plan.pick((1, 1000), (2, SPILL))
        yield Scenario(f"{of_1000} ‰", prepare=drop_chosen(of_1000), spills=spills, events=events, **load, judge=chosen_loss_is_seen)
    spills, events = plan.pick((1, 1500), (2, SPILL))
    yield Scenario("at random", prepare=drop_at_random, spills=spills, events=events, **load, judge=random_loss_is_seen)


def corrupted(plan):
    """Changed on a cable: the kernel checks the checksum of UDP. Changed before that: level 2 refuses what it can see, or stores it raw and
    flagged; it carries the rest as it came. Changed in a store or a spool: checksums find it."""
    yield Scenario("on the cable", prepare=change_on_the_cable, spills=1, events=plan.pick(1000, 10_000), to_the_end=True, lost=judged, judge=kernel_refuses)
    spills, events = plan.pick((1, 2000), (10, SPILL))
    yield Scenario("before it", relay={"damage": 0.02}, spills=spills, events=events, to_the_end=True, receiver=("--sync",),
                   daemon=PATIENCE | {"outbox": {"block": "4 KiB"}}, lost=hit, judge=changed_as_seen)
    disk = {"over": "tcp", "rate": 100_000, "spills": 1, "events": 3000, "to_the_end": True, "receiver": None, "exit_code": 1, "judge": loss_is_told}
    little = {"outbox": {"memory": "1 MiB", "block": "64 KiB"}}
    yield Scenario("on disk", fault=damaged_spool(False), daemon=little, lost=damaged, **disk)
    yield Scenario("on disk, by an earlier start", fault=damaged_spool(True), daemon=little | {"spool": {"segment": "1 MiB"}}, lost=damaged, **disk)


def disordered(plan):
    spills, events = plan.pick((4, 1000), (4, SPILL))
    first_chunk_of_event_101 = 100 * 4 + 1
    return [Scenario(spills=spills, events=events, first=ledgers.SPILLS - 2, to_the_end=True, lost=hit, judge=each_event_once,
                     relay={"double": 0.01, "reorder": 0.05, "within": 0.05, "late_one": first_chunk_of_event_101, "late_by": plan.pick(LATE_BY, 10)})]


ROWS = [Row("R4", "input loss is seen exactly", "reported − injected = 0", lost_input),
        Row("R5", "corruption is seen", "nothing wrong is forwarded as right", corrupted),
        Row("R6", "duplicates, reorder, late: each event once", "0 double, 0 mixed up", disordered)]
