"""Wrong schedules and wrong blueprints: each is caught at the level that should catch it."""

import copy
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

from engiagent.blueprint.document import Blueprint
from engiagent.errors import InputError
from engiagent.verify.claims import Reading
from tests.verify import example
from tests.verify.example import accused, check, statuses
from tests.written import listing


@pytest.fixture(scope="module")
def solved() -> xr.Dataset:
    return example.solve()


def test_an_untouched_run_is_proven_best_and_accused_of_nothing(
    tmp_path: Path, solved: xr.Dataset
) -> None:
    certificate = check(example.make_problem(tmp_path), solved, example.blueprint())
    # Nobody but the blueprint's author has read the text.
    assert (certificate.verdict, certificate.plan["optimum"]) == ("solved", "recomputed")
    assert certificate.violations == ()
    assert statuses(certificate) == dict.fromkeys(
        ("data", "algebra", "physics", "optimality"), "pass"
    )
    assert certificate.bound is not None
    assert abs(certificate.bound["gap"]) < 1e-9
    assert certificate.bound["method"] == "dual bound recomputed from the duals"


def over_power(ds: xr.Dataset) -> None:
    ds["charge"][3] = 41.2


def state_off(ds: xr.Dataset) -> None:
    ds["soc"][1:] = ds["soc"][1:] * 1.01


def from_nowhere(ds: xr.Dataset) -> None:
    ds["soc"][10:] = ds["soc"][10:] + 0.5


def both_ways(ds: xr.Dataset) -> None:
    # Both at once, with the state that physics gives: only the direction is wrong.
    hour = int(np.argmax((ds["charge"].values == 0) & (ds["discharge"].values == 0)))
    ds["charge"][hour] += 10.0
    ds["discharge"][hour] += 10.0 * example.ETA**2


def below_minimum(ds: xr.Dataset) -> None:
    ds["soc"][5] = -0.2


def false_objective(ds: xr.Dataset) -> None:
    ds.attrs["objective"] *= 1.001


def no_number(ds: xr.Dataset) -> None:
    ds.attrs["objective"] = float("nan")


@pytest.mark.parametrize(
    ("fault", "level"),
    [
        (over_power, "algebra"),
        (over_power, "physics"),
        (state_off, "physics"),
        (from_nowhere, "physics"),
        (both_ways, "physics"),
        (below_minimum, "algebra"),
        (false_objective, "algebra"),
        (no_number, "algebra"),
    ],
)
def test_a_wrong_schedule_is_caught(
    tmp_path: Path, solved: xr.Dataset, fault: Callable[[xr.Dataset], None], level: str
) -> None:
    wrong = solved.copy(deep=True)
    fault(wrong)
    certificate = check(example.make_problem(tmp_path), wrong, example.blueprint())
    assert certificate.verdict == "violated"
    assert level in accused(certificate)
    assert statuses(certificate)[level] == "fail"


def test_a_violation_says_where_and_how_much(tmp_path: Path, solved: xr.Dataset) -> None:
    wrong = solved.copy(deep=True)
    over_power(wrong)
    certificate = check(example.make_problem(tmp_path), wrong, example.blueprint())
    violation = next(v for v in certificate.violations if v["check"] == "bounds:charge")
    assert violation["where"] == {"t": "2025-07-01T03:00"}
    assert violation["amount"] == pytest.approx(1.2)
    assert violation["unit"] == "kW"


@pytest.mark.parametrize("name", ["charge", "soc"])
def test_nan_in_a_series_never_passes(tmp_path: Path, solved: xr.Dataset, name: str) -> None:
    wrong = solved.copy(deep=True)
    wrong[name][4] = float("nan")
    with pytest.raises(InputError, match=f"{name} is nan at . = 2025-07-01T04:00"):
        check(example.make_problem(tmp_path), wrong, example.blueprint())


