"""Tools for what drives a site: controllers, and the disturbances weather, occupancy and price."""

from typing import Any, Final

from engiagent.errors import InputError
from engiagent.io.files import inside_parts
from engiagent.io.schemawords import FLAG
from engiagent.tools.registry import Argument, Json, Outcome, State
from engiagent.tools.site.collecting import (
    ID,
    IDS,
    WORDS,
    Kind,
    adding,
    grammar,
    hour,
    number,
    word,
    written,
)
from engiagent.tools.site.document import Draft, group_of
from engiagent.tools.site.plants import GAINS, MACHINES

_SYSTEMS: Final = Argument("systems", IDS, "What it controls; the selected system without it.")
_HORIZON: Final = number(
    "horizon",
    "How far a plan of an optimal controller looks ahead; 24 without it.",
    "h",
    minimum=1,
    maximum=168,
)
_SHIFTED: Final = {
    "precooling": "how far the setpoint of cooling is lowered ahead of need",
    "preheating": "how far the setpoint of heating is raised ahead of need",
    "setback": "how far setpoints are given up, as at night",
}
_POWERS: Final = {
    "charge": "of a store or vehicle",
    "discharge": "of a store or vehicle",
    "power": "of a generator",
}
_HVAC: Final = (
    word(
        "kind",
        "A thermostat, or plans of the least cost within the limits of comfort",
        "thermostat",
        "optimal",
    ),
    _SYSTEMS,
    *(
        number(
            f"{way}_setpoint",
            f"Around which {way} keeps the temperature.",
            "degC",
            minimum=-50,
            maximum=100,
        )
        for way in ("cooling", "heating")
    ),
    number(
        "deadband",
        "Between switching off and on; 1 without it.",
        "K",
        exclusiveMinimum=0,
        maximum=20,
    ),
    *(
        part
        for name, about in _SHIFTED.items()
        for part in (
            number(name, f"By {about}.", "K", minimum=0, maximum=20),
            hour(f"{name}_start", f"When {name} begins, as 12.5 for half past noon."),
            number(f"{name}_hours", f"How long {name} lasts.", "h", exclusiveMinimum=0, maximum=24),
        )
    ),
    _HORIZON,
)
_DER: Final = (
    word(
        "kind",
        "By surplus and need, by the time of the day, or by plans of the least cost",
        "self_consumption",
        "schedule",
        "optimal",
    ),
    _SYSTEMS,
    *(
        part
        for way, about in _POWERS.items()
        for part in (
            number(
                f"{way}_level",
                f"The {way} {about} by schedule; its limit without it.",
                "kW",
                minimum=0,
            ),
            hour(f"{way}_start", f"When {way} by schedule begins."),
            number(f"{way}_hours", f"How long {way} lasts.", "h", exclusiveMinimum=0, maximum=24),
        )
    ),
    _HORIZON,
)


def _controller(draft: Draft, entry: Json, given: Json) -> Json:
    found = {**entry, **{key: value for key, value in given.items() if key != "id"}}
    if found["kind"] == "thermostat":
        found.setdefault("deadband", 1.0)
    names = given.get("systems") or entry.get("systems") or [None]
    any_system = found["kind"] in ("thermostat", "optimal")
    components = draft.document["components"]
    known = {n: e for n, e in components.items() if any_system or group_of(e) == "der"}
    found["systems"] = [draft.chosen("system", known, name) for name in names]
    _refuse_half(found)
    if found["kind"] == "thermostat":
        _refuse_no_setpoint(found)
        for name in found["systems"]:
            _refuse_unsteered(known[name]["model"], name)
    return found


def _refuse_half(entry: Json) -> None:
    """Refuse a shift or a schedule of which start or length is missing."""
    for name in (*_SHIFTED, *_POWERS):
        parts = [f"{name}_start", f"{name}_hours"]
        wanted = name in entry or f"{name}_level" in entry or any(p in entry for p in parts)
        lacking = [p for p in ([name] if name in _SHIFTED else []) + parts if p not in entry]
        if wanted and lacking:
            raise InputError(f"{name} is stated in part", expected=f"also {', '.join(lacking)}")


def _refuse_no_setpoint(entry: Json) -> None:
    if "cooling_setpoint" not in entry and "heating_setpoint" not in entry:
        said = "a thermostat without a setpoint"
        raise InputError(said, expected="cooling_setpoint, heating_setpoint or both")


def _refuse_unsteered(model: str, name: str) -> None:
    if model not in (*MACHINES, *GAINS):
        said = f"{name} is a {model}, which no thermostat controls"
        raise InputError(said, expected=f"a system among {', '.join((*MACHINES, *GAINS))}")


_BOTH: Final = tuple({a.name: a for a in (*_HVAC, *_DER)}.values())
CONTROLLER: Final = Kind("controller", "controller", "controllers", _BOTH, _controller)

# -- disturbances ---------------------------------------------------------------------------------

