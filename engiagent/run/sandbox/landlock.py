"""Landlock: which files a process may still open. Rules only ever take away.

What the kernel can do depends on the version of its interface (ABI), which is asked for; what an
old one leaves open is closed by :mod:`engiagent.run.sandbox.seccomp`.
"""

import ctypes
import os
from collections.abc import Iterable
from typing import Final

from engiagent.run.sandbox import kernel

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR, REMOVE_DIR, REMOVE_FILE = (1 << k for k in range(6))
MAKE_CHAR, MAKE_DIR, MAKE_REG, MAKE_SOCK, MAKE_FIFO, MAKE_BLOCK = (1 << k for k in range(6, 12))
MAKE_SYM, REFER, TRUNCATE, IOCTL_DEV = (1 << k for k in range(12, 16))

READ: Final = READ_FILE | READ_DIR
WORK: Final = READ | WRITE_FILE | TRUNCATE | MAKE_DIR | MAKE_REG | REMOVE_DIR | REMOVE_FILE | REFER
_ON_FILES: Final = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV
_TCP: Final = 0b11
_SCOPES: Final = 0b11
_VERSION: Final = 1
_PATH_BENEATH: Final = 1


class _Ruleset(ctypes.Structure):
    _fields_ = (("fs", ctypes.c_uint64), ("net", ctypes.c_uint64), ("scoped", ctypes.c_uint64))


class _Beneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("access", ctypes.c_uint64), ("parent", ctypes.c_int32))


def abi() -> int:
    """Return the version of the kernel's interface; 0 where there is none."""
    try:
        return kernel.call("landlock_create_ruleset", None, ctypes.c_size_t(0), _VERSION)
    except OSError:
        return 0


def handled(version: int) -> int:
    """Return the rights to files that a version of the interface can take away."""
    known = {0: 0, 1: 13, 2: 14, 3: 15, 4: 15}.get(version, 16)
    return (1 << known) - 1


def restrict(rules: Iterable[tuple[str, int]], version: int) -> None:
    """Leave this process, and all it starts, only what the rules allow; TCP never.

    ``rules``: paths, each with the rights below it; one that does not exist is left out.
    ``version``: as :func:`abi` returns it. Raises OSError when the kernel refuses; ``no_new_privs``
    has to be set before.
    """
    rights = handled(version)
    net, scopes = _TCP if version >= 4 else 0, _SCOPES if version >= 6 else 0
    size = 8 if version < 4 else 16 if version < 6 else 24
    wanted = _Ruleset(rights, net, scopes)
    ruleset = kernel.call("landlock_create_ruleset", ctypes.byref(wanted), ctypes.c_size_t(size), 0)
    try:
        for path, access in rules:
            _allow(ruleset, path, access & rights)
        kernel.call("landlock_restrict_self", ruleset, 0)
    finally:
        os.close(ruleset)


def _allow(ruleset: int, path: str, access: int) -> None:
    try:
        handle = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        if not os.path.isdir(path):
            access &= _ON_FILES
        if access:
            rule = _Beneath(access, handle)
            kernel.call("landlock_add_rule", ruleset, _PATH_BENEATH, ctypes.byref(rule), 0)
    finally:
        os.close(handle)
