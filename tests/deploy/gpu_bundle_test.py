#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks what `./run gpu-bundle` makes, on a machine that need not have a GPU: gpu_bundle_test.py CMAKE BUILD_FOLDER.

The bundle is made anew, moved elsewhere, and run from there without an environment."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

SIZE_LIMIT = 104 << 20  # it is carried to machines by hand
# What the host brings: the C library and the kernel's page. The driver is not linked but looked for at run time.
OF_THE_HOST = re.compile(r"(ld-linux.*|lib(c|m|dl|rt|pthread|resolv)|linux-vdso)\.so.*")
COMPILERS = re.compile(r"lib(stdc\+\+|gcc_s)\.so\.\d+")
GCC = 12
GLIBCXX_OF_GCC = (3, 4, 30)
NO_GPU = 69


def run(*command, **options):
    return subprocess.run([str(c) for c in command], capture_output=True, text=True, **options)


def clean_run(*command, folder, **environment):
    return run(*command, cwd=folder, env={"PATH": "/usr/bin:/bin", **environment})


def check_size(bundle):
    files = [p for p in bundle.rglob("*") if p.is_file() and not p.is_symlink()]
    size = sum(p.stat().st_size for p in files)
    print(f"{len(files)} files, {size / 1e6:.1f} MB")
    assert 0 < size < SIZE_LIMIT, f"{size} bytes"
    return [p for p in files if p.read_bytes()[:4] == b"\x7fELF"]


def where_found(binary, **environment):
    """What the loader takes for each library of a program, but for the host's part: {name: path}."""
    result = clean_run("ldd", binary, folder="/", **environment)
    assert result.returncode == 0, result.stdout + result.stderr
    pairs = [line.strip().partition(" => ") for line in result.stdout.splitlines()]
    return {name: os.path.realpath(found.split(" (")[0]) for name, _, found in pairs
            if not OF_THE_HOST.fullmatch(pathlib.Path(name.split(" ")[0]).name)}


def check_libraries(bundle, binaries):
    """Every library is in the bundle, and the loader finds it there wherever the bundle lies, also those of the libraries:
    what a machine of ours happens to have installed must not help. But the compiler's own are the host's, until one asks
    for those of the bundle."""
    runtime = bundle / "lib/runtime"
    assert {p.name for p in runtime.iterdir() if COMPILERS.fullmatch(p.name)} == {"libstdc++.so.6", "libgcc_s.so.1"}
    assert not [p for p in (bundle / "lib").iterdir() if COMPILERS.fullmatch(p.name)], "they would hide those of the host"
    for binary in binaries:
        for name in re.findall(r"NEEDED.*\[(.*)\]", run("readelf", "-d", binary).stdout):
            folder = runtime if COMPILERS.fullmatch(name) else bundle / "lib"
            assert OF_THE_HOST.fullmatch(name) or (folder / name).exists(), f"{binary.name} needs {name}"
        if binary.is_relative_to(bundle / "lib"):
            continue
        for name, found in where_found(binary).items():
            inside = found.startswith(f"{bundle}/")
            assert inside != bool(COMPILERS.fullmatch(name)), f"{binary.name}: {name} is {found}"
        for name, found in where_found(binary, LD_LIBRARY_PATH=str(runtime)).items():
            assert found.startswith(f"{bundle}/lib/"), f"{binary.name}: {name} is {found}"


def highest(binaries, family):
    """The latest version of a library's symbols that any of them needs, as a tuple."""
    versions = [v for b in binaries for v in re.findall(rf"\({family}_([0-9.]+)\)", run("objdump", "-T", b).stdout)]
    return max(tuple(map(int, v.split("."))) for v in versions)


def check_what_hosts_bring(bundle, binaries):
    """gpu-check asks hosts for the C library that is needed indeed, without the compiler's libraries and with them."""
    runtime = [b for b in binaries if b.parent.name == "runtime"]
    others = [b for b in binaries if b.parent.name != "runtime"]
    needed = [".".join(map(str, highest(group, "GLIBC"))) for group in (others, runtime)]
    text = (bundle / "gpu-check").read_text()
    assert re.findall(r"glibc (\d[0-9.]*\d)", text) == needed * 2, f"in --help and where they do not run: {needed}"
    assert text.count(f"libstdc++ of GCC {GCC}") == 2 and highest(others, "GLIBCXX") == GLIBCXX_OF_GCC, highest(others, "GLIBCXX")
    assert highest([bundle / "bin/koto-l3"], "GLIBCXX") == GLIBCXX_OF_GCC, "whether it runs tells of all"


