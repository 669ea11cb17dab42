# SPDX-License-Identifier: Apache-2.0
"""R4, R5 and R6: what happens to datagrams on their way from the crates."""
import filecmp
import itertools
import random

import faults
import ledgers
import store_reader
from chain import Chain, unbalanced
from hits import Hits
from rows.mixture import LATE_BY, PATIENT, SPILL
from table import Row

# As in R1, and with its long spills: a machine that stands still for a second must not cost an event that was not hit.
PATIENCE = {"frames": PATIENT["frames"], "building": PATIENT["building"]}
FLIPS = 1_000_000  # in stored blocks


def lost_input(findings, plan):
    """Datagrams that are chosen before, so that it is known which events they hit; the kernel drops and counts them."""
    for of_1000 in plan.pick((20,), (1, 10, 100)):
        with Chain() as c:
            _drop_chosen(findings, c, plan, of_1000)
    with Chain() as c:
        _drop_at_random(findings, c, plan)


def _drop_chosen(findings, c, plan, of_1000):
    spills, events = plan.pick((1, 1000), (2, SPILL))
    sent = c.write_events(spills, events, seed=plan.seed)
    rng = random.Random(f"{plan.seed} {of_1000}")
    chosen = {d for n in range(1, events + 1) for d in c.datagrams.of_event(n) if rng.random() * 1000 < of_1000}
    # The last packets of each spill: a chunk of the last event, all of the last but one, and an end of spill of both crates.
    chosen.add((c.datagrams.fragment(events, 1), 0))
    chosen.update(c.datagrams.of_event(events - 1))
    ends = {(0, 1)}
    receiver, daemon = c.start_receiver(), c.start_daemon(**PATIENCE)
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
    came = {n: [d for d in c.datagrams.of_event(n) if d not in chosen] for n in hit}
    unseen = {n for n in hit if not came[n]}
    # Of these nobody can know the spill: each fragment of which a chunk came is counted as late.
    nameless = {n for n in hit - unseen if not any(c.datagrams.names_spill(*d) for d in came[n])}
    lost = {(spill, n) for spill, n in sent.keys() if n in hit}
    found = ledgers.compare(sent, c.store)
    findings.none(found.faults(may_miss=lost))
    findings.equal(f"{of_1000} ‰: events stored though a datagram of theirs was dropped", len(lost & found.stored), 0)
    findings.equal(f"{of_1000} ‰: datagrams dropped", dropped, (len(chosen) + 2 * len(ends)) * sent.spills)
    findings.equal(f"{of_1000} ‰: datagrams sent − received − dropped",
                   journal.counts["sent"] - ledger["datagrams"]["received"] - dropped, 0)
    incomplete = sum(s["incomplete"] for s in ledger["spills"])
    findings.equal(f"{of_1000} ‰: events reported incomplete − hit and seen", incomplete - (len(hit) - len(unseen | nameless)) * sent.spills, 0)
    late = sum(len(came[n]) for n in nameless) * sent.spills
    findings.equal(f"{of_1000} ‰: fragments late − of nameless chunks", ledger["fragments"]["late"] - late, 0)
    findings.none(unbalanced(ledger))
    findings.inject("datagrams dropped", dropped)
    findings.inject("events hit by chosen ones", len(lost))
    findings.see("events of them incomplete", incomplete)
    findings.see("of which nothing came", len(unseen) * sent.spills)
    findings.see("of which only chunks came that name no spill, counted as late", len(nameless) * sent.spills)
    findings.see("events stored bit for bit", len(found.stored))


def _drop_at_random(findings, c, plan):
    """The kernel chooses by itself; the sums alone say what it hit. Ends of spill are not dropped: they say how many events there were."""
    sent = c.write_events(*plan.pick((1, 1500), (2, SPILL)), seed=plan.seed)
    receiver, daemon = c.start_receiver(), c.start_daemon(**PATIENCE)
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


