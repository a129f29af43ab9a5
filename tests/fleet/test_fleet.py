"""A fleet is what its assets are one by one, and its summary is what its parts come to."""

import json
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from engiagent.cli.app import app
from engiagent.cli.exit_codes import ExitCode
from engiagent.cli.fleet import code_of
from engiagent.errors import InputError
from engiagent.fleet import Fleet, asking, open_plans, run_fleet, verify_fleet
from engiagent.fleet.results import SUMMARY, root
from engiagent.fleet.running import How
from engiagent.formulations.compile import compile_blueprint
from engiagent.plant.site import Site
from engiagent.scale import Spread
from engiagent.solvers.result import SolveOptions
from engiagent.solvers.solving import solve
from engiagent.verify.certificate import SEAL, seal_of
from tests.fleet.homes import whole, write

HERE = How(Spread(workers=0))
COLUMNS_OF_A_HOME = 61


def content(folder: Path) -> dict[str, bytes]:
    files = [*sorted((folder / "plans").glob("*.parquet")), folder / SUMMARY]
    return {str(file.relative_to(folder)): file.read_bytes() for file in files}


def test_an_asset_of_a_fleet_is_that_site_alone(tmp_path: Path) -> None:
    fleet = Fleet.load(write(tmp_path, 5))
    found = run_fleet(fleet, tmp_path / "out", HERE)
    assert found["counts"] == {"certified": 5}
    plans = open_plans(tmp_path / "out")
    size, power, factor = fleet.values[3]
    text = (tmp_path / "home.yaml").read_text()
    text = text.replace("energy_capacity: 10 kWh", f"energy_capacity: {size} kWh")
    text = text.replace("charge_power_max: 5 kW\n    dis", f"charge_power_max: {power} W\n    dis")
    text = text.replace("day.csv#load_kW", f"day.csv#load_kW * {factor}")
    (tmp_path / "one.yaml").write_text(text)
    alone = Site.load(tmp_path / "one.yaml").solve(progress=False)
    assert float(plans["objective"].sel(asset="home3")) == pytest.approx(alone.objective, rel=1e-9)
    assert float(plans["home_power"].sel(asset="home3")[1]) == pytest.approx(1.5 * factor)
    assert found["objective"]["value"] == pytest.approx(float(plans["objective"].sum()))
    assert list(plans["battery_charge"].dims) == ["asset", "T"]
    assert plans["T"][1] - plans["T"][0] == np.timedelta64(1, "h")
    assert verify_fleet(tmp_path / "out") == []


@pytest.mark.parametrize("limit", ["", "44 kW"])
def test_the_bytes_do_not_depend_on_the_workers_nor_on_a_cut(tmp_path: Path, limit: str) -> None:
    fleet = Fleet.load(write(tmp_path, 20, limit))
    run_fleet(fleet, tmp_path / "one", HERE)
    run_fleet(fleet, tmp_path / "two", How(Spread(workers=2)))
    assert content(tmp_path / "one") == content(tmp_path / "two")

    def stop(text: str) -> None:
        raise KeyboardInterrupt

    if limit:
        with pytest.raises(KeyboardInterrupt):
            run_fleet(fleet, tmp_path / "cut", How(Spread(workers=0), on_text=stop))
        run_fleet(fleet, tmp_path / "cut", HERE)
        assert content(tmp_path / "one") == content(tmp_path / "cut")


