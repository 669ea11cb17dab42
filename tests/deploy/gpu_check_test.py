#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs deploy/gpu-check in a folder of stand-ins, to see what it says of tests that pass, fail, skip or do not run:
gpu_check_test.py GPU_CHECK."""
import pathlib
import shutil
import subprocess
import sys
import tempfile

PASSING = 'echo "[  PASSED  ] 4 tests."'
SKIPPING = 'echo "[  PASSED  ] 2 tests."; echo "[  SKIPPED ] 1 test, listed below:"'
EMPTY = 'echo "[  PASSED  ] 0 tests."'
TOOL = """case "$1 $2" in
  "bench "*) shift 2; echo "{\\"args\\": \\"$*\\"}" ;;
  "demo --backend") [ "$3" = cuda ] ;;
  "--version ") echo koto-l3 ;;
  *) exit 2 ;;
esac"""
BENCHES = {"memory": "--json --backend cuda", "device": "--json", "decode": "--json --backend cuda", "engine": "--json --backend cuda",
           "pack": "--json", "unpack": "--json", "pipeline": "--json --backend cuda"}
CHECKERS = {f"{tool}-executors_cuda_test" for tool in ("memcheck", "racecheck", "synccheck")}
SANITIZER = 'shift 4; case $* in *"--gtest_filter=-*tells_a_fault*"*) exec "$@" ;; esac; exit 3'
# A host whose own libstdc++ is too old, for tool and test.
NEEDS_RUNTIME = 'case ${LD_LIBRARY_PATH:-} in */lib/runtime) ;; *) echo "GLIBCXX_3.4.30 not found" >&2; exit 1 ;; esac'


def run_check(gpu_check, programs, sanitizer=None, arguments=()):
    """Exit code, standard error, and by step what the table says of it; and the folder of results as {name: text}."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        shutil.copy(gpu_check, folder / "gpu-check")
        (folder / "VERSION").write_text("koto-l3 stand-in\n")
        everything = {"bin/koto-l3": TOOL, "tests/executors_cuda_test": PASSING, **programs}
        if sanitizer:
            everything["path/compute-sanitizer"] = sanitizer
        for name, body in everything.items():
            path = folder / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(f"#!/bin/sh\n{body}\n")
            path.chmod(0o755)
        result = subprocess.run([folder / "gpu-check", "--out", folder / "out", *arguments], capture_output=True, text=True, cwd="/",
                                env={"PATH": f"{folder}/path:/usr/bin:/bin"})
        files = {p.name: p.read_text() for p in (folder / "out").rglob("*") if p.is_file()}
    words = [line.split() for line in files.get("table.txt", "").splitlines()]
    rows = {w[0]: w[1] for w in words if len(w) >= 3 and w[1] in ("passed", "FAILED", "skipped")}
    assert result.returncode in (2, 69) or files["table.txt"] == result.stdout, "what is printed is what is written"
    return result.returncode, result.stderr, rows, files


def main():
    gpu_check = sys.argv[1]

    code, error, rows, files = run_check(gpu_check, {"tests/codec_test": SKIPPING}, SANITIZER)
    assert code == 0, (code, error, rows)
    steps = {"codec_test", "executors_cuda_test", "demo", *CHECKERS, *(f"bench-{b}" for b in BENCHES)}
    assert rows == dict.fromkeys(steps, "passed"), rows
    for bench, arguments in BENCHES.items():  # on the GPU or not at all: they never choose
        assert files[f"bench-{bench}.json"] == f'{{"args": "{arguments}"}}\n', files[f"bench-{bench}.json"]
    assert "2 cases, 1 more skipped" in files["table.txt"]
    assert "koto-l3 stand-in" in files["machine.txt"] and "0 failed, 13 passed, 0 skipped" in files["table.txt"], files

    for name, body in {"a_test": "exit 1", "b_test": EMPTY, "c_test": "kill -SEGV $$", "d_cuda_test": SKIPPING}.items():
        code, _, rows, files = run_check(gpu_check, {f"tests/{name}": body}, SANITIZER)
        assert code == 1 and rows[name] == "FAILED", (name, code, rows)
        assert rows["demo"] == "passed", "the check goes on after a failure"

    for broken in ("exit 1", "kill -SEGV $$"):
        code, _, rows, _ = run_check(gpu_check, {"bin/koto-l3": broken}, SANITIZER)
        assert code == 1 and {rows[s] for s in rows if s == "demo" or s.startswith("bench-")} == {"FAILED"}, rows

    code, _, rows, _ = run_check(gpu_check, {}, "exit 86")
    assert code == 1 and {rows[c] for c in CHECKERS} == {"FAILED"}, rows

    code, _, rows, files = run_check(gpu_check, {}, "echo Device not supported; exit 1")
    assert code == 0 and {rows[c] for c in CHECKERS} == {"skipped"}, rows
    assert "3 skipped" in files["table.txt"], files["table.txt"]

    code, error, rows, files = run_check(
        gpu_check, {"tests/executors_cuda_test": 'echo "L3_REQUIRE_GPU=1, but it is gone"; exit 1'}, SANITIZER)
    assert code == 69 and error == "gpu-check: there is no GPU to check on: it is gone\n", (code, error)
    code, error, rows, files = run_check(
        gpu_check, {"tests/executors_cuda_test": 'echo "version GLIBC_9 not found" >&2; exit 1'}, SANITIZER)
    assert code == 69 and error.startswith("gpu-check: the programs do not run here") and "\nversion GLIBC_9" in error, (code, error)
    code, error, _, _ = run_check(gpu_check, {"path/timeout": "exit 124"}, SANITIZER)
    assert code == 69 and "the first kernel did not end within" in error, (code, error)

    old_host = {"bin/koto-l3": f"{NEEDS_RUNTIME}\n{TOOL}", "tests/executors_cuda_test": f"{NEEDS_RUNTIME}\n{PASSING}"}
    code, error, rows, _ = run_check(gpu_check, old_host, SANITIZER)
    assert code == 0 and set(rows.values()) == {"passed"}, (code, error, rows)
    code, _, rows, _ = run_check(gpu_check, {"tests/a_test": f"{NEEDS_RUNTIME}\n{PASSING}"}, SANITIZER)
    assert code == 1 and rows["a_test"] == "FAILED", "a libstdc++ of the host's that will do is used"

    _, _, rows, _ = run_check(gpu_check, {}, SANITIZER, ["--only", "tests,demo"])
    assert rows == {"executors_cuda_test": "passed", "demo": "passed"}, rows
    _, _, rows, _ = run_check(gpu_check, {}, SANITIZER, ["--only", "checkers"])
    assert rows.keys() == CHECKERS, rows
    for wrong in (["--only", "nothing"], ["--out"], ["--fast"]):
        code, error, _, files = run_check(gpu_check, {}, SANITIZER, wrong)
        assert code == 2 and "gpu-check [--out" in error and not files, (wrong, code)
    print("ok")


main()
