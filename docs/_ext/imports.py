"""Which package of engiagent imports which, read from the source without importing anything."""

import ast
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
LINKED: Final = ("formulations", "models", "problems", "solvers", "verify")
BASE: Final = "errors, files, text, tables"
RUNS: Final = "runs and their folders"
"""What the modules of ``engiagent/`` itself are called: below the packages, and above them."""

VERBS: Final = "notebook"
"""Where the verbs of problems, blueprints and studies stand: imported when they are called."""

Graph = dict[str, set[str]]


def packages(root: Path = ROOT) -> Graph:
    """Return what each package imports; loose modules are two nodes, :data:`BASE`, :data:`RUNS`.

    A loose module is of the base when no package but the language can be reached from it.
    """
    direct = _direct(root)
    inner = {path.parent.name for path in root.glob("engiagent/*/__init__.py")}
    loose = set(direct) - inner
    reached = {name: _reachable(direct, name) & inner for name in loose}
    base = {name for name, found in reached.items() if found <= {"blueprint"}}
    names = {name: BASE if name in base else RUNS if name in loose else name for name in direct}
    graph: Graph = {name: set() for name in names.values()}
    for name, targets in direct.items():
        graph[names[name]] |= {names[t] for t in targets if t in names} - {names[name]}
    return graph


def _direct(root: Path) -> Graph:
    """Return what each package and each loose module imports of the others."""
    graph: Graph = {}
    for path, parts in _modules(root):
        if parts[0] in ("__init__", "__main__"):
            continue
        found = {name for name in _imported(ast.parse(path.read_text("utf-8"))) if name != parts[0]}
        if parts[0] != "api":
            found -= {VERBS}
        graph.setdefault(parts[0], set()).update(found)
    return {name: {t for t in targets if t in graph} for name, targets in graph.items()}


def _modules(root: Path) -> Iterator[tuple[Path, tuple[str, ...]]]:
    folders = [root / "engiagent", *(root / name for name in LINKED)]
    for folder in folders:
        for path in sorted(folder.rglob("*.py")):
            inside = path.relative_to(folder).with_suffix("").parts
            if any((folder / part).is_symlink() for part in inside[:1]):
                continue
            yield path, inside if folder.name == "engiagent" else (folder.name, *inside)


def _imported(tree: ast.Module) -> Iterator[str]:
    types = [
        n
        for n in ast.walk(tree)
        if isinstance(n, ast.If) and "TYPE_CHECKING" in ast.unparse(n.test)
    ]
    only = {id(inner) for node in types for inner in ast.walk(node)}
    for node in ast.walk(tree):
        if id(node) in only:
            continue
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module == "engiagent":
            names = [f"engiagent.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module]
        else:
            continue
        yield from (name.split(".")[1] for name in names if name.startswith("engiagent."))


def _reachable(graph: Mapping[str, Iterable[str]], start: str) -> set[str]:
    seen, waiting = set(), [start]
    while waiting:
        for target in graph[waiting.pop()]:
            if target not in seen:
                seen.add(target)
                waiting.append(target)
    return seen


def circles(graph: Graph) -> list[frozenset[str]]:
    """Return the nodes in groups whose members all import one another, in the end.

    >>> [sorted(group) for group in circles({"a": {"b"}, "b": {"a", "c"}, "c": set()})]
    [['c'], ['a', 'b']]
    """
    reach = {name: _reachable(graph, name) for name in graph}
    groups = {
        frozenset({name} | {other for other in reach[name] if name in reach[other]})
        for name in graph
    }
    return sorted(groups, key=lambda group: (len(group), sorted(group)))


def levels(graph: Graph) -> list[list[frozenset[str]]]:
    """Return the groups in rows, lowest first: each imports groups of lower rows only.

    >>> [sorted(map(sorted, row)) for row in levels({"a": {"b", "c"}, "b": {"c"}, "c": set()})]
    [[['c']], [['b']], [['a']]]
    """
    below = condensed(graph)
    height: dict[frozenset[str], int] = {}

    def of(group: frozenset[str]) -> int:
        if group not in height:
            height[group] = 1 + max((of(other) for other in below[group]), default=-1)
        return height[group]

    rows: list[list[frozenset[str]]] = [[] for _ in range(1 + max(map(of, below)))]
    for group in sorted(below, key=lambda g: sorted(g)):
        rows[of(group)].append(group)
    return rows


def condensed(graph: Graph) -> dict[frozenset[str], set[frozenset[str]]]:
    """Return what each group imports of the others."""
    groups = circles(graph)
    home = {name: group for group in groups for name in group}
    return {g: {home[t] for name in g for t in graph[name]} - {g} for g in groups}


def reduced(
    below: Mapping[frozenset[str], set[frozenset[str]]],
) -> list[tuple[frozenset[str], ...]]:
    """Return the imports that no chain of others implies."""
    edges = []
    for group, targets in below.items():
        further = {t for other in targets for t in _groups_below(below, other)}
        edges += [(group, target) for target in targets - further]
    return sorted(edges, key=lambda edge: [sorted(group) for group in edge])


def _groups_below(
    below: Mapping[frozenset[str], set[frozenset[str]]], start: frozenset[str]
) -> set[frozenset[str]]:
    found: set[frozenset[str]] = set()
    for target in below[start]:
        found |= {target} | _groups_below(below, target)
    return found
