"""What expressions mean: sets of every kind, parameters, helpers, offsets, conditions, units.

Every expression here is evaluated on a whole grid and compared with numbers worked out by hand.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engiagent.blueprint.elaborate import Elaboration
from engiagent.blueprint.grammar import ExpressionError, parse
from tests.blueprints import DAY, EDGES, UNITS, blueprint, parameter, variable

NIGHT = {"name": "T", "kind": "time", "start": "22:00", "step": "1 h", "periods": 4}
CORE: dict[str, Any] = {
    "sets": [
        DAY,
        EDGES,
        UNITS,
        {"name": "Late", "kind": "subset", "of": "T", "where": "pos(t) >= 2"},
        {"name": "K", "kind": "range", "start": -1, "stop": 5, "step": 3},
        {"name": "P", "kind": "periods", "periods": 3, "start": 7},
        {"name": "E", "kind": "instants", "of": "P"},
        {"name": "Q", "kind": "periods", "periods": 2, "step": "3 timeunit"},
        {"name": "R", "kind": "time", "start": "06:00", "step": ["15 min", "45 min"], "periods": 2},
        {"name": "C", "kind": "periods", "periods": 3, "cyclic": True},
        {"name": "Some", "kind": "subset", "of": "G", "elements": ["G3", "G1"]},
        {"name": "A", "kind": "tuples", "of": ["G", "G"], "elements": [["G1", "G2"], ["G2", "G3"]]},
        {
            "name": "B",
            "kind": "tuples",
            "of": ["G", "K"],
            "binder": "g, k",
            "where": "cap[g] > 20[kW]*k",
        },
        {"name": "FromG1", "kind": "subset", "of": "A", "where": "i != last(A)"},
        {"name": "H", "kind": "labels", "elements": ["boiler", 12]},
        {"name": "U", "kind": "union", "of": ["Some", "H"]},
    ],
    "parameters": [
        parameter("price", [30, -5, 10, 40], "EUR/MWh", "T"),
        parameter(
            "cap", {"G1": 10, "G2": 0.05, "G3": 90}, {"G1": "kW", "G2": "MW", "G3": "kW"}, "G"
        ),
        parameter("eff", 90, "%"),
        parameter("warm", 68, "degF"),
        parameter("out", [0, 5, 10, 15], "degC", "T"),
        parameter("share", {"G1": [1, 2, 3, 4], "G2": 0.5, "G3": [4, 3, 2, 1]}, "1", "G", "T"),
        parameter("loss", {"G1": {"G2": 3}, "G2": {"G3": 4}}, "%", "A"),
        parameter("fuel", {"G1": "gas", "G2": "oil", "G3": "gas"}, "1", "G", type="label"),
        parameter(
            "dep",
            {"G1": "2025-07-01T01:00", "G2": "2025-07-01T03:00+02:00", "G3": "2025-07-01T00:00"},
            "1",
            "G",
            type="element of T",
        ),
        parameter("twice", "2*cap[g] + 1[kW]", "MW", "g in G"),
        parameter("level", "prev(level[t], 8)/2 + pos(t)*1[kWh]", "kWh", "t in T"),
        parameter("grid", "cap[g]*share[g, t]", "kW", "g in G", "t in T"),
    ],
    "decision_variables": [variable("x", "t in T"), variable("soc", "i in I", unit="kWh")],
}


def worth(
    text: str, *forall: str, core: dict[str, Any] = CORE, folder: Path | None = None
) -> tuple[list[float], str]:
    """Return the values of an expression over its grid, and its unit."""
    elaboration = Elaboration(blueprint(**core).core, folder)
    binders = elaboration.binders(forall)
    checker = elaboration.checker()
    typed = checker.number(parse(text), checker.scope_of(binders))
    grid = elaboration.grid(binders)
    value = elaboration.evaluator.number(typed.node, grid)
    return np.broadcast_to(value, (grid.size,)).tolist(), str(typed.unit)


def holds(condition: str, *forall: str, core: dict[str, Any] = CORE) -> list[bool]:
    """Return where a condition holds over its grid."""
    elaboration = Elaboration(blueprint(**core).core)
    binders = elaboration.binders(forall)
    whole, kept = elaboration.grid(binders), elaboration.grid_with_positions(binders, condition)[1]
    return [k in set(kept.tolist()) for k in range(whole.size)]


def labels(name: str, core: dict[str, Any] = CORE, folder: Path | None = None) -> list[Any]:
    """Return the elements of a set."""
    return list(Elaboration(blueprint(**core).core, folder).index_set(name).labels)


# --- sets ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "elements"),
    [
        ("T", [f"2025-07-01T0{h}:00+02:00" for h in range(4)]),
        ("Late", ["2025-07-01T02:00+02:00", "2025-07-01T03:00+02:00"]),
        ("P", [7, 8, 9]),
        ("R", ["06:00", "06:15"]),
        ("A", [("G1", "G2"), ("G2", "G3")]),
        ("FromG1", [("G1", "G2")]),
    ],
)
def test_sets_have_their_elements_in_order(name: str, elements: list[Any]) -> None:
    assert labels(name) == elements


# --- parameters ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "forall", "expected", "unit"),
    [
        ("price[t]", "t in T", [30, -5, 10, 40], "EUR/MWh"),
        ("share['G1', t]", "t in T", [1, 2, 3, 4], "1"),
        ("loss[i, j]", "(i, j) in A", [3, 4], "%"),
        ("twice[g]", "g in G", [0.021, 0.101, 0.181], "MW"),
        ("grid['G3', t]", "t in T", [360, 270, 180, 90], "kW"),
        ("price[dep[g]-1]", "g in Some", None, "EB004"),
    ],
)
def test_parameters_have_their_values(
    text: str, forall: str, expected: list[float] | None, unit: str
) -> None:
    binders = [forall] if forall else []
    if expected is None:
        with pytest.raises(ExpressionError) as caught:
            worth(text, *binders)
        assert caught.value.code == unit
        return
    values, found = worth(text, *binders)
    assert values == pytest.approx(expected)
    assert found == unit


# --- helpers, offsets, conditions ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "forall", "expected", "unit"),
    [
        ("pos(t)", "t in T", [0, 1, 2, 3], "1"),
        ("dt(t)", "t in R", [0.25, 0.75], "h"),
        ("dt(last(R))", "", [0.75], "h"),
        ("hour(t)", "t in T", [0, 1, 2, 3], "1"),
        ("weekday(first(T))", "", [1], "1"),  # 1 July 2025 was a Tuesday
        ("k + 1", "k in K", [0, 3, 6], "1"),
        ("p*2", "p in P", [14, 16, 18], "1"),
        ("min(price[t], 20)", "t in T", [20, -5, 10, 20], "EUR/MWh"),
        ("min(price[s] for s in T if pos(s) > 0)", "", [-5], "EUR/MWh"),
        ("sqrt(eff*eff)", "", [0.9], "1"),
        ("sqrt(cap['G1']*0.04[MW])", "", [20_000], "W"),
        ("sqrt(4[m^2/s^2])", "", [2], "m/s"),
        ("pos(t) // 2 + pos(t) % 2", "t in T", [0, 1, 1, 2], "1"),
        ("cap['G1']**2", "", [100], "kW^2"),
        ("prev(price[t], 1)", "t in T", [1, 30, -5, 10], "EUR/MWh"),
        ("prev(share[g, t], 9)", "g in Some; t in T", [9, 4, 3, 2, 9, 1, 2, 3], "1"),
        ("price[last(T)-2]", "", [-5], "EUR/MWh"),
        (
            "sum(price[s] for s in T if pos(t) - 1 <= pos(s) <= pos(t))",
            "t in T",
            [30, 25, 5, 50],
            "EUR/MWh",
        ),
        ("sum(cap[g] for g in G if fuel[g] == 'gas')", "", [100], "kW"),
        ("sum(1 for g in G if g not in ('G1', 'G2'))", "", [1], "1"),
        ("sum(pos(t) for t in T if price[t] > 999)", "", [0], "1"),
        ("cap['G1'] if price[t] > 0 else -cap['G2']", "t in T", [10, -50, 10, 10], "kW"),
    ],
)
def test_helpers_and_offsets(text: str, forall: str, expected: list[float], unit: str) -> None:
    values, found = worth(text, *[part for part in forall.split("; ") if part])
    assert values == pytest.approx(expected)
    assert found == unit


@pytest.mark.parametrize(
    ("condition", "forall", "expected"),
    [
        ("0 <= price[t] <= 30", "t in T", [1, 0, 1, 0]),
        ("t == first(T) or t == last(T)", "t in T", [1, 0, 0, 1]),
        ("t >= '2025-07-01T02:00+02:00'", "t in T", [0, 0, 1, 1]),
        ("t != dep['G1']", "t in T", [1, 0, 1, 1]),
        ("'01:00' <= clock(t) < '02:30'", "t in T", [0, 1, 1, 0]),
        ("fuel[g] == 'gas' and cap[g] > 0.02[MW]", "g in G", [0, 0, 1]),
        ("fuel[g] == fuel['G1']", "g in G", [1, 0, 1]),
        ("cap[g] in (0.05[MW], 90)", "g in G", [0, 1, 1]),
        ("u == 12", "u in U", [0, 0, 0, 1]),
        ("g == h", "g in Some; h in G", [0, 0, 1, 1, 0, 0]),
        ("out[t] >= 41[degF]", "t in T", [0, 1, 1, 1]),
    ],
)
def test_conditions(condition: str, forall: str, expected: list[int]) -> None:
    assert holds(condition, *forall.split("; ")) == [bool(value) for value in expected]


def test_night_shifts_wrap_at_midnight() -> None:
    core = {"sets": [NIGHT]}
    assert worth("hour(t)", "t in T", core=core)[0] == [22, 23, 0, 1]
    assert holds("clock(t) >= '22:00' or clock(t) < '01:00'", "t in T", core=core) == [True] * 3 + [
        False
    ]
    assert holds("t == '00:00+1d'", "t in T", core=core) == [False, False, True, False]
    assert holds("t == '00:00'", "t in T", core=core) == [False, False, True, False]


# --- units ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected", "unit"),
    [
        ("0.01[MW] + cap['G1']", 0.02, "MW"),
        ("5 - cap['G1']", -5, "kW"),
        ("0*1[kWh] + 3600[kW*s]", 1, "kWh"),
        ("1 - eff", 0.1, "1"),
        ("0*1[kW] + eff*cap['G1']", 9, "kW"),
        ("out[last(T)] - warm", -5, "K"),
        ("warm - 50[degF]", 18, "degF_diff"),
        ("2[K] + out[first(T)]", 2, "degC"),
        ("out[first(T)] - 5", -5, "degC"),
        ("cap['G1'] + (0 if pos(first(T)) == 0 else 6)", 10, "kW"),
        ("2[kWh] + (6 if pos(first(T)) > 0 else 0[MWh])", 2, "kWh"),
        ("-5[degC] - out[first(T)]", -5, "K"),
        ("cap['G1']/cap['G3']", 1 / 9, "1"),
    ],
)
def test_units_of_terms_convert_by_themselves(text: str, expected: float, unit: str) -> None:
    values, found = worth(text)
    assert values == pytest.approx([expected])
    assert found == unit


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("cap['G1'] + 1[kWh]", "EB005"),
        ("-warm", "EB007"),
        ("abs(warm)", "EB007"),
        ("sum(out[t] for t in T)", "EB007"),
        ("sqrt(cap['G1']**3)", "EB005"),
        ("1[panel] + 1[vehicle]", "EB005"),
        ("1[ct]", "EB006"),
    ],
)
def test_what_does_not_mix_is_refused(text: str, code: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        worth(text)
    assert caught.value.code == code


def test_an_exponent_counts_in_ones() -> None:
    found, unit = worth("2**(loss[i, j]*1) + 0*sum(price[t] for t in T)/1[EUR/MWh]", "(i, j) in A")
    assert found == pytest.approx([2**0.03, 2**0.04], rel=1e-12)
    assert unit == "1"
