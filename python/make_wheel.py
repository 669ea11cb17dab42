#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""make_wheel.py LIBRARY FOLDER: one wheel for every Python from 3.11 on, with libkoto-l3-read inside. It links libc and
libgcc_s only, so the newest version of a symbol of glibc that it needs decides on which systems it runs, and is in the wheel's name."""
import base64
import hashlib
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
LINKS = {"libc.so.6", "libm.so.6", "libgcc_s.so.1", "ld-linux-x86-64.so.2", "libpthread.so.0", "libdl.so.2", "ld-linux-aarch64.so.1"}


def tag_of(library):
    said = subprocess.run(["readelf", "--dynamic", "--version-info", "--wide", library], capture_output=True, text=True, check=True).stdout
    others = set(re.findall(r"\(NEEDED\).*\[(.*)\]", said)) - LINKS
    if others:
        sys.exit(f"make_wheel: {library} links {', '.join(sorted(others))}, which other systems may lack")
    newest = max(tuple(map(int, v.split("."))) for v in re.findall(r"Name: GLIBC_([\d.]+)", said))
    return f"py3-none-manylinux_{newest[0]}_{newest[1]}_{platform.machine()}"


def files(library, version):
    """(name in the wheel, bytes)"""
    for path in sorted((HERE / "koto_l3").iterdir()):
        if path.suffix in (".py", ".typed"):
            yield f"koto_l3/{path.name}", path.read_bytes()
    module = HERE.parent / "selection" / "display" / "event.js"
    if module.exists():
        yield "koto_l3/event.js", module.read_bytes()
    with tempfile.TemporaryDirectory() as folder:
        stripped = pathlib.Path(folder) / "stripped"
        shutil.copy(library, stripped)
        subprocess.run(["strip", "--strip-unneeded", stripped], check=True)
        yield "koto_l3/libkoto-l3-read.so.1", stripped.read_bytes()


def main(library, out):
    with open(HERE / "pyproject.toml", "rb") as f:
        project = tomllib.load(f)["project"]
    debian = re.search(r"\((.*?)\)", (HERE.parent / "debian" / "changelog").read_text())[1]
    version = debian.replace("~", "")  # 1.0.0~rc1 is 1.0.0rc1 in Python
    if project["version"] != version:
        sys.exit(f"make_wheel: pyproject.toml has version {project['version']}, debian/changelog {debian}")
    tag, info = tag_of(library), f"koto_l3-{version}.dist-info"
    extras = project["optional-dependencies"]
    metadata = [f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {version}\nSummary: {project['description']}",
                f"License: {project['license']['text']}\nRequires-Python: {project['requires-python']}",
                *(f"Requires-Dist: {need}" for need in project["dependencies"]),
                *(f"Provides-Extra: {extra}" for extra in extras),
                *(f'Requires-Dist: {need}; extra == "{extra}"' for extra, needs in extras.items() for need in needs),
                "Description-Content-Type: text/markdown\n", (HERE / "README.md").read_text()]
    scripts = "\n".join(f"{name} = {where}" for name, where in project["scripts"].items())
    content = [*files(library, version), (f"{info}/METADATA", "\n".join(metadata).encode()),
               (f"{info}/WHEEL", f"Wheel-Version: 1.0\nGenerator: koto-l3\nRoot-Is-Purelib: false\nTag: {tag}\n".encode()),
               (f"{info}/entry_points.txt", f"[console_scripts]\n{scripts}\n".encode()),
               (f"{info}/LICENSE", (HERE.parent / "LICENSE").read_bytes())]
    record = [f"{name},sha256={base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b'=').decode()},{len(data)}" for name, data in content]
    content.append((f"{info}/RECORD", "\n".join([*record, f"{info}/RECORD,,", ""]).encode()))
    out = pathlib.Path(out)
    out.mkdir(parents=True, exist_ok=True)
    wheel = out / f"koto_l3-{version}-{tag}.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as z:
        for name, data in content:
            entry = zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0))  # the same input makes the same bytes
            entry.external_attr, entry.compress_type = (0o755 if ".so" in name else 0o644) << 16, zipfile.ZIP_DEFLATED
            z.writestr(entry, data)
    print(wheel)


if __name__ == "__main__":
    main(*sys.argv[1:])
