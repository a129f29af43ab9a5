"""Programs and results on their way to and from the child process.

The program goes as a pickle, which only this process writes and only its child reads. What comes
back is one JSON line and plain arrays, so that nothing that a solver wrote is ever run.
"""

import json
import os
import pickle
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from engiagent.formulations.program import Program
from engiagent.solvers.result import SolveOptions, SolverResult

RESULT_ARRAYS = ("x", "row_dual", "column_dual", "farkas", "ray")


def write_program(path: Path, program: Program, options: SolveOptions) -> None:
    """Write what the child needs; expressions and goals are none of its business."""
    given = replace(program, expressions=(), goals=(), coordinates=dict(program.coordinates))
    path.write_bytes(pickle.dumps((given, options), protocol=pickle.HIGHEST_PROTOCOL))


def read_program(path: Path) -> tuple[Program, SolveOptions]:
    """Return the program and the options that the parent wrote."""
    program, options = pickle.loads(path.read_bytes())
    return program, options


def write(path: Path, header: dict[str, Any], arrays: dict[str, npt.NDArray[Any]]) -> None:
    """Write a file under a temporary name and rename it, so that it is whole or absent."""
    part = path.with_name(path.name + ".part")
    with open(part, "wb") as file:
        file.write(json.dumps({"header": header, "arrays": list(arrays)}).encode() + b"\n")
        for array in arrays.values():
            np.save(file, array, allow_pickle=False)
    os.replace(part, path)


def read(path: Path) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
    """Return the header and the arrays of a file from :func:`write`."""
    with open(path, "rb") as file:
        first = json.loads(file.readline())
        return first["header"], {
            name: np.load(file, allow_pickle=False) for name in first["arrays"]
        }


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
