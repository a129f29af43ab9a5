"""The distributions as `python -m build` makes them, and an environment with one of them in it."""

import os
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from email import message_from_string
from importlib.metadata import Distribution, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[2]


def source_files() -> list[str]:
    """Return the files that git keeps, or would keep once they are added."""
    done = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
        text=True,
    )
    names = (name for name in done.stdout.split("\0") if name)
    return sorted(name for name in names if os.path.lexists(ROOT / name))


def copy_of_source(place: Path) -> Path:
    """Lay the files that git keeps into a folder, as a checkout does, and return it."""
    for name in source_files():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, place / name, follow_symlinks=False)
    return place


@dataclass(frozen=True)
class Built:
    """Where the two distributions are."""

    sdist: Path
    wheel: Path


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """Build the sdist from what git keeps, and the wheel from the sdist."""
    source = copy_of_source(tmp_path_factory.mktemp("source"))
    out = tmp_path_factory.mktemp("dist")
    done = subprocess.run(
        [sys.executable, "-m", "build", "--no-isolation", "--outdir", out, source],
        cwd=out,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (sdist,), (wheel,) = out.glob("*.tar.gz"), out.glob("*.whl")
    return Built(sdist, wheel)


def needed(names: list[str]) -> Iterator[Distribution]:
    """Yield the installed distributions of these requirements and of all that they require."""
    waiting, seen = [Requirement(name) for name in names], set()
    while waiting:
        wanted = waiting.pop()
        key = (wanted.name.lower(), *sorted(wanted.extras))
        if key in seen:
            continue
        seen.add(key)
        found = distribution(wanted.name)
        yield found
        for text in found.requires or []:
            further = Requirement(text)
            settings = [{"extra": extra} for extra in ("", *wanted.extras)]
            if not further.marker or any(further.marker.evaluate(s) for s in settings):
                waiting.append(further)


def lend(found: Distribution, folder: Path) -> None:
    """Show an installed distribution in another folder of packages."""
    home = Path(str(found.locate_file("")))
    tops = {file.parts[0] for file in found.files or [] if file.parts[0] not in ("..", "/")}
    for top in tops - {"__pycache__"}:
        if not (folder / top).exists():
            (folder / top).symlink_to(home / top)


def environment(place: Path, names: list[str]) -> None:
    """Make an environment with nothing but these distributions and what they require.

    The libraries are borrowed from this environment, one by one as the metadata name them, so that
    no network is needed.
    """
    subprocess.run(
        [sys.executable, "-m", "venv", "--without-pip", str(place)], check=True, timeout=60
    )
    packages = Path(
        sysconfig.get_path("purelib", "venv", vars={"base": str(place), "platbase": str(place)})
    )
    for found in needed(names):
        lend(found, packages)


Command = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="session")
def installed(built: Built, tmp_path_factory: pytest.TempPathFactory) -> Command:
    """Install the wheel where nothing is but what it declares; return how to run its command.

    Nothing that an extra would bring is there. pip installs the wheel itself and finds every
    requirement met.
    """
    place = tmp_path_factory.mktemp("clean")
    with zipfile.ZipFile(built.wheel) as wheel:
        (name,) = (name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
        declared = message_from_string(wheel.read(name).decode()).get_all("Requires-Dist", [])
    environment(place, [text for text in declared if "extra ==" not in text])
    kept = {"HOME": str(place), "PATH": f"{place / 'bin'}:/usr/bin:/bin", "LANG": "C.UTF-8"}
    pip = [sys.executable, "-m", "pip", "--python", str(place / "bin" / "python")]
    done = subprocess.run(
        [*pip, "install", "--no-index", "-qq", str(built.wheel)],
        env=kept,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr

    def run(*words: str | Path, cwd: Path, **settings: str) -> subprocess.CompletedProcess[str]:
        command = [place / "bin" / words[0], *words[1:]]
        return subprocess.run(
            command, cwd=cwd, env=kept | settings, capture_output=True, text=True, timeout=120
        )

    return run
