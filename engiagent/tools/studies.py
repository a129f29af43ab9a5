"""Tools that solve a blueprint many times: studies, sizes with what they earn, closed loops."""

from typing import Any, Final

from engiagent.control import control as closed
from engiagent.errors import InputError
from engiagent.io.jsontext import loads_strict
from engiagent.io.schemawords import by_name, list_of
from engiagent.plant.sizing import open_sizes
from engiagent.solvers.result import SolveOptions
from engiagent.study import Cases, Setting, Study, asked, run_study
from engiagent.study.outcome import Asked
from engiagent.study.returns import compared_cases
from engiagent.tools.modelling import SECONDS, plain
from engiagent.tools.places import inside
from engiagent.tools.registry import Argument, Json, Outcome, State, needed, shape, tool

GROUP: Final = "study"
_TEXTS: Final[Json] = {"type": "array", "items": {"type": "string", "minLength": 1}, "maxItems": 50}
_COUNT: Final[Json] = {"type": "integer", "minimum": 1, "maximum": 100_000}
_SHOW: Final = Argument("show", _TEXTS, "Expressions to report of each plan.")
_STUDY: Final = shape("schema kind: text; rows: list of object", more=True)
_WAIT: Final = 60.0


@tool(
    "read",
    needed(
        "vary",
        {**_TEXTS, "minItems": 1},
        "What varies and its values, as 'battery.energy_capacity=100..400:4[kWh]', 'wear=1,2' or "
        "'price=*0.8,1,1.2' (factors); several make a grid.",
    ),
    _SHOW,
    SECONDS,
    returns=_STUDY,
    needs=("blueprint",),
    uses=("problem",),
)
def sweep(state: State, arguments: Json) -> Outcome:
    """Solve at every point of a grid of values; the time limit is that of one solve."""
    found = _studied(state, arguments, asked("sweep", arguments["vary"]))
    return Outcome(plain(loads_strict(found.to_json())))


@tool(
    "read",
    needed("kind", {"enum": ["cases", "pareto", "sensitivity"]}, "Which study."),
    Argument(
        "of",
        _TEXTS,
        "Further goals of a front, as 'peak=min:max(grid_import[t] for t in T)', or factors of a "
        "sensitivity, as 'price' or 'E_max=1..4[MWh]'; cases need none.",
    ),
    _SHOW,
    SECONDS,
    returns=_STUDY,
    needs=("blueprint",),
    uses=("problem",),
)
def study(state: State, arguments: Json) -> Outcome:
    """Solve the cases of the blueprint, the front between goals, or each factor at both ends."""
    found = _studied(state, arguments, asked(arguments["kind"], arguments.get("of") or ()))
    return Outcome(plain(loads_strict(found.to_json())))


@tool(
    "read",
    SECONDS,
    returns=shape("sizes: by name object; cases: list of object"),
    needs=("blueprint",),
    uses=("problem",),
)
def sizing(state: State, arguments: Json) -> Outcome:
    """Choose the sizes that the plant leaves open, and say what they cost and earn.

    A size is open where the plant block gives a slot as {between: [0 kWh, 500 kWh], costs:
    400 EUR/kWh, lifetime: 15 a, rate: 5 %}; with a baseline its saving and payback are there too.
    """
    core = state.get("blueprint").blueprint.core
    known = open_sizes(core)
    if not known:
        expected = "a slot of the plant block as {between: [0 kWh, 500 kWh], costs: …}"
        raise InputError("no size is to be chosen", expected=expected)
    found = _studied(state, {**arguments, "show": list(known)}, Cases())
    values, units = (found.rows[0].get(key) or {} for key in ("values", "units"))
    sizes = {slot: {"value": values.get(n), "unit": units.get(n)} for n, slot in known.items()}
    return Outcome(plain({"sizes": sizes, "cases": compared_cases(found.rows, core)}))


@tool(
    "read",
    Argument("steps", _COUNT, "Periods to apply; by default as many as the data allow."),
    Argument("horizon", _COUNT, "Periods that each plan looks ahead; by default a day."),
    Argument(
        "actual",
        {"anyOf": [{"type": "string"}, by_name(list_of({"type": "number"}))]},
        "What really comes: a file in the folder with columns, or numbers, by the names of series "
        "that are forecast, as load.power.",
    ),
    Argument("relax", _TEXTS, "Limits that may be relaxed, the first to be given up first."),
    Argument(
        "end",
        {"enum": ["refuse", "hold", "repeat"]},
        "What comes after the data; refuse if absent.",
    ),
    SECONDS,
    returns=shape(
        "schema: text; outcomes: object; figures: list of object; notes: list of text", more=True
    ),
    needs=("blueprint",),
    uses=("problem",),
)
def control(state: State, arguments: Json) -> Outcome:
    """Close the loop: plan, apply the first period, measure by the plan's own model, plan again."""
    actual: Any = arguments.get("actual")
    loop = closed(
        state.get("blueprint").blueprint,
        arguments.get("steps"),
        horizon=arguments.get("horizon"),
        actual=inside(state.root, actual) if isinstance(actual, str) else actual,
        limits=[[name] for name in arguments.get("relax") or ()] or None,
        end=arguments.get("end", "refuse"),
        folder=state.get("problem").folder,
        options=SolveOptions(time_limit=arguments.get("time_limit", _WAIT)),
        on_step=lambda done, total: state.watch.tell(f"step {done} of {total}"),
    )
    return Outcome(plain({**loop.to_dict(), "seconds": None}))


def _studied(state: State, arguments: Json, what: Asked) -> Study:
    """Run a study of the session's blueprint."""
    setting = Setting(
        state.get("problem").folder,
        SolveOptions(time_limit=arguments.get("time_limit", _WAIT)),
        show=tuple(arguments.get("show") or ()),
        on_point=lambda done, total, row: state.watch.tell(f"{done} of {total} points"),
    )
    return run_study(what, state.get("blueprint").blueprint, setting)
