#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs deploy/gpu-check in a folder of stand-ins, to see what it says of tests that pass, fail, skip or do not run:
gpu_check_test.py SOURCES."""
import fnmatch
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile

PASSING = 'echo "[  PASSED  ] 4 tests."'
SKIPPING = 'echo "[  PASSED  ] 2 tests."; echo "[  SKIPPED ] 1 test, listed below:"'
EMPTY = 'echo "[  PASSED  ] 0 tests."'
BENCH = """what=$1; shift
case $what in
  show) echo "table of $(cat "$1")" ;;
  engine) # beside the sampler of the power, which a busy machine starts late
    at=${0%/*}/..
    case $* in "--backend cuda --json") ! grep -q lms "$at/path/nvidia-smi" || until [ -s "$at/out/power.csv" ]; do sleep 0.01; done ;; esac
    printf '{"args": "%s", "rows":[{"what":"engine, cuda (X), every event kept","events_per_second":2E4,"of_limit":0.9}]}' "$*" ;;
  *) echo "{\\"args\\": \\"$*\\"}" ;;
esac"""
TOOL = """case "$1 $2" in
  "demo --backend") [ "$3" = cuda ] ;;
  "--version ") echo koto-l3 ;;
  *) exit 2 ;;
esac"""
BENCHES = {"memory": "--backend cuda --json", "device": "--backend cuda --json", "select": "--backend cuda --json",
           "decode": "--backend cuda --json", "sort": "--backend cuda --json", "pack": "--json", "unpack": "--json",
           "node": "--backend cuda --threads 4 --json"}
COPIES = ["bench-memory", *(f"copies-{size}" for size in ("64KiB", "1MiB", "4MiB", "16MiB", "64MiB"))]
PRODUCTION = ["bench-engine", "engine-selection", *(f"engine-{n}-frames" for n in (2, 8, 16)), *(f"engine-{n}-events" for n in (1, 16, 256, 1024)), "daemon"]
CHECKERS = [f"{tool}-executors_cuda_test" for tool in ("memcheck", "racecheck", "synccheck")]
# What tells most comes first; the checkers take longest.
ORDER = [*COPIES, *PRODUCTION[:-1], *(f"bench-{b}" for b in BENCHES if b not in ("memory", "node")), "codec_test",
         "executors_cuda_test", "daemon", "demo", "fault_drills_test", "bench-node", "ncu", "ncu-select", *CHECKERS]
QUARTER = ["engine_bytes_cuda_test", "selection_cuda_test", "bench-engine", "engine-selection", "fault_drills_test", "bench-device", "ncu-quarter",
           *(f"daemon-{rate}" for rate in ("5GB", "12500MB", "50GB", "5GB-strong")), *(f"engine-{n}-events" for n in (1, 4, 16)), "memory-16MiB",
           "racecheck-engine_bytes_cuda_test", "memcheck-engine_bytes_cuda_test", "engine-suppressed-strong", "original-kernels", "bench-select"]
NVIDIA_SMI = 'case $* in *-lms*) while :; do echo "250.5, 1980, 40"; sleep 0.01; done ;; *) echo "the card" ;; esac'
SANITIZER = 'shift 4; case $* in *"--gtest_filter=-"*) exec "$@" ;; esac; exit 3'
# A host whose own libstdc++ is too old, for tool and test.
NEEDS_RUNTIME = 'case ${LD_LIBRARY_PATH:-} in */lib/runtime) ;; *) echo "GLIBCXX_3.4.30 not found" >&2; exit 1 ;; esac'