def corrupted(findings, plan):
    """Changed on a cable: the checksum of UDP, which the kernel checks. Changed before that: what level 2 can see is refused, or stored
    raw and flagged; what it cannot is carried as it came. Changed in the store: what checksums see is left out."""
    with Chain() as c:
        _change_on_the_cable(findings, c, plan)
    with Chain() as c:
        _change_before(findings, c, plan)
        _change_the_store(findings, c, plan)


def _change_on_the_cable(findings, c, plan):
    sent = c.write_events(spills=1, events=plan.pick(1000, 10_000), seed=plan.seed)
    receiver, daemon = c.start_receiver(), c.start_daemon()
    relay = c.start_relay(daemon, seed=plan.seed)
    c.network.compute_checksums()
    ports = f"udp dport {c.ports.udp}-{c.ports.udp + 7}"
    places = (64, 160, 168, 1200)  # bits behind the start of the UDP header: fragment id, crate and board header, a sample
    c.input_faults.load(*(f"{ports} @th,{bit},8 != 0xa5 {faults.some(3)} @th,{bit},8 set 0xa5 {{count changed}} accept" for bit in places))
    before = c.network.udp_counts()["InCsumErrors"]
    ledger_of_replay = c.finish_replay(c.replay("relay", 2000), 600)
    journal = c.finish_relay(relay, ledger_of_replay)
    c.drain(daemon)
    changed = c.input_faults.counts()["changed"]
    refused = c.network.udp_counts()["InCsumErrors"] - before
    ledger = c.stop_daemon(daemon)
    receiver.stop()
    found = ledgers.compare(sent, c.store)
    findings.equal("on the cable: datagrams changed − refused by the kernel", changed - refused, 0)
    findings.equal("on the cable: sent − received − refused", journal.counts["sent"] - ledger["datagrams"]["received"] - refused, 0)
    findings.none(found.faults(may_miss=found.missing))
    findings.check(0 < len(found.missing) <= changed, f"{changed} datagrams changed, {len(found.missing)} events lost")
    findings.none(unbalanced(ledger))
    findings.inject("datagrams changed on the cable", changed)
    findings.see("of them refused by the kernel", refused)


def _change_before(findings, c, plan):
    spills, events = plan.pick((1, 2000), (10, SPILL))
    sent = c.write_events(spills=spills, events=events, seed=plan.seed)
    receiver, daemon = c.start_receiver("--sync"), c.start_daemon(outbox={"block": "4 KiB"}, **PATIENCE)
    relay = c.start_relay(daemon, seed=plan.seed, damage=0.02)
    ledger_of_replay = c.finish_replay(c.replay("relay", 2000), 600)
    journal = c.finish_relay(relay, ledger_of_replay)
    c.drain(daemon)
    ledger = c.stop_daemon(daemon)
    receiver.stop()
    hit = Hits(journal, c.datagrams)
    found = ledgers.compare(sent, c.store)
    events = ledgers.stored_events(c.store, keys=hit.wanted(found))
    wrong = hit.faults(sent, found, events, c.chunk_bytes)
    findings.none([*wrong, *unbalanced(ledger)])
    findings.inject("bits flipped before it", journal.counts["damaged"])
    for kind, n in sorted(hit.flips.items()):
        findings.see(kind, n)
    findings.see("events refused", len(found.missing))
    findings.see("events carried with flipped bits", len(hit.carried.keys() & found.stored))
    findings.see("filled with a stray chunk for want of the right one", hit.filled_with_strays)
    findings.see("other than it must be", len(wrong))


