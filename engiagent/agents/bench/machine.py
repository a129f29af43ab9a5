"""The machine and the versions that a measurement belongs to."""

import os
import platform
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Final

LIBRARIES: Final = ("engiagent", "highspy", "numpy", "scipy", "pyscipopt", "piqp", "casadi")


def machine() -> dict[str, Any]:
    """Return processor, cores and operating system."""
    return {
        "processor": platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
    }


def versions(names: Sequence[str] = LIBRARIES) -> dict[str, str]:
    """Return the versions of those libraries that are installed."""
    found = {}
    for name in names:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
