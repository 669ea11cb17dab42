#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`cmake --install` into an empty folder: every path that the unit names is there, the programs run, the man pages are right,
and an operator's configuration stays. Arguments: cmake, the build folder, the source folder."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

CMAKE, BUILD, SOURCE = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
sys.path.insert(0, str(SOURCE / "tests/system"))
import own_space  # noqa: E402


def said(*words, **more) -> str:
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=120, **more)
    assert done.returncode == 0, f"{words} ends with {done.returncode}: {done.stdout}{done.stderr}"
    assert not done.stderr, f"{words} says: {done.stderr}"
    return done.stdout


UNITS = ("koto-l3d.service", "koto-l3-receive.service")


def paths_of(unit: str) -> list[str]:
    """Those that must be there before the unit starts; /bin/kill is the system's."""
    active = "\n".join(line for line in unit.splitlines() if re.match(r"(ExecStart|Documentation)=", line))
    found = re.findall(r"(?<=[=: ])/\S+", active)
    assert len(found) == 3, f"the unit names {found}"
    return found


def check_page(page: pathlib.Path, program: pathlib.Path) -> None:
    """No warning of groff, and every option and command that the program names."""
    shown = page.read_text()
    if shutil.which("groff"):
        shown = said("groff", "-man", "-ww", "-Tutf8", "-P-cbou", "-rLL=1000n", page)
    shown = re.sub(r"\s+", " ", shown.replace("\\-", "-").replace("−", "-").replace("‐", "-"))
    told = said(program, "--help")
    commands = re.findall(r"^  ([a-z]\w*) ", told, re.MULTILINE)
    for help_text in [told] + [said(program, command, "--help") for command in commands]:
        names = re.findall(r"^  (?:-\w,)?(--[\w-]+)", help_text, re.MULTILINE)
        assert "--version" in names
        for name in names + commands:
            assert f" {name} " in shown or f",{name} " in shown, f"{page.name} lacks {name}"


def check_completion(share: pathlib.Path, program: pathlib.Path) -> None:
    """In bash each command and option is offered; zsh can read what it gets."""
    script = share / f"bash-completion/completions/{program.name}"
    function = "_" + re.sub(r"\W", "_", program.name)

    def offered(*words: str) -> list[str]:
        ask = f'source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); {function}; echo "${{COMPREPLY[@]}}"'
        return said("bash", "-c", ask, script, program.name, *words).split()

    told = said(program, "--help")
    commands = re.findall(r"^  ([a-z]\w*) ", told, re.MULTILINE)
    assert set(commands) <= set(offered("")), f"{script.name} lacks commands"
    for command in [[]] + [[c] for c in commands]:
        names = re.findall(r"^  (?:-\w,)?(--[\w-]+)", said(program, *command, "--help"), re.MULTILINE)
        assert set(names) <= set(offered(*command, "--")), f"{script.name} lacks options of {command}"
    if program.name == "koto-l3":
        assert offered("re") == ["receive", "rerun", "reprocess", "replay"], offered("re")
        assert offered("run", "st") == ["start", "stop", "status"], offered("run", "st")
        assert "pool" in offered("rerun", "--backend", ""), offered("rerun", "--backend", "")
    zsh = share / f"zsh/vendor-completions/_{program.name}"
    assert zsh.read_text().startswith(f"#compdef {program.name}\n"), zsh
    if shutil.which("zsh"):
        said("zsh", "-n", zsh)


def be_alone() -> None:
    """In a network of its own: a port of the configuration may be another program's for a moment."""
    try:
        own_space.enter(own_space.NETWORK)
    except PermissionError:
        return
    said("ip", "link", "set", "lo", "up")


def main() -> None:
    be_alone()
    with tempfile.TemporaryDirectory() as folder:
        prefix = pathlib.Path(folder) / "prefix"
        said(CMAKE, "--install", BUILD, "--prefix", prefix, "--strip")
        for name in UNITS:
            for path in paths_of((prefix / "lib/systemd/system" / name).read_text()):
                assert path.startswith(str(prefix)) and os.path.isfile(path), f"{path} is not installed"
        programs = sorted((prefix / "bin").iterdir())
        assert {"koto-l3", "koto-l3d"} <= {p.name for p in programs} <= {"koto-l3", "koto-l3-bench", "koto-l3d"}, programs
        for program in programs:
            assert said(program, "--version").startswith(program.name + " "), program
            page, = (prefix / "share/man").glob(f"man?/{program.name}.?")
            check_page(page, program)
            check_completion(prefix / "share", program)
        said(prefix / "bin/koto-l3d", "--config", prefix / "etc/koto-l3/l3.toml", "--check-config")
        for name in ("sysusers.d/koto-l3d.conf", "sysusers.d/koto-l3-receive.conf", "tmpfiles.d/koto-l3-receive.conf", "sysctl.d/60-koto-l3d.conf"):
            assert (prefix / "lib" / name).is_file(), f"{name} is not installed"
        for name in ("koto-l3/selection.toml", "koto-l3/monitoring/alerts.yml", "koto-l3/monitoring/dashboard.json", "koto-l3/monitoring/dashboard-farm.json",
                     "doc/koto-l3/LICENSE", "doc/koto-l3/docs/runbook.md"):
            assert (prefix / "share" / name).is_file(), f"{name} is not installed"
        assert {p.name for p in prefix.iterdir()} == {"bin", "etc", "include", "lib", "share"}, list(prefix.iterdir())

        # As a package is made: the unit as it is in the tree, the configuration in /etc.
        stage = pathlib.Path(folder) / "stage"
        package = [CMAKE, "--install", BUILD, "--prefix", "/usr", "--strip", "--component", "daemon"]
        said(*package, env={**os.environ, "DESTDIR": str(stage)})
        unit = (stage / "usr/lib/systemd/system/koto-l3d.service").read_text()
        assert unit == (SOURCE / "deploy/koto-l3d.service").read_text()
        for path in (p for p in paths_of(unit) if "/doc/" not in p):
            assert (stage / path[1:]).is_file(), f"{path} is not installed"
        assert not list((stage / "usr/bin").glob("koto-l3")), "the daemon's component has the tool"
        (stage / "etc/koto-l3/l3.toml").write_text("# mine\n")
        said(*package, env={**os.environ, "DESTDIR": str(stage)})
        assert (stage / "etc/koto-l3/l3.toml").read_text() == "# mine\n", "an operator's configuration is gone"


main()
