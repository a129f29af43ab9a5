"""What a script may take, and what it may read beside its own folder."""

import os
import site
import sys
import sysconfig
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any, Final

from engiagent.errors import InputError


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

    def __post_init__(self) -> None:
        for item in fields(self):
            value = getattr(self, item.name)
            if not 0 < value < float("inf"):
                raise InputError(f"the limit {item.name} is {value}", expected="a number above 0")

    @classmethod
    def within(cls, seconds: float, memory_mb: float | None = None) -> "Limits":
        """Return the limits that go with a wall-clock limit [s] and one on memory [MB]."""
        cpu = max(2, round(2 * seconds))
        memory = cls.memory_mb if memory_mb is None else int(memory_mb)
        return cls(seconds=seconds, cpu_seconds=cpu, memory_mb=memory)

    def to_dict(self) -> dict[str, Any]:
        """Return the limits as JSON."""
        return asdict(self)


@dataclass(frozen=True)
class Layers:
    """Which guarantees hold a script, in the order in which they come into force."""

    # whether memory, time, files and threads are limited and the environment is clean
    limits: bool = False
    no_new_privs: bool = False  # whether privileges are dropped for good
    landlock: int = 0  # the version of Landlock's interface; 0 without it
    seccomp: bool = False  # whether system calls are filtered
    bubblewrap: bool = False  # whether namespaces of its own are around all that

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
        parts.append("seccomp" if self.seccomp else "!seccomp")
        return ", ".join([*parts, *(["bubblewrap"] if self.bubblewrap else [])])

    @classmethod
    def of(cls, found: Mapping[str, Any], bubblewrap: bool) -> "Layers":
        """Return the layers that a confined process reported."""
        return cls(
            bool(found.get("limits")),
            bool(found.get("no_new_privs")),
            int(found.get("landlock") or 0),
            bool(found.get("seccomp")),
            bubblewrap,
        )


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


@dataclass(frozen=True)
class Places:
    """What may be read, and which folders only listed.

    This package itself is not among them: the answers to its problems lie in it.
    """

    readable: tuple[str, ...]
    listable: tuple[str, ...]
    writable: tuple[str, ...] = ("/dev/null",)


@cache
def places() -> Places:
    """Return what this interpreter and its packages need."""
    listable = list(dict.fromkeys(_folders()))
    readable = [entry for folder in listable for entry in _entries(folder)]
    base = Path(sys.base_prefix) / "lib"
    readable += [str(path) for path in base.glob("libpython*")]
    readable += [path for path in _SYSTEM if os.path.exists(path)]
    return Places(tuple(dict.fromkeys(readable)), tuple(listable))


def package_root() -> str:
    """Return the folder from which this package is imported."""
    return str(Path(__file__).resolve().parents[3])


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
