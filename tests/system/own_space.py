# SPDX-License-Identifier: Apache-2.0
"""Namespaces of this process's own: networks and mounts that nobody else sees and that are gone with the process, whatever ends it.
Who is not root becomes the root of a user namespace of its own first, where the machine lets him."""
import ctypes
import os
import pathlib

MOUNTS, USERS, NETWORK = 0x20000, 0x10000000, 0x40000000
_MS_BIND, _MS_REC, _MS_PRIVATE = 0x1000, 0x4000, 0x40000
_libc = ctypes.CDLL(None, use_errno=True)


def _call(function, *arguments):
    if function(*arguments) != 0:
        number = ctypes.get_errno()
        raise PermissionError(number, os.strerror(number))


def enter(kinds):
    """Leaves the namespaces of these kinds that it shares with others; PermissionError says that it may not."""
    user, group = os.geteuid(), os.getegid()
    try:
        _call(_libc.unshare, kinds)
    except PermissionError:
        _call(_libc.unshare, USERS | kinds)
        for file, text in (("setgroups", "deny"), ("uid_map", f"0 {user} 1"), ("gid_map", f"0 {group} 1")):
            pathlib.Path("/proc/self", file).write_text(text)
    if kinds & MOUNTS:
        _call(_libc.mount, b"none", b"/", None, _MS_REC | _MS_PRIVATE, None)


def join(descriptor):
    """The namespace of an open file of /proc/…/ns."""
    _call(_libc.setns, descriptor, 0)


def mount_small_disk(folder, size):
    """A file system of so many bytes, in memory; this process must have entered mounts of its own."""
    _call(_libc.mount, b"tmpfs", os.fsencode(folder), b"tmpfs", 0, f"size={size}".encode())


def mount_file(file, over):
    """This file is seen where the other is, whose content is not."""
    _call(_libc.mount, os.fsencode(file), os.fsencode(over), None, _MS_BIND, None)


def unmount(folder):
    _call(_libc.umount2, os.fsencode(folder), 2)  # 2: also while something is open there
