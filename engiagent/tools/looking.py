"""Tools that show what a session holds: its blueprint, its schedule, and one from elsewhere."""

from pathlib import Path
from typing import Any, Final

from engiagent.errors import InputError
from engiagent.io.schemawords import COUNT, OBJECT, TEXT, TEXTS, by_name, maybe, record
from engiagent.solvers.arrays import NamedArray, SolutionArrays
from engiagent.solvers.solution import stored_arrays
from engiagent.tools.modelling import Drafted, plain
from engiagent.tools.places import inside
from engiagent.tools.planning import Solved
from engiagent.tools.registry import Argument, Json, Outcome, State, tool

_MOST_VALUES: Final = 20_000
GROUP: Final = "plan"
_NAME: Final[Json] = {"type": "string", "minLength": 1, "maxLength": 200}


@tool("read", returns=record({"blueprint": OBJECT}), needs=("blueprint",), group="blueprint")
def read_blueprint(state: State, arguments: Json) -> Outcome:
    """Return the whole blueprint as JSON, in which patch_blueprint finds its paths."""
    drafted: Drafted = state.get("blueprint")
    return Outcome({"blueprint": plain(drafted.blueprint.to_dict())})


_SERIES: Final = record(
    {
        "unit": maybe(TEXT),
        "quantity": maybe(TEXT),
        "dims": TEXTS,
        "coordinates": by_name({}),
        "values": {},
    }
)


@tool(
    "read",
    Argument(
        "names",
        {"type": "array", "items": _NAME, "minItems": 1, "maxItems": 50},
        "Which series, by name or by quantity as battery.charge; all decisions if absent.",
    ),
    returns=record({"series": by_name(_SERIES), "others": TEXTS}, {"total": COUNT}),
    needs=("solution",),
)
def read_schedule(state: State, arguments: Json) -> Outcome:
    """Return the schedule's series with their units and their times or names."""
    solved: Solved = state.get("solution")
    if isinstance(solved.schedule, Path):
        raise InputError("the schedule came as a file", expected="a look into that file")
    schedule: SolutionArrays = solved.schedule
    wanted = arguments.get("names")
    chosen = _chosen(schedule, wanted)
    size = sum(schedule[name].size for name in chosen)
    if size > _MOST_VALUES:
        said, expected = "these are too many values for one answer", "fewer names, at most"
        raise InputError(said, found=str(size), expected=f"{expected} {_MOST_VALUES} values")
    others = [str(name) for name in schedule.data_vars if str(name) not in chosen]
    series = {name: _shown(schedule, name) for name in chosen}
    return Outcome({"series": series, "others": others, "total": size})


def _chosen(schedule: SolutionArrays, wanted: list[str] | None) -> list[str]:
    names = {str(name): array.attrs.get("quantity") for name, array in stored_arrays(schedule)}
    if wanted is None:
        return [name for name in names if schedule[name].attrs.get("role") == "decision"]
    found: list[str] = []
    for name in wanted:
        same = [known for known, quantity in names.items() if name in (known, quantity)]
        if not same:
            raise InputError(f"there is no series {name!r}", expected=", ".join(names) or None)
        found += same
    return list(dict.fromkeys(found))


def _shown(schedule: SolutionArrays, name: str) -> Json:
    array, axes = schedule[name], schedule.coords
    coordinates = {name: _labels(axes[name]) for name in array.dims if name in axes}
    return {
        "unit": array.attrs.get("units"),
        "quantity": array.attrs.get("quantity"),
        "dims": list(array.dims),
        "coordinates": coordinates,
        "values": plain(array.values.tolist()),
    }


def _labels(coordinate: NamedArray) -> list[Any]:
    """Return names, numbers or time stamps; those of a zone are in UTC, as stored."""
    if coordinate.dtype.kind != "M":
        return list(plain(coordinate.values.tolist()))
    zone = "Z" if "zone" in coordinate.attrs else ""
    return [f"{str(stamp)[:19]}{zone}" for stamp in coordinate.values.astype("datetime64[s]")]


@tool(
    "write",
    Argument("path", _NAME, "The file: CSV, JSON, Parquet or netCDF.", required=True),
    Argument(
        "columns",
        {"type": "object", "additionalProperties": {"type": "string"}},
        'Quantity or variable to column, as {"battery.charge": "P_ch"}, where names differ.',
    ),
    returns=record({"schedule": TEXT, "columns": by_name(TEXT)}),
    needs=("blueprint",),
    uses=("problem",),
    outside=True,
    writes=("solution",),
)
def load_schedule(state: State, arguments: Json) -> Outcome:
    """Take somebody else's schedule, from a file, in place of a solution, for 'check' to judge."""
    path = inside(state.root, arguments["path"])
    if not path.is_file():
        raise InputError("this is no file", arguments["path"])
    columns = dict(arguments.get("columns") or {})
    solved = Solved(path, None, columns or None)
    return Outcome({"schedule": arguments["path"], "columns": columns}, {"solution": solved})