@pytest.mark.parametrize(("count", "limit"), [(3, "7.8 kW"), (12, "24 kW"), (30, "60 kW")])
@pytest.mark.parametrize("members", [1000, 5, 2])
def test_a_shared_limit_costs_what_one_large_programme_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count: int, limit: str, members: int
) -> None:
    """Whether all exchange at once, some of them, or two at a time and then prices decide."""
    monkeypatch.setattr(asking, "LARGEST", members * COLUMNS_OF_A_HOME)
    fleet = Fleet.load(write(tmp_path, count, limit))
    found = run_fleet(fleet, tmp_path / "out", HERE)
    best = whole(fleet)
    assert found["shared_limit"]["holds"]
    assert found["bound"]["value"] <= best + 1e-6 <= found["objective"]["value"] + 2e-6
    assert found["bound"]["gap"] <= 1e-3
    assert found["counts"] == {"feasible": count}
    plans = open_plans(tmp_path / "out")
    net = (plans["grid_import"] - plans["grid_export"]).sum("asset").to_numpy()
    assert net.max() <= float(limit.split()[0]) + 1e-6
    free = run_fleet(Fleet.load(write(tmp_path, count)), tmp_path / "free", HERE)
    assert found["objective"]["value"] > free["objective"]["value"] + 1e-3  # it binds
    assert verify_fleet(tmp_path / "out") == []


@pytest.mark.parametrize("spread", [Spread(workers=0), Spread(workers=1, seconds=60)])
def test_what_one_asset_can_give_reaches_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spread: Spread
) -> None:
    """One home has nearly all of the storage, and most never exchange with it."""
    monkeypatch.setattr(asking, "LARGEST", 2 * COLUMNS_OF_A_HOME)
    file = write(tmp_path, 1, "46 kW", "large,300,60000,1\n")
    rows = "".join(f"small{k},2.0,1000,{0.8 + 0.02 * k}\n" for k in range(20))
    (tmp_path / "homes.csv").write_text((tmp_path / "homes.csv").read_text() + rows)
    text = (tmp_path / "home.yaml").read_text()
    (tmp_path / "home.yaml").write_text(text.replace("power_max: 5 kW", "power_max: 60 kW"))
    fleet = Fleet.load(file)
    found = run_fleet(fleet, tmp_path / "out", How(spread))
    assert found["shared_limit"]["holds"]
    best = whole(fleet)
    assert found["bound"]["value"] <= best + 1e-6 <= found["objective"]["value"] + 2e-6
    assert found["bound"]["gap"] <= 1e-3
    assert verify_fleet(tmp_path / "out") == []


def test_a_limit_holds_for_what_no_row_of_the_table_changes(tmp_path: Path) -> None:
    write(tmp_path, 2, "9 kW")
    text = (tmp_path / "home.yaml").read_text().replace("grid.export[t] <=", "home.power[t] <=")
    (tmp_path / "home.yaml").write_text(text)
    with pytest.raises(InputError, match="depends on what the table fills; found street"):
        run_fleet(Fleet.load(tmp_path / "fleet.yaml"), tmp_path / "out", HERE)
    assert not (tmp_path / "out").exists()


def test_other_uses_of_highs_do_not_disturb_the_master(tmp_path: Path) -> None:
    blueprint = Site.load(write(tmp_path, 3, "7.8 kW").parent / "home.yaml").blueprint()
    program, options = compile_blueprint(blueprint, tmp_path), SolveOptions(threads=2)
    thread = Thread(target=solve, args=(program, options), kwargs={"isolate": False})
    thread.start()
    thread.join()
    assert run_fleet(Fleet.load(tmp_path / "fleet.yaml"), tmp_path / "out", HERE)["bound"]


def test_every_stop_has_plans_within_the_limit_and_a_proven_bound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(asking, "LARGEST", 4 * COLUMNS_OF_A_HOME)
    fleet = Fleet.load(write(tmp_path, 12, "24 kW"))
    best = whole(fleet)
    gaps = []
    for rounds in (1, 2, 9):
        found = run_fleet(fleet, tmp_path / "out", How(Spread(workers=0), rounds=rounds))
        assert found["shared_limit"]["holds"]
        assert found["bound"]["value"] <= best + 1e-6 <= found["objective"]["value"] + 2e-6
        gaps.append(found["bound"]["gap"])
    assert gaps == sorted(gaps, reverse=True)


