"""How much source a certificate rests on: what the checker imports, and what it shares."""

import ast
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from engiagent.text import Problem

ROOT = Path(__file__).parents[2]
AT_MOST = 25_000
VERBS = "engiagent.notebook"  # of problems and blueprints, for users: no check calls one
FOREIGN = ("formulations", "solvers", "agents", "text", "report", "cli", "plant")


def file_of(module: str) -> Path | None:
    """Return the file of a module of ours, None for names that are none."""
    path = ROOT.joinpath(*module.split("."))
    found = (path.with_suffix(".py"), path / "__init__.py")
    return next((file.resolve() for file in found if file.exists()), None)


def imported(file: Path, late: bool) -> Iterator[str]:
    """Yield what a module imports; ``late`` with what its functions import when they are called."""

    def nodes(parent: ast.AST) -> Iterator[ast.AST]:
        for node in ast.iter_child_nodes(parent):
            types_only = isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
            if types_only or (not late and isinstance(node, ast.FunctionDef)):
                continue
            yield node
            yield from nodes(node)

    for node in nodes(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (node.module, *(f"{node.module}.{alias.name}" for alias in node.names))


@cache
def closure(*starts: str, late: bool = False) -> dict[str, Path]:
    """Return all modules of ours that importing some of them brings."""
    found: dict[str, Path] = {}
    todo = list(starts)
    while todo:
        module = todo.pop()
        file = None if module in found else file_of(module)
        if file is not None:
            found[module] = file
            parts = module.split(".")
            todo += [".".join(parts[:k]) for k in range(1, len(parts))]
            ours = [name for name in imported(file, late) if name.startswith("engiagent")]
            todo += [name for name in ours if not name.startswith(VERBS)]
    return found


def lines(modules: dict[str, Path]) -> Counter[str]:
    """Return the lines of source by package."""
    count: Counter[str] = Counter()
    for file in set(modules.values()):
        parts = file.relative_to(ROOT).parts
        package = "/".join(parts[:2]) if parts[0] == "engiagent" else parts[0]
        count[package] += len(file.read_text("utf-8").splitlines())
    return count


def show(what: str, count: Counter[str]) -> None:
    shares = ", ".join(f"{package} {size:,}" for package, size in count.most_common())
    print(f"{what}: {count.total():,} lines ({shares})")


UNITS = [f"engiagent.verify.plants.{p.stem}" for p in (ROOT / "verify" / "plants").glob("*.py")]


def test_the_checker_reaches_no_builder_and_no_solver() -> None:
    everything = closure("engiagent.verify.checking", *UNITS, late=True)
    assert not [name for name in everything if name.split(".")[1:2] in ([f] for f in FOREIGN)]


def test_a_check_imports_no_builder_no_solver_and_no_verb(tmp_path: Path) -> None:
    plan = Problem.load("merchant_day").solve()
    plan.to_netcdf(tmp_path / "plan.nc")
    code = (
        "import sys\n"
        "from engiagent.text import Problem\n"
        "from engiagent.verify.checking import check\n"
        f"print(check(Problem.load('merchant_day'), {str(tmp_path / 'plan.nc')!r}).verdict)\n"
        "print(*(name for name in sys.modules if name.startswith('engiagent.')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    verdict, modules = done.stdout.splitlines()
    assert verdict == "certified"
    foreign = {"formulations", "solvers", "agents", "report", "cli", "notebook"}
    assert not foreign & {name.split(".")[1] for name in modules.split()}


def test_builder_and_checker_share_the_language_slots_and_physics_only() -> None:
    builder = closure("engiagent.formulations.compile", "engiagent.formulations.components")
    builder |= closure(
        *(
            f"engiagent.formulations.components.{path.stem}"
            for path in (ROOT / "formulations" / "components").glob("*.py")
        )
    )
    checker = closure("engiagent.verify.checking", *UNITS, late=True)
    shared = lines({name: file for name, file in checker.items() if name in builder})
    show("shared by builder and checker", shared)
    packages = {"blueprint", "slots", "units", "io", "errors.py", "__init__.py"}
    assert set(shared) <= {f"engiagent/{name}" for name in packages} | {"models"}


def test_what_every_certificate_rests_on_is_small() -> None:
    everything = closure("engiagent.verify.checking", *UNITS, late=True)
    show("with all units and all that is imported late", lines(everything))
    count = lines(closure("engiagent.verify.checking"))
    show("imported by the checker", count)
    assert count.total() <= AT_MOST
