"""Wrong schedules and wrong blueprints: each is caught at the level that should catch it."""

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import xarray as xr

from engiagent.blueprint.document import Blueprint
from engiagent.errors import InputError
from engiagent.verify.claims import Reading
from tests.verify import example
from tests.verify.example import check, statuses


@pytest.fixture(scope="module")
def solved() -> xr.Dataset:
    return example.solve()


@pytest.mark.parametrize(("name", "value"), [("charge", "nan"), ("soc", "nan"), ("charge", "inf")])
def test_what_is_no_finite_number_never_passes(
    tmp_path: Path, solved: xr.Dataset, name: str, value: str
) -> None:
    wrong = solved.copy(deep=True)
    wrong[name][4] = float(value)
    with pytest.raises(InputError, match=f"{name} is {value} at . = 2025-07-01T04:00"):
        check(example.make_problem(tmp_path), wrong, example.blueprint())


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