@pytest.mark.parametrize("members", [1000, 2])
def test_a_limit_that_nothing_keeps_is_never_claimed_to_hold(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, members: int
) -> None:
    monkeypatch.setattr(asking, "LARGEST", members * COLUMNS_OF_A_HOME)
    fleet = Fleet.load(write(tmp_path, 3, "0.5 kW"))
    found = run_fleet(fleet, tmp_path / "out", How(Spread(workers=0), rounds=30))
    assert not found["shared_limit"]["holds"]
    assert found["bound"] is None
    assert "plans exceed it by up to 9" in found["notes"][-1]
    assert set(found["counts"]) == {"no answer"}


def test_a_limit_below_what_all_need_together_is_proven_to_be_that(tmp_path: Path) -> None:
    """Just above the least limit that one large programme takes there are plans."""

    def planned(limit: float) -> Any:
        fleet = Fleet.load(write(tmp_path, 4, f"{limit!r} kW"))
        return run_fleet(fleet, tmp_path / "out", How(Spread(workers=0), force=True))

    least, most = 0.0, 20.0
    while most - least > 1e-3:
        middle = (least + most) / 2
        try:
            whole(Fleet.load(write(tmp_path, 4, f"{middle!r} kW")))
        except AssertionError:
            least = middle
        else:
            most = middle
    assert planned(most * 1.001)["shared_limit"]["holds"]
    found = planned(least * 0.999)
    assert found["shared_limit"]["clash"]["is_proven"]
    assert code_of(found) == ExitCode.INFEASIBLE
    assert verify_fleet(tmp_path / "out") == []
    found["shared_limit"]["clash"]["needs"] += 1
    (tmp_path / "out" / SUMMARY).write_text(json.dumps(found))
    assert any("shared limit" in text for text in verify_fleet(tmp_path / "out"))


def test_assets_that_do_not_answer_are_named_and_left_out(tmp_path: Path) -> None:
    rows = "broken,1.0,3000,1.0\n"  # it holds less than it begins with
    for limit in ("", "12 kW"):
        fleet = Fleet.load(write(tmp_path, 5, limit, rows))
        found = run_fleet(fleet, tmp_path / f"out{limit}", HERE)
        assert [row["asset"] for row in found["unanswered"]] == ["broken"]
        assert "cannot hold together: battery_initial" in found["unanswered"][0]["reason"]
        assert found["assets"] == 6
        assert found["counts"]["no answer"] == 1
        assert verify_fleet(tmp_path / f"out{limit}") == []
        assert np.isnan(open_plans(tmp_path / f"out{limit}")["objective"].sel(asset="broken"))
    assert found["shared_limit"]["holds"]


def test_a_changed_row_is_the_only_one_that_is_planned_again(tmp_path: Path) -> None:
    write(tmp_path, 20)
    run_fleet(Fleet.load(tmp_path / "fleet.yaml"), tmp_path / "out", HERE)
    before = (tmp_path / "out" / "plans" / "part-00000.parquet").read_bytes()
    text = (tmp_path / "homes.csv").read_text().splitlines()
    text[4] = "home3,9.99,3000,1.0"
    (tmp_path / "homes.csv").write_text("\n".join(text) + "\n")
    how = How(Spread(workers=1, seconds=60))
    run_fleet(Fleet.load(tmp_path / "fleet.yaml"), tmp_path / "out", how)
    assert (tmp_path / "out" / "plans" / "part-00000.parquet").read_bytes() != before


