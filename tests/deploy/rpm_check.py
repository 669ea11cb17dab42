#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""./run package --rpm: rpm_check.py FOLDER. What rpm and rpmlint say of the RPMs there. They are installed nowhere."""
import pathlib
import re
import subprocess
import sys

from package_test import HAS

# Signing is left to whoever publishes them; a package of a service has no program of its own.
NO_FAULTS = {"no-signature", "no-binary"}


def asked(*words):
    return subprocess.run(["rpm", "-qp", *words], capture_output=True, text=True, check=True).stdout.split("\n")


def main():
    rpms = {re.match(r"(.+?)-\d", path.name)[1]: path for path in pathlib.Path(sys.argv[1]).glob("*.rpm")}
    assert rpms.keys() == HAS.keys(), f"{sorted(rpms)} were made"
    for name, path in rpms.items():
        files, configurations = HAS[name]
        files = {re.sub(r"^/lib/", "/usr/lib/", file[1:]).removesuffix(".gz") for file in files}
        missing = files - set(asked("-l", path))
        assert not missing, f"{name} lacks {missing}"
        found = [line for line in asked("-c", path) if line]
        assert found == configurations, f"{name}: its configuration is {found}"
        scripts = "\n".join(asked("--scripts", path))
        assert ("try-restart" in scripts and "disable --now" in scripts) == bool(configurations), f"{name}: {scripts}"
        assert not re.search(r"systemctl (start|enable|restart)", scripts), f"{name} starts a service: {scripts}"
    assert any(line.startswith("koto-l3 = ") for line in asked("--requires", rpms["koto-l3-receive"]))
    said = subprocess.run(["rpmlint", *rpms.values()], capture_output=True, text=True).stdout
    errors = [line for line in said.splitlines() if (m := re.search(r": E: ([\w-]+)", line)) and m[1] not in NO_FAULTS]
    assert not errors, "\n".join(errors)
    print(f"{len(rpms)} RPMs have what they should; rpmlint: no errors but {' and '.join(sorted(NO_FAULTS))}")


main()
