"""The page on physics: what the docstrings of ``models/`` say of equations, symbols and sources.

``python docs/_ext/physics.py > docs/physics.md`` writes it; a test holds it to the code.
"""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from restructured import KEPT, described, markdown, parts

MODELS: Final = Path(__file__).resolve().parents[2] / "models"
HEAD: Final = """# Physics: equations and sources

Written by `python docs/_ext/physics.py` from the docstrings of `engiagent.models`; a test holds it
to the code. These are the models that the checker executes a plan on. The algebra that an optimiser
gets of the same units is in [components.md](components.md), with the parameters by name.
Symbols have SI units or those of [the glossary](glossary.md) where none is
given. Worked numbers stand in the docstrings and are run as tests.
"""
FOLDERS: Final = {
    ".": "Generation, conversion, vehicles, batteries",
    "buildings": "Buildings",
    "hvac": "Air conditioning and heating plant",
    "storage": "Tanks of water and ice",
    "grids": "Feeders",
    "tariffs": "Tariffs",
    "systems": "Systems of these",
}
Documented = ast.Module | ast.ClassDef | ast.FunctionDef


def page(models: Path = MODELS) -> str:
    """Return the page."""
    lines = [HEAD]
    for folder, title in FOLDERS.items():
        found = [text for path in sorted((models / folder).glob("*.py")) for text in module(path)]
        if found:
            lines += [f"## {title}\n", *found]
    return "\n".join(lines).rstrip() + "\n"


def module(path: Path) -> Iterator[str]:
    """Yield what a module says, if it has an equation or names a source."""
    tree = ast.parse(path.read_text("utf-8"))
    inner = [node for node in tree.body if isinstance(node, ast.ClassDef | ast.FunctionDef)]
    public = [node for node in inner if not node.name.startswith("_") and ast.get_docstring(node)]
    if not any(map(telling, [tree, *public])):
        return
    summary, *rest = parts(ast.get_docstring(tree) or "")[0].split("\n\n", 1)
    yield f"### `{name_of(path)}`\n"
    yield f"{markdown(' '.join(summary.split()))}\n"
    if rest:
        yield f"{markdown(rest[0])}\n"
    for node in filter(telling, public):
        yield from item(node)
    others = [node for node in public if not telling(node)]
    if others:
        yield "\n".join(f"- {short(node)}" for node in others) + "\n"


def name_of(path: Path) -> str:
    """Return the import name of a file below ``models/``."""
    parts_of = path.relative_to(MODELS).with_suffix("").parts
    return ".".join(("engiagent", "models", *parts_of)).removesuffix(".__init__")


def telling(node: Documented) -> bool:
    """Whether a docstring has an equation or names a source."""
    text = ast.get_docstring(node) or ""
    return any(mark in text for mark in (".. math::", ":math:", "Source: "))


def short(node: Documented) -> str:
    """Return the name and the first sentence of something."""
    assert not isinstance(node, ast.Module)
    first = (ast.get_docstring(node) or "").split("\n\n")[0]
    return f"`{node.name}`: {markdown(' '.join(first.split()))}"


def item(node: Documented) -> Iterator[str]:
    """Yield what a class or a function says of itself, and its parameters with their units."""
    assert not isinstance(node, ast.Module)
    text, sections = parts(ast.get_docstring(node) or "")
    kind = "class" if isinstance(node, ast.ClassDef) else "function"
    yield f"**{kind} `{node.name}`**: {markdown(text)}\n"
    entries = [entry for title in KEPT for entry in described(sections.get(title, ""))]
    if entries:
        yield "\n".join(f"- `{name}`: {said}" for name, said in entries) + "\n"


if __name__ == "__main__":
    print(page(), end="")
