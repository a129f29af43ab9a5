"""The unit table against pint, an independent source of every factor."""

import contextlib
from typing import Any

import pint
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engiagent.units import unit as units
from engiagent.units.unit import UnitError, convert, parse_unit, unit_names
from tests.pace import soon
from tests.written import mapping

# How pint writes what our table writes otherwise; the BTU is that of the international table.
IN_PINT = mapping("""
    {"%": percent, permille: 1e-3, "1": dimensionless, yr: "365 * day", m2: "m**2", m3: "m**3",
      ft2: "ft**2", ha: hectare, L: liter, gal: gallon, t: tonne, Ws: "W*s", BTU: Btu_it,
      kBTU: "1000 * Btu_it", MMBTU: "1e6 * Btu_it", therm: "1e5 * Btu_it", Wp: W, kWp: kW, MWp: MW,
      kVA: kW, VA: W, MVA: MW, var: W, kvar: kW, Mvar: MW, hp: hp, TR: "12000 * Btu_it / hour",
      TRh: "12000 * Btu_it", MBH: "1000 * Btu_it / hour", cfm: "foot**3 / minute",
      gpm: gallon / minute, degC_diff: delta_degC, degF_diff: delta_degF, deg: degree, Ah: "A*hour",
      h: hour, d: day}
""")
# Money, counts and abstract time are dimensions of our own.
OWN = {"timeunit", *units.COUNTS}
OWN |= {f"{prefix}{c}" for c in units.CURRENCIES for prefix in ("", "ct_", "k", "M")}
PHYSICAL = sorted(set(units._TABLE) - OWN)


@pytest.fixture(scope="module")
def registry() -> Any:
    return pint.UnitRegistry(cache_folder=None)


@pytest.mark.parametrize("name", PHYSICAL)
def test_factor_equals_pints(name: str, registry: Any) -> None:
    theirs = registry.Quantity(IN_PINT.get(name, name)).to_base_units()
    ours = parse_unit(name)
    # pint's base has the gram as kilogram already; both are SI.
    assert theirs.magnitude == pytest.approx(float(ours.factor), rel=1e-12)
    bases = {"second": "s", "meter": "m", "kilogram": "kg", "kelvin": "K", "ampere": "A"}
    bases |= {"mole": "mol", "radian": ""}
    shown = {bases.get(base, base): int(power) for base, power in theirs.unit_items()}
    shown.pop("", None)
    assert shown == dict(ours.dimension)


@pytest.mark.parametrize("scale", ["degC", "degF"])
@pytest.mark.parametrize("value", [-459.67, -40.0, 0.0, 21.5, 68.0, 1000.0])
def test_temperature_scales_equal_pints(scale: str, value: float, registry: Any) -> None:
    for target in ("degC", "degF"):
        theirs = registry.Quantity(value, scale).to(target).magnitude
        ours = convert(value, parse_unit(scale), parse_unit(target))
        assert ours == pytest.approx(theirs, rel=1e-9, abs=1e-9)


@given(st.sampled_from(PHYSICAL), st.sampled_from(PHYSICAL), st.floats(-1e9, 1e9))
def test_there_and_back_changes_at_most_the_last_digits(a: str, b: str, value: float) -> None:
    source, target = parse_unit(a), parse_unit(b)
    if not source.same_dimension(target):
        with pytest.raises(UnitError):
            convert(value, source, target)
        return
    back = convert(convert(value, source, target), target, source)
    # Two roundings, one each way, and nothing else: factors are exact.
    assert back == pytest.approx(value, rel=4e-16, abs=5e-300)


@given(
    st.lists(st.tuples(st.sampled_from(PHYSICAL), st.sampled_from("*/")), min_size=1, max_size=4)
)
def test_a_written_product_reads_as_the_product_of_its_parts(parts: list[tuple[str, str]]) -> None:
    text, expected = "1", parse_unit("1")
    for name, operator in parts:
        text += operator + name
        unit = parse_unit(name)
        expected = expected * unit if operator == "*" else expected / unit
    read = parse_unit(text)
    assert (read.factor, read.dimension) == (expected.factor, expected.dimension)
    again = parse_unit(str(expected))
    assert (again.factor, again.dimension) == (expected.factor, expected.dimension)


@pytest.mark.parametrize("name", sorted(units._AMBIGUOUS))
def test_an_ambiguous_spelling_is_refused_with_advice(name: str) -> None:
    with pytest.raises(UnitError, match=r"ambiguous.*write"):
        parse_unit(name)


@pytest.mark.parametrize("name", sorted(set(unit_names()) - set(units._AMBIGUOUS)))
def test_every_other_spelling_is_read(name: str) -> None:
    assert parse_unit(name).factor > 0


HOSTILE = {
    "beyond what a float holds": "*".join(["TWh^9"] * 3),
    "nearer to zero than a float": "1/" + "/".join(["TWh^9"] * 3),
    "huge power": "m**9999999999",
    "power tower": "9**9**9*m",
    "long product": "*".join(["kWh"] * 20_000),
    "many brackets": "(" * 3000 + "m" + ")" * 3000,
    "digits": "1" * 100_000,
    "number before a unit": "5 M",
    "double prefix": "kkW",
    "an offset scale in a product": "degC*m",
    "code": "__import__('os').system('true')",
    "control characters": "k\x00W",
    "full width": "\uff4b\uff37",
    "brackets that never close": "W/(m2*K",
    "operator at the end": "kWh/",
    "two operators": "kWh//h",
    "nothing but an operator": "/",
    "nested brackets": "W/((m2))",
    "fraction of a power": "m^0.5",
}


@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_text_is_refused_at_once(case: str) -> None:
    with soon(0.5), pytest.raises(UnitError):
        parse_unit(HOSTILE[case])


@given(st.text(max_size=80))
def test_any_text_is_a_unit_or_a_unit_error(text: str) -> None:
    with contextlib.suppress(UnitError):
        assert parse_unit(text).factor > 0
