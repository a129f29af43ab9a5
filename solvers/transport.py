"""Programs and results on their way to and from the child process: one JSON line, then arrays.

Plain numpy arrays behind one another, without compression or checksums, because a million
coefficients must not cost more than the copy.
"""

import json
import os
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from engiagent.formulations.program import (
    Block,
    ColumnBlock,
    Coordinate,
    Indicators,
    Products,
    Program,
    RowBlock,
)
from engiagent.solvers.result import SolveOptions, SolverResult
from engiagent.solvers.trees import Reader, Writer

Arrays = dict[str, npt.NDArray[Any]]

PROGRAM_ARRAYS = (
    "cost",
    "column_lower",
    "column_upper",
    "integrality",
    "row_starts",
    "row_columns",
    "row_values",
    "row_lower",
    "row_upper",
)
LISTS = {
    "products": ("rows", "first", "second", "values"),
    "indicators": ("rows", "columns", "active"),
}
_CLASSES: dict[str, Any] = {"products": Products, "indicators": Indicators}
RESULT_ARRAYS = ("x", "row_dual", "column_dual", "farkas", "ray")


def write(path: Path, header: dict[str, Any], arrays: Arrays) -> None:
    """Write a file under a temporary name and rename it, so that it is whole or absent."""
    part = path.with_name(path.name + ".part")
    with open(part, "wb") as file:
        file.write(json.dumps({"header": header, "arrays": list(arrays)}).encode() + b"\n")
        for array in arrays.values():
            np.save(file, array, allow_pickle=False)
    os.replace(part, path)


def read(path: Path) -> tuple[dict[str, Any], Arrays]:
    """Return the header and the arrays of a file from :func:`write`."""
    with open(path, "rb") as file:
        first = json.loads(file.readline())
        return first["header"], {
            name: np.load(file, allow_pickle=False) for name in first["arrays"]
        }


def write_program(path: Path, program: Program, options: SolveOptions) -> None:
    """Write what the child needs: arrays, options, and the names and sets of columns and rows.

    Solvers that look for stages find them by the sets, and messages name what is wrong.
    """
    arrays = {name: np.asarray(getattr(program, name)) for name in PROGRAM_ARRAYS}
    for field, names in LISTS.items():
        listed = getattr(program, field)
        arrays |= {f"{field}.{name}": np.asarray(getattr(listed, name)) for name in names}
    arrays["sos1"] = np.concatenate([np.zeros(0, np.int64), *program.sos1])
    arrays["sos1.sizes"] = np.array([len(group) for group in program.sos1], dtype=np.int64)
    writer = Writer()
    parts = writer.parts(program.nonlinear)
    arrays |= {f"tree.{place}": array for place, array in enumerate(writer.arrays)}
    named = _Named(arrays)
    blocks = {
        "columns": [named.block(block) for block in program.columns],
        "rows": [named.block(block) for block in program.rows],
        "coordinates": [named.coordinate(item) for item in program.coordinates.items()],
    }
    if options.start is not None:
        arrays["start"] = np.asarray(options.start, dtype=np.float64)
    header = {
        "sense": program.sense,
        "offset": program.offset,
        "options": asdict(replace(options, start=None)),
        "nonlinear": parts,
        "objects": writer.objects,
        "trees": len(writer.arrays),
        "blocks": blocks,
    }
    write(path, header, arrays)


def read_program(path: Path) -> tuple[Program, SolveOptions]:
    """Return the program, without expressions, goals and descriptions, and the options."""
    header, arrays = read(path)
    values: dict[str, Any] = {name: arrays[name] for name in PROGRAM_ARRAYS}
    for field, names in LISTS.items():
        made = _CLASSES[field](*(arrays[f"{field}.{name}"] for name in names))
        values[field] = made
    ends = np.cumsum(arrays["sos1.sizes"])
    trees = [arrays[f"tree.{place}"] for place in range(header["trees"])]
    blocks = header["blocks"]
    program = Program(
        sense=header["sense"],
        offset=header["offset"],
        sos1=tuple(np.split(arrays["sos1"], ends)[:-1]),
        nonlinear=Reader(header["objects"], trees).parts(header["nonlinear"]),
        columns=tuple(ColumnBlock(**_block(item, arrays)) for item in blocks["columns"]),
        rows=tuple(RowBlock(**_block(item, arrays)) for item in blocks["rows"]),
        coordinates=dict(_coordinate(item, arrays) for item in blocks["coordinates"]),
        **values,
    )
    return program, SolveOptions(**header["options"] | {"start": arrays.get("start")})


class _Named:
    """Writes what names columns and rows; their positions and labels go to ``arrays``."""

    def __init__(self, arrays: Arrays) -> None:
        self.arrays = arrays

    def block(self, block: Block) -> dict[str, Any]:
        """Return a block as JSON."""
        given = {part.name: getattr(block, part.name) for part in fields(block)}
        return given | {"positions": self._array(given["positions"]), "description": None}

    def coordinate(self, item: tuple[str, Coordinate]) -> dict[str, Any]:
        """Return a set's labels as JSON."""
        key, given = item
        values = given.values.astype(str) if given.values.dtype.hasobject else given.values
        about = {"key": key, "name": given.name, "kind": given.kind, "zone": given.zone}
        return about | {"values": self._array(values)}

    def _array(self, values: npt.NDArray[Any] | None) -> str | None:
        if values is None:
            return None
        name = f"name.{len(self.arrays)}"
        self.arrays[name] = np.asarray(values)
        return name


def _block(item: dict[str, Any], arrays: Arrays) -> dict[str, Any]:
    where = item["positions"]
    lists = {"sets": tuple(item["sets"]), "shape": tuple(item["shape"])}
    return item | lists | {"positions": None if where is None else arrays[where]}


def _coordinate(item: dict[str, Any], arrays: Arrays) -> tuple[str, Coordinate]:
    values = arrays[item["values"]]
    return item["key"], Coordinate(item["name"], item["kind"], values, item["zone"])


def write_result(path: Path, result: SolverResult) -> None:
    """Write a result."""
    values = {part.name: getattr(result, part.name) for part in fields(result)}
    arrays = {name: values.pop(name) for name in RESULT_ARRAYS}
    write(path, values, {name: item for name, item in arrays.items() if item is not None})


def read_result(path: Path) -> SolverResult:
    """Return a result."""
    header, arrays = read(path)
    values: dict[str, Any] = {**header, **arrays}
    return SolverResult(**values)