@pytest.mark.parametrize("forged", ["grid_import", "certificate", "bound", "summary", "taken"])
def test_what_is_forged_is_found(tmp_path: Path, forged: str) -> None:
    out = tmp_path / "out"
    run_fleet(Fleet.load(write(tmp_path, 4, "10 kW")), out, HERE)
    assert verify_fleet(out) == []
    if forged == "summary":
        stated = json.loads((out / SUMMARY).read_text())
        stated["objective"]["value"] -= 1
        (out / SUMMARY).write_text(json.dumps(stated))
        assert verify_fleet(out)[0] == "the seal of the summary"
        assert "objective" in verify_fleet(out)[1]
        (out / SUMMARY).unlink()  # as after a kill
        with pytest.raises(InputError, match="cut off before its end"):
            verify_fleet(out)
        return
    change: Any = {
        "grid_import": lambda v: [x + 5 for x in v],
        "certificate": lambda v: v.replace('"feasible"', '"certified"'),
        "bound": lambda v: v + 1,
        "taken": lambda v: [0.0] * len(v),
    }[forged]
    for file in (out / "plans").glob("*.parquet"):
        table = pq.read_table(file)
        field = table.schema.field(forged)
        values = pa.array([change(value) for value in table[forged].to_pylist()], field.type)
        place = table.column_names.index(forged)
        table = table.set_column(place, field, values)
        if forged == "taken":  # and sealed again
            rows = [{k: v for k, v in row.items() if k != SEAL} for row in table.to_pylist()]
            table = pa.Table.from_pylist([r | {SEAL: seal_of(r)} for r in rows], table.schema)
        pq.write_table(table, file)
    assert any("home0" in text for text in verify_fleet(out))


def test_the_tree_depends_on_every_leaf_and_on_their_order() -> None:
    leaves = [str(k) * 64 for k in range(7)]
    swapped = [leaves[1], leaves[0], *leaves[2:]]
    assert len({root(leaves), root(leaves[:-1]), root(swapped), root(leaves[:1]), root([])}) == 5


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("template: home.yaml", "plant: home.yaml", "this is no fleet"),
        ("assets: homes.csv", "assets: other.csv", "other.csv is not there"),
        ("title: Homes", "columns: {battery.size: home.power*}", "this is no fleet"),
        ("title: Homes", "title: Homes\nshared_limit: road", "no such requirement; found road"),
        ("title: Homes", "title: Homes\nshared_limit: {of: 3 kW}", "a requirement of the template"),
    ],
)
def test_wrong_fleets_are_refused(tmp_path: Path, old: str, new: str, words: str) -> None:
    file = write(tmp_path, 2)
    file.write_text(file.read_text().replace(old, new))
    with pytest.raises(InputError, match=words):
        run_fleet(Fleet.load(file), tmp_path / "out", HERE)


@pytest.mark.parametrize(
    ("requirement", "words"),
    [
        ("grid.import[t] == 30 kW", "no limit on one side"),
        ("grid.import[t] <= 30 kW, penalty: 0.01 EUR/kW", "cannot be broken at a price"),
        ("grid.import[t] <= 30 kW, where: hour(t) > 30", "holds in no period"),
    ],
)
def test_what_assets_cannot_share_is_refused(tmp_path: Path, requirement: str, words: str) -> None:
    file = write(tmp_path, 2, "1 kW")
    text = (tmp_path / "home.yaml").read_text()
    old = 'must: "grid.import[t] - grid.export[t] <= 1 kW"'
    must, *more = requirement.split(", ")
    (tmp_path / "home.yaml").write_text(text.replace(old, ", ".join([f'must: "{must}"', *more])))
    with pytest.raises(InputError, match=words):
        run_fleet(Fleet.load(file), tmp_path / "out", HERE)


@pytest.mark.parametrize("factor", [1.0, 1e-7, 1e5])
def test_a_bid_is_kept_by_all_and_owed_by_none_alone(tmp_path: Path, factor: float) -> None:
    """One store delivers what the others cannot; the measure of the limit does not matter."""
    file = write(tmp_path, 3, "1 kW", "large,300,60000,1\n")
    text = (tmp_path / "home.yaml").read_text().replace("power_max: 5 kW", "power_max: 60 kW")
    old = "grid.import[t] - grid.export[t] <= 1 kW"
    text = text.replace("for: t in T, must", "for: t in T, where: pos(t) == 5, must")
    new = f"{factor!r} * (grid.export[t] - grid.import[t]) >= {30 * factor!r} kW"
    (tmp_path / "home.yaml").write_text(text.replace(old, new))
    fleet = Fleet.load(file)
    found = run_fleet(fleet, tmp_path / "out", HERE)
    assert found["shared_limit"]["holds"]
    assert found["counts"] == {"feasible": 4}
    assert "street" not in found["margins"]
    best = whole(fleet)
    small = 1e-6 * abs(best)
    assert found["bound"]["value"] <= best + small <= found["objective"]["value"] + 2 * small
    plans = open_plans(tmp_path / "out")
    sold = (plans["grid_export"] - plans["grid_import"]).isel(T=5)
    assert float(sold.sum()) >= 30 * (1 - 1e-6)
    assert float(sold.sel(asset="home0")) < 30
    assert verify_fleet(tmp_path / "out") == []


