# SPDX-License-Identifier: Apache-2.0
"""Packages of version 0.1.0, which had none: its programs and its unit, built from the commit that CHANGELOG.md names, and packed
as an operator who made packages would have. They are made once, in minutes, and kept."""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parents[2]
VERSION = "0.1.0"
CONTROL = """Package: {name}
Version: {version}
Architecture: amd64
Maintainer: koto-l3 maintainers <koto-l3@example.org>
Depends: {depends}
Description: level-3 trigger of the KOTO experiment, version {version}
"""


def commit():
    return re.search(rf"Version {re.escape(VERSION)} is the commit \w+ \((\w+)\)", (SOURCE / "CHANGELOG.md").read_text())[1]


def _run(*words, **more):
    done = subprocess.run([str(w) for w in words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **more)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, words))}:\n{done.stdout[-2000:]}")
    return done.stdout


def build(folder):
    """The source of that commit and, in `build/bin`, its programs."""
    if subprocess.run(["git", "-C", SOURCE, "cat-file", "-e", f"{commit()}^{{commit}}"], stderr=subprocess.DEVNULL).returncode != 0:
        sys.exit(f"{SOURCE} has no commit {commit()}, of which version {VERSION} is: fetch the whole history (git fetch --unshallow)")
    print(f"building version {VERSION}", flush=True)
    source = folder / "source"
    source.mkdir()
    _run("sh", "-c", f"git -C '{SOURCE}' archive {commit()} | tar -x -C '{source}'")
    _run("cmake", "-S", source, "-B", source / "build", "-G", "Ninja", "-DCMAKE_BUILD_TYPE=RelWithDebInfo", "-DL3_TESTS=OFF", "-DL3_CUDA=OFF")
    _run("nice", "cmake", "--build", source / "build", "--target", "programs")
    return source


def pack(source, out):
    """koto-l3d and koto-l3, in the folder `out`."""
    deploy, bin_folder = source / "deploy", source / "build/bin"
    files = {"koto-l3d": {"usr/bin/koto-l3d": bin_folder / "koto-l3d", "etc/koto-l3/l3.toml": deploy / "l3.toml",
                          "lib/systemd/system/koto-l3d.service": deploy / "koto-l3d.service"},
             "koto-l3": {"usr/bin/koto-l3": bin_folder / "koto-l3"}}
    for name, there in files.items():
        with tempfile.TemporaryDirectory() as stage:
            stage = pathlib.Path(stage)
            stage.chmod(0o755)
            for path, file in there.items():
                (stage / path).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(file, stage / path)
                if path.startswith("usr/bin/"):
                    _run("strip", stage / path)
            # dpkg-shlibdeps wants to stand beside a debian/control.
            (stage / "debian").mkdir()
            (stage / "debian/control").write_text(f"Source: koto-l3\n\nPackage: {name}\nArchitecture: any\n")
            said = _run("dpkg-shlibdeps", "-O", *stage.glob("usr/bin/*"), cwd=stage)
            depends, = re.findall(r"^shlibs:Depends=(.*)", said, re.MULTILINE)
            shutil.rmtree(stage / "debian")
            (stage / "DEBIAN").mkdir()
            (stage / "DEBIAN/control").write_text(CONTROL.format(name=name, version=VERSION, depends=depends))
            (stage / "DEBIAN/conffiles").write_text("".join(f"/{path}\n" for path in there if path.startswith("etc/")))
            _run("dpkg-deb", "--root-owner-group", "--build", stage, out)


def packages(cache):
    """The folder with the packages, made if it is not there."""
    out = cache / f"{VERSION}-{commit()[:12]}"
    if not out.exists():
        fresh = out.with_suffix(".new")
        shutil.rmtree(fresh, ignore_errors=True)
        fresh.mkdir(parents=True)
        with tempfile.TemporaryDirectory(prefix="koto-l3-old-") as folder:
            pack(build(pathlib.Path(folder)), fresh)
        fresh.rename(out)
    return out