def _change_the_store(findings, c, plan):
    """A bit in every other block of a copy of the store, again and again: the events of the others are all there, and no other."""
    originals, rng, least = {p.name: p.read_bytes() for p in sorted(c.store.glob("blocks-*.kl3"))}, random.Random(plan.seed), plan.pick(0, FLIPS)
    intact = [_extract_every_other(findings, c, originals, of) for of in (0, 1)]
    damaged, flips = c.folder / "damaged", 0
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
        c.run_tool("extract", damaged, damaged / "events")
        if not filecmp.cmp(damaged / "events", intact[turn & 1], shallow=False):
            findings.check(False, f"turn {turn}: what is read of a damaged store is not what its intact blocks hold")
            break
        if flips >= least:
            break
    findings.check(flips > 100, f"{flips} blocks damaged: this proves little")
    findings.inject("bits flipped in stored blocks", flips)
    findings.see("blocks left out", flips)


def _blocks(data):
    """Where each begins and ends."""
    at = store_reader.FILE_HEADER.size
    while at < len(data):
        end = at + store_reader.BLOCK_HEADER.size + int.from_bytes(data[at + 8:at + 12], "little")
        yield at, end
        at = end


def _extract_every_other(findings, c, files, which):
    """What is read of a store that has those blocks alone, in a file."""
    folder = c.folder / f"intact{which}"
    folder.mkdir()
    for name, data in files.items():
        still_written = "-".join(name.split("-")[:2]).removesuffix(".kl3") + ".kl3"  # a complete one has a sidecar
        (folder / still_written).write_bytes(data[:store_reader.FILE_HEADER.size] +
                                             b"".join(data[at:end] for n, (at, end) in enumerate(_blocks(data)) if n & 1 == which))
    code, said = c.run_tool("extract", folder, folder / "events")
    findings.check(code == 0, f"extract: {said[-300:]}")
    return folder / "events"


def disordered(findings, plan):
    """Doubled, reordered, very late, and over the end of the numbers of spills."""
    with Chain() as c:
        late_by = plan.pick(LATE_BY, 10)
        sent = c.write_events(*plan.pick((4, 1000), (4, SPILL)), seed=plan.seed, first=ledgers.SPILLS - 2)
        receiver, daemon = c.start_receiver(), c.start_daemon()
        first_chunk_of_event_101 = 100 * len(c.datagrams.of_event(1)) + 1
        relay = c.start_relay(daemon, seed=plan.seed, double=0.01, reorder=0.05, within=0.05, late_one=first_chunk_of_event_101,
                              late_by=late_by)
        ledger_of_replay = c.finish_replay(c.replay("relay", 2000), 600)
        journal = c.finish_relay(relay, ledger_of_replay)
        c.drain(daemon)
        ledger = c.stop_daemon(daemon)
        receiver.stop()
        hit, found = Hits(journal, c.datagrams), ledgers.compare(sent, c.store)
        findings.none(hit.faults(sent, found, {}))
        findings.none(unbalanced(ledger))
        findings.equal("datagrams received − sent", ledger["datagrams"]["received"] - journal.counts["sent"], 0)
        doubled = sum(f["length"] > 12 for f in journal.of("doubled"))
        repeats = ledger["datagrams"]["duplicate"] + ledger["datagrams"]["late"] + ledger["datagrams"]["malformed"]["wrong_spill"]
        # The very late one may come when every spill is over: then it begins one that is never confirmed, and is incomplete.
        findings.check(repeats - doubled in (0, 1), f"{doubled} chunks doubled and one very late, {repeats} seen as such")
        findings.equal("events lost to the late datagram", len(found.missing), 1)
        for what in ("doubled", "delayed", "late"):
            findings.inject({"delayed": "reordered within 50 ms", "late": f"{late_by:g} s late"}.get(what, what), journal.counts[what])
        findings.see("chunks seen as double or late", repeats)
        findings.see("events stored once, bit for bit", len(found.stored))
        findings.see("stored twice", len(found.doubled))
        findings.see("mixed up", len(found.wrong))


ROWS = [Row("R4", "input loss is seen exactly", "reported − injected = 0", lost_input),
        Row("R5", "corruption is seen", "nothing wrong is forwarded as right", corrupted),
        Row("R6", "duplicates, reorder, late: each event once", "0 double, 0 mixed up", disordered)]
