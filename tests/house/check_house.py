#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the shape of the source tree: the include arrows, which docs/architecture.md shows, no host library in device files, a
README in every room, a licence line in every source, every fuzz target in docs/reliability.md."""
import pathlib
import re
import sys

ROOMS = ["daemon", "receiver", "monitor", "transport", "gpu", "selection", "reading", "config", "tools", "bench", "tests", "deploy"]
SOURCES = {".hpp", ".cpp", ".cu", ".cuh", ".hip"}
HOST_LIBRARIES = re.compile(r"^(boost/|spdlog/|fmt/|toml\+\+/|zmq|prometheus/|CLI/|rapidcheck)")


# What a folder may include beside itself, as the table of docs/architecture.md has it: folders, rooms (all their folders), or
# headers by their names. A room that is not taken apart here is one folder. No two may reach each other, so there is no
# circle.
FORMAT = ["transport/format"]
GPU = ["gpu", *FORMAT]
MAY_INCLUDE = {
    "transport/system": [],
    "transport/format": [],
    "transport/accounting": ["transport/system", *FORMAT],
    "transport/histograms": ["transport/system", "transport/accounting", *FORMAT],
    "transport/file": ["transport/system", "transport/accounting", *FORMAT],
    "transport/building": ["transport/system", "transport/accounting", "transport/file", *FORMAT],
    "transport/input": ["transport/system", "transport/accounting", "transport/file", "transport/building", *FORMAT],
    "transport/link": ["transport/system", "transport/accounting", *FORMAT],
    "transport/store": ["transport/system", "transport/accounting", *FORMAT],
    "transport/outbox": ["transport/system", "transport/accounting", "transport/link", "transport/store", *FORMAT],
    "gpu": [],
    "gpu/memory": FORMAT,
    "gpu/executors": ["gpu/memory", *FORMAT],
    "gpu/columns": ["gpu/memory", "gpu/executors", *FORMAT],
    "gpu/codec": ["gpu/memory", "gpu/executors", *FORMAT],
    "gpu/decode": ["gpu/memory", "gpu/executors", *FORMAT],
    "gpu/cuda": ["gpu/memory", "gpu/executors", "gpu/decode", *FORMAT],
    "config/toml": ["transport/system", *FORMAT],
    "selection/packing": GPU,
    "selection/sequence": ["selection/packing", *GPU],
    "selection/algorithms": ["selection/packing", "selection/sequence", *GPU],
    "selection/histograms": ["selection/algorithms", "selection/sequence", *GPU],
    "selection/detector": ["selection/algorithms", "config/toml", *FORMAT],
    "selection/trigger": ["selection/detector", "selection/histograms", "selection/algorithms", "selection/sequence", "config/toml", *GPU],
    "selection/engine": ["selection/packing", "selection/sequence", "selection/algorithms", "selection/histograms", "selection/detector",
                         *GPU],
    "reading": ["transport", "gpu", "selection"],
    "selection/display": ["selection/trigger", "selection/detector", "selection/algorithms", "selection/sequence", "transport/store", *GPU],
    "config": ["config/toml", "/settings.hpp", "/selection_files.hpp", *FORMAT],
    "monitor": ["transport/accounting", "transport/system", *FORMAT],
    "receiver": ["monitor", "transport", "config"],
    "daemon": ["monitor", "transport", "gpu", "selection", "config"],
    "tools": ["monitor", "receiver", "transport", "gpu", "selection", "config"],
    "bench": ["monitor", "transport", "gpu", "selection", "config", "daemon", "tools"],
}


def folder_of(name: str) -> str:
    """The folder of a path as MAY_INCLUDE has it, or its room."""
    parts = name.split("/")
    two = "/".join(parts[:2])
    return two if two in MAY_INCLUDE and len(parts) > 2 else parts[0]


def allowed(source: str, included: str) -> bool:
    """May `source` include `included`? Both are paths from the root."""
    folder, target = folder_of(source), folder_of(included)
    if folder == target or folder == "tests":
        return True
    for entry in MAY_INCLUDE.get(folder, []):
        if entry.startswith("/") and included.endswith(entry):
            return True
        if included == entry or included.startswith(entry + "/"):
            return True
    return False


def includes(path: pathlib.Path):
    for number, line in enumerate(path.read_text().splitlines(), 1):
        m = re.match(r'\s*#\s*include\s*(["<])([^">]+)[">]', line)
        if m:
            yield number, m.group(1), m.group(2)


def device_files(root: pathlib.Path, sources):
    """Sources compiled for a device, and every header of ours that they reach."""
    seen, todo = set(), [s for s in sources if s.suffix in (".cu", ".cuh") and "tests" not in s.parts]
    while todo:
        path = todo.pop()
        if path in seen:
            continue
        seen.add(path)
        todo += [root / name for _, mark, name in includes(path) if mark == '"' and (root / name).exists()]
    return seen


def drawn(page: pathlib.Path) -> dict[str, set[str]]:
    """The arrows of the page's table: | `folder` | what it holds | `folder`, `folder` |."""
    rows = re.findall(r"^\| `([\w/]+)` \|[^|]*\|([^|]*)\|$", page.read_text(), re.MULTILINE)
    return {folder: set(re.findall(r"`([^`]*)`", arrows)) for folder, arrows in rows}


def check(root: pathlib.Path) -> list[str]:
    problems = []
    shown = drawn(root / "docs/architecture.md")
    for folder, entries in MAY_INCLUDE.items():
        if shown.get(folder) != set(entries):
            problems.append(f"docs/architecture.md: {folder} may include {', '.join(sorted(entries)) or 'nothing'}, the table differs")
    sources = [p for room in ROOMS for p in sorted((root / room).rglob("*")) if p.suffix in SOURCES]
    for path in sources:
        name = path.relative_to(root).as_posix()
        if "SPDX-License-Identifier: Apache-2.0" not in path.read_text()[:200]:
            problems.append(f"{name}:1: no licence line")
        for number, mark, included in includes(path):
            if mark == '"' and not (root / included).exists():
                problems.append(f"{name}:{number}: \"{included}\" is not a path from the root")
            elif mark == '"' and not allowed(name, included):
                problems.append(f"{name}:{number}: {folder_of(name)} may not include {included}")
    for path in sorted(device_files(root, sources)):
        for number, mark, included in includes(path):
            if mark == "<" and HOST_LIBRARIES.match(included):
                problems.append(f"{path.relative_to(root).as_posix()}:{number}: host library <{included}> in a device file")
    for room in ROOMS:
        readme = root / room / "README.md"
        if not readme.exists():
            problems.append(f"{room}/README.md: missing")
        elif len(readme.read_text().splitlines()) > 60:
            problems.append(f"{room}/README.md: longer than a screen (60 lines)")
    told = (root / "docs/reliability.md").read_text()
    for path in sorted((root / "tests/fuzz/targets").glob("*_fuzz.cpp")):
        target = path.name.removesuffix("_fuzz.cpp")
        if f"`{target}`" not in told:
            problems.append(f"{path.relative_to(root).as_posix()}: docs/reliability.md does not say what must hold for `{target}`")
    return problems


if __name__ == "__main__":
    found = check(pathlib.Path(sys.argv[1]))
    print("\n".join(found) or "ok")
    sys.exit(1 if found else 0)
