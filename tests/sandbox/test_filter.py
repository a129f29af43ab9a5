"""The filter of system calls, executed by hand for both processors, jumps and all."""

import pytest

from engiagent.run.sandbox.confinement import AARCH64, X86_64, Line, filter_lines

PID = 4321
MACHINES = {"x86_64": (0xC000003E, X86_64), "aarch64": (0xC00000B7, AARCH64)}
ALLOW, EPERM, ENOSYS, KILL = 0x7FFF0000, 0x00050001, 0x00050026, 0x80000000


def answer(lines: list[Line], audit: int, number: int, arguments: tuple[int, ...]) -> int:
    """Return what a filter answers to a call."""
    words = {0: number, 4: audit}
    for k, value in enumerate(arguments):
        words |= {16 + 8 * k: value & 0xFFFFFFFF, 20 + 8 * k: value >> 32 & 0xFFFFFFFF}
    at = accumulator = 0
    while True:
        code, yes, no, value = lines[at]
        assert 0 <= yes < 256
        assert 0 <= no < 256
        at += 1
        if code == 0x20:
            accumulator = words.get(value, 0)
        elif code == 0x54:
            accumulator &= value
        elif code == 0x06:
            return value
        else:
            holds = accumulator == value if code == 0x15 else accumulator >= value
            at += yes if holds else no


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("read", (0, 0, 0), ALLOW),
        ("futex", (), ALLOW),
        ("exit_group", (0,), ALLOW),
        ("clone", (0x3D0F00,), ALLOW),  # a thread, as glibc starts it
        ("clone", (0x7D0F00,), ALLOW),  # as musl does
        ("clone", (17,), EPERM),  # a process
        ("clone", (0x3D0F00 | 0x10000000,), EPERM),  # a thread in a user namespace
        ("clone3", (0, 88), ENOSYS),
        ("openat2", (), ENOSYS),
        ("kill", (PID, 9), ALLOW),
        ("kill", (1, 9), EPERM),
        ("kill", (-1 & (2**64 - 1), 9), EPERM),
        ("tgkill", (PID, PID, 6), ALLOW),
        ("tgkill", (PID + 1, PID, 6), EPERM),
        ("prlimit64", (0, 7, 0, 1), ALLOW),
        ("prlimit64", (0, 7, 1, 0), EPERM),
        ("prlimit64", (0, 7, 1 << 40, 0), EPERM),
        ("prlimit64", (5, 7, 0, 1), EPERM),
        ("openat", (0, 0, 0o1101), ALLOW),
        ("openat", (0, 0, 0o2000000), ALLOW),
        ("openat", (0, 0, 0o1000), EPERM),  # emptied though opened for reading
        ("openat", (0, 0, 0o1003), EPERM),
        ("ioctl", (1, 0x5401), ALLOW),
        ("ioctl", (1, 0x5412), EPERM),
        ("fcntl", (1, 2), ALLOW),
        ("fcntl", (1, 8, 1), EPERM),
        ("prctl", (15,), ALLOW),
        ("prctl", (4, 1), EPERM),
        ("mkdirat", (0, 0, 0o777), ALLOW),
        ("mkdirat", (0, 0, 0o077), EPERM),
        ("seccomp", (1,), EPERM),
        ("landlock_create_ruleset", (), EPERM),
    ],
)
def test_calls_are_answered_as_meant(
    machine: str, name: str, arguments: tuple[int, ...], expected: int
) -> None:
    audit, numbers = MACHINES[machine]
    lines = filter_lines(machine, numbers, PID)
    assert answer(lines, audit, numbers[name], arguments) == expected


@pytest.mark.parametrize("machine", MACHINES)
def test_what_is_not_listed_is_refused_and_a_foreign_call_ends_the_script(machine: str) -> None:
    audit, numbers = MACHINES[machine]
    lines = filter_lines(machine, numbers, PID)
    unknown = set(range(600)) - set(numbers.values())
    assert {answer(lines, audit, number, ()) for number in unknown} == {EPERM}
    assert answer(lines, 0x40000003, 1, ()) == KILL  # 32 bits
    if machine == "x86_64":
        assert answer(lines, audit, 0x40000000 | numbers["read"], ()) == KILL
