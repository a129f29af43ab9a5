"""Diagnostics: what is wrong in a blueprint, where, and what would be right."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

from engiagent.blueprint.grammar import ExpressionError
from engiagent.errors import EngiagentError, InputError
from engiagent.units.unit import UnitError

Severity = Literal["error", "warning", "info"]


@dataclass(frozen=True)
class Diagnostic:
    """One finding of static analysis."""

    code: str  # a stable code, as ``EB005``
    severity: Severity
    path: str  # the JSON path, as ``core_model_elements.constraints[3].expression``
    message: str
    column: int | None = None  # the place inside an expression, counted from 1; None elsewhere
    suggestion: str | None = None
    name: str | None = None  # the name of the constraint, variable, parameter … that it is about

    def __str__(self) -> str:
        place = self.path.removeprefix("core_model_elements.")
        if self.name:
            place += f' "{self.name}"'
        if self.column is not None:
            place += f", column {self.column}"
        hint = f"; {self.suggestion}" if self.suggestion else ""
        return f"{self.code} {place}: {self.message}{hint}"


class BlueprintError(EngiagentError):
    """A blueprint that cannot be used, with every reason found."""

    def __init__(self, diagnostics: Sequence[Diagnostic]) -> None:
        self.diagnostics = tuple(diagnostics)
        super().__init__("\n".join(str(item) for item in self.diagnostics))


def refused(
    code: str, path: str, message: str, hint: str | None = None, name: str | None = None
) -> BlueprintError:
    """Return the error of one finding."""
    return BlueprintError([Diagnostic(code, "error", path, message, None, hint, name)])


class MissingDataError(EngiagentError):
    """Parameters that the problem does not give, so that nothing can be solved."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = tuple(names)
        super().__init__(f"no value is known for {', '.join(names)}")


@contextmanager
def collected(found: list[Diagnostic]) -> Iterator[None]:
    """Add what is wrong to a list, unless it is there already, instead of stopping at it."""
    try:
        yield
    except BlueprintError as error:
        found += [d for d in error.diagnostics if d not in found]


@contextmanager
def located(path: str, name: str | None = None) -> Iterator[None]:
    """Turn an error in an expression, a unit or a file into a diagnostic with its JSON path."""
    try:
        yield
    except ExpressionError as error:
        found = Diagnostic(
            error.code, "error", path, error.message, error.column, error.suggestion, name
        )
        raise BlueprintError([found]) from None
    except UnitError as error:
        raise refused("EB006", path, str(error), name=name) from None
    except (InputError, ValueError) as error:
        raise refused("EB014", path, str(error), name=name) from None
    except RecursionError:
        message = "expressions that use one another go too deep"
        raise refused("EB012", path, message, name=name) from None
