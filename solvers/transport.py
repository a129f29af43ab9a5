"""Programs and results on their way to and from the child process: one JSON line, then arrays.

Records are written field by field, one that stands in several places once, and only those of known
classes are made again: nothing that is read could run. The arrays follow one another without
compression, because a million coefficients must not cost more than the copy.
"""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from engiagent.formulations.program import (
    ColumnBlock,
    Coordinate,
    Indicators,
    Products,
    Program,
    RowBlock,
)
from engiagent.formulations.values import Atom, Form, Part, Term
from engiagent.solvers.result import SolveOptions, SolverResult

Array = npt.NDArray[Any]
CLASSES: Final = {
    known.__name__: known
    for known in (
        *(ColumnBlock, Coordinate, Indicators, Products, Program, RowBlock),
        *(Atom, Form, Part, Term, SolveOptions),
    )
}


def write_program(path: Path, program: Program, options: SolveOptions) -> None:
    """Write what the child needs; expressions and goals are none of its business."""
    given = replace(program, expressions=(), goals=(), coordinates=dict(program.coordinates))
    packing = _Packing()
    header = {"given": [packing.plain(given), packing.plain(options)], "records": packing.records}
    write(path, header, {str(place): array for place, array in enumerate(packing.arrays)})


def read_program(path: Path) -> tuple[Program, SolveOptions]:
    """Return the program and the options that the parent wrote."""
    header, arrays = read(path)
    made: list[Any] = []
    for name, values in header["records"]:
        made.append(CLASSES[name](**{key: _made(part, made, arrays) for key, part in values}))
    program, options = (_made(part, made, arrays) for part in header["given"])
    return program, options


class _Packing:
    """Takes values apart into JSON; ``records`` and ``arrays`` grow with them."""

    def __init__(self) -> None:
        self.records: list[tuple[str, list[tuple[str, Any]]]] = []
        self.arrays: list[Array] = []
        self._places: dict[int, int] = {}
        self._alive: list[object] = []

    def plain(self, value: Any) -> Any:
        """Return a value as JSON; what is no number or text by its place or its parts."""
        if isinstance(value, np.ndarray):
            self.arrays.append(value.astype(str) if value.dtype.hasobject else value)
            return {"array": str(len(self.arrays) - 1)}
        if is_dataclass(value):
            return {"record": self._record(value)}
        if isinstance(value, Mapping):
            return {"map": [[self.plain(key), self.plain(part)] for key, part in value.items()]}
        if isinstance(value, Sequence) and not isinstance(value, str):
            return {"tuple": [self.plain(part) for part in value]}
        return value.item() if isinstance(value, np.generic) else value

    def _record(self, value: Any) -> int:
        if id(value) not in self._places:
            name = type(value).__name__
            if CLASSES.get(name) is not type(value):
                raise TypeError(f"no record of a program: {name}")
            own = [(f.name, self.plain(getattr(value, f.name))) for f in fields(value) if f.init]
            self._places[id(value)] = len(self.records)
            self.records.append((name, own))
            self._alive.append(value)  # what is alive keeps its id to itself
        return self._places[id(value)]


def _made(plain: Any, made: Sequence[Any], arrays: Mapping[str, Array]) -> Any:
    if not isinstance(plain, dict):
        return plain
    ((kind, content),) = plain.items()
    if kind == "array":
        return arrays[content]
    if kind == "record":
        return made[content]
    if kind == "map":
        return {_made(k, made, arrays): _made(part, made, arrays) for k, part in content}
    return tuple(_made(part, made, arrays) for part in content)


def write(path: Path, header: dict[str, Any], arrays: dict[str, Array]) -> None:
    """Write a file under a temporary name and rename it, so that it is whole or absent."""
    part = path.with_name(path.name + ".part")
    with open(part, "wb") as file:
        file.write(json.dumps({"header": header, "arrays": list(arrays)}).encode() + b"\n")
        for array in arrays.values():
            np.save(file, array, allow_pickle=False)
    os.replace(part, path)


def read(path: Path) -> tuple[dict[str, Any], dict[str, Array]]:
    """Return the header and the arrays of a file from :func:`write`."""
    with open(path, "rb") as file:
        first = json.loads(file.readline())
        arrays = {name: np.load(file, allow_pickle=False) for name in first["arrays"]}
        return first["header"], arrays


def write_result(path: Path, result: SolverResult) -> None:
    """Write a result."""
    values = {part.name: getattr(result, part.name) for part in fields(result)}
    arrays = {name: item for name, item in values.items() if isinstance(item, np.ndarray)}
    write(path, {name: item for name, item in values.items() if name not in arrays}, arrays)


def read_result(path: Path) -> SolverResult:
    """Return a result."""
    header, arrays = read(path)
    values: dict[str, Any] = {**header, **arrays}
    return SolverResult(**values)
