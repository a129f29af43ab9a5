"""Calls to the Linux kernel that Python has no function for."""

import ctypes
import errno
import os
import platform
from collections.abc import Mapping
from functools import cache
from typing import Any, Final

from engiagent.run.sandbox.syscalls import AARCH64, X86_64

PR_SET_PDEATHSIG: Final = 1
PR_SET_DUMPABLE: Final = 4
PR_SET_SECCOMP: Final = 22
PR_CAPBSET_DROP: Final = 24
PR_SET_CHILD_SUBREAPER: Final = 36
PR_SET_NO_NEW_PRIVS: Final = 38
_CAPABILITY_VERSION_3: Final = 0x20080522
_ENOSYS: Final = errno.ENOSYS
_MOST_CAPABILITIES: Final = 64


@cache
def _library() -> Any:
    return ctypes.CDLL(None, use_errno=True)


def numbers() -> Mapping[str, int]:
    """Return the numbers of system calls on this machine; nothing for an unknown processor."""
    if not hasattr(os, "uname") or os.uname().sysname != "Linux":
        return {}
    if ctypes.sizeof(ctypes.c_void_p) != 8:
        return {}
    return {"x86_64": X86_64, "aarch64": AARCH64}.get(platform.machine(), {})


def call(name: str, *arguments: Any) -> int:
    """Call the kernel.

    Raises OSError with what the kernel answered; ENOSYS where the call has no number here.
    """
    number = numbers().get(name)
    if number is None:
        raise OSError(_ENOSYS, os.strerror(_ENOSYS))
    return _checked(_library().syscall(ctypes.c_long(number), *arguments))


def prctl(option: int, *arguments: int) -> int:
    """Change a property of this process; OSError with what the kernel answered."""
    if not numbers():
        raise OSError(_ENOSYS, os.strerror(_ENOSYS))
    padded = [ctypes.c_ulong(value) for value in (*arguments, 0, 0, 0, 0)[:4]]
    return _checked(_library().prctl(option, *padded))


def prctl_pointer(option: int, mode: int, pointer: Any) -> int:
    """Change a property of this process that takes a structure; errors as :func:`prctl`."""
    return _checked(_library().prctl(option, ctypes.c_ulong(mode), pointer, 0, 0))


def drop_capabilities() -> None:
    """Give up every privilege of root for good; nothing where there is none.

    Raises OSError when the kernel refuses.
    """
    if os.geteuid() == 0:
        for capability in range(_MOST_CAPABILITIES):
            try:
                prctl(PR_CAPBSET_DROP, capability)
            except OSError:  # past the last one that this kernel knows, or none to give up
                break
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0)
    call("capset", ctypes.byref(header), ctypes.byref((ctypes.c_uint32 * 6)()))


def _checked(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result
