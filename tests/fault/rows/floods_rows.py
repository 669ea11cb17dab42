# SPDX-License-Identifier: Apache-2.0
"""R18–19 and R21–22: floods of unwanted data, and peers that disconnect or send garbage. Peers without a valid key are those of
tests/system/addresses.py; what a wrong receiver may claim is in send_window_test and in the protocol models."""
import contextlib
import json
import socket
import time

import harness
import l2raw
import level2
import link_sender
import namespaces
from link_receiver import LinkReceiver
from link_sender import GREETING, LONG, MORE, WELCOME
from scenario import Scenario
from table import Row

GOOD_RATE = 500  # events a second, over TCP, beside the flood
LINES_A_SECOND, MOST_GROWTH = 20, 8 << 20
MOST_EVENTS = 4096
FLOOD_CRATES = ["0: 16 x 125 MHz"]


# R18–19

def write_flood(run):
    """Events whose numbers are above the largest that the daemon takes, to be sent in chunks of 4 bytes: 8292 bad datagrams each."""
    crates, run.flood = level2.readout(FLOOD_CRATES), run.folder / "flood.l2raw"
    first = 4 * MOST_EVENTS
    l2raw.write(run.flood, crates, {1: [level2.EventMaker(crates).fragments(1, n) for n in range(first, first + 20)]}, first=first)


def time_for(run, events):
    """How long good data of so many events takes to be stored."""
    begun, before = time.monotonic(), run.daemon.status()["events"]["forwarded"]
    run.wait_for(lambda s: s["events"]["forwarded"] >= before + events, f"{events} more events stored")
    return time.monotonic() - begun


def flood(run):
    run.wait_for_growth()
    some = run.plan.pick(600, 20_000)
    quiet = time_for(run, some)
    lines, memory, begun = len(run.daemon.said().splitlines()), run.daemon.memory(), time.monotonic()
    bad = run.start_tool("replay", run.flood, *run.addresses("udp"), "--rate", "unlimited", "--chunk", "4", "--loop", "1000000", "--ledger",
                         run.folder / "flood.json", space=run.network.sender)
    flooded = time_for(run, some)
    run.findings.check(bad.running(), "the flood had ended: this proves less than it says")
    bad.stop()
    seconds = time.monotonic() - begun
    status = run.wait_for(lambda s: not run.daemon.waiting(), "the sockets to be empty")
    status = run.wait_for(lambda s: s["uptime"] > status["uptime"] + 1, "the next status")
    refused, drops = sum(status["refused"].values()), sum(link["kernel_drops"] for link in status["links"])
    lines = len(run.daemon.said().splitlines()) - lines
    run.findings.check(refused > 10_000, f"only {refused} bad datagrams: this proves little")
    # Each time that the flood's file has been sent there is an end of spill, which is good.
    ends = json.loads((run.folder / "flood.json").read_text())["datagrams"]["end_of_spill"]
    good = status["links"][0]["datagrams"] - refused
    run.findings.check(0 <= good <= ends, f"bad datagrams received − refused: {good}, expected at most the {ends} ends of spill")
    run.findings.check(lines <= LINES_A_SECOND * seconds, f"{lines} lines of log in {seconds:.1f} s")
    grown = run.daemon.memory() - memory
    run.findings.check(harness.SANITIZED or grown < MOST_GROWTH, f"the daemon grew by {grown >> 10} KiB")
    run.findings.see("KiB that the daemon grew", grown >> 10)
    run.findings.inject("bad datagrams", refused + drops)
    run.findings.inject("of them per second", round((refused + drops) / seconds))
    run.findings.see("refused and counted", refused)
    run.findings.see("dropped by the kernel and counted", drops)
    run.findings.see("lines of log meanwhile", lines)
    run.findings.time(f"{some} good events, stored in {quiet:.2f} s before, under the flood", flooded, 1.1 * quiet + 1)


# R21–22

def more_than_descriptors(run):
    """ZeroMQ spins where accept() finds no descriptor: the receiver raises its soft limit, which is 128 here."""
    run.wait_for_growth()  # the sender is connected
    with contextlib.ExitStack() as open_ones, run.network.on(run.network.daemon):
        for _ in range(700):
            open_ones.enter_context(socket.create_connection((namespaces.RECEIVER, run.ports.receiver)))
        run.kill_daemon()
        run.begin_daemon()
        run.wait_for_growth()
    run.findings.inject("connections beyond the soft limit of descriptors", 700 - 128)
    run.findings.check("Too many open files" not in run.receiver.said(), "the receiver has too few descriptors")


def breaks_off(run):
    """A receiver that greets the daemon 3000 times in one go and breaks off, while the daemon is in the middle of a message."""
    run.finish_replay()
    connections = 0
    with run.network.on(run.network.receiver):
        peer = LinkReceiver(namespaces.RECEIVER, run.ports.receiver, harness.PATIENCE)
    while connections < 60 and run.daemon.running():
        with contextlib.suppress(OSError):  # the daemon has gone
            peer.accept()
            connections += 1
            _, session, *_ = peer.receive()
            head = link_sender.header(WELCOME, session, 0, 0xFFFFFFFF)
            peer.send_raw((bytes([MORE, len(head)]) + head + b"\0\0") * 3000)
            peer.reset()
    peer.close()
    run.findings.inject("connections broken off", connections)
    run.begin_receiver()
    run.wait_for_empty_spool()


def other_programs(run):
    """At the receiver's address. ZeroMQ gives up an address at which a peer broke its protocol; the daemon connects again."""
    run.finish_replay()
    for data in (GREETING + bytes([MORE | LONG]) + (1 << 20).to_bytes(8, "big"), b"HTTP/1.1 400 No\r\n\r\n" * 10):
        with run.network.on(run.network.receiver), socket.create_server((namespaces.RECEIVER, run.ports.receiver)) as other:
            other.settimeout(harness.PATIENCE)
            with other.accept()[0] as connection, contextlib.suppress(OSError):
                connection.settimeout(harness.PATIENCE)
                connection.sendall(data)
                while connection.recv(4096):
                    pass
        run.findings.inject("programs that break the protocol", 1)
    run.begin_receiver()
    run.wait_for_empty_spool()


def strange_peers(plan):
    yield Scenario("few descriptors", receiver_through=("prlimit", "--nofile=128:2048"), fault=more_than_descriptors, over="tcp", rate=200)
    disk = {"over": "tcp", "rate": 100_000, "spills": 1, "events": 500, "to_the_end": True, "receiver": None,
            "daemon": {"spool": {"use": "always"}, "outbox": {"memory": "1 MiB", "block": "16 KiB"}}}
    yield Scenario("breaks off", fault=breaks_off, **disk)
    yield Scenario("other programs", fault=other_programs, **disk)


ROWS = [Row("R18–19", "floods of bad packets", "≤ 20 lines/s, ≤ 8 MiB, data rate unchanged", lambda plan: [
            Scenario(over="tcp", rate=GOOD_RATE, prepare=write_flood, fault=flood, daemon={"building": {"max_events_per_spill": MOST_EVENTS}})]),
        Row("R21–22", "peers that break off, and programs that are no peers", "0 crashes, 0 lost", strange_peers)]
