"""What a script may read beside its own folder: the interpreter, its packages, shared libraries."""

import os
import site
import sys
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

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
