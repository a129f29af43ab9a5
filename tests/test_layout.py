"""The package list, the folder mapping and the links say the same thing."""

import ast
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LINKED = ("formulations", "models", "problems", "solvers", "verify")
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
SETUPTOOLS = SETTINGS["tool"]["setuptools"]


def shipped_files() -> list[str]:
    """Every file that belongs into the wheel, by its path below ``engiagent/``."""
    folders = [(ROOT / "engiagent", "engiagent")]
    folders += [(ROOT / name, f"engiagent/{name}") for name in LINKED]
    found = []
    for folder, prefix in folders:
        for path in folder.rglob("*"):
            parts = path.relative_to(folder).parts
            hidden = any(part.startswith(".") or part == "__pycache__" for part in parts)
            if path.is_file() and not path.is_symlink() and not hidden:
                found.append("/".join((prefix, *parts)))
    return sorted(found)


def test_every_package_folder_is_listed() -> None:
    folders = {
        path.removesuffix("/__init__.py").replace("/", ".")
        for path in shipped_files()
        if path.endswith("/__init__.py")
    }
    assert sorted(folders) == SETUPTOOLS["packages"]


def test_mapping_and_links_agree() -> None:
    assert SETUPTOOLS["package-dir"] == {f"engiagent.{name}": name for name in LINKED}
    links = {p.name: str(p.readlink()) for p in (ROOT / "engiagent").iterdir() if p.is_symlink()}
    assert links == {name: f"../{name}" for name in LINKED}


def test_static_tools_see_every_linked_folder() -> None:
    named = SETTINGS["tool"]["pyright"]["include"]
    assert named == ["engiagent", *(f"engiagent/{name}" for name in LINKED)]
    assert set(SETTINGS["tool"]["coverage"]["run"]["source"]) == {"engiagent", *LINKED}


def test_doctests_are_collected_by_the_linked_path_only() -> None:
    paths = SETTINGS["tool"]["pytest"]["ini_options"]["testpaths"]
    assert "engiagent" in paths
    assert not set(paths) & set(LINKED)


def test_the_checker_names_no_optimiser() -> None:
    # import-linter sees whole external packages only, and scipy.linalg would be fine. One file
    # asks for multipliers, which prove nothing until the checker has computed with them
    # (decision 0014).
    asking = ROOT / "verify" / "levels" / "relaxed.py"
    for path in set((ROOT / "verify").rglob("*.py")) - {asking}:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom):
                names = [f"{node.module}.{a.name}" for a in node.names]
            assert not [n for n in names if n.startswith("scipy.optimize")], path