@pytest.mark.parametrize("name", ["dual__dynamics", "dual__initial"])
def test_nan_in_a_multiplier_costs_the_bound_or_leaves_it_true(
    tmp_path: Path, solved: xr.Dataset, name: str
) -> None:
    wrong = solved.copy(deep=True)
    wrong[name][...] = float("nan")
    certificate = check(example.make_problem(tmp_path), wrong, example.blueprint())
    # Multipliers that mean nothing are replaced by others; the bound stays the true one.
    assert (certificate.verdict, certificate.plan["optimum"]) == ("solved", "recomputed")
    assert certificate.bound is not None
    assert certificate.bound["value"] == pytest.approx(float(solved.attrs["objective"]), rel=1e-6)


def test_times_of_another_day_are_refused(tmp_path: Path, solved: xr.Dataset) -> None:
    shifted = solved.assign_coords(
        T=solved["T"] + np.timedelta64(1, "h"), I=solved["I"] + np.timedelta64(1, "h")
    )
    with pytest.raises(InputError, match="its first row begins 60 min after T"):
        check(example.make_problem(tmp_path), shifted, example.blueprint())


# --- wrong blueprints --------------------------------------------------------------------------


def edited(change: Callable[[dict[str, Any]], None]) -> Blueprint:
    data = copy.deepcopy(example.blueprint_dict())
    change(data["core_model_elements"])
    return example.blueprint(data=data)


def parameter(core: dict[str, Any], name: str) -> dict[str, Any]:
    found: dict[str, Any] = next(p for p in core["parameters"] if p["name"] == name)
    return found


def use(core: dict[str, Any], expression: str) -> None:
    core["constraints"].append({"constraint_id": "also", "expression": expression})


def altered_number(core: dict[str, Any]) -> None:
    parameter(core, "E_max")["value"] = 110


def swapped_unit(core: dict[str, Any]) -> None:
    parameter(core, "P_max")["unit"] = "kWh"


def altered_price(core: dict[str, Any]) -> None:
    price = parameter(core, "price")
    del price["data"]
    price["value"] = [*map(float, example.prices(24))]
    price["value"][5] += 1.0


def altered_quote(core: dict[str, Any]) -> None:
    parameter(core, "P_max")["source_reference"]["quote"] = "45 kW"


def altered_literal(core: dict[str, Any]) -> None:
    core["constraints"][2]["expression"] = "soc[last(I)] >= 20[kWh]"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (altered_number, "110 kWh in the blueprint, the problem says 100 kWh"),
        (swapped_unit, "40 kWh in the blueprint, the problem says 40 kW"),
        (altered_quote, "'40 kW', not '45 kW'"),
        (altered_literal, "20 kWh stands in .* its source says 30 kWh"),
    ],
)
def test_a_wrong_number_in_a_blueprint_is_caught_at_the_data(
    tmp_path: Path, solved: xr.Dataset, change: Callable[[dict[str, Any]], None], words: str
) -> None:
    certificate = check(example.make_problem(tmp_path), solved, edited(change))
    assert certificate.verdict == "violated"
    messages = [v["message"] for v in certificate.violations if v["level"] == "data"]
    assert len(messages) == 1
    assert re.search(words, messages[0])


def test_a_price_copied_wrongly_from_its_file_is_caught(tmp_path: Path, solved: xr.Dataset) -> None:
    certificate = check(example.make_problem(tmp_path), solved, edited(altered_price))
    assert certificate.verdict == "violated"
    assert "data" in accused(certificate)


def test_a_requirement_that_is_dropped_is_named(tmp_path: Path, solved: xr.Dataset) -> None:
    def drop(core: dict[str, Any]) -> None:
        core["constraints"] = core["constraints"][:2]
        core["parameters"] = [
            p for p in core["parameters"] if p["name"] not in ("E_start", "E_end")
        ] + [{"name": "E_start", "value": 30, "unit": "kWh"}]

    certificate = check(example.make_problem(tmp_path), solved, edited(drop))
    assert certificate.verdict == "solved"
    assert any("at least 30 kWh" in item for item in certificate.reading["open"])


