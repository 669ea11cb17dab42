#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Which lines of device code the interpreted tests executed. Prints, by file, how many of the lines that nvcc made instructions of
were executed, and fails if one was not that unexecuted_lines.txt does not list with a reason, or if one that it lists was; and if not both PTX of
compute_80 and of compute_90 ran.

lines.py REPORT…: what the programs wrote by L3_DEVICE_REPORT. --self-test only tests this script."""
import collections
import pathlib
import subprocess
import sys
import tempfile

import places

HERE = pathlib.Path(__file__).parent
LIST = HERE / "unexecuted_lines.txt"
TARGETS = {"sm_80", "sm_90"}  # of the PTX that is to run
ROOMS = ("gpu/", "selection/")  # device code of the product


def executed_lines(reports, root=places.ROOT):
    """{file: {line: executed}} of the device code of the tree, over all reports."""
    found = collections.defaultdict(dict)
    for report in reports:
        for text in report.read_text().splitlines():
            kind, *words = text.split()
            if kind != "line":
                continue
            name, line = places.in_tree(words[0], root).rsplit(":", 1)
            if name.startswith(ROOMS) and line != "0":  # 0: the compiler's own
                found[name][int(line)] = found[name].get(int(line), False) or words[1] == "1"
    return found


def read_list(text):
    """{(file, text of the line): reason} from lines 'FILE | text | reason'."""
    lines = [line.split(" | ") for line in text.splitlines() if line and not line.startswith("#")]
    return {(name, " | ".join(code)): reason for name, *code, reason in lines}


def compare(found, listed, root):
    """Every reason to fail, as texts."""
    problems, met = [], set()
    for name, lines in sorted(found.items()):
        source = (root / name).read_text().splitlines()
        for line, executed in sorted(lines.items()):
            text = source[line - 1].strip() if line <= len(source) else ""
            if not executed and (name, text) in listed:
                met.add((name, text))
            elif not executed:
                problems.append(f"{name}:{line} was never executed: {text}")
    return problems + [f"{LIST.name}: {name}, '{text}' was executed, or is no such line" for name, text in sorted(listed.keys() - met)]


def missing_targets(reports):
    """Which of the two kinds of PTX that programs have did not run: that of the cases, and that of the product."""
    ran = {words[-1] for report in reports for words in map(str.split, report.read_text().splitlines()) if words[0] == "counts"}
    return [f"no PTX of {target} ran" for target in sorted(TARGETS - ran)]


def files_without_lines(found, root):
    """Device code of which no program has a line, so that nothing could be said of it."""
    files = subprocess.run(["git", "-C", root, "ls-files", "gpu/*.cuh", "selection/*.cuh"], capture_output=True, text=True, check=False)
    return [f"{name}: no interpreted program has a line of it" for name in files.stdout.split() if name not in found]


def self_test():
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder).resolve()
        (root / "gpu").mkdir()
        (root / "gpu" / "a.cuh").write_text("one\n  two | 2\nthree\n")
        reports = [root / "first", root / "second"]
        reports[0].write_text("counts k 1 sm_90\nline /a/build/../gpu/a.cuh:1 1\nline /a/build/../gpu/a.cuh:2 0\nline /usr/x.h:7 0\n")
        reports[1].write_text(f"line {root}/gpu/a.cuh:1 0\nline gpu/a.cuh:3 0\n")
        places.self_test(root, "gpu/a.cuh")
        found = executed_lines(reports, root)
        assert found == {"gpu/a.cuh": {1: True, 2: False, 3: False}}, found
        assert missing_targets(reports) == ["no PTX of sm_80 ran"]
        both = {("gpu/a.cuh", "two | 2"): "why", ("gpu/a.cuh", "three"): "why"}
        assert read_list("# head\ngpu/a.cuh | two | 2 | why\ngpu/a.cuh | three | why\n") == both
        assert compare(found, both, root) == []
        assert len(compare(found, {}, root)) == 2
        assert len(compare(found, {**both, ("gpu/a.cuh", "one"): "why"}, root)) == 1


def main():
    self_test()
    if sys.argv[1:] == ["--self-test"]:
        return 0
    reports = [pathlib.Path(a) for a in sys.argv[1:]]
    found = executed_lines(reports)
    for name, lines in sorted(found.items()):
        print(f"{name}: {sum(lines.values())} of {len(lines)} lines executed")
    print(f"all: {sum(sum(lines.values()) for lines in found.values())} of {sum(map(len, found.values()))}")
    problems = compare(found, read_list(LIST.read_text()), places.ROOT) + files_without_lines(found, places.ROOT) + missing_targets(reports)
    print("\n".join(problems) or "all that were not executed are listed with the reason")
    return 1 if problems or not found else 0


if __name__ == "__main__":
    sys.exit(main())