def check_programs_are_stripped(binaries):
    for binary in binaries:
        assert ".debug_info" not in run("readelf", "-S", "-W", binary).stdout, f"{binary.name} is not stripped"


def check_cpu_tests(bundle, folder):
    tests = [p for p in sorted((bundle / "tests").iterdir()) if not p.name.endswith(("_cuda_test", "_drills_test"))]  # these need a device
    assert [p.name for p in tests] == ["selection_test"], tests
    for test in tests:
        result = clean_run(test, folder=folder)
        assert result.returncode == 0 and re.search(r"\[  PASSED  \] [1-9]", result.stdout), (
            f"{test.name} failed where it was moved to:\n{result.stdout[-3000:]}{result.stderr}")
        print(f"{test.name} passed")


def check_programs(bundle, folder):
    for program in ("koto-l3", "koto-l3-bench", "koto-l3d"):
        result = clean_run(bundle / "bin" / program, "--version", folder=folder)
        assert result.returncode == 0 and result.stdout.startswith(program), result.stdout + result.stderr


def check_no_gpu(bundle, folder, **environment):
    """Without a device the check neither passes nor leaves one guessing; an existing device is hidden."""
    out = folder / "out"
    result = clean_run(bundle / "gpu-check", "--out", out, folder=folder, CUDA_VISIBLE_DEVICES="", **environment)
    assert result.returncode == NO_GPU, f"ended with {result.returncode}: {result.stdout}{result.stderr}"
    assert re.fullmatch(r"gpu-check: there is no GPU to check on: .*CUDA.*\n", result.stderr), result.stderr
    assert "passed" not in result.stdout, result.stdout


def check_quarter(bundle, folder):
    """The bundle has all that the quarter of an hour calls: each test, and each bench with its options, which without a device
    fails for that reason only."""
    stand_in = folder / "quarter"
    for test in [*(bundle / "tests").iterdir(), stand_in / "bin/koto-l3", stand_in / "path/compute-sanitizer"]:
        body = 'shift 4\nexec "$@"' if test.name == "compute-sanitizer" else 'echo "[  PASSED  ] 1 test."'
        write_program(stand_in / test.parent.name / test.name, body)
    write_program(stand_in / "bin/koto-l3-bench", f'echo "$*" >>{stand_in}/benches')
    write_program(stand_in / "path/ncu", 'while [ "${1##*/}" != koto-l3-bench ]; do shift; done\nexec "$@"')
    shutil.copy(bundle / "gpu-check", stand_in)
    shutil.copy(bundle / "VERSION", stand_in)
    result = run(stand_in / "gpu-check", "--only", "quarter", "--out", stand_in / "out", env={"PATH": f"{stand_in}/path:/usr/bin:/bin"})
    rows = [words for line in result.stdout.splitlines() if len(words := line.split()) > 1]
    assert not [r for r in rows if r[0].endswith("_test") and r[1] != "passed"], result.stdout
    benches = (stand_in / "benches").read_text().splitlines()
    assert len(benches) > 10, benches
    for bench in benches:
        result = clean_run(bundle / "bin/koto-l3-bench", *bench.split(), folder=folder, CUDA_VISIBLE_DEVICES="")
        assert result.returncode == NO_GPU, f"{bench} ended with {result.returncode}: {result.stderr}"


def write_program(path, body):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)


def main():
    cmake, build = sys.argv[1:]
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary).resolve()
        made = pathlib.Path(build) / "koto-l3-gpu"
        shutil.rmtree(made, ignore_errors=True)
        result = run(cmake, "--install", build, "--component", "gpu-bundle", "--prefix", made, "--strip")
        assert result.returncode == 0, result.stdout + result.stderr
        bundle = folder / "moved" / "koto-l3-gpu"
        shutil.copytree(made, bundle, symlinks=True)
        elsewhere = folder / "elsewhere"
        elsewhere.mkdir()
        binaries = check_size(bundle)
        check_programs_are_stripped(binaries)
        check_libraries(bundle, binaries)
        check_programs(bundle, elsewhere)
        check_what_hosts_bring(bundle, binaries)
        check_no_gpu(bundle, elsewhere)
        check_quarter(bundle, elsewhere)
        check_cpu_tests(bundle, elsewhere)


main()
