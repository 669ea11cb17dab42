#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks every page (*.md):
* a relative link leads to a file of the tree, its #anchor to a heading of that file;
* a source, a folder, a test program or a test case that the page names is there;
* a line of prose has at most 100 columns (tables, code, and lines that are one long word, may have more)."""
import pathlib
import re
import sys
import urllib.parse

COLUMNS = 100
LINK = re.compile(r"\[[^\]\[]*\]\(([^()\s]+)\)")
SOURCE = re.compile(r"`(\w[\w./]*\.(?:hpp|cpp|cu|cuh|py))`")
PATH = re.compile(r"`((?:bench|config|daemon|deploy|docs|gpu|monitor|selection|tests|tools|transport)/[\w/]*)`")
PROGRAM = re.compile(r"build(?:-\w+)?/tests/(\w+)")
CASE = re.compile(r"`([a-z]\w*)\.([a-z]\w{25,})`")
HEADING = re.compile(r"#{1,6} +(.*?)[ #]*$")


def is_ours(path: pathlib.Path, root: pathlib.Path) -> bool:
    """Build folders and folders that begin with a dot hold nothing of ours."""
    return not any(part == "build" or part.startswith((".", "build-")) for part in path.relative_to(root).parts[:-1])


def pages(root: pathlib.Path):
    return (path for path in sorted(root.rglob("*.md")) if is_ours(path, root))


def prose(path: pathlib.Path):
    """Number and text of each line that is not code; a line is code between fences and their languages."""
    fence = None
    for number, line in enumerate(path.read_text().splitlines(), 1):
        mark = re.match(r" *(```+|~~~+)", line)
        if fence is None and mark:
            fence = mark.group(1)
        elif fence is not None:
            if line.strip() == fence:
                fence = None
        else:
            yield number, line


def anchor(heading: str) -> str:
    """The anchor that GitHub and GitLab give a heading."""
    text = LINK.sub(lambda link: link.group(0)[1:link.group(0).index("]")], heading).replace("`", "").lower()
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


def anchors(path: pathlib.Path) -> set[str]:
    found: set[str] = set()
    for _, line in prose(path):
        heading = HEADING.match(line)
        if heading:
            first = name = anchor(heading.group(1))
            again = 0
            while name in found:
                again += 1
                name = f"{first}-{again}"
            found.add(name)
    return found


def links(path: pathlib.Path):
    """Line and target of each link within the tree; its text may go over two lines."""
    lines = dict(prose(path))
    text = "\n".join(lines.get(number, "") for number in range(1, max(lines, default=0) + 1))
    text = re.sub(r"`[^`]*`", lambda code: re.sub(r"[^\n]", " ", code.group()), text)
    for link in LINK.finditer(text):
        if not re.match(r"[a-z]+:", link.group(1)):
            yield text.count("\n", 0, link.end()) + 1, link.group(1)


def tests_of(root: pathlib.Path) -> str:
    """What makes test programs and cases, a blank between any two words."""
    files = [path for path in sorted((root / "tests").rglob("*")) if path.suffix in (".txt", ".cpp", ".hpp", ".cu")]
    return re.sub(r"\s+", " ", "\n".join(path.read_text() for path in files))


def check(root: pathlib.Path) -> list[str]:
    problems, tests = [], tests_of(root)
    there_are = "\n".join("/" + path.relative_to(root).as_posix() for path in root.rglob("*.*") if is_ours(path, root)) + "\n"
    for path in pages(root):
        name = path.relative_to(root).as_posix()
        for number, target in links(path):
            file, _, fragment = target.partition("#")
            there = path.parent / urllib.parse.unquote(file) if file else path
            if not there.exists():
                problems.append(f"{name}:{number}: {target} leads to no file")
            elif fragment and there.suffix == ".md" and fragment not in anchors(there):
                problems.append(f"{name}:{number}: {target} leads to no heading")
        for number, line in prose(path):
            for source in SOURCE.findall(line):
                if f"/{source}\n" not in there_are and "NAME" not in source:
                    problems.append(f"{name}:{number}: there is no {source}")
            for there in PATH.findall(line):
                if not (root / there).exists() and not list((root / there).parent.glob(f"{pathlib.Path(there).name}.*")):
                    problems.append(f"{name}:{number}: there is no {there}")
            for program in PROGRAM.findall(line):
                if f"l3_test({program} " not in tests and program != "NAME":
                    problems.append(f"{name}:{number}: there is no test program {program}")
            for suite, case in CASE.findall(line):
                if f"({suite}, {case})" not in tests:
                    problems.append(f"{name}:{number}: there is no test {suite}.{case}")
            if len(line) > COLUMNS and not line.startswith("|") and len(line.split()) > 1:
                problems.append(f"{name}:{number}: {len(line)} columns, at most {COLUMNS}")
    return problems


if __name__ == "__main__":
    result = check(pathlib.Path(sys.argv[1]))
    print("\n".join(result) or "ok")
    sys.exit(1 if result else 0)
