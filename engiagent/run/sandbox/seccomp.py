"""seccomp: which system calls a process may still make, and with which arguments.

The filter lists what a numerical script needs; everything else, and every call that a later
kernel brings, is refused with EPERM. There are no sockets, no new processes, no programs, no
shared memory, no other process's memory or limits, no change of a file's owner or mode.
"""

import ctypes
import os
import platform
import struct
from collections.abc import Mapping
from typing import Final

from engiagent.run.sandbox import kernel

_LOAD, _AND, _RETURN = 0x20, 0x54, 0x06
_EQUAL, _AT_LEAST = 0x15, 0x35
_ALLOW, _KILL, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
_EPERM, _ENOSYS = 1, 38
_AUDIT: Final = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_X32: Final = 0x40000000
_MODE_FILTER: Final = 2

_NOT_LISTED: Final = (
    "seccomp",
    "landlock_create_ruleset",
    "landlock_add_rule",
    "landlock_restrict_self",
    "capset",
)
_ABSENT: Final = ("clone3", "openat2")
"""Their arguments lie in memory that no filter can read; glibc then takes the older call."""

_THREAD: Final = 0x00010900  # CLONE_VM, CLONE_SIGHAND and CLONE_THREAD
_NAMESPACES: Final = 0x7E020080  # every CLONE_NEW… flag
_TERMINAL_AND_FLAGS: Final = (0x5401, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451)
_PRCTL: Final = (3, 15, 16, 0x53564D41)  # dumpable?, a thread's name, a mapping's name
_FCNTL_REFUSED: Final = (8, 10, 15, 1024, 1026)  # signals to an owner, leases, notifications
_TRUNCATE, _ACCESS = 0o1000, 0o3

Line = tuple[int, int, int, int]


def filter_lines(machine: str, numbers: Mapping[str, int], pid: int) -> list[Line]:
    """Return the filter as lines of (code, jump if true, jump if false, value).

    ``machine``: the processor, as :func:`platform.machine` names it. ``numbers``: of system calls.
    ``pid``: of the process to confine, the only one that it may signal.
    """
    lines: list[Line] = [
        (_LOAD, 0, 0, 4),
        (_EQUAL, 1, 0, _AUDIT[machine]),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, 0),
    ]
    if machine == "x86_64":
        lines += [(_AT_LEAST, 0, 1, _X32), (_RETURN, 0, 0, _KILL)]
    special = _special(pid)
    for name, number in numbers.items():
        if name in _NOT_LISTED:
            continue
        block = special.get(name, [(_RETURN, 0, 0, _ALLOW)])
        if name in _ABSENT:
            block = [(_RETURN, 0, 0, _ERRNO | _ENOSYS)]
        lines += [(_EQUAL, 0, len(block), number), *block]
    return [*lines, (_RETURN, 0, 0, _ERRNO | _EPERM)]


def confine() -> None:
    """Confine this process, every thread of it to come, for good.

    Raises OSError when the kernel has no such filter; ``no_new_privs`` has to be set before.
    """
    numbers = kernel.numbers()
    if not numbers:
        raise OSError(_ENOSYS, "no filter is known for this processor")
    install(filter_lines(platform.machine(), numbers, os.getpid()))


def install(lines: list[Line]) -> None:
    """Put a filter in force; errors as :func:`confine`."""
    code = b"".join(struct.pack("=HBBI", *line) for line in lines)
    buffer = ctypes.create_string_buffer(code, len(code))
    program = ctypes.create_string_buffer(struct.pack("@HP", len(lines), ctypes.addressof(buffer)))
    kernel.prctl_pointer(kernel.PR_SET_SECCOMP, _MODE_FILTER, ctypes.byref(program))


def _special(pid: int) -> dict[str, list[Line]]:
    """Return the calls that are allowed with some arguments only."""
    return {
        "clone": _thread_only(),
        "ioctl": _argument_among(1, _TERMINAL_AND_FLAGS),
        "prctl": _argument_among(0, _PRCTL),
        "fcntl": _argument_none_of(1, _FCNTL_REFUSED),
        "kill": _argument_among(0, (pid,)),
        "tgkill": _argument_among(0, (pid,)),
        "prlimit64": _own_limits_read(),
        "open": _no_hidden_truncation(1),
        "openat": _no_hidden_truncation(2),
        "mkdir": _mode_of_owner(1),
        "mkdirat": _mode_of_owner(2),
    }


def _low(argument: int) -> Line:
    return (_LOAD, 0, 0, 16 + 8 * argument)


def _refused() -> Line:
    return (_RETURN, 0, 0, _ERRNO | _EPERM)


def _argument_among(argument: int, allowed: tuple[int, ...]) -> list[Line]:
    tests = [(_EQUAL, len(allowed) - k, 0, value) for k, value in enumerate(allowed)]
    return [_low(argument), *tests, _refused(), (_RETURN, 0, 0, _ALLOW)]


def _argument_none_of(argument: int, refused: tuple[int, ...]) -> list[Line]:
    tests = [(_EQUAL, len(refused) - k, 0, value) for k, value in enumerate(refused)]
    return [_low(argument), *tests, (_RETURN, 0, 0, _ALLOW), _refused()]


def _thread_only() -> list[Line]:
    return [
        _low(0),
        (_AND, 0, 0, _THREAD),
        (_EQUAL, 0, 4, _THREAD),
        _low(0),
        (_AND, 0, 0, _NAMESPACES),
        (_EQUAL, 0, 1, 0),
        (_RETURN, 0, 0, _ALLOW),
        _refused(),
    ]


def _own_limits_read() -> list[Line]:
    """Allow ``prlimit64(0, …, NULL, …)``: reading one's own limits."""
    high_of_new = (_LOAD, 0, 0, 16 + 8 * 2 + 4)
    return [
        _low(0),
        (_EQUAL, 0, 5, 0),
        _low(2),
        (_EQUAL, 0, 3, 0),
        high_of_new,
        (_EQUAL, 0, 1, 0),
        (_RETURN, 0, 0, _ALLOW),
        _refused(),
    ]


def _no_hidden_truncation(argument: int) -> list[Line]:
    """Refuse to empty a file that is opened for reading, which an old Landlock does not see."""
    return [
        _low(argument),
        (_AND, 0, 0, _TRUNCATE | _ACCESS),
        (_EQUAL, 2, 0, _TRUNCATE),
        (_EQUAL, 1, 0, _TRUNCATE | _ACCESS),
        (_RETURN, 0, 0, _ALLOW),
        _refused(),
    ]


def _mode_of_owner(argument: int) -> list[Line]:
    """Refuse folders that their owner could not look into and remove."""
    return [
        _low(argument),
        (_AND, 0, 0, 0o700),
        (_EQUAL, 0, 1, 0o700),
        (_RETURN, 0, 0, _ALLOW),
        _refused(),
    ]
