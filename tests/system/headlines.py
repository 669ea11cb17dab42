#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What people see is true: a table of what is done to a running system and what it must then say: the headline (the first trouble) with
its severity, a part of its sentence, the alert that reaches the shift through Prometheus and Alertmanager, and the exit code of `koto-l3
status`. A row fails if the headline ever names another cause, or if another critical alert reaches the shift. headline_stage.py plays it.
By hand, the table with the times until a headline comes and goes, all of it or the rows with a part of a name:
  KOTO_L3_BIN=build/bin python3 -B tests/system/headlines.py [PART…]

A row is what it does and its steps: (what is done, headline and severity, a pattern in the sentence). The last step takes everything
back: no headline is left. A row of one step disturbs a healthy system: no trouble may become critical."""
import contextlib
import itertools
import json
import os
import random
import signal
import struct
import subprocess
import sys
import threading
import time

import harness
import level2
import level2_sender
import own_etcd
import own_space
import selection_stage
from harness import failing
from headline_stage import LONG, QUIET, SAMPLES, Skipped, System, Watched, row, whole  # which makes tests/fault known
from managing import UnixConnection
from preload import CLOCK_SHIFT, LyingMachine
from rows.daemon_rows import OneThread, threads
from stream_sender import StreamSender


# The inputs of crate 0 are a calorimeter. Of two lines the one with the lower priority fires.
SELECTION = {
    "detector.toml": 'cables = "cables.csv"\n' + selection_stage.DETECTOR.split("[[veto]]")[0].replace("[calorimeter]", "[calorimeter]\ncrystals = 16").replace("14/15", "6/3"),
    "cables.csv": "input,detector,module,end,x,y,size\n" + "".join(f"0/3/{n},CSI,{n},,{25 * n + 112.5},12.5,25\n" for n in range(16)),
    "lines.toml": 'sequence = ["measure_pulses", "find_clusters", "compute_quantities", "ignore_vetoes", "decide"]\nclusters = {crystal_threshold = 3.0}\n'
                  'line = [{name = "low", priority = 10}, {name = "high", priority = 200, trigger = ["two_clusters"]}]\n'}
LATER = level2.fragment(2, [level2.header(1, 2, 3, 2000) + SAMPLES + level2.FOOTER])  # other bytes than those of the beam


def waveforms(height, pedestal):
    """A quiet board, with a pulse in channel 5."""
    words = [0x8000 | pedestal + number % 5 % 3 for number in range(level2.SAMPLE_WORDS)]
    words[5 + 16 * 25::16] = [0x8000 | pedestal + height * (40 - n) // 40 for n in range(39)]
    return level2.fragment(2, [level2.header(1, 2, 3, 1000) + level2.big_endian(words) + level2.FOOTER])


def both(*acts):
    return lambda s: [act(s) for act in acts]


def beam(**changed):
    return lambda s: s.beam.set(**changed)


def crates(*bad, does):
    """These crates send what `does` makes of (beam, spill, number, place); the others are good."""
    return beam(of_crate=lambda b, s, n, p: does(b, s, n, p) if p in bad else whole(b, s, n, p))


def restart(**how):
    return lambda s: s.restart(**how)


def spills(height=0, pedestal=500):
    return beam(fragment=waveforms(height, pedestal), events=120, rate=200)


# What is done, in a line each
repaired, back, pause = beam(), restart(), lambda s: time.sleep(1)
begins_again = lambda s: s.beam.__dict__.update(spill=0, latest=s.beam.spill)
goes_on = lambda s: setattr(s.beam, "spill", s.beam.latest)
kill_daemon = lambda s: s.daemon.kill()
reload_with = lambda text: lambda s: (s.daemon.config.write_text(s.daemon.config.read_text().split("[no]")[0] + text), s.daemon.signal(signal.SIGHUP))
file_limit = lambda value: lambda s: s.daemon.limit("fsize", value)
kill_receiver, stop_receiver, begin_receiver = lambda s: s.receiver.kill(), lambda s: s.receiver.stop(), lambda s: s.begin_receiver()
freeze_receiver, thaw_receiver = lambda s: s.receiver.signal(signal.SIGSTOP), lambda s: s.receiver.signal(signal.SIGCONT)
ledger_is_a_folder = lambda s: ((s.store / "ledger.json").unlink(missing_ok=True), (s.store / "ledger.json").mkdir())
ledger_is_no_folder = lambda s: (s.store / "ledger.json").rmdir()
make_room = lambda s: (s.disk / "other").unlink()
undo = lambda s: s.undoing.pop()()
larger_disk = lambda s, **how: spool_on_small_disk(s, 32, **how)  # a frame of events is a small part of it
# What a crate sends in place of the datagrams of whole()
silent = lambda *_: []
twice = lambda *x: 2 * whole(*x)
loses = lambda b, s, n, p: [] if n and n % 5 == 0 else whole(b, s, n, p)
malformed = lambda b, s, n, p: [d[:12] + b"\0\0" + d[14:] if n and d[4:8] == bytes(4) else d for d in whole(b, s, n, p)]
# In every other event the damaged one goes first: a port may be read before another one
damaged_copies = lambda b, s, n, p: [copy for d in whole(b, s, n, p) for copy in ((d, d[:-4] + b"\xff\xfe\xfd\xfc")[::1 - 2 * (n % 2)] if len(d) > 12 else (d,))]
numbered_otherwise = lambda *x: [d[:11] + bytes([d[11] + 20]) if len(d) == 12 else d for d in whole(*x)]
late = lambda b, s, n, p: b.later.append((time.monotonic() + 2, whole(b, s, n, p))) or [] if n else whole(b, s, n, p)
thinned = lambda b, s, n, p: [d for d in whole(b, s, n, p) if n is None or random.random() >= 0.04]
longer = lambda b, s, n, p: [] if n is None else level2_sender.datagrams(b.crates, s, n, p, level2.renamed(b.fragment, 1, s, n), 2080)
no_ends = lambda b, s, n, p: [] if n is None else whole(b, s, n, p)
stalls = lambda b, s, n, p: (time.sleep(0.8) if n == 20 and p == 3 else None, whole(b, s, n, p))[1]
one_in_100 = lambda b, s, n, p: [] if n == s % 100 and p == s % 7 else whole(b, s, n, p)
garbage = lambda: [random.randbytes(random.randrange(12)) if i % 2 else struct.pack(">III", 0xF0000000 | i, 0, 0) + bytes(100) for i in range(40)]


def drifts(b, s, n, p):
    b.fragment, good = LATER, b.fragment
    try:
        return whole(b, s, n, p)
    finally:
        b.fragment = good


def over_tcp(run, **changed):
    """A sender of this run over TCP, whose event has a number of this spill and other bytes than over UDP. It tries again and again."""
    def act(s):
        s.beam.set(tcp=run, **changed)

        def tries():
            while s.beam.tcp:
                spill = s.beam.spill
                with contextlib.suppress(Exception), StreamSender(s.crates, harness.HOST, s.ports.tcp, run=run).connect() as sender:
                    sender.begin(spill)
                    sender.event(spill, 1, [level2.renamed(LATER, 1, spill, 1) for _ in s.crates])
                    sender.listen(0.2)
                time.sleep(0.02)
        threading.Thread(target=tries, daemon=True).start()
    return act


def stutter(s):
    """A daemon that gets no processor for 0.7 s, again and again, while no sender waits."""
    s.restart(udp={"socket_buffer": "64 KiB"})
    s.beam.set(holds=False)

    def stop_and_go():
        for number in itertools.cycle((signal.SIGSTOP, signal.SIGCONT)):
            if s.beam.holds and number == signal.SIGSTOP:
                return
            s.daemon.signal(number)
            time.sleep(0.7 if number == signal.SIGSTOP else 0.3)
    s.stuttering = threading.Thread(target=stop_and_go, daemon=True)
    s.stuttering.start()


def runs_freely(s):
    s.beam.set()
    s.stuttering.join()
    s.restart()


def stop_for_3_s(s):
    told = s.receiver.said().count("node_missing")
    s.daemon.signal(signal.SIGSTOP)
    time.sleep(3)
    s.daemon.signal(signal.SIGCONT)
    assert s.receiver.said().count("node_missing") == told, s.receiver.said()


def slow_disk(s):
    """A receiver that answers only now and then, as one that waits for its disk."""
    s.is_slow = True

    def stop_and_go():
        while s.is_slow:
            s.receiver.signal(signal.SIGSTOP)
            time.sleep(4)
            s.receiver.signal(signal.SIGCONT)
            time.sleep(0.3)
    s.stuttering = threading.Thread(target=stop_and_go, daemon=True)
    s.stuttering.start()


def stays_absent(s):
    until = time.monotonic() + 9
    while time.monotonic() < until:
        assert s.headline()[0] == "receiver_absent", s.last
        time.sleep(0.1)


def fast_disk(s):
    s.is_slow = False
    s.stuttering.join()


def a_thread_stands(s):
    stopped = OneThread(threads(s.daemon.pid)["drain"])
    stopped.__enter__()
    s.undoing.append(lambda: stopped.__exit__())


def selecting(restarts=System.restart):
    def act(s):
        for name, text in SELECTION.items():
            (s.folder / name).write_text(text)
        restarts(s, selection={key: str(s.folder / f"{key}.toml") for key in ("lines", "detector")},
                 histograms={"one_in": 1, "reference": str(s.folder / "good.json")})
    return act


def save_histograms(s):
    s.daemon.wait_for(lambda status: len(status["latest_spills"]) > 2, "histograms of three spills")
    s.run_tool("histograms", s.urls[0], "--save", s.folder / "good.json")


def sections_of(folder, farm=None):
    return {"run": {"control": str(folder / "control.sock"), "ledger": f"{folder}/ledgers/"}, **({"farm": {"etcd": [farm.url]}} if farm else {})}


def controlled(**how):
    return lambda s: s.restart(ready=False, **sections_of(s.folder), **how)


def ask(folder, method, path, **body):
    with contextlib.closing(UnixConnection(folder / "control.sock")) as connection:
        connection.request(method, path, json.dumps(body) if method == "POST" else None)
        said = connection.getresponse()
        return said.status, json.loads(said.read() or b"null")


def wait_for_run(folder, state):
    harness.wait_until(lambda: ask(folder, "GET", "/run")[1]["state"] == state, f"a run that is {state}")


def begin_run(s, of="", **order):
    s.beam.pause = 1
    harness.wait_until(lambda: ask(s.folder / of, "POST", "/run/start", **order)[0] == 202, "a run to be accepted")
    wait_for_run(s.folder / of, "running")


def end_run(s, of="", **order):
    ask(s.folder / of, "POST", "/run/stop", **order)
    wait_for_run(s.folder / of, "configured")


def begin_other(s, node, farm=None):
    """Another daemon, which sends to the same receiver."""
    mine, s.ports, folder = s.ports, harness.Ports(), s.folder / "other"
    s.ports.receiver = mine.receiver
    folder.mkdir(exist_ok=True)
    sections = sections_of(folder, farm) if farm else {"run": {"ledger": str(folder / "daemon-ledger.json")}}
    sections["run"]["node"] = node
    s.other = s.keep(harness.Daemon(s.write_config("other.toml", **sections), s.ports, folder))
    s.ports = mine


def in_a_farm(s):
    if not own_etcd.there():
        raise Skipped("etcd is missing")
    s.beam.on = False
    s.etcd, s.other = own_etcd.Etcd(s, harness.Ports().tcp).start(), None
    s.undoing.append(lambda: [p.kill() for p in (s.etcd.program, s.other) if p])
    s.restart(ready=False, **sections_of(s.folder, s.etcd))
    s.daemon.wait_for(lambda status: status["farm"] and status["farm"]["state"] == "joined", "the farm")


def with_another(s):
    in_a_farm(s)
    begin_other(s, 4, s.etcd)
    s.daemon.wait_for(lambda status: status["farm"]["in_order"] == 2, "the other node")


def run_of_its_own(s):
    """The other node leaves the run of the farm and begins one of its own."""
    with_another(s)
    begin_run(s)
    wait_for_run(s.folder / "other", "running")
    end_run(s, "other", here=True)
    begin_run(s, "other", here=True)


def with_keys(s):
    """The daemon has a key that the receiver does not know."""
    for name in ("receiver", "daemon", "other"):
        s.run_tool("keys", s.folder / name)
    s.receiver.kill()
    s.receiver = s.start_tool("receive", "--bind", f"tcp://{harness.HOST}:{s.ports.receiver}", "--out", s.store, "--monitor", s.urls[1],
                              "--secret-key", s.folder / "receiver.secret", "--allow", s.folder / "other.public")
    s.restart(forward={"insecure": "off", "secret_key": str(s.folder / "daemon.secret"), "receiver_key": str(s.folder / "receiver.public")})


def other_daemon(node, end):
    """Another daemon stores an event, and ends so."""
    def act(s):
        begin_other(s, node)
        s.other.ready()
        with harness.UdpSender(s.crates, harness.HOST, s.other.ports.udp, 8, s.chunk_bytes) as sender:
            sender.event(1, 1, [level2.renamed(s.beam.fragment, 1, 1, 1) for _ in s.crates])
        s.other.wait_for_stored(1)
        end(s.other)
    return act


def small_disk(s, mebibytes):
    if not s.may_mount:
        raise Skipped("no right to mount a small file system")
    own_space.mount_small_disk(s.disk, mebibytes << 20)
    s.undoing.append(lambda: own_space.unmount(s.disk))


def on_small_disk(s, **how):
    """The daemon again, with its spool there."""
    s.restart(outbox={"memory": "1 MiB"}, spool={"folder": str(s.disk / "spool"), "floor": "0 B", "segment": "1 MiB"}, **how)


def spool_on_small_disk(s, mebibytes=8, **sections):
    small_disk(s, mebibytes)
    s.beam.rate, s.beam.events = 12 * mebibytes, 80
    on_small_disk(s, **sections)


def store_on_full_disk(s):
    small_disk(s, 64)
    s.receiver.stop()
    s.begin_receiver(store=s.disk / "store")
    with contextlib.suppress(OSError), open(s.disk / "other", "wb", buffering=0) as f:
        while f.write(bytes(4096)):
            pass


def busy(s):
    programs = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2 * os.cpu_count())]
    threading.Timer(QUIET, lambda: [p.kill() for p in programs]).start()


def jumping_clock(s):
    machine = LyingMachine(s)
    s.receiver.kill()
    s.begin_receiver(environment=machine.environment)
    s.restart(environment=machine.environment)

    def jump():
        for hours in itertools.islice(itertools.cycle((1, -1, 0)), QUIET):
            machine.set(CLOCK_SHIFT, 3600 * hours)
            time.sleep(1)
    threading.Thread(target=jump, daemon=True).start()


# The table

CRATE, NOTHING, ABSENT = "crate_fault critical", "nothing_admitted critical", "receiver_absent warning"
MILDER = ("datagrams_refused", "duplicates", "events_incomplete", "events_missing")  # what half a second has shown of it
SLOW, SLOW_LINK = "backlog_on_disk warning", {"forward": {"rate": "1 Mb/s"}, "outbox": {"memory": "1 MiB"}}
FULL = ("backlog_on_disk", "spool_fills_up", "spool_full", "outbox_full", "no_frame")  # on the way to shedding


def of_crates(*rows):
    """Until it is clear which crate it is, what comes is the headline."""
    return [row(what, (act, headline, says), (repaired, None), may=("events_incomplete", "duplicates")) for what, act, headline, says in rows]


SYSTEMS = {
    "crates": ({}, of_crates(
        ("a crate is silent", crates(3, does=silent), CRATE, "lost.*crate 3 .*silent"),
        ("two crates are silent", crates(1, 4, does=silent), CRATE, "crate [14] "),
        ("a crate is 500 events ahead", crates(2, does=lambda b, s, n, p: whole(b, s, n and n + 500, p)), CRATE, "crate 2 .*jumped"),
        ("a crate is two spills behind", crates(5, does=lambda b, s, n, p: whole(b, s - 2, n, p)), CRATE, "crate 5 .*spill"),
        ("a crate loses one fragment in 5", crates(0, does=loses), CRATE, "lost.*crate 0 "))),
    "fragments": ({}, of_crates(
        ("the fragments of a crate are malformed", crates(1, does=malformed), CRATE, "crate 1 "),
        ("the fragments of a crate are 2 s late", crates(6, does=late), CRATE, "crate 6 "),
        ("a crate repeats its fragments", crates(4, does=twice), "crate_fault warning", "crate 4 .*repeat"),
        ("the clock of a crate drifts", crates(3, does=drifts), "crate_fault warning", "crate 3 "),
        ("4 % of datagrams are lost, of all crates alike", beam(of_crate=thinned), "events_incomplete critical", r"\d\d of \d+ events"))),
    "numbers": ({"building": {"max_events_per_spill": 1000}}, [
        row("datagrams are longer than chunk_bytes", (beam(chunk=2080), NOTHING, "chunks of 2080 bytes"), (repaired, None), may=MILDER),
        row("datagrams are shorter than chunk_bytes", (both(beam(chunk=1600), back), NOTHING, "chunks of 1600 bytes"), (repaired, None), may=MILDER),
        row("event numbers are beyond max_events_per_spill", (beam(first=2000), NOTHING, "max_events_per_spill"), (repaired, None), may=MILDER),
        row("level 2 numbers its crates otherwise, and events need trailers", (both(restart(building={"chunk_bytes": 2080}), beam(chunk=2080, of_crate=numbered_otherwise)),
                                                                               NOTHING, "numbers its crates"), (both(back, repaired), None), may=MILDER),
        row("the same, and no event needs them: each is late, and none lost", (both(beam(of_crate=numbered_otherwise), lambda s: time.sleep(4)),
                                                                               "datagrams_refused warning", "numbers its crates"), (repaired, None), may=("nothing_admitted",))]),
    "senders": ({}, [
        row("the network of the crates is not allowed", (restart(udp={"allow": ["10.1.2.0/24"]}), NOTHING, "udp.allow"), (back, None), may=MILDER),
        row("a sender over TCP is in another run", (over_tcp(8, on=False), NOTHING, "run"), (repaired, None), may=MILDER),
        row("a sender over TCP has other events of the same numbers", (over_tcp(7), "conflicting_events critical"), (repaired, None), may=MILDER),
        row("two senders over UDP use the same numbers", (beam(of_crate=damaged_copies), NOTHING), (repaired, None), may=("events_incomplete", "conflicting_events")),
        row("every datagram comes twice", (beam(of_crate=twice), "duplicates warning"), (repaired, None)),
        row("garbage comes beside good data", (beam(beside=garbage), "datagrams_refused warning"), (repaired, None))]),
    "machine": ({}, [
        row("whole events do not come", (beam(sent=lambda n: n % 3), "events_missing critical", r"\d+ of \d+ events"), (repaired, None)),
        row("no crate sends an end of spill", (crates(*range(7), does=no_ends), "no_ends_of_spill warning"), (repaired, None)),
        row("the kernel drops datagrams", (stutter, "kernel_drops critical"), (runs_freely, None), may=("events_incomplete", "events_missing")),
        row("a thread stands still", (a_thread_stands, "stuck critical", "drain"), (undo, None), may=("no_frame", "events_incomplete")),
        row("a bad configuration is reloaded", (reload_with("[no]\nsuch = 1\n"), "reload_refused warning"), (reload_with(""), None)),
        row("the daemon is killed with events in memory, and starts again", (both(restart(spool={"folder": ""}), kill_receiver, pause, kill_daemon), "down critical"),
            (both(begin_receiver, System.begin_daemon), "crashed_before warning", r"[1-9]\d* events were in memory"), (back, None),
            may=("receiver_absent", "outbox_full")),
        row("a node of the farm is killed", (both(with_another, lambda s: s.other.kill()), "farm_node_missing warning", "node 4 "), (lambda s: begin_other(s, 4, s.etcd), None), (both(back, undo, repaired), None)),
        row("a node of the farm has a run of its own", (run_of_its_own, "farm_not_one_run warning", "run: 4"), (end_run, None), (both(back, undo, repaired), None)),
        row("etcd is away", (both(in_a_farm, lambda s: s.etcd.program.kill()), "farm_cut_off warning"), (both(lambda s: s.etcd.start(), back, undo, repaired), None))]),
    "link": ({}, [
        row("the receiver is killed", (kill_receiver, ABSENT), (pause, "receiver:receiver_down critical"), (begin_receiver, None)),
        row("the receiver stands still", (freeze_receiver, ABSENT), (thaw_receiver, None)),
        row("the disk of the receiver is slow", (slow_disk, ABSENT, "disk is slow"), (stays_absent, ABSENT), (fast_disk, None)),
        row("the receiver does not know the daemon's key", (with_keys, ABSENT), (both(kill_receiver, begin_receiver, back), None)),
        row("the receiver's name has no address", (restart(forward={"to": "tcp://no.such.invalid:1"}), ABSENT, "no.such.invalid"), (back, None)),
        row("a crate is silent and the receiver is away, then only that", (both(crates(3, does=silent), kill_receiver), CRATE, "crate 3 "),
            (repaired, ABSENT), (begin_receiver, None), may=("events_incomplete",)),
        row("a crate has another chunk size and the disk is slow, then only that", (both(crates(2, does=longer), slow_disk), CRATE, "crate 2 "),
            (repaired, ABSENT, "disk is slow"), (fast_disk, None), may=("events_incomplete", *MILDER)),
        row("nothing is admitted and the receiver is away, then only that", (both(kill_receiver, beam(chunk=2080)), NOTHING, "chunk_bytes"), (repaired, ABSENT),
            (begin_receiver, None), may=MILDER)]),
    "disks": ({}, [
        row("the receiver is away until the disk is full", (both(spool_on_small_disk, kill_receiver), "receiver_absent critical", "lost in"),
            (pause, "shedding critical", r"\d+ .*events"), (begin_receiver, None), (both(back, repaired, undo), None), may=FULL),
        row("a crate is silent while the disk fills, and is repaired", (both(crates(6, does=silent), spool_on_small_disk, kill_receiver), CRATE, "crate 6 "),
            (repaired, "receiver_absent critical", "lost in"), (begin_receiver, None), (both(back, undo), None), may=("events_incomplete", *FULL)),
        row("a crate loses fragments while events are shed, then only that", (both(crates(5, does=loses), spool_on_small_disk, kill_receiver), "shedding critical"),
            (begin_receiver, CRATE, "crate 5 "), (both(back, repaired, undo), None), may=("receiver_absent", "events_incomplete", *FULL)),
        row("the daemon is killed while its spool is full", (both(spool_on_small_disk, kill_receiver), "shedding critical"),
            (lambda s: on_small_disk(s, kill=True), "shedding critical"), (both(begin_receiver, back, repaired, undo), None),
            may=("receiver_absent", "crashed_before", *FULL)),  # few events or none were in memory
        row("only events of low priority are shed", (both(selecting(larger_disk), kill_receiver), "shedding warning", "no event of the highest"),
            (begin_receiver, None), (both(back, repaired, undo), None), may=("receiver_absent", *FULL)),
        row("events are shed while garbage comes", (both(beam(beside=garbage), spool_on_small_disk, kill_receiver), "shedding critical"),
            (begin_receiver, "datagrams_refused warning"), (both(back, repaired, undo), None), may=("receiver_absent", *FULL))]),
    "stores": ({}, [
        row("the receiver's disk is full, then soon full", (store_on_full_disk, "receiver_refuses warning"), (pause, "receiver:store_fails critical"),
            (make_room, "receiver:disk_low critical"), (both(stop_receiver, begin_receiver, undo), None), may=("receiver_absent",)),
        row("the receiver's disk is full and a crate is silent, then only that", (both(crates(3, does=silent), store_on_full_disk), CRATE, "crate 3 "),
            (repaired, "receiver_refuses warning"), (both(make_room, stop_receiver, begin_receiver, undo), None),
            may=("receiver_absent", "store_fails", "disk_low", "events_incomplete")),
        row("the receiver cannot write its ledger", (both(ledger_is_a_folder, back), "receiver:ledger_fails warning"), (ledger_is_no_folder, None)),
        row("the disk of the spool fails", (both(kill_receiver, restart(outbox={"memory": "1 MiB"}), file_limit(200_000)), "spool_fails critical"),
            (both(file_limit("unlimited"), begin_receiver, back), None), may=("receiver_absent", "backlog_on_disk")),
        row("the output link is slow", (restart(**SLOW_LINK), SLOW, "forward.rate"), (back, None), may=("spool_fills_up",))]),
    "device": ({"compute": {"verify_one_in": 1, "time_limit": "200 ms"}}, [
        row("the device fails", (restart(environment=failing("error:every=1")), "engine_bypassed warning"), (back, None), may=("engine_fails",)),
        row("the device hangs", (restart(environment=failing("hang:from=20")), "engine_bypassed warning"), (back, None), may=("engine_fails",)),
        row("the device is lost", (restart(environment=failing("lost:from=20")), "device_lost warning"), (back, None), may=("engine_bypassed", "engine_fails")),
        row("the device computes wrong bits", (restart(environment=failing("wrong_bit:from=1")), "wrong_results critical"), (back, None),
            may=("engine_bypassed", "engine_fails")),
        row("the device fails and the link is slow, then only that", (both(restart(environment=failing("error:every=1"), **SLOW_LINK)), "engine_bypassed warning"),
            (restart(**SLOW_LINK), SLOW), (back, None), may=("engine_fails", "spool_fills_up")),
        row("the device hangs and a crate is silent, then only that", (both(restart(environment=failing("hang:from=20")), crates(3, does=silent)), CRATE, "crate 3 "),
            (repaired, "engine_bypassed warning"), (back, None), may=("events_incomplete", "engine_fails"))]),
    "runs": ({}, [
        row("the beam comes without a run", (controlled(), "data_without_run critical", "run"), (begin_run, None)),
        row("the daemon is killed inside a run and waits for one", (controlled(kill=True), "data_without_run critical"), (both(begin_run, controlled(), begin_run), None),
            may=("crashed_before",)),
        row("a run begins under beam", (both(controlled(), begin_run), None)),
        row("events are shed at the end of a run", (both(controlled(spool={"folder": ""}), begin_run, pause, kill_receiver, pause, beam(on=False), end_run),
                                                     "lost_at_run_end warning", r"\d+ events"), (both(begin_receiver, back, repaired), None), may=("receiver_absent",)),
        row("events wait on disk for a run", (both(kill_receiver, pause, beam(on=False), controlled()), "spool_waits warning"),
            (both(begin_receiver, begin_run, back, repaired), None), may=("lost_at_run_end",)),  # which the row before has left
        row("crates never pause, and no run can begin", (both(controlled(), beam(pause=0, rate=20, events=20), lambda s: time.sleep(10), lambda s: ask(s.folder, "POST", "/run/start")),
                                                         "no_pause critical"), (repaired, None), may=("data_without_run",), long=True)]),
    "nodes": ({}, [
        row("a node falls silent", (other_daemon(4, harness.Daemon.kill), "receiver:node_missing critical", "node 4"), (other_daemon(4, harness.Daemon.stop), None)),
        row("two daemons have one number", (other_daemon(3, lambda daemon: None), "receiver:same_node warning"), (lambda s: s.other.stop(), None))]),
    "inputs": ({}, [
        row("an input is hot", (both(spills(400), selecting()), "hot_inputs warning", "0/3/5,,,,1 in selection.calibration"), (spills(), None), (both(back, repaired), None)),
        row("the pedestals of a crate change", (both(spills(), selecting(), save_histograms, spills(pedestal=600), selecting()), "inputs_changed warning", "16 of crate 0.*pedestal"),
            (both(spills(), selecting()), None), (both(back, repaired), None))]),
    "healthy": ({}, [
        row("the sender stalls", (beam(of_crate=stalls), None)),
        row("the beam pauses", (beam(on=False), None)),
        row("the daemon is stopped for 3 s", (stop_for_3_s, None)),
        row("1 % of events are incomplete, of all crates alike", (beam(of_crate=one_in_100), None), may=("events_incomplete",)),
        row("the processors are busy", (both(repaired, busy), None)),
        row("the sender starts again inside a run", (begins_again, NOTHING, "restarted"), (goes_on, None), may=MILDER),
        row("the clock of the day jumps", (jumping_clock, None))]),
}


# Beside other tests on a busy machine the systems of the whole table take turns too slowly: L3_LONG=1 plays it, by itself.
SHORT = ("crates: a crate is silent", "link: the receiver is killed", "senders: the network", "runs: the beam comes")


class Headlines(Watched):
    def test_table(self):
        self.play(SYSTEMS, ONLY or (() if LONG else SHORT))


if __name__ == "__main__":
    ONLY = [sys.argv.pop(1) for argument in sys.argv[1:] if not argument.startswith("-")]
    harness.main()
