#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the fuzz targets of a build folder, each over its corpus and then for some seconds, and prints a table. New inputs
are kept in FOLDER/corpus for the next run, what fails in FOLDER/failed; the corpora of the tree are only read, unless --adopt
puts a few inputs of all lengths there, out of the smallest set that covers all that is known. With --copies the targets are
programs without libFuzzer, as ./run test builds them: each takes its corpus and so many changed copies of every input."""
import argparse
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

TREE = pathlib.Path(__file__).resolve().parents[2]
CORPORA = TREE / "tests/fuzz/corpus"
TARGETS = sorted(p.name.removesuffix("_fuzz.cpp") for p in (TREE / "tests/fuzz/targets").glob("*_fuzz.cpp"))
MEMORY = 2048  # MB that a target may use
PATIENCE = 20  # s for one input
LARGEST_ADOPTED = 300  # bytes
MOST_ADOPTED = 24  # inputs
KEY = "JTKVSB%%)wK0E.X)V>+}o?pNmC{O&4W4b!Ni{Lh6"  # ZeroMQ's example, a key of nobody


def uncommented(toml: str) -> str:
    return re.sub(r"(?m)^# ?(?=\w+ = )", "", toml)


def texts(target: str) -> list[str]:
    """What we write ourselves, as first inputs."""
    ledger = {"ledger": 1, "program": "koto-l3d", "run": 7, "session": "00000000000000a1", "ended": True, "clean": True,
              "fragments": {"seen": 9, "admitted": 6, "incomplete": 1, "malformed": {"truncated": 2}, "late": 0, "duplicate": 0},
              "events": {"admitted": 5, "forwarded": 2, "rejected": 1, "shed": {"drain": 1}, "in_flight": 1},
              "datagrams": {k: 1 for k in ("received", "data", "trailers", "end_of_spill", "duplicate", "late", "kernel_drops")} | {"malformed": {}},
              "bytes": {"in": 3, "out": 2},
              "spool": {"session": "00000000000000b2", "waiting": 1, "found": 2, "lanes": [{"session": "1", "delivered": 1, "damaged": 0}]},
              "spills": [{"spill": 3, "admitted": 2, "incomplete": 0, "expected": None}]}
    deep = ["a." * 40 + "a = 1\n", "x = " + "[" * 40, "x = " + "{a = " * 40, "[" + "a . " * 40 + "a]\n", 'a."b.c".\'d\' = {e.f = [[1], {g.h = "\\u0000"}]}\n',
            "[run]\nnumber.of.nothing = 1\nrun.number = 2\n", "a = [" + "{}," * 70_000 + "]"]
    read = lambda name: (TREE / "deploy" / name).read_text()
    calibration = "input,gain,time,threshold,dead\n0/3/7,0.0851,-2.4,,\n12/4/0,,,5,1\n"
    return {
        "settings": ["l" + read("l3.toml"), "l" + uncommented(read("l3.toml")), "s" + read("selection.toml"), "s" + read("selection-suppressed.toml"),
                     "d" + read("detector.toml"), "c" + calibration, *(kind + text for kind in "ls" for text in deep)],
        "values": ["\5" + text for text in
                   (json.dumps(ledger), json.dumps(ledger | {"program": "receive", "sessions": ["1", "ffffffffffffffff"]}), "[" * 40)],
        "keys": ["# the farm\n#\n\n" + KEY + "  node 1, rack 3\n   " + KEY[::-1] + "\n",
                 "# koto-l3 secret key: nobody else may read it\n" + KEY + "\n", "# koto-l3 public key\n" + KEY],
        "http": ["GET /healthz?x=1 HTTP/1.1\r\nHost: a\r\nConnection: keep-alive\r\n\r\nHEAD / HTTP/1.0\r\n\r\n",
                 "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n3\r\nabc\r\n0\r\n\r\n"],
    }.get(target, [])


def words(target: str) -> list[str]:
    """The keys, tables and values that a text is made of."""
    text = "".join(texts(target))
    if target == "values":
        return sorted(set(re.findall(r'"\w+"', text)) | {"9007199254740993", "18446744073709551615", "9223372036854775808", "\\\\u0000"})
    if target == "http":
        return sorted(set(re.findall(r"[\w-]+|[/.]\w+", text)) | {"\\x0d\\x0a", "chunked", "Expect", "100-continue", "%00"})
    nested = {".", "a.", "a.a.a.a.", " . ", '"a".', "'a'.", "[[", "]]", "{a = ", "}", "= [", ",", "\\\\u0000"} if text else set()
    return sorted(nested | set(re.findall(r'^ *\[+[\w.]+\]+|\b[a-z]\w+\b(?= =)|"[^"\n\\]{1,30}"', text, re.M)))


def run_inputs(program: pathlib.Path, folder: pathlib.Path, copies: int) -> dict:
    target = program.name.removesuffix("_fuzz")
    (folder / "failed").mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as first:
        for number, text in enumerate(texts(target)):
            (pathlib.Path(first) / str(number)).write_bytes(text.encode())
        corpus = [CORPORA / target] if (CORPORA / target).is_dir() else []
        run = subprocess.run([program, folder / "failed" / target, str(copies), first, *corpus], capture_output=True, text=True,
                             errors="replace")
    return result_of(target, run)


def fuzz(program: pathlib.Path, folder: pathlib.Path, seconds: int, seed: int, keep: bool) -> dict:
    target = program.name.removesuffix("_fuzz")
    failed = folder / "failed"
    failed.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        first, found = pathlib.Path(scratch) / "first", pathlib.Path(scratch) / "found"
        if keep:
            found = folder / "corpus" / target
        first.mkdir()
        found.mkdir(parents=True, exist_ok=True)
        for number, text in enumerate(texts(target)):
            (first / str(number)).write_bytes(text.encode())
        command = [program, f"-max_total_time={seconds}", f"-seed={seed}", f"-timeout={PATIENCE}", f"-rss_limit_mb={MEMORY}",
                   "-print_final_stats=1", "-len_control=0", f"-artifact_prefix={failed}/{target}-", found, first]
        if words(target):
            dictionary = pathlib.Path(scratch) / "words"
            dictionary.write_text("".join('"' + w.replace('"', '\\"') + '"\n' for w in words(target)))
            command.insert(1, f"-dict={dictionary}")
        if (CORPORA / target).is_dir():
            command.append(CORPORA / target)
        run = subprocess.run(command, capture_output=True, text=True, errors="replace")
    return result_of(target, run)


def result_of(target: str, run: subprocess.CompletedProcess) -> dict:
    last = lambda pattern: (re.findall(pattern, run.stderr) or ["?"])[-1]
    return {"target": target, "executions": last(r"number_of_executed_units: (\d+)"), "edges": last(r"cov: (\d+)"),
            "good": run.returncode == 0, "output": run.stderr}


def adopt(program: pathlib.Path, folder: pathlib.Path) -> None:
    target = program.name.removesuffix("_fuzz")
    into = CORPORA / target
    with tempfile.TemporaryDirectory() as scratch:
        known = [str(d) for d in (into, folder / "corpus" / target) if d.is_dir()]
        subprocess.run([program, "-merge=1", f"-max_len={LARGEST_ADOPTED}", scratch, *known], check=True, capture_output=True)
        shutil.rmtree(into, ignore_errors=True)
        into.mkdir(parents=True)
        all_sizes = sorted(pathlib.Path(scratch).iterdir(), key=lambda f: (f.stat().st_size, f.name))
        for number in range(min(MOST_ADOPTED, len(all_sizes))):
            file = all_sizes[-1 - number * len(all_sizes) // MOST_ADOPTED if len(all_sizes) > MOST_ADOPTED else number]
            (into / file.name[:12]).write_bytes(file.read_bytes())


def main() -> int:
    parser = argparse.ArgumentParser(prog="./run fuzz", description=__doc__)
    parser.add_argument("targets", nargs="*", help="targets to run; by default all")
    parser.add_argument("--build", type=pathlib.Path, default=TREE / "build-fuzz/fuzz", help="folder of the targets")
    parser.add_argument("--seconds", type=int, default=60, help="seconds for each target")
    parser.add_argument("--copies", type=int, help="changed copies of each input, for programs without libFuzzer")
    parser.add_argument("--seed", type=int, default=0, help="seed of the changes; 0: a new one each time")
    parser.add_argument("--forget", action="store_true", help="keep no new inputs")
    parser.add_argument("--adopt", action="store_true", help="put the smallest set of inputs into the tree")
    parser.add_argument("--list", action="store_true", help="list the targets and end")
    a = parser.parse_args()
    if unknown := [t for t in a.targets if t not in TARGETS]:
        parser.error(f"no target {', '.join(unknown)}; there are {', '.join(TARGETS)}")
    targets = a.targets or TARGETS
    if a.list:
        print("\n".join(targets))
        return 0
    programs = [a.build / f"{t}_fuzz" for t in targets]
    if missing := [p.name for p in programs if not p.exists()]:
        parser.error(f"no {', '.join(missing)} in {a.build}: build them with ./run fuzz")
    good = True
    print(f"{'target':<18}{'executions':>12}{'edges':>8}{'seconds':>9}  result", flush=True)
    for program in programs:
        began = time.monotonic()
        r = (fuzz(program, a.build, a.seconds, a.seed, not a.forget) if a.copies is None
             else run_inputs(program, a.build, a.copies))
        print(f"{r['target']:<18}{r['executions']:>12}{r['edges']:>8}{time.monotonic() - began:>9.0f}  {'ok' if r['good'] else 'FAILED'}",
              flush=True)
        if not r["good"]:
            good = False
            print(r["output"][-6000:], file=sys.stderr)
        elif a.adopt:
            adopt(program, a.build)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
