"""Certificates are verified again from the stored inputs; a change of either is told."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from engiagent.io.jsontext import dumps_canonical
from engiagent.verify.certificate import SEAL, certificate_schema, seal_of
from tests.cli.asking import invoke

PROBLEM = Path(__file__).parents[2] / "problems" / "battery" / "merchant_day"


def verify(run: Path, *more: object) -> tuple[int, dict[str, Any]]:
    result = invoke("check", "--certificate", run / "certificate.json", *more, "--json")
    return result.exit_code, json.loads(result.stdout)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "run"
    assert invoke("run", PROBLEM, "--out", folder).exit_code == 0
    return folder


@pytest.fixture
def run(finished: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(finished, tmp_path / "elsewhere" / "run"))


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the paths of all plain values."""
    if isinstance(value, dict):
        return [p for key, item in value.items() for p in places(item, (*path, key))]
    if isinstance(value, list):
        return [p for k, item in enumerate(value) for p in places(item, (*path, k))]
    return [path]


def changed(value: Any) -> Any:
    if isinstance(value, bool) or value is None:
        return "something"
    if isinstance(value, int | float):
        return np.nextafter(value, np.inf).item() if isinstance(value, float) else value + 1
    return value + "x"


def test_a_certificate_is_verified_wherever_its_folder_lies(run: Path) -> None:
    code, found = verify(run)
    assert (code, found["verified"], found["differences"]) == (0, True, [])
    stored = json.loads((run / "certificate.json").read_text())
    Draft202012Validator(certificate_schema()).validate(stored)


def test_the_schema_is_printed() -> None:
    printed = json.loads(invoke("schema", "--certificate").stdout)
    assert printed == certificate_schema()
    Draft202012Validator.check_schema(printed)


@settings(max_examples=25)
@given(data=st.data())
def test_a_certificate_with_any_value_changed_does_not_verify(
    finished: Path, data: st.DataObject
) -> None:
    path = finished / "certificate.json"
    whole = path.read_text()
    stored = json.loads(whole)
    place = data.draw(st.sampled_from(places(stored)))
    at = stored
    for key in place[:-1]:
        at = at[key]
    at[place[-1]] = changed(at[place[-1]])
    try:
        path.write_text(dumps_canonical(stored))
        result = invoke("check", "--certificate", path, "--json")
    finally:
        path.write_text(whole)
    assert result.exit_code in (1, 2)
    found = json.loads(result.stdout)
    assert not found.get("verified", False)


def test_a_certificate_sealed_again_after_a_change_does_not_verify(run: Path) -> None:
    path = run / "certificate.json"
    stored = json.loads(path.read_text())
    stored["objective"]["value"] += 0.01
    stored[SEAL] = seal_of({key: value for key, value in stored.items() if key != SEAL})
    path.write_text(dumps_canonical(stored))
    code, found = verify(run)
    assert code == 1
    assert [d["place"] for d in found["differences"]] == ["$.objective.value"]


def test_rounding_and_versions_of_another_machine_are_told_and_allowed(run: Path) -> None:
    path = run / "certificate.json"
    stored = json.loads(path.read_text())
    stored["objective"]["value"] *= 1 + 1e-14
    stored["versions"]["numpy"] = "2.0.0"
    stored[SEAL] = seal_of({key: value for key, value in stored.items() if key != SEAL})
    path.write_text(dumps_canonical(stored))
    code, found = verify(run)
    assert (code, found["verified"]) == (0, True)
    assert {d["place"] for d in found["differences"]} == {"$.objective.value", "$.versions.numpy"}


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


def bump(path: Path, variable: str) -> None:
    dataset = xr.load_dataset(path)
    dataset[variable].values.flat[3] += 1e-9
    dataset.to_netcdf(path)


def dearer(path: Path) -> None:
    lines = path.read_text().splitlines(keepends=True)
    lines[5] = lines[5].rstrip() + "1\n"
    path.write_text("".join(lines))


CHANGES: dict[str, tuple[Callable[[Path], None], str]] = {
    "text": (lambda run: edit(run / "problem" / "problem.md", "8 MW", "9 MW"), "$.inputs"),
    "data": (lambda run: dearer(run / "problem" / "day_ahead.csv"), "$.inputs"),
    "requirement": (
        lambda run: edit(run / "problem" / "expert" / "requirements.yaml", "0.96", "0.97"),
        "$.inputs.requirements",
    ),
    "blueprint": (
        lambda run: edit(run / "blueprint.json", "energy when full", "energy if full"),
        "$.inputs.blueprint",
    ),
    "schedule": (lambda run: bump(run / "solution.nc", "battery_charge"), "$.inputs.schedule"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_certificate_does_not_verify_with_a_changed_input(run: Path, name: str) -> None:
    change, place = CHANGES[name]
    change(run)
    code, found = verify(run)
    assert (code, found["verified"]) == (1, False)
    assert any(str(d["place"]).startswith(place) for d in found["differences"])


def test_the_same_inputs_elsewhere_verify_and_others_do_not(run: Path, tmp_path: Path) -> None:
    certificate = shutil.copy(run / "certificate.json", tmp_path / "received.json")
    result = invoke("check", run, "--certificate", certificate, "--json")
    assert (result.exit_code, json.loads(result.stdout)["verified"]) == (0, True)
    other = tmp_path / "other"
    office = PROBLEM.parents[1] / "thermal" / "office_heat_pump"
    assert invoke("run", office, "--out", other).exit_code == 0
    assert invoke("check", other, "--certificate", certificate).exit_code == 1


@pytest.mark.parametrize("content", ["", "{}", "[1]", '{"schema": "engiagent-certificate/2"}'])
def test_what_is_no_certificate_is_refused_by_name(run: Path, content: str) -> None:
    (run / "certificate.json").write_text(content)
    result = invoke("check", "--certificate", run / "certificate.json")
    assert result.exit_code == 2
    assert "certificate.json" in result.stderr
    assert "Traceback" not in result.output
    assert invoke("check", "--certificate", run / "absent.json").exit_code == 2


def test_the_check_of_a_foreign_schedule_can_be_kept_and_verified(
    finished: Path, tmp_path: Path
) -> None:
    solution = xr.load_dataset(finished / "solution.nc")
    table = solution[["battery_charge", "battery_discharge"]].to_dataframe()
    table = table.rename(columns={"battery_charge": "P_in", "battery_discharge": "P_out"})
    schedule = tmp_path / "plan.csv"
    table.reset_index(drop=True).to_csv(schedule, index=False)
    out = tmp_path / "kept"
    columns = ("--map", "battery.charge=P_in", "--map", "battery.discharge=P_out")
    made = invoke("check", PROBLEM, "--solution", schedule, *columns, "--out", out, "--json")
    assert made.exit_code == 0, made.output
    moved = shutil.move(out, tmp_path / "moved")
    code, found = verify(Path(moved))
    assert (code, found["verified"]) == (0, True)
    edit(Path(moved) / "schedule.csv", "\n", "\n\n")
    text = (Path(moved) / "schedule.csv").read_text().splitlines()
    text[-1] = "5.0,0.0"
    (Path(moved) / "schedule.csv").write_text("\n".join(t for t in text if t) + "\n")
    assert verify(Path(moved))[0] == 1
    assert invoke("check", PROBLEM, "--solution", schedule, *columns, "--out", moved).exit_code == 2
