"""What a script may take and read, and its answer, read as if an enemy had written it."""

import os
import site
import sys
import sysconfig
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from engiagent.errors import InputError
from engiagent.io.files import open_inside
from engiagent.io.jsontext import loads_strict


@dataclass(frozen=True)
class Limits:
    """What a script may take."""

    seconds: float = 60.0  # of wall-clock time
    cpu_seconds: int = 120  # of processor time, over all its threads
    memory_mb: int = 2048  # address space. [MB]
    # file_mb, folder_mb, files: size of one file and of all it leaves in its folder [MB], and how
    # many files these are
    file_mb: int = 100
    folder_mb: int = 200
    files: int = 1000
    # open_files, threads: at one time
    open_files: int = 128
    threads: int = 64
    output_kb: int = 1000  # of what it prints. [kB]

    @classmethod
    def within(cls, seconds: float, memory_mb: float | None = None) -> "Limits":
        """Return the limits that go with a wall-clock limit [s] and one on memory [MB]."""
        cpu = max(2, round(2 * seconds))
        memory = cls.memory_mb if memory_mb is None else int(memory_mb)
        return cls(seconds=seconds, cpu_seconds=cpu, memory_mb=memory)


@dataclass(frozen=True)
class Layers:
    """Which guarantees hold a script, in the order in which they come into force."""

    # whether memory, time, files and threads are limited and the environment is clean
    limits: bool = False
    no_new_privs: bool = False  # whether privileges are dropped for good
    landlock: int = 0  # the version of Landlock's interface; 0 without it
    seccomp: bool = False  # whether system calls are filtered

    @property
    def missing(self) -> tuple[str, ...]:
        """What a script must not run without, and this machine does not give."""
        needed = ("limits", "no_new_privs", "landlock", "seccomp")
        return tuple(name for name in needed if not getattr(self, name))

    def __str__(self) -> str:
        parts = [
            f"!{name}" if name in self.missing else name for name in ("limits", "no_new_privs")
        ]
        parts.append(f"landlock {self.landlock}" if self.landlock else "!landlock")
        return ", ".join([*parts, "seccomp" if self.seccomp else "!seccomp"])


_PACKAGES: Final = ("site-packages", "dist-packages")
_OWN: Final = "engiagent"
_DEVICES: Final = ("/dev/null", "/dev/zero", "/dev/urandom", "/dev/random")
_SYSTEM: Final = (
    "/etc/ld.so.cache",
    "/etc/localtime",
    "/usr/share/zoneinfo",
    "/proc/cpuinfo",
    "/proc/meminfo",
    "/sys/devices/system/cpu",
    *_DEVICES,
)
_LIBRARIES: Final = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib")


@cache
def places() -> Mapping[str, list[str]]:
    """Return what this interpreter and its packages need to read, list and write.

    This package is not among it: the answers to its problems lie in it.
    """
    listable = list(dict.fromkeys(_folders()))
    readable = [entry for folder in listable for entry in _entries(folder)]
    base = Path(sys.base_prefix) / "lib"
    readable += [str(path) for path in base.glob("libpython*")]
    readable += [path for path in _SYSTEM if os.path.exists(path)]
    unique = list(dict.fromkeys(readable))
    return {"readable": unique, "listable": listable, "writable": ["/dev/null"]}


def _folders() -> Iterator[str]:
    known = [sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")]
    for path in (*known, *site.getsitepackages(), *_LIBRARIES):
        if path and os.path.isdir(path):
            yield os.path.realpath(path)


def _entries(folder: str) -> Iterator[str]:
    """Yield what is in a folder but packages, which count by themselves, and what is ours."""
    python = folder in {os.path.realpath(path) for path in _LIBRARIES}
    for name in sorted(os.listdir(folder)):
        own = _OWN in name.lower()
        if own or name in _PACKAGES or (python and name.startswith("python")):
            continue
        yield os.path.join(folder, name)


RESULT: Final = "schedule.json"
OBJECTIVE: Final = "objective"
MOST_MARKS: Final = 2_000_000
MOST_BYTES: Final = 40_000_000


def read_answer(folder: Path, max_bytes: int) -> str:
    """Return the text of the schedule that a script left, which any schedule's reader can read."""
    content = open_inside(folder, RESULT, max_bytes=min(max_bytes, MOST_BYTES))
    # What is too large to be parsed is refused before any of it is.
    for what, mark in (("values", b","), ("lists", b"[")):
        if content.count(mark) > MOST_MARKS:
            raise InputError(f"more than {MOST_MARKS} {what}", RESULT)
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        raise InputError("the answer is no UTF-8 text", RESULT) from None
    value = loads_strict(text, RESULT) if content.count(b"{") == 1 else None
    if not isinstance(value, dict) or not value:
        expected = '{"battery.charge [kW]": [0.0]}'
        raise InputError("the answer is no object of numbers", RESULT, expected=expected)
    from engiagent.verify.reading import read_content  # whoever runs a script may have no numpy

    found = read_content(value)
    claims = [name for name in found.claims if name != OBJECTIVE]
    if claims:
        raise InputError(f"{claims[0]}: no number", RESULT, expected="finite numbers")
    for fault in found.faults.values():
        raise fault
    return text