def test_an_untraced_number_and_an_unverified_derivation_do_not_pass(
    tmp_path: Path, solved: xr.Dataset
) -> None:
    for source in (None, "from the text", {"kind": "derived", "of": example.spot("90 %")}):

        def change(core: dict[str, Any], source: Any = source) -> None:
            parameter(core, "eta")["source_reference"] = source
            if source is None:
                del parameter(core, "eta")["source_reference"]

        certificate = check(example.make_problem(tmp_path), solved, edited(change))
        assert statuses(certificate)["data"] == "unchecked"
        assert certificate.verdict == "solved"
        assert any("eta" in item for item in certificate.reading["open"])


def test_an_assumption_is_listed_and_a_missing_value_makes_it_ill_posed(
    tmp_path: Path, solved: xr.Dataset
) -> None:
    def assume(core: dict[str, Any]) -> None:
        core["parameters"].append(
            {
                "name": "wear",
                "value": 2,
                "unit": "EUR/MWh",
                "source_reference": {"kind": "assumption", "reason": "usual for such cells"},
            }
        )
        use(core, "wear*soc[first(I)] >= 0")

    def miss(core: dict[str, Any]) -> None:
        core["parameters"].append({"name": "wear", "status": "missing", "unit": "EUR/MWh"})

    problem = example.make_problem(tmp_path)
    assumed, missing = (check(problem, solved, edited(change)) for change in (assume, miss))
    assert assumed.verdict == "solved"
    assert "usual for such cells" in str(assumed.levels["data"]["assumptions"])
    assert missing.verdict == "ill-posed"
    assert missing.missing == ("wear",)
    unsolved = check(problem, None, edited(miss))
    assert (unsolved.verdict, unsolved.missing) == ("ill-posed", ("wear",))
    assert statuses(unsolved)["data"] == "pass"


def test_a_limit_that_is_written_down_but_limits_nothing_is_found(
    tmp_path: Path, solved: xr.Dataset
) -> None:
    def drop(core: dict[str, Any]) -> None:
        core["constraints"] = core["constraints"][:2]

    certificate = check(example.make_problem(tmp_path), solved, edited(drop))
    assert certificate.verdict != "certified"
    assert "E_end is written down but used nowhere" in certificate.levels["data"]["findings"]


def test_a_named_expression_with_other_values_is_caught(tmp_path: Path, solved: xr.Dataset) -> None:
    def name(core: dict[str, Any]) -> None:
        core["expressions"] = listing("""
            [{name: net, index: [t in T], expression: "discharge[t] - charge[t]", unit: kW}]
        """)

    problem, blueprint = example.make_problem(tmp_path), edited(name)
    net = (solved["discharge"] - solved["charge"]).assign_attrs(units="kW")
    right, wrong = solved.assign(net=net), solved.assign(net=(net + 0.1).assign_attrs(units="kW"))
    assert check(problem, right, blueprint).verdict == "solved"
    caught = check(problem, wrong, blueprint)
    assert {violation["check"] for violation in caught.violations} == {"expression:net"}


def test_infeasibility_counts_only_when_ray_and_data_both_hold(
    tmp_path: Path, solved: xr.Dataset
) -> None:
    def too_much(core: dict[str, Any], traced: bool = True) -> None:
        # The end asks for more than the battery can hold.
        core["constraints"].append(
            {"constraint_id": "more", "expression": "soc[last(I)] >= E_max + E_start"}
        )
        if not traced:
            parameter(core, "E_max")["source_reference"] = "somewhere"

    claim = xr.Dataset({"farkas__more": ((), 1.0)}, attrs={"status": "infeasible"})
    wrong = xr.Dataset({"farkas__more": ((), -1.0)}, attrs={"status": "infeasible"})
    problem = example.make_problem(tmp_path)
    proven = check(problem, claim, edited(too_much), reading=Reading("confirmed", "another"))
    assert proven.verdict == "proven infeasible"
    alone = check(problem, claim, edited(too_much))
    assert (alone.verdict, alone.plan["holds"]) == ("undecided", "pass")
    assert [c["constraint"] for c in proven.levels["optimality"]["conflict"]] == ["more"]
    assert check(problem, wrong, edited(too_much)).verdict == "undecided"
    untraced = check(problem, claim, edited(lambda core: too_much(core, traced=False)))
    assert untraced.verdict == "undecided"
