#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""./run service-test: the packages on a bare Debian with a systemd of its own: installed, run under load, reloaded, hung, killed,
stopped, upgraded, removed and purged. Every event is accounted for at each step. As root. The first call makes a Debian root,
and keeps it."""
import argparse
import contextlib
import pathlib
import sys
import tempfile
import time

import machine
import by_ansible
import running
from service import Service, UNITS

# In this order on one machine; the last ones have machines as they want.
SECTIONS = ("installed", "loaded", "reloaded", "restarted", "given_up_after_crashes", "stopped_at_full_load", "keyed", "without_gpu", "upgraded",
            "a_changed_configuration", "removed")
MORE = ("by_ansible",)
EVERYTHING = SECTIONS + MORE


def check(section, *what):
    print(f"{section.replace('_', ' ')} …", flush=True)
    begun = time.monotonic()
    name = f"check_{section}"
    for module in (running, by_ansible):
        if hasattr(module, name):
            getattr(module, name)(*what)
    print(f"{section.replace('_', ' ')}: holds ({time.monotonic() - begun:.1f} s)", flush=True)


@contextlib.contextmanager
def booted(base, shared, name="machine", address="127.0.0.1", network=None):
    """A Service on a machine of its own; its log is shown if anything fails."""
    with tempfile.TemporaryDirectory(prefix="koto-l3-service-") as folder:
        s = Service(machine.Machine(f"{folder}/{name}", base, shared, network), address)
        try:
            yield s
        except BaseException:
            for unit in UNITS:
                print(f"-- {unit} on {name} said:\n" + "\n".join(s.said(unit).splitlines()[-25:]))
            raise
        finally:
            s.machine.close()


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("packages", type=pathlib.Path, help="folder of the .deb files")
    options.add_argument("--cache", type=pathlib.Path, default=pathlib.Path.home() / ".cache/koto-l3")
    options.add_argument("--only", choices=EVERYTHING, nargs="*", default=EVERYTHING, help="run only these sections, and always `installed`")
    o = options.parse_args()
    packages = o.packages.resolve()
    debs = sorted(packages.glob("*.deb"))
    if not debs:
        sys.exit(f"{o.packages}: no packages: ./run package makes them")
    wanted = machine.depends(debs)
    place = (machine.base_root(o.cache / "roots", wanted), {"/shared": packages})
    if set(o.only) & set(SECTIONS):
        with booted(*place) as s:
            for section in SECTIONS:
                if section in ("installed", *o.only):
                    check(section, s)
    if "by_ansible" in o.only:
        base = machine.base_root(o.cache / "roots", [*wanted, "python3"])
        check("by_ansible", lambda *more: booted(base, {}, *more), packages)


main()