_FILE: Final = Argument("file", WORDS, "A CSV file of the session's folder with time stamps.")
_COLUMN: Final = Argument("column", WORDS, "Its column.")
_WEATHER: Final = (
    word("form", "Constant, a profile over the day, or a file", "daily", "constant", "file"),
    number(
        "temperature",
        "Of the air: constant, or the mean of the profile.",
        "degC",
        minimum=-90,
        maximum=70,
    ),
    number(
        "amplitude",
        "Half of the difference between the hottest and the coldest hour; 0 without it.",
        "K",
        minimum=0,
        maximum=40,
    ),
    hour("hottest_hour", "When it is hottest; 15 without it."),
    number(
        "irradiance_max",
        "In the plane of arrays, at its highest; 0 without it.",
        "W/m2",
        minimum=0,
        maximum=2000,
    ),
    hour("sunrise", "When irradiance begins; 6 without it."),
    hour("sunset", "When irradiance ends; 18 without it."),
    Argument(
        "file", WORDS, "An EPW file, or a CSV file with time stamps, in the session's folder."
    ),
    Argument("temperature_column", WORDS, "Its column of temperature; an EPW file needs none."),
    Argument(
        "irradiance_column",
        WORDS,
        "Its column of irradiance; by default of an EPW file the global horizontal one.",
    ),
)
_PRICE: Final = (
    word(
        "form",
        "One price, two rates by the time of the day, or a file",
        "flat",
        "two_rates",
        "file",
    ),
    number("import_price", "Of energy from the grid; with two rates the low one.", "EUR/kWh"),
    number("high_price", "The high rate.", "EUR/kWh"),
    hour("high_from", "When the high rate begins."),
    hour("high_until", "When the high rate ends."),
    number("export_price", "Paid for energy to the grid; nothing without it.", "EUR/kWh"),
    _FILE,
    _COLUMN,
)
_OCCUPANCY: Final = (
    word("form", "Hours of presence, or a file with the heat of people", "hours", "file"),
    number("people", "How many are present in each building.", "1", minimum=0),
    number("heat_per_person", "Heat that each gives off.", "W", minimum=0, maximum=1000),
    hour("present_from", "When they come."),
    hour("present_until", "When they leave."),
    Argument(
        "workdays_only", FLAG, "Whether nobody comes on Saturday and Sunday; false without it."
    ),
    _FILE,
    _COLUMN,
)
_FORMS: Final[dict[str, dict[str, tuple[str, ...]]]] = {
    "weather": {"constant": ("temperature",), "daily": ("temperature",), "file": ("file",)},
    "price": {
        "flat": ("import_price",),
        "two_rates": ("import_price", "high_price", "high_from", "high_until"),
        "file": ("file", "column"),
    },
    "occupancy": {
        "hours": ("people", "heat_per_person", "present_from", "present_until"),
        "file": ("file", "column"),
    },
}
"""By kind and form what has to be given; the first form is the default."""
_USUAL: Final[dict[str, Json]] = {
    "weather": {
        **{"amplitude": 0.0, "hottest_hour": 15.0, "irradiance_max": 0.0},
        **{"sunrise": 6.0, "sunset": 18.0},
    },
    "price": {},
    "occupancy": {"workdays_only": False},
}


def _disturbance(draft: Draft, entry: Json, given: Json) -> Json:
    kind = entry.get("kind") or given["of"]
    own = {k: v for k, v in given.items() if k not in ("id", "of")}
    first = {"weather": "daily"}.get(kind, next(iter(_FORMS[kind])))
    found: Json = {"kind": kind, "form": first, **_USUAL[kind], **entry, **own}
    takes = {a.name for a in _TAKEN[kind]}
    odd = [name for name in own if name not in takes]
    if odd:
        raise InputError(f"a {kind} has no {odd[0]}", expected=", ".join(sorted(takes)))
    if found["form"] not in _FORMS[kind]:
        raise InputError(
            f"a {kind} has no form {found['form']!r}", expected=", ".join(_FORMS[kind])
        )
    lacking = [name for name in _FORMS[kind][found["form"]] if name not in found]
    if lacking:
        raise InputError(
            f"a {kind} of the form {found['form']} needs {lacking[0]}", expected=", ".join(lacking)
        )
    if kind == "weather" and found["sunset"] <= found["sunrise"]:
        raise InputError("sunset is not after sunrise", expected="sunrise < sunset")
    if "file" in found:
        inside_parts(found["file"])
    return found


_TAKEN: Final = {"weather": _WEATHER, "price": _PRICE, "occupancy": _OCCUPANCY}
_ANY: Final = {a.name: a for taken in _TAKEN.values() for a in taken if a.name != "form"}
_FORM: Final = Argument(
    "form",
    {"type": "string", "enum": sorted({form for forms in _FORMS.values() for form in forms})},
    "Of its kind.",
)
DISTURBANCE: Final = Kind(
    "disturbance", "disturbance", "disturbances", (_FORM, *_ANY.values()), _disturbance
)


def _register() -> None:
    adding(
        CONTROLLER,
        "add_hvac",
        "Add a controller of HVAC systems, or of zones without any.",
        ("kind", "thermostat"),
        arguments=_HVAC,
    )
    adding(
        CONTROLLER,
        "add_der",
        "Add a controller of DER systems.",
        ("kind", "self_consumption"),
        arguments=_DER,
    )
    about = {
        "weather": "Add a weather: temperature of the air and irradiance.",
        "price": "Add a price of energy from and to the grid.",
        "occupancy": "Add an occupancy: the heat of people, shared by the zones of a building.",
    }
    for kind, text in about.items():
        adding(DISTURBANCE, f"add_{kind}", text, ("of", kind), arguments=_TAKEN[kind])
    grammar(CONTROLLER)
    grammar(DISTURBANCE)


@written(
    CONTROLLER,
    Argument("id", ID, "Which controller; the only one without it."),
    Argument("systems", IDS, "What it controls from now on.", required=True),
    name="assign_to_system",
    about="Assign a controller to systems, in the place of those that it controlled.",
)
def assign(state: State, given: Json) -> Outcome:
    """Assign a controller to systems."""
    draft = Draft.of(state)
    name = CONTROLLER.of(draft, given.get("id"))
    entry: Any = draft.document["controllers"][name]
    return CONTROLLER.put(draft, name, _controller(draft, entry, given))


_register()
