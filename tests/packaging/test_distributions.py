"""What git keeps is what ships: the wheel has every file of the packages, and nothing else."""

import re
import tarfile
import tomllib
import zipfile
from email import message_from_string

from packaging.specifiers import SpecifierSet

from engiagent import __version__
from tests.packaging.conftest import ROOT, Built, source_files

LINKED = ("formulations", "models", "problems", "solvers", "verify")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def packaged() -> dict[str, str]:
    """Return where in the wheel each file of the packages belongs, by its path in the checkout."""
    places = {}
    for name in source_files():
        top = name.split("/")[0]
        if (ROOT / name).is_dir():  # a link to one of the folders
            continue
        if top == "engiagent":
            places[name] = name
        elif top in LINKED:
            places[name] = f"engiagent/{name}"
    return places


def test_the_wheel_holds_every_file_of_the_packages_and_nothing_else(built: Built) -> None:
    with zipfile.ZipFile(built.wheel) as wheel:
        code = {name for name in wheel.namelist() if ".dist-info/" not in name}
        assert code == set(packaged().values())
        for source, target in packaged().items():
            assert wheel.read(target) == (ROOT / source).read_bytes(), source


def test_the_wheel_holds_the_licence_and_the_marker_of_types(built: Built) -> None:
    with zipfile.ZipFile(built.wheel) as wheel:
        names = wheel.namelist()
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in names)
    assert "engiagent/py.typed" in names


def test_the_sdist_holds_what_a_wheel_is_made_of_and_says_what_changed(built: Built) -> None:
    with tarfile.open(built.sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
        assert not any(member.issym() or member.islnk() for member in archive.getmembers())
    assert set(packaged()) <= names
    assert {"pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", "CITATION.cff"} <= names
    folders = {name.split("/")[0] for name in names if "/" in name}
    assert folders == {"engiagent", "engiagent.egg-info", *LINKED}


def test_the_metadata_are_those_of_the_project(built: Built) -> None:
    with zipfile.ZipFile(built.wheel) as wheel:
        (name,) = (name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
        metadata = message_from_string(wheel.read(name).decode())
    assert metadata["Version"] == PROJECT["version"] == __version__
    assert metadata["License-Expression"] == "Apache-2.0"
    assert set(metadata.get_all("Provides-Extra", [])) == set(PROJECT["optional-dependencies"])
    supported = SpecifierSet(metadata["Requires-Python"])
    named = [c.rsplit(" ", 1)[1] for c in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", c)]
    assert named
    assert all(supported.contains(f"{version}.0") for version in named)


def test_every_extra_that_a_message_names_is_declared() -> None:
    named: set[str] = set()
    for source in packaged():
        if source.endswith(".py"):
            text = (ROOT / source).read_text("utf-8")
            for group in re.findall(r"engiagent\[([\w,]+)\]", text):
                named |= set(group.split(","))
    assert named <= set(PROJECT["optional-dependencies"])
    assert {"solvers", "llm"} <= named
