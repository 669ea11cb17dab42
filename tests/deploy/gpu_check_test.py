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
  "bench pack") [ "$3" = --help ] || { shift 2; echo "{\\"args\\": \\"$*\\"}"; } ;;
  "bench pipeline") [ "$3" = --help ] && echo "  --backend TEXT" || { shift 2; echo "{\\"args\\": \\"$*\\"}"; } ;;
  "demo --backend") [ "$3" = cuda ] ;;
  *) exit 2 ;;
esac"""
SANITIZER = 'shift 4; case $* in *"--gtest_filter=-*tells_a_fault*"*) exec "$@" ;; esac; exit 3'


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
    expected = {"codec_test": "passed", "executors_cuda_test": "passed", "memcheck-executors_cuda_test": "passed",
                "racecheck-executors_cuda_test": "passed", "demo": "passed", "bench-pack": "passed",
                "bench-pipeline": "passed", "bench-decode": "skipped"}
    assert expected.items() <= rows.items(), rows
    assert files["bench-pack.json"] == '{"args": "--json"}\n', files["bench-pack.json"]
    assert files["bench-pipeline.json"] == '{"args": "--json --backend cuda"}\n', files["bench-pipeline.json"]
    assert "2 cases, 1 more skipped" in files["table.txt"]
    assert "koto-l3 stand-in" in files["machine.txt"] and "0 failed, 7 passed, 4 skipped" in files["table.txt"], files

    for name, body in {"a_test": "exit 1", "b_test": EMPTY, "c_test": "kill -SEGV $$", "d_cuda_test": SKIPPING}.items():
        code, _, rows, files = run_check(gpu_check, {f"tests/{name}": body}, SANITIZER)
        assert code == 1 and rows[name] == "FAILED", (name, code, rows)
        assert rows["demo"] == "passed", "the check goes on after a failure"

    code, _, rows, _ = run_check(gpu_check, {"bin/koto-l3": "exit 1"}, SANITIZER)
    assert code == 1 and rows["demo"] == "FAILED", rows

    code, _, rows, _ = run_check(gpu_check, {}, "exit 86")
    assert code == 1 and rows["memcheck-executors_cuda_test"] == rows["racecheck-executors_cuda_test"] == "FAILED", rows

    code, _, rows, _ = run_check(gpu_check, {}, "echo Device not supported; exit 1")
    assert code == 0 and rows["memcheck-executors_cuda_test"] == "skipped", rows

    code, error, rows, files = run_check(
        gpu_check, {"tests/executors_cuda_test": 'echo "L3_REQUIRE_GPU=1, but it is gone"; exit 1'}, SANITIZER)
    assert code == 69 and error == "gpu-check: there is no GPU to check on: it is gone\n", (code, error)
    code, error, rows, files = run_check(
        gpu_check, {"tests/executors_cuda_test": 'echo "version GLIBC_9 not found" >&2; exit 1'}, SANITIZER)
    assert code == 69 and error.startswith("gpu-check: the programs do not run here:\nversion GLIBC_9"), (code, error)

    _, _, rows, _ = run_check(gpu_check, {}, SANITIZER, ["--only", "tests,demo"])
    assert rows == {"executors_cuda_test": "passed", "demo": "passed"}, rows
    _, _, rows, _ = run_check(gpu_check, {}, SANITIZER, ["--only", "checkers"])
    assert rows.keys() == {"memcheck-executors_cuda_test", "racecheck-executors_cuda_test"}, rows
    for wrong in (["--only", "nothing"], ["--out"], ["--fast"]):
        code, error, _, files = run_check(gpu_check, {}, SANITIZER, wrong)
        assert code == 2 and "gpu-check [--out" in error and not files, (wrong, code)
    print("ok")


main()
