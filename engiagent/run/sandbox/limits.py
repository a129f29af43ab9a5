"""What a script may take, and how it is told of a machine that cannot hold it to that."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from engiagent.errors import InputError


@dataclass(frozen=True)
class Limits:
    """What a script may take.

    Attributes
    ----------
    seconds
        Of wall-clock time.
    cpu_seconds
        Of processor time, over all its threads.
    memory_mb
        Address space. [MB]
    file_mb, folder_mb, files
        Size of one file and of all it leaves in its folder [MB], and how many files these are.
    open_files, threads
        At one time.
    output_kb
        Of what it prints. [kB]
    """

    seconds: float = 60.0
    cpu_seconds: int = 120
    memory_mb: int = 2048
    file_mb: int = 100
    folder_mb: int = 200
    files: int = 1000
    open_files: int = 128
    threads: int = 64
    output_kb: int = 1000

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
    """Which guarantees hold a script, in the order in which they come into force.

    Attributes
    ----------
    limits
        Whether memory, time, files and threads are limited and the environment is clean.
    no_new_privs
        Whether privileges are dropped for good.
    landlock
        The version of Landlock's interface; 0 without it.
    seccomp
        Whether system calls are filtered.
    bubblewrap
        Whether namespaces of its own are around all that.
    """

    limits: bool = False
    no_new_privs: bool = False
    landlock: int = 0
    seccomp: bool = False
    bubblewrap: bool = False

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
