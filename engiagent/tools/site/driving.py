"""Tools for what drives a site: controllers, and the disturbances weather, occupancy and price."""

from typing import Final

from engiagent.errors import InputError
from engiagent.io.files import inside_parts
from engiagent.tools.registry import Argument, Json
from engiagent.tools.site.arguments import stated
from engiagent.tools.site.collecting import Kind, adding, changing, grammar
from engiagent.tools.site.document import Draft, group_of
from engiagent.tools.site.plants import GAINS, MACHINES

_SHIFTS: Final = ("precooling", "preheating", "setback")
_POWERS: Final = ("charge", "discharge", "power")
_HVAC: Final = stated("hvac controller")
_DER: Final = stated("der controller")


def _controller(draft: Draft, entry: Json, given: Json) -> Json:
    found = {**entry, **{key: value for key, value in given.items() if key != "id"}}
    if found["kind"] == "thermostat":
        found.setdefault("deadband", 1.0)
    names = given.get("systems") or entry.get("systems") or [None]
    any_system = found["kind"] in ("thermostat", "optimal")
    components = draft.document["components"]
    known = {n: e for n, e in components.items() if any_system or group_of(e) == "der"}
    found["systems"] = [draft.chosen("system", known, name) for name in names]
    for name in (*_SHIFTS, *_POWERS):
        parts = [f"{name}_start", f"{name}_hours"]
        wanted = any(p in found for p in (name, f"{name}_level", *parts))
        lacking = [p for p in ([name] if name in _SHIFTS else []) + parts if p not in found]
        if wanted and lacking:
            raise InputError(f"{name} is stated in part", expected=f"also {', '.join(lacking)}")
    if found["kind"] == "thermostat":
        _refuse_thermostat(found, {name: known[name]["model"] for name in found["systems"]})
    return found


def _refuse_thermostat(entry: Json, models: Json) -> None:
    """Refuse a thermostat without a setpoint, or of what it cannot control."""
    if "cooling_setpoint" not in entry and "heating_setpoint" not in entry:
        said = "a thermostat without a setpoint"
        raise InputError(said, expected="cooling_setpoint, heating_setpoint or both")
    for name, model in models.items():
        if model not in (*MACHINES, *GAINS):
            said = f"{name} is a {model}, which no thermostat controls"
            raise InputError(said, expected=f"a system among {', '.join((*MACHINES, *GAINS))}")


_BOTH: Final = tuple({a.name: a for a in (*_HVAC, *_DER)}.values())
CONTROLLER: Final = Kind("controller", "controller", "controllers", _BOTH, _controller)

# -- disturbances ---------------------------------------------------------------------------------

_TAKEN: Final = {kind: stated(kind) for kind in ("weather", "price", "occupancy")}
_FORMS: Final[dict[str, dict[str, tuple[str, ...]]]] = {
    "weather": {"daily": ("temperature",), "constant": ("temperature",), "file": ("file",)},
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
    found: Json = {"kind": kind, "form": next(iter(_FORMS[kind])), **_USUAL[kind], **entry, **own}
    takes = {a.name for a in _TAKEN[kind]}
    odd = [name for name in own if name not in takes]
    if odd:
        raise InputError(f"a {kind} has no {odd[0]}", expected=", ".join(sorted(takes)))
    form = found["form"]
    if form not in _FORMS[kind]:
        raise InputError(f"a {kind} has no form {form!r}", expected=", ".join(_FORMS[kind]))
    lacking = [name for name in _FORMS[kind][form] if name not in found]
    if lacking:
        said = f"a {kind} of the form {form} needs {lacking[0]}"
        raise InputError(said, expected=", ".join(lacking))
    if kind == "weather" and found["sunset"] <= found["sunrise"]:
        raise InputError("sunset is not after sunrise", expected="sunrise < sunset")
    if "file" in found:
        inside_parts(found["file"])
    return found


_ANY: Final = {a.name: a for taken in _TAKEN.values() for a in taken if a.name != "form"}
_FORM: Final = Argument(
    "form",
    {"type": "string", "enum": sorted({form for forms in _FORMS.values() for form in forms})},
    "Of its kind.",
)
DISTURBANCE: Final = Kind(
    "disturbance", "disturbance", "disturbances", (_FORM, *_ANY.values()), _disturbance
)


_ADDED: Final = (
    (CONTROLLER, "hvac", "a controller of HVAC systems, or of zones without any", _HVAC),
    (CONTROLLER, "der", "a controller of DER systems", _DER),
    (DISTURBANCE, "weather", "a weather: temperature of the air and irradiance", None),
    (DISTURBANCE, "price", "a price of energy from and to the grid", None),
    (
        DISTURBANCE,
        "occupancy",
        "an occupancy: the heat of people, shared by the zones of a building",
        None,
    ),
)
_USUAL_KIND: Final = {"hvac": "thermostat", "der": "self_consumption"}
for _kind, _word, _about, _own in _ADDED:
    _fixed = ("of", _word) if _own is None else ("kind", _USUAL_KIND[_word])
    adding(_kind, f"add_{_word}", f"Add {_about}.", _fixed, arguments=_own or _TAKEN[_word])
changing(
    CONTROLLER,
    "assign_to_system",
    "Assign a controller to systems, in the place of those that it controlled.",
    *stated("assigned to systems"),
)
grammar(CONTROLLER)
grammar(DISTURBANCE)