@pytest.mark.parametrize(
    ("columns", "cells", "words"),
    [
        ("battery.energy_capacity [kWh],battery.energy_capacity*", "8,2", "two columns fill"),
        (
            "battery.energy_capacity",
            "8",
            r"^homes\.csv: .* has no unit; .* expected battery.energy_capacity",
        ),
        (
            "battery.energy_capacity [kW]",
            "8",
            r"^homes\.csv: .*; found battery.energy_capacity \[kW\]; expected .* kWh$",
        ),
        ("battery.energy_capacty [kWh]", "8", r"^homes\.csv: a battery has no energy_capacty"),
        ("batery.energy [kWh]", "8", r"^homes\.csv: there is no parameter batery\.energy"),
    ],
)
def test_columns_that_could_be_misread_are_refused(
    tmp_path: Path, columns: str, cells: str, words: str
) -> None:
    file = write(tmp_path, 2)
    (tmp_path / "homes.csv").write_text(f"asset,{columns}\na,{cells}\n")
    with pytest.raises(InputError, match=words):
        run_fleet(Fleet.load(file), tmp_path / "out", HERE)


def test_a_share_without_a_unit_is_one(tmp_path: Path) -> None:
    write(tmp_path, 1)
    found = []
    for header, value in (("", 0.5), (" [%]", 50)):
        cells = f"asset,battery.charge_efficiency{header}\na,{value}\n"
        (tmp_path / "homes.csv").write_text(cells)
        fleet = Fleet.load(str(tmp_path / "fleet.yaml"))
        found.append(run_fleet(fleet, tmp_path / f"out{value}", HERE)["objective"]["value"])
    assert found[0] == pytest.approx(found[1])


def test_folders_of_somebody_else_are_left_alone(tmp_path: Path) -> None:
    fleet, out = Fleet.load(write(tmp_path, 2)), tmp_path / "out"
    (out / "plans").mkdir(parents=True)
    (out / "plans" / "house.dwg").write_text("mine")
    with pytest.raises(InputError, match="the folder is not empty"):
        run_fleet(fleet, out, HERE)
    run_fleet(fleet, out, How(Spread(workers=0), force=True))
    assert (out / "plans" / "house.dwg").read_text() == "mine"
    (tmp_path / "other").mkdir()
    with pytest.raises(InputError, match="holds another fleet"):
        run_fleet(Fleet.load(write(tmp_path / "other", 1)), out, HERE)


def test_names_stand_once(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"homes\.csv:4:.*stands twice"):
        Fleet.load(write(tmp_path, 2, "", "home0,5,3000,1\n"))


def test_the_command_plans_and_verifies(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def code(*words: str) -> int:
        with pytest.raises(SystemExit) as ended:
            app.main(["fleet", *words])
        return int(ended.value.code or 0)

    out = str(tmp_path / "out")
    assert code(str(write(tmp_path, 3, "7.8 kW")), "--out", out, "--json") == 0
    assert json.loads(capsys.readouterr().out)["shared_limit"]["holds"]
    assert code(out) == 0
    assert "the summary is what its plans" in capsys.readouterr().err
    (tmp_path / "out" / "plans" / "part-00000.parquet").unlink()
    assert code(out) == 1
    assert code(str(tmp_path)) == 2