def run_check(gpu_check, programs, sanitizer=None, arguments=()):
    """Exit code, standard error, and by step what the table says of it; and the results, in the folder and in its tar, as
    {name: text}."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        shutil.copy(gpu_check, folder / "gpu-check")
        (folder / "VERSION").write_text("koto-l3 stand-in\n")
        everything = {"bin/koto-l3": TOOL, "bin/koto-l3-bench": BENCH, "tests/executors_cuda_test": PASSING,
                      "tests/fault_drills_test": PASSING, "path/ncu": "exit 0", "path/nvidia-smi": NVIDIA_SMI, **programs}
        if sanitizer:
            everything["path/compute-sanitizer"] = sanitizer
        for name, body in everything.items():
            path = folder / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(f"#!/bin/sh\n{body}\n")
            path.chmod(0o755)
        result = subprocess.run([folder / "gpu-check", "--out", folder / "out", *arguments], capture_output=True, text=True, cwd="/",
                                env={"PATH": f"{folder}/path:/usr/bin:/bin"})
        files = {p.name: p.read_text().replace(f"{folder}/out", "OUT") for p in (folder / "out").rglob("*")
                 if p.is_file() and p.suffix != ".tar"}
        kept = folder / "out/results.tar"
        if kept.exists():
            with tarfile.open(kept) as tar:
                assert {pathlib.Path(n).name for n in tar.getnames()} | {"table.txt", "machine.txt", "predicted.txt"} == set(files), \
                    "what is not in the tar is one of three files to read"
    words = [line.split() for line in files.get("table.txt", "").splitlines()]
    rows = {w[0]: w[1] for w in words if len(w) >= 3 and w[1] in ("passed", "FAILED", "skipped", "cut")}
    assert result.returncode in (2, 69) or files["table.txt"] == result.stdout.replace(f"{folder}/out", "OUT"), "what is printed is what is written"
    return result.returncode, result.stderr, rows, files


def check_what_checkers_leave_out(sources):
    """A deliberate fault would be all that a checker reports: each of those tests is left out, and nothing else but what
    checkers cannot run."""
    left_out = re.search(r"^left_out='-(.*)'$", (sources / "deploy/gpu-check").read_text(), re.M)[1].split(":")
    cases = {}
    for room in ("gpu", "selection"):
        for source in sorted((sources / "tests" / room).rglob("*.cu")) + sorted((sources / "tests" / room).rglob("*cuda_test.cpp")):
            for suite, name, body in re.findall(r"^TEST\w*\((\w+), (\w+)\)(.*?)^}", source.read_text(), re.M | re.S):
                cases[f"{suite}.{name}"] = body
    out = {c for c in cases if any(fnmatch.fnmatchcase(c, p) for p in left_out)}
    for pattern in left_out:
        assert fnmatch.filter(cases, pattern), f"{pattern} leaves nothing out"
    faulting = {c for c in cases if re.search(r'EXPECT_NE\(\w+\.finish\(\), ""\)', cases[c])}
    assert {"zz_columns_cuda.trap_beyond_the_end", "zz_cuda_queue.tells_a_fault_and_does_not_abort"} <= faulting, faulting
    for case in cases:
        assert case.startswith("zz_") == (case in faulting), f"{case}: exactly the names of faulting tests begin with zz_"
    assert out == faulting | {"cuda_queue.waits_for_no_other"}, out


def main():
    sources = pathlib.Path(sys.argv[1])
    gpu_check = sources / "deploy/gpu-check"
    check_what_checkers_leave_out(sources)

    code, error, rows, files = run_check(gpu_check, {"tests/codec_test": SKIPPING}, SANITIZER)
    assert code == 0, (code, error, rows)
    assert list(rows.items()) == [(step, "passed") for step in ORDER], rows
    for bench, arguments in BENCHES.items():  # on the GPU or not at all: they never choose
        assert files[f"bench-{bench}.json"] == f'{{"args": "{arguments}"}}\n', files[f"bench-{bench}.json"]
        assert files[f"bench-{bench}.txt"] == f"table of {files[f'bench-{bench}.json']}", files
    assert "2 cases, 1 more skipped" in files["table.txt"]
    assert "koto-l3 stand-in" in files["machine.txt"] and "the card" in files["machine.txt"], files["machine.txt"]
    assert f"0 failed, 0 cut, {len(ORDER)} passed, 0 skipped" in files["table.txt"], files["table.txt"]
    for line in (r"engine, of the bare copy +near 1 +0\.9", r"mean power .* 250\.5", r"a million events \(J\) +1\.25e\+04",
                 r"selection from device memory \(events/s\) +1\.5e6 to 2e6 +not measured"):
        assert re.search(line, files["predicted.txt"]), (line, files["predicted.txt"])
    assert files["predicted.txt"] in files["table.txt"]

    # Time that is over: the clock of this host jumps when the demo begins, or as soon as anything does.
    clock = 'test "$*" = +%s || exec /bin/date; if [ -e "${0%/*}/../late" ]; then echo 2000; else echo 1000; fi'
    late_demo = TOOL.replace('[ "$3" = cuda ]', ': > "${0%/*}/../late"; exit 124')
    code, _, rows, files = run_check(gpu_check, {"bin/koto-l3": late_demo, "path/date": clock}, SANITIZER, ["--limit", "590"])
    assert code == 1 and [s for s in rows if rows[s] == "cut"] == ["demo", "fault_drills_test", "bench-node", "ncu", "ncu-select", *CHECKERS], rows
    assert rows["bench-device"] == "passed" and "bench-engine.txt" in files, files.keys()
    assert f"0 failed, 8 cut, {len(ORDER) - 9} passed" in files["table.txt"] and "the 590 s of --limit" in files["table.txt"], files["table.txt"]

    gone = 'echo "L3_REQUIRE_GPU=1, but it is gone"; exit 1'
    old_libc = 'echo "version GLIBC_9 not found" >&2; exit 1'
    old_host = {"bin/koto-l3": f"{NEEDS_RUNTIME}\n{TOOL}", "bin/koto-l3-bench": f"{NEEDS_RUNTIME}\n{BENCH}",
                "tests/executors_cuda_test": f"{NEEDS_RUNTIME}\n{PASSING}"}
    failed = [{f"tests/{name}": body} for name, body in (("a_test", "exit 1"), ("a_test", EMPTY), ("a_test", "kill -SEGV $$"), ("a_cuda_test", SKIPPING),
                                                        ("a_test", f"{NEEDS_RUNTIME}\n{PASSING}"))]  # a libstdc++ of the host's that will do is used
    # (stand-ins, compute-sanitizer, arguments, exit code, results of steps, a part of standard error)
    for programs, sanitizer, arguments, wanted, results, text in (
            *((f, SANITIZER, [], 1, {next(iter(f))[6:]: "FAILED", "demo": "passed"}, "") for f in failed),
            ({"bin/koto-l3": "exit 1", "bin/koto-l3-bench": "exit 1"}, SANITIZER, [], 1, {"demo": "FAILED", "daemon": "FAILED", "bench-device": "FAILED"}, ""),
            ({"bin/koto-l3-bench": '[ "$1" = show ] && exit 1; echo "{}"'}, SANITIZER, [], 1, {"bench-device": "FAILED"}, ""),
            ({}, "exit 86", [], 1, dict.fromkeys(CHECKERS, "FAILED"), ""),
            ({}, "echo Device not supported; exit 1", [], 0, dict.fromkeys(CHECKERS, "skipped"), ""),
            ({"path/nvidia-smi": "exit 9"}, SANITIZER, ["--only", "production"], 0, dict.fromkeys(PRODUCTION, "passed"), ""),
            (old_host, SANITIZER, [], 0, dict.fromkeys((*COPIES, "demo", *CHECKERS), "passed"), ""),
            ({"tests/executors_cuda_test": gone}, SANITIZER, [], 69, {}, "gpu-check: there is no GPU to check on: it is gone\n"),
            ({"tests/executors_cuda_test": old_libc}, SANITIZER, [], 69, {}, "gpu-check: the programs do not run here"),
            ({"path/timeout": "exit 124"}, SANITIZER, [], 69, {}, "the first kernel did not end within"),
            ({}, SANITIZER, ["--only", "tests,nothing"], 2, {}, "gpu-check: --only nothing: the parts are copies, "),
            ({}, SANITIZER, ["--out"], 2, {}, "gpu-check: --out stands without a value"),
            ({}, SANITIZER, ["--fast"], 2, {}, "gpu-check: there is no option --fast"),
            ({}, SANITIZER, ["--limit", "soon"], 2, {}, "gpu-check: --limit soon: it takes whole seconds, 1 or more")):
        code, error, rows, files = run_check(gpu_check, programs, sanitizer, arguments)
        assert code == wanted and text in error, (programs, arguments, code, error, rows)
        assert all(rows.get(step) == result for step, result in results.items()), (programs, rows)
        assert code != 2 or not files, "a command line that is wrong makes nothing"

    for parts, steps in (("production,copies", [*COPIES, *PRODUCTION]), ("tests,demo", ["executors_cuda_test", "demo"]), ("checkers", CHECKERS),
                         ("racecheck,tests", ["executors_cuda_test", CHECKERS[1]])):
        _, _, rows, _ = run_check(gpu_check, {}, SANITIZER, ["--only", parts])
        assert list(rows) == steps, (parts, rows)
    of_quarter = {f"tests/{name}_cuda_test": PASSING for name in ("engine_bytes", "selection")}
    _, _, rows, _ = run_check(gpu_check, of_quarter, SANITIZER, ["--only", "quarter"])
    assert rows == dict.fromkeys(QUARTER, "passed") and list(rows) == QUARTER, rows
    print("ok")


main()
