# SPDX-License-Identifier: Apache-2.0
"""Places in source as compiled device code names them."""
import functools
import os
import pathlib

ROOT = pathlib.Path(__file__).parents[2]


@functools.cache
def in_tree(place, root=ROOT):
    """'FILE:LINE' relative to the tree. The compiler names the file by an absolute path, by BUILD_FOLDER/../FILE, or by the path of
    another clone whose compilation a cache had kept; a place that is not in the tree is returned as it is."""
    file, line = place.rsplit(":", 1)
    parts = os.path.normpath(file).split("/")
    for n in range(len(parts) - 1):
        name = "/".join(parts[n:])
        if not name.startswith("/") and (root / name).is_file():
            return f"{name}:{line}"
    return place


def self_test(root, name):
    """root holds a file of that name."""
    for place in (f"{root}/{name}", f"/another/clone/{name}", f"/another/clone/build/../{name}", f"../{name}", name):
        assert in_tree(place + ":7", root) == name + ":7", place
    assert in_tree("/usr/x.h:7", root) == "/usr/x.h:7"
