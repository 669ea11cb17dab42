#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the pictures of the documents: make.py [--short] [--out FOLDER] [NAME…], by default all of them into docs/images. `./run pictures`
builds the programs first. --short takes tiny inputs: it shows that each picture can be made, not how it should look. Charts name their
command, machine and date; measure on a quiet machine."""
import argparse
import base64
import contextlib
import datetime
import functools
import json
import math
import os
import pathlib
import platform
import re
import struct
import subprocess
import sys
import zlib

import chart

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parents[1] / "tests" / "system"))

import browser  # noqa: E402
import harness  # noqa: E402
import level2  # noqa: E402

MOST_BYTES = 150_000  # of a photograph
WIDE = 1200


def bench(what, *arguments):
    """Its report, or None if this machine has no such device."""
    done = subprocess.run([harness.BIN / "koto-l3-bench", what, *map(str, arguments), "--json"], capture_output=True, text=True)
    if done.returncode == 69:
        return None
    if done.returncode:
        sys.exit(f"koto-l3-bench {what} ended with {done.returncode}: {done.stderr}{done.stdout}")
    return json.loads(done.stdout)


@functools.cache
def machine():
    """What this machine is, how busy it is, and when."""
    info = pathlib.Path("/proc/cpuinfo").read_text()
    name = re.sub(r"\((R|TM)\)| CPU| @.*", "", (re.search(r"model name\s*: (.*)", info) or [None, platform.machine()])[1])
    memory = int(re.search(r"MemTotal:\s+(\d+)", pathlib.Path("/proc/meminfo").read_text())[1]) / 2 ** 20
    best = next((f.upper() for f in ("avx512_vbmi", "avx512bw", "avx2") if f in info), "no AVX2").replace("_", " ")
    return f"{os.cpu_count()} processors {name} ({best}), {memory:.0f} GiB; load {os.getloadavg()[0]:.1f} at the start; {datetime.date.today()}"


# Photographs of the page

class Node(harness.Stage):
    """A daemon with the whole readout and the selection, and a receiver. Simulated spills come in a loop."""
    crates, crate_lines, chunk_bytes = level2.readout(level2.KOTO), level2.KOTO, 8000

    def begin(self, short):
        file = self.folder / "sent.l2raw"
        assert self.run_tool("simulate", file, "--events", 40 if short else 1600, "--spills", 2 if short else 4, "--seed", 5, "--run", 412)[0] == 0
        self.start_receiver()
        daemon = self.start_daemon(selection={"lines": "built-in"}, frames={"count": 16, "events": 8}, outbox={"memory": "256 MiB"},
                                   run={"number": 412, "node": 1}, udp={"socket_buffer": "64 MiB"})
        to = f"tcp://{harness.HOST}:{self.ports.tcp}" if short else f"udp://{harness.HOST}:{self.ports.udp}+{harness.UDP_PORTS}"
        replay = self.start_tool("replay", file, "--to", to, "--loop", 1000, *(("--rate", "20ev/s") if short else ()))
        # A chart of the rates has a point every 5 s.
        harness.wait_until(lambda: not replay.running() or len(daemon.status()["latest_spills"]) >= (2 if short else 24), "spills", 600)
        assert replay.running(), replay.said()


@contextlib.contextmanager
def stage(kind=harness.Stage):
    """A folder and programs that are gone afterwards."""
    made = kind()
    made.set_up_stage()
    try:
        yield made
    finally:
        made.stop_programs()
        made.leave_stage()


SMALLER = """  // A picture as indices into 256 of its colours, near which all others are: [width, height, colours, indices in base64].
return (async () => {
  const image = await createImageBitmap(await (await fetch("data:image/png;base64,%s")).blob()), {width, height} = image;
  const canvas = new OffscreenCanvas(width, height).getContext("2d"), pixels = new Map();
  canvas.drawImage(image, 0, 0);
  const of = new Uint32Array(canvas.getImageData(0, 0, width, height).data.buffer).map(c => c & 0xffffff);
  for (const c of of) pixels.set(c, (pixels.get(c) ?? 0) + 1);
  const parts = c => [c & 255, c >> 8 & 255, c >> 16], differ = (a, b) => parts(a).reduce((sum, v, i) => sum + (v - parts(b)[i]) ** 2, 0);
  const often = [...pixels.keys()].sort((a, b) => pixels.get(b) - pixels.get(a));
  let colours = often;
  for (let near = 1; colours.length > 256; near *= 1.3)
    colours = often.reduce((chosen, c) => chosen.length > 256 || chosen.some(other => differ(c, other) < near) ? chosen : [...chosen, c], []);
  for (const c of pixels.keys()) pixels.set(c, colours.reduce((best, other, i) => differ(c, other) < differ(c, colours[best]) ? i : best, 0));
  let text = "";
  for (const c of of) text += String.fromCharCode(pixels.get(c));
  return [width, height, colours, btoa(text)];
})()"""


def png(width, height, colours, indices):
    def part(name, content):
        return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))
    rows = b"".join(b"\0" + indices[y * width:(y + 1) * width] for y in range(height))
    return (b"\x89PNG\r\n\x1a\n" + part(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)) +
            part(b"PLTE", b"".join(c.to_bytes(3, "little") for c in colours)) + part(b"IDAT", zlib.compress(rows, 9)) + part(b"IEND", b""))


READY = """const now = earlier.at(-1)?.this_spill; return event && document.getElementById('state').className === '' && document.getElementById('drawing').shadowRoot
  && document.querySelectorAll('#rates path').length > 0 && !document.getElementById('crates').innerText.includes('–')
  && now && now.admitted > 5 && now.stored + now.rejected > now.admitted / 2"""
PARTS = {"page": "[0, document.getElementById('crates').getBoundingClientRect().bottom + 16]",
         "event": "[document.getElementById('event').getBoundingClientRect().top, " +
                  "document.getElementById('drawing').getBoundingClientRect().bottom + 16]"}


def page(short):
    """The page down to its crates, and the event display with some photons: on light and on dark."""
    with stage(Node) as node:
        node.begin(short)
        b, taken = browser.Browser((WIDE, 1000), False), {}
        try:
            b.open(f"http://{harness.HOST}:{node.ports.monitor}/")
            ready = READY if short else READY + " && ['pi0nunu', 'klpi0pi0'].some(line => event.lines.includes(line))"
            harness.wait_until(lambda: b.run(ready), lambda: f"{ready}: {b.run('return document.body.innerText')}", 600)
            for dark in (False, True):
                b.look((WIDE, 1000), dark)
                for name, part in PARTS.items():
                    top, bottom = b.run("return " + part)
                    box = {"x": 0, "y": top, "width": WIDE, "height": bottom - top, "scale": 1}
                    taken[f"{name}{'-dark' if dark else ''}.png"] = b.devtools("Page.captureScreenshot", captureBeyondViewport=True, clip=box)["data"]
            b.open("about:blank")
            for name, picture in taken.items():
                width, height, colours, indices = b.run(SMALLER % picture)
                yield name, png(width, height, colours, base64.b64decode(indices))
        finally:
            b.quit()


# Charts

def straight_line(points):
    """(a, b) of time = a + b · size by least squares of the relative differences; a is not below zero."""
    u, v = [1 / t for _, t in points], [s / t for s, t in points]  # a u + b v shall be 1
    uu, uv, vv = (sum(x * y for x, y in zip(*pair)) for pair in ((u, u), (u, v), (v, v)))
    a = (sum(u) * vv - sum(v) * uv) / (uu * vv - uv * uv)
    return (a, (sum(v) - a * uv) / vv) if a > 0 else (0.0, sum(v) / vv)


def seconds(t):
    return next(f"{t / size:.3g} {unit}" for unit, size in (("s", 1), ("ms", 1e-3), ("µs", 1e-6), ("ns", 1e-9), ("s", 1)) if t >= size * 0.999 or not t)


def times_against_size(title, commands, rows):
    """A log-log chart of {name: ([(bytes, seconds)], fit, its text)}."""
    d = chart.Drawing(900, 520, title, (commands, machine()))
    sizes = [size for points, _, _ in rows.values() for size, _ in points]
    times = [v for points, fit, _ in rows.values() for size, time in points for v in (time, fit(size))]
    c = chart.Chart(d, chart.Axis("bytes of waveforms, or of board packets of whole events", *around(sizes), log=True),
                    chart.Axis("time", *around(times), log=True, text=seconds), 270)
    for n, (name, (points, fit, text)) in enumerate(rows.items()):
        low, high = points[0][0], points[-1][0]
        c.curve(n, [(s, fit(s)) for s in (low * (high / low) ** (i / 40) for i in range(41))])
        c.points(n, points)
        c.name(n, name, text)
    return d, c


def packing(short):
    """Bare waveforms on one core by their bytes, and frames of events by executor."""
    rows = {}
    for size in [2 ** n << 10 for n in ((2, 4) if short else range(2, 17, 2))]:
        report = bench("pack", "--hot", size, "--cold", size, "--hot-rounds", 1, "--cold-rounds", 1 if short else 9)
        ours = [r for r in report["rows"] if r["what"].startswith("koto-l3")]
        for name, row in (("memcpy, one core", report["rows"][0]), ("bare waveforms, one core", max(ours, key=lambda r: r["cold"]["bytes_per_second"]))):
            rows.setdefault(name, []).append((size, size / row["cold"]["bytes_per_second"]))
    for backend, name in (("serial", "board packets, one core"), ("pool", f"board packets, {os.cpu_count()} cores"), ("cuda", "board packets, GPU")):
        for events in (1, 2) if short else (1, 2, 4, 8, 16, 32, 64, 128):
            report = bench("engine", "--backend", backend, "--events", events, "--frames", 1, "--batches", 1 if short else max(4, 128 // events),
                           "--rounds", 1 if short else 5)
            if report:
                best = max(report["rows"][1:], key=lambda r: r["bytes_per_second"])
                rows.setdefault(name, []).append((report["input_bytes"], report["input_bytes"] / best["bytes_per_second"]))
    lines = {name: straight_line(points) for name, points in rows.items()}
    d, _ = times_against_size(
        "Time to pack, against size", "koto-l3-bench pack --hot S --cold S; koto-l3-bench engine --frames 1 --events N; ./run pictures packing",
        {name: (points, lambda size, ab=lines[name]: ab[0] + ab[1] * size, f"{seconds(lines[name][0])} + size / {1e-9 / lines[name][1]:.3g} GB/s")
         for name, points in rows.items()})
    return [("packing.svg", d.svg())]


def kernels(short):
    """KOTO's original kernels and ours on a GPU, or else on one core, by size, with power laws; and KOTO's requirement."""
    few = ("--least", "64KiB", "--most", "1MiB", "--rounds", 1) if short else ()
    report = bench("device", "--backend", "cuda", *few) or bench("device", "--backend", "serial", *few)
    fits = {f["what"]: f for f in report["fits"]}
    block = min((name for name in fits if name.startswith("a block")), key=lambda name: fits[name]["seconds_for_1.4_gib"])
    rows = {}
    for name, short_name in (("plain loop, one core", None), ("a thread a waveform", None), (block, "fastest block a waveform"),
                             ("koto-l3, board packets", None), ("copy", None)):
        a, b = fits[name]["microseconds_for_1_mib"], fits[name]["exponent"]
        rows[short_name or name] = ([(r["bytes"], r["seconds"]) for r in report["rows"] if r["what"] == name],
                                    lambda size, a=a, b=b: a * 1e-6 * (size / 2 ** 20) ** b, f"{a:.3g} µs × (size / MiB)^{b:.3f}")
    d, c = times_against_size(f"Time of each kernel, against size: {report['backend']}", f"koto-l3-bench device; ./run pictures kernels", rows)
    asked = 1.4 * 2 ** 30
    if c.x.low < asked < c.x.high and c.y.low < 1 < c.y.high:
        d.line([c.at(asked, c.y.low), c.at(asked, 1), c.at(c.x.low, 1)], "dashed")
        c.name(None, "1.4 GiB in a second", "what KOTO asks for")
    return [("kernels.svg", d.svg())]


def around(values):
    """The nearest of 1, 2, 5, 10, 20 … around them."""
    steps = [f * 10.0 ** e for e in range(-12, 15) for f in (1, 2, 5)]
    return max(s for s in steps if s <= min(values)), min(s for s in steps if s >= max(values))


def threads(short):
    """Thousands of events a second of each stage by itself, by its threads."""
    cores, rows = os.cpu_count(), {}
    for n in [t for t in (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64) if t <= (2 if short else max(4, cores))]:
        few = ("--rounds", 1) if short else ()
        engine = bench("engine", "--backend", "pool", "--threads", n, "--select", "--events", 4 if short else 64, "--batches", 4 if short else 32, *few)
        rate = {r["what"].split(", ")[-1]: r["events_per_second"] for r in engine["rows"]}
        for name, what in (("packing alone", "every event kept"), ("selection and packing", "selection")):
            rows.setdefault(name, []).append((n, rate[what] / 1e3))
        if n in (1, 2, 4):
            built = bench("building", "--threads", n, "--datagrams", 64, "--events", 16 if short else 512, *few)
            rows.setdefault("event building", []).append((n, built["rows"][0]["events_per_second"] / 1e3))
    most = max(n for n, _ in rows["packing alone"])
    ideal = {name: points[0][1] * min(most, cores) for name, points in rows.items()}
    d, c = events_a_second("threads", "koto-l3-bench engine --backend pool --select --threads T; koto-l3-bench building --threads T; ./run pictures threads",
                           rows, "one thread", ideal.values())
    for n, (name, points) in enumerate(rows.items()):
        c.curve(n, [points[0], (min(most, cores), ideal[name])], "dashed")
    c.name(None, "ideal", f"up to {cores} processors")
    return [("threads.svg", d.svg())]


def events_a_second(against, commands, rows, first, also=()):
    """A log-log chart of {name: [(number, thousands of events a second)]}."""
    d = chart.Drawing(900, 480, f"Events a second, against {against}", (commands, machine()))
    marks = sorted({n for points in rows.values() for n, _ in points})
    c = chart.Chart(d, chart.Axis(against, 0.93, marks[-1] * 1.07, log=True, marks=marks),
                    chart.Axis("thousands of events a second", *around([*also, *(p[1] for points in rows.values() for p in points)]), log=True), 240)
    for n, (name, points) in enumerate(rows.items()):
        c.curve(n, points)
        c.points(n, points)
        c.name(n, name, f"{points[0][1]:.3g} k/s with {first},", f"{max(p[1] for p in points):.3g} k/s at most")
    return d, c


def frames(short):
    """Thousands of events a second by the frames in flight, each of which has its own queue (a stream of a GPU), and by their events."""
    rows = {}
    for backend, most in (("cuda", 0), ("pool", os.cpu_count()), ("pool", 1)):
        for events in (4, 64) if backend == "pool" else (4, 64, 256):
            for n in (1, 2) if short else (1, 2, 3, 4, 6, 8, 12, 16):
                report = bench("engine", "--backend", backend, "--threads", most, "--frames", n, "--events", 1 if short else events, "--batches",
                               n if short else max(n, 512 // events), *(("--rounds", 1) if short else ("--rounds", 5)))
                if report:
                    name = f"{events} events, " + ("GPU" if not most else f"{most} core{'s' if most > 1 else ''}")
                    rows.setdefault(name, []).append((n, report["rows"][1]["events_per_second"] / 1e3))
        if rows and backend == "cuda":
            break
    d, _ = events_a_second("frames in flight", "koto-l3-bench engine --threads T --frames F --events E; ./run pictures frames", rows, "one frame")
    return [("frames.svg", d.svg())]


def wilson(hits, of):
    """(share, lowest, highest): one standard deviation."""
    share, width = (hits + 0.5) / (of + 1), math.sqrt(hits * (of - hits) / of + 0.25) / (of + 1)
    return hits / of, share - width, share + width


def is_signal(e):
    """Two photons in the calorimeter from a vertex and with a transverse momentum as the analysis wants them, and nothing in the vetoes."""
    hits = [p for p in e["photons"] if p["hit"] == "CsI"]
    if len(hits) != 2 or e["counters"] or not 3200 < e["vertex"][2] < 5000:
        return False
    # The front of the calorimeter is at 6148 mm.
    to = [(p["x"] - e["vertex"][0], p["y"] - e["vertex"][1], 6148 - e["vertex"][2]) for p in hits]
    return 130 < math.hypot(*(sum(p["energy"] * t[i] / math.hypot(*t) for p, t in zip(hits, to)) for i in (0, 1))) < 250


def efficiency(short):
    """Of simulated signal: events that pi0nunu keeps, by the energy of both photons, and photons that are found, by their energy."""
    steps = [250 * 2 ** (n / 3) for n in range(12)]
    kept, found, events, rounds = [[0, 0] for _ in steps[1:]], {}, 150 if short else 1500, 1 if short else 6
    with stage() as place:
        for seed in range(1, rounds + 1):
            file = place.folder / "signal.l2raw"
            assert place.run_tool("simulate", file, "--events", events, "--seed", seed, "--type", "pi0nunu")[0] == 0
            for truth, decided in zip(open(f"{file}.truth.jsonl"), place.run_for_json("select", file)["events"]):
                energy = sum(p["energy"] for p in json.loads(truth)["photons"])
                if is_signal(json.loads(truth)) and steps[0] <= energy < steps[-1]:
                    n = sum(energy >= s for s in steps) - 1
                    kept[n] = [kept[n][0] + ("pi0nunu" in decided["fired"]), kept[n][1] + 1]
            for row in place.run_for_json("evaluate", file)["evaluations"][0]["photons"]:
                some, of = found.get((row["from"], row["to"]), (0, 0))
                found[row["from"], row["to"]] = some + row["found"]["some"], of + row["found"]["all"]
    d = chart.Drawing(900, 480, "Efficiency of the built-in selection, against energy", (
        f"koto-l3 simulate --type pi0nunu --events {events} --seed 1 … {rounds}; koto-l3 select, koto-l3 evaluate; ./run pictures efficiency",
        f"Simulated events, whose decisions are the same on every machine; bars are one standard deviation; {datetime.date.today()}"))
    c = chart.Chart(d, chart.Axis("energy in MeV: of the photon, or of both photons together", 50, 3200, log=True), chart.Axis("per cent", 0, 100), 275)
    for n, (rows, lines) in enumerate(((dict(zip(zip(steps, steps[1:]), kept)), ("signal, kept by pi0nunu", "two photons in the calorimeter,", "vertex at 3.2 to 5 m, p_T of 130", "to 250 MeV/c, vetoes empty")),
                                       (found, ("photons, found as clusters", "200 mm or more from any other")))):
        points = [(math.sqrt(low * high), *(100 * v for v in wilson(*row))) for (low, high), row in rows.items() if row[1]]
        c.curve(n, [p[:2] for p in points])
        c.points(n, [p[:2] for p in points], [p[2:] for p in points])
        c.name(n, *lines)
    c.to.line([c.at(650, 0), c.at(650, 100)], "dashed")
    c.name(None, "650 MeV", "where the analysis begins")
    return [("efficiency.svg", d.svg())]


# The way of an event: for each station its place, who does it, what is done, and how else an event can end there

WAY = (
    ((0, 0), "crates", "level 2", ("18 fragments, 589 kB,", "in 107 datagrams"), ""),
    ((1, 0), "receive", "threads udp and tcp", ("into pinned memory,", "where the payload stays"), "kernel drops, refused"),
    ((2, 0), "build", "event builder, one owner", ("until the fragment of each", "crate is there and right"), "incomplete, late, duplicate"),
    ((3, 0), "select", "kernels, a frame at a time", ("pulses, photons, vetoes;", "the trigger lines decide"), "rejected: no line wants it"),
    ((3, 1), "pack", "kernels of the same frame", ("without loss, into about", "a third of the bytes"), ""),
    ((2, 1), "wait and leave", "threads drain and forwarder", ("in blocks, in memory or on", "disk, until they are stored"), "shed: no room for it"),
    ((1, 1), "store", "koto-l3 receive", ("checks and appends blocks,", "then says “stored”"), ""),
    ((0, 1), "read", "koto-l3 extract, verify …", ("the original fragments,", "bit for bit"), ""),
)


def way(short):
    wide, high, step, fall, top = 190, 112, 222, 172, 72
    at = lambda place: (22 + place[0] * step, top + place[1] * fall)
    d = chart.Drawing(900, top + fall + high + 26, "The way of an event")
    (left, y0), (right, y1) = at((1, 0)), at((3, 1))
    inner = at((2, 1))[0] - 12
    d.line([(left - 12, y0 - 12), (right + wide + 12, y0 - 12), (right + wide + 12, y1 + high + 12), (inner, y1 + high + 12), (inner, y0 + high + 34),
            (left - 12, y0 + high + 34), (left - 12, y0 - 12)], "dashed")
    d.text(left, y0 + high + 26, "koto-l3d, one per node", "soft small")
    for (place, name, who, does, ends), after in zip(WAY, [*WAY[1:], None]):
        x, y = at(place)
        d.add("rect", "box", x=x, y=y, width=wide, height=high, rx=6)
        for line, css, down in ((name, "title", 23), (who, "soft small", 41), (does[0], "small", 62), (does[1], "small", 78), (ends and "✕ " + ends, "f3 small", 100)):
            if line:
                d.text(x + 10, y + down, line, css)
        if after:
            u, v = at(after[0])
            d.arrow([(x + wide / 2, y + high), (x + wide / 2, v)] if v > y else [(x + wide, y + 30), (u, y + 30)] if u > x else [(x, y + 30), (u + wide, y + 30)])
    x, y = at((1, 1))
    d.arrow([(x + wide, y + 74), (x + step, y + 74)], "l1")
    return [("way.svg", d.svg())]


def tutorial(_short):
    """What python/tutorial.py draws: the mass of the kaon, and the turn-on of klpi0pi0."""
    python = HERE.parents[1] / "python"
    with stage() as place:
        known = {"KOTO_L3_BIN": harness.BIN, "KOTO_L3_SAMPLE": place.folder, "KOTO_L3_PICTURES": place.folder, "PYTHONPATH": python,
                 "KOTO_L3_READ_LIBRARY": harness.BIN.parent / "reading" / "libkoto-l3-read.so.1"}
        subprocess.run([sys.executable, "-B", python / "tests" / "with_extras.py", harness.BIN.parent / "python", "tutorial.py"], check=True,
                       env={**os.environ, **{name: str(value) for name, value in known.items()}})
        for file in ("kaon-mass.svg", "turn-on.svg"):
            yield file, (place.folder / file).read_text()


PICTURES = {"page": page, "packing": packing, "kernels": kernels, "threads": threads, "frames": frames, "efficiency": efficiency, "way": way, "tutorial": tutorial}


def main():
    o = argparse.ArgumentParser(description="Makes the pictures of the documents.")
    o.add_argument("names", nargs="*", metavar="NAME", help=f"a picture: {', '.join(PICTURES)}; by default all")
    o.add_argument("--short", action="store_true", help="use tiny inputs, for a test")
    o.add_argument("--out", type=pathlib.Path, default=HERE, help="the folder for the pictures (%(default)s)")
    asked = o.parse_args()
    if wrong := set(asked.names) - set(PICTURES):
        o.error(f"no picture {', '.join(sorted(wrong))}; there are {', '.join(PICTURES)}")
    for name in asked.names or [n for n in PICTURES if n != "tutorial" or not asked.short]:  # CI runs that as it is
        for file, content in PICTURES[name](asked.short):
            data = content if isinstance(content, bytes) else content.encode()
            (asked.out / file).write_bytes(data)
            if len(data) > MOST_BYTES:
                sys.exit(f"{file} has {len(data)} bytes, more than {MOST_BYTES}")
            print(f"{asked.out / file}: {len(data)} bytes", flush=True)


if __name__ == "__main__":
    main()
