"""One plan, written as many tools write plans: it is read alike, or refused with its place."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from engiagent.blueprint.document import Blueprint
from engiagent.errors import InputError
from engiagent.io.plainyaml import loads_yaml
from engiagent.verify.certificate import Certificate
from engiagent.verify.foreign import Reading, load_mapping
from tests.verify.small import document

N = 24
RNG = np.random.default_rng(3)
CHARGE = np.round(np.where(np.arange(N) % 2 == 0, RNG.uniform(0.5, 9.5, N), 0.0), 3)
DISCHARGE = np.round(np.where(np.arange(N) % 2 == 1, RNG.uniform(0.5, 4.5, N), 0.0), 3)
ENERGY = 100.0 + np.concatenate(([0.0], np.cumsum(CHARGE - DISCHARGE)))
HOURS = pd.date_range("2025-07-01", periods=N, freq="h")


PLANT = """
sets:
- {name: T, kind: time, start: START, step: STEP, periods: PERIODS}
- {name: I, kind: instants, of: T}
variables:
- {name: charge, index: [t in T], lower: 0, upper: 10, unit: kW, quantity: battery.charge}
- {name: discharge, index: [t in T], lower: 0, upper: 10, unit: kW, quantity: battery.discharge}
- {name: soc, index: [i in I], lower: 0, upper: 400, unit: kWh, role: state,
   quantity: battery.state_of_charge}
constraints:
- {constraint_id: dynamics, forall: [t in T],
   expression: "soc[t+1] == soc[t] + (charge[t] - discharge[t])*dt(t)"}
- {constraint_id: initial, expression: "soc[first(I)] == 100[kWh]"}
objective: {sense: minimize, unit: kWh, expression: "sum(charge[t]*dt(t) for t in T)"}
components:
- {name: battery, model: battery, index: T, expanded: true,
   parameters: {energy_capacity: "400[kWh]", initial_energy: "100[kWh]",
                charge_power_max: "10[kW]", discharge_power_max: "10[kW]"}}
"""


def plant(
    start: str = "2025-07-01T00:00", periods: int = N, zone: str | None = None, step: str = "1 h"
) -> Blueprint:
    text = PLANT.replace("PERIODS", str(periods)).replace("STEP", step)
    core = loads_yaml(text.replace("START", f'"{start}"'), "plant")
    core["sets"][0] |= {} if zone is None else {"zone": zone}
    return document(**core)


def told(path: Path, blueprint: Blueprint | None = None, **reading: Any) -> Certificate:
    from engiagent.run.certify import certify

    asked = Reading(**reading)
    return certify(None, path, blueprint or plant(), folder=path.parent, name="f", mapping=asked)


def assert_the_plan(certificate: Certificate) -> None:
    assert not certificate.violations, certificate.violations
    assert certificate.objective is not None
    assert certificate.objective["value"] == pytest.approx(float(CHARGE.sum()), rel=1e-12)
    assert certificate.levels["algebra"]["status"] == "pass"


def rows(form: str, head: str, stamps: Any = HOURS, form_of_time: str = "%Y-%m-%d %H:%M") -> str:
    lines = [
        form.format(t=t.strftime(form_of_time), c=c, d=d)
        for t, c, d in zip(stamps, CHARGE, DISCHARGE, strict=True)
    ]
    return "\n".join([head, *lines]) + "\n"


def comma(text: str) -> str:
    return text.replace(".", ",")


FILES: dict[str, tuple[str | bytes, dict[str, Any]]] = {
    "plain": (rows("{t},{c},{d}", "time,charge,discharge"), {}),
    "quantities": (rows("{t},{c},{d}", "time,battery.charge,battery.discharge"), {}),
    "other spelling": (rows("{t},{c},{d}", "Timestamp,Battery Charge,BATTERY_DISCHARGE"), {}),
    "mapped": (
        rows("{t},{c},{d}", "time,P_ch,P_dis"),
        {"mapping": {"battery.charge": "P_ch", "discharge": "P_dis"}},
    ),
    "byte order mark": ("\ufeff" + rows("{t},{c},{d}", "time,charge,discharge"), {}),
    "carriage returns": (rows("{t},{c},{d}", "time,charge,discharge").replace("\n", "\r\n"), {}),
    "units in headers": (comma(rows("{t};{c};{d}", "time;charge [kW];discharge (kW)")), {}),
    "decimal commas": (comma(rows("{t};{c};{d}", "time;charge;discharge")), {"decimal": ","}),
    "comments": ("# made by hand\n" + rows("{t},{c},{d}", "time,charge,discharge"), {}),
    "a text beside it": (rows("{t},{c},{d},fine", "time,charge,discharge,remark"), {}),
    "offsets": (rows("{t}+00:00,{c},{d}", "time,charge,discharge"), {}),
    "days first": (rows("{t},{c},{d}", "Zeit,charge,discharge", HOURS, "%d.%m.%Y %H:%M"), {}),
    "an index without a title": (rows("{t},{c},{d}", ",charge,discharge"), {}),
    "ends of periods": (
        rows("{t},{c},{d}", "time,charge,discharge", HOURS + pd.Timedelta("1h")),
        {"labels": "end"},
    ),
    "numbered": (
        "period,charge,discharge\n"
        + "\n".join(
            f"{k + 1},{c},{d}" for k, (c, d) in enumerate(zip(CHARGE, DISCHARGE, strict=True))
        ),
        {},
    ),
    "net, turned": (
        "time,P\n"
        + "\n".join(f"{t},{c - d}" for t, c, d in zip(HOURS, CHARGE, DISCHARGE, strict=True)),
        {"mapping": {"battery.net_discharge": "-P"}},
    ),
    "a whole month": (
        "time,charge,discharge\n"
        + "\n".join(
            f"{t},{CHARGE[k % 24] if k // 24 == 1 else 1},"
            f"{DISCHARGE[k % 24] if k // 24 == 1 else 0}"
            for k, t in enumerate(pd.date_range("2025-06-30", periods=72, freq="h"))
        ),
        {},
    ),
}


@pytest.mark.parametrize("kind", FILES)
def test_a_text_table_is_read_as_it_was_meant(tmp_path: Path, kind: str) -> None:
    content, reading = FILES[kind]
    path = tmp_path / "plan.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    assert_the_plan(told(path, **reading))


@pytest.mark.parametrize(("unit", "factor"), [("MW", 1e-3), ("W", 1e3), ("kW", 1.0)])
def test_units_are_converted_wherever_they_stand(tmp_path: Path, unit: str, factor: float) -> None:
    frame = pd.DataFrame({"a": CHARGE * factor, "b": DISCHARGE * factor})
    mapping = {"battery.charge": "a", "battery.discharge": "b"}
    path = tmp_path / "plan.csv"
    frame.to_csv(path, index=False)
    assert_the_plan(told(path, mapping=mapping, units={"a": unit, "battery.discharge": unit}))
    for form in ("{} [{}]", "{} ({})", "{} in {}"):
        frame.set_axis([form.format(c, unit) for c in frame], axis=1).to_csv(path, index=False)
        assert_the_plan(told(path, mapping=mapping))


def test_commas_in_numbers_are_never_guessed(tmp_path: Path) -> None:
    path = tmp_path / "plan.csv"
    path.write_text("charge [W];discharge [W]\n" + "1,250;2,500\n" * N)
    with pytest.raises(InputError, match=r"plan.csv:2:1: .*number with a comma"):
        told(path)
    objective = told(path, decimal=",").objective
    assert objective is not None
    assert objective["value"] == pytest.approx(N * 1.25e-3)


def test_a_minus_in_a_map_turns_a_column(tmp_path: Path) -> None:
    path = _written(tmp_path / "plan.csv", pd.DataFrame({"time": HOURS, "P": CHARGE, "none": 0.0}))
    mapping = {"battery.charge": "-P", "battery.discharge": "none"}
    objective = told(path, mapping=mapping).objective
    assert objective is not None
    assert objective["value"] == pytest.approx(-CHARGE.sum())


def in_json() -> dict[str, Any]:
    charge, discharge = CHARGE.tolist(), DISCHARGE.tolist()
    stamps = [t.isoformat() for t in HOURS]
    records = [
        {"time": t, "charge": c, "discharge": d}
        for t, c, d in zip(stamps, charge, discharge, strict=True)
    ]
    return {
        "columns": {"time": stamps, "charge": charge, "discharge": discharge},
        "records": records,
        "a longer state": {
            "battery.charge [W]": [*(CHARGE * 1e3).tolist(), None],
            "discharge": [*discharge, None],
            "soc": ENERGY.tolist(),
        },
    }


@pytest.mark.parametrize("kind", in_json())
def test_json_in_every_shape(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(in_json()[kind], indent=1))
    assert_the_plan(told(path))


def test_parquet_netcdf_and_tables_in_memory(tmp_path: Path) -> None:
    frame = pd.DataFrame({"charge": CHARGE, "discharge (MW)": DISCHARGE / 1e3}, index=HOURS)
    frame.rename_axis("time").reset_index().to_parquet(tmp_path / "plan.parquet")
    assert_the_plan(told(tmp_path / "plan.parquet"))
    data = xr.Dataset(
        {"P": ("time", CHARGE / 1e3, {"units": "MW"}), "Q": ("time", DISCHARGE)},
        coords={"time": HOURS},
    )
    data.to_netcdf(tmp_path / "plan.nc")
    mapping = {"battery.charge": "P", "battery.discharge": "Q"}
    assert_the_plan(told(tmp_path / "plan.nc", mapping=mapping))
    from engiagent.run.certify import certify

    assert_the_plan(certify(None, frame, plant(), folder=tmp_path, name="f"))
    for stamps in (HOURS, HOURS.to_numpy(), HOURS.astype(str).to_numpy(), list(HOURS.astype(str))):
        arrays = {"time": stamps, "charge": CHARGE, "battery.discharge": tuple(DISCHARGE)}
        assert_the_plan(certify(None, arrays, plant(), folder=tmp_path, name="f"))
    late = {"time": HOURS + pd.Timedelta("1h"), "charge": CHARGE, "discharge": DISCHARGE}
    with pytest.raises(InputError, match="begins 60 min after"):
        certify(None, late, plant(), folder=tmp_path, name="f")


def test_a_finer_plan_is_averaged_and_a_coarser_one_held_when_asked(tmp_path: Path) -> None:
    path = tmp_path / "plan.csv"
    finer = pd.date_range("2025-07-01", periods=4 * N, freq="15min")
    wave = np.tile([0.5, -0.5, 0.25, -0.25], N)
    frame = pd.DataFrame(
        {
            "time": finer,
            "charge": np.repeat(CHARGE, 4) + np.where(np.repeat(CHARGE, 4) > 0, wave, 0.0),
            "discharge": np.repeat(DISCHARGE, 4),
        }
    )
    frame.to_csv(path, index=False)
    certificate = told(path)
    assert_the_plan(certificate)
    assert any("charge: given every 15 min: the mean" in note for note in certificate.notes)
    counted = document(
        [{"name": "on", "index": ["t in T"], "unit": "1"}],
        sets=[
            {"name": "T", "kind": "time", "start": "2025-07-01T00:00", "step": "1 h", "periods": N}
        ],
    )
    with pytest.raises(InputError, match=r"plan.csv:2:1: .*only powers have a mean"):
        told(_written(path, frame.rename(columns={"charge": "on"})), counted)
    quarter_hours = plant(periods=4 * N, step="15 min")
    frame = pd.DataFrame({"time": HOURS, "charge": CHARGE, "discharge": DISCHARGE})
    with pytest.raises(InputError, match=r"plan.csv:2:1: .*coarser step.*--hold"):
        told(_written(path, frame), quarter_hours)
    held = told(path, quarter_hours, hold=True)
    assert_the_plan(held)
    assert any("held, as --hold asks" in note for note in held.notes)


def _written(path: Path, frame: pd.DataFrame) -> Path:
    frame.to_csv(path, index=False)
    return path


# --- clocks ------------------------------------------------------------------------------------

LONG_DAY, SHORT_DAY = "2025-10-26", "2025-03-30"


def berlin(day: str, freq: str = "h") -> pd.DatetimeIndex:
    return pd.date_range(
        day, pd.Timestamp(day) + pd.Timedelta("1D"), freq=freq, tz="Europe/Berlin", inclusive="left"
    )


@pytest.mark.parametrize("day", [LONG_DAY, SHORT_DAY])
@pytest.mark.parametrize("clock", ["offset", "UTC", "wall", "end", "quarters", "zone of its own"])
def test_days_on_which_clocks_change_keep_every_hour(tmp_path: Path, day: str, clock: str) -> None:
    hours = berlin(day)
    charge = np.arange(len(hours)) / 4.0
    stamps, reading = hours, {}
    if clock == "quarters":
        stamps, charge = berlin(day, "15min"), np.repeat(charge, 4)
    if clock == "end":
        stamps, reading = hours + pd.Timedelta("1h"), {"labels": "end"}
    if clock == "UTC":
        stamps = hours.tz_convert("UTC")
    if clock == "zone of its own":
        stamps, reading = hours.tz_convert("Asia/Tokyo"), {"zone": "Asia/Tokyo"}
    shown = stamps if clock in ("offset", "UTC") else stamps.tz_localize(None)
    frame = pd.DataFrame({"time": shown.astype(str), "charge": charge, "discharge": 0.0})
    blueprint = plant(f"{day}T00:00", len(hours), "Europe/Berlin")
    certificate = told(_written(tmp_path / "plan.csv", frame), blueprint, **reading)
    assert not certificate.violations
    assert certificate.objective is not None
    assert certificate.objective["value"] == pytest.approx(np.arange(len(hours)).sum() / 4.0)


def table_at(stamps: Any = HOURS, form_of_time: str = "%Y-%m-%d %H:%M") -> list[str]:
    return rows("{t},{c},{d}", "time,charge,discharge", stamps, form_of_time).strip().split("\n")


def faulty() -> dict[str, tuple[list[str], str]]:
    lines = table_at()
    swapped = [*lines[:5], lines[6], lines[5], *lines[7:]]
    return {
        "a gap": ([*lines[:6], *lines[7:]], r"plan.csv:7:1: .*120 min here and 60 min elsewhere"),
        "a row twice": ([*lines[:6], lines[5], *lines[6:]], r"plan.csv:7:1: .*stands twice"),
        "out of order": (swapped, r"plan.csv:7:1: .*(goes back|here and)"),
        "an hour early": (
            table_at(HOURS + pd.Timedelta("1h")),
            r"begins 60 min after .*--labels end",
        ),
        "another day": (
            table_at(HOURS + pd.Timedelta("9D")),
            r"plan.csv:2:1: .*begins 12960 min after T",
        ),
        "half an hour beside": (table_at(HOURS + pd.Timedelta("30min")), r"begins 30 min after"),
        "cut short": (lines[:-2], r"plan.csv:23:1: .*its rows end 120 min before the end of T"),
        "a stamp missing": ([*lines[:3], ",1,0", *lines[4:]], r"plan.csv:4:1: .*missing"),
        "no such time": ([*lines[:3], "2025-07-01 25:00,1,0", *lines[4:]], r"plan.csv:4:1: .*no "),
        "mixed offsets": ([*lines[:3], "2025-07-01 02:00+02:00,1,0", *lines[4:]], "offset"),
        "a date of some country": (
            table_at(HOURS, "%d/%m/%Y %H:%M"),
            r"plan.csv:2:1: .*day and month cannot be told apart",
        ),
        "an epoch": (
            ["time,charge,discharge", *(f"{1751320800 + 3600 * k},1,0" for k in range(24))],
            r"plan.csv:2:1: .*not counted one by one.*ISO 8601",
        ),
        "units below the header": (
            [lines[0], ",kW,kW", *lines[1:]],
            r"plan.csv:2:1: .*a time stamp is missing",
        ),
        "decimal commas": (
            ["charge;discharge", *["1,5;0"] * 9, "2.5;0", *["1,5;0"] * 14],
            r"plan.csv:11:1: .*decimal point in a file with decimal commas",
        ),
        "numbers with a gap": (
            ["period,charge,discharge", *(f"{k},1,0" for k in range(1, 26) if k != 7)],
            r"plan.csv:8:1: .*not counted one by one",
        ),
    }


@pytest.mark.parametrize("kind", faulty())
def test_what_is_wrong_with_rows_is_told_with_its_place(tmp_path: Path, kind: str) -> None:
    lines, words = faulty()[kind]
    path = tmp_path / "plan.csv"
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(InputError, match=words):
        told(path)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (
            [{"time": "2025-07-01T00:00", "charge": 1}, {"charge": 2}],
            r"\[1\]: not the names of the first",
        ),
        ({"charge": [1, None, 2]}, r"json: column 'charge', row 2: a value is missing"),
        ({"charge": [1, "2"]}, r"charge\[1\]: no number"),
        ({"charge [W]": True}, "no number"),
        ({"battery": {"charge": [1, 2]}}, "battery is an object; expected lists of numbers"),
        ({"charge": {"unit": "kW", "values": [1]}}, "charge is an object; expected lists"),
        (["charge", 1], "list of records"),
        (5, "an object or a list of records"),
        ({"charge": [{"a": 1}]}, "charge.0.: no number"),
    ],
)
def test_what_is_wrong_with_json_is_told_with_its_place(
    tmp_path: Path, value: Any, words: str
) -> None:
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(value))
    with pytest.raises(InputError, match=words):
        told(path)


# --- names -------------------------------------------------------------------------------------


def test_a_power_in_energy_is_refused_with_the_reason(tmp_path: Path) -> None:
    path = tmp_path / "plan.csv"
    pd.DataFrame({"charge [kWh]": CHARGE, "discharge": DISCHARGE}).to_csv(path, index=False)
    with pytest.raises(InputError, match=r"energy in each period is no power.*found kWh"):
        told(path)


def test_a_net_power_that_changes_its_sign_inside_a_period_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "plan.csv"
    finer = pd.date_range("2025-07-01", periods=2 * N, freq="30min")
    frame = pd.DataFrame({"time": finer, "P": np.tile([1.0, -1.0], N)})
    with pytest.raises(InputError, match="changes its sign inside a period"):
        told(_written(path, frame), mapping={"battery.net_charge": "P"})


def test_states_at_ends_are_not_moved_by_a_step(tmp_path: Path) -> None:
    path = tmp_path / "plan.csv"
    frame = pd.DataFrame({"time": HOURS, "soc": ENERGY[:-1]})
    with pytest.raises(InputError, match="no value at 2025-07-02T00:00"):
        told(_written(path, frame), labels="end")
    ends = frame.assign(time=HOURS + pd.Timedelta("1h"), soc=ENERGY[1:])
    for stamps in (ends, ends.assign(time=HOURS)):
        reading: dict[str, Any] = {"labels": "end"} if stamps is ends else {}
        notes = told(_written(path, stamps), **reading).notes
        assert any("one value per period" in note for note in notes)


# --- mapping files -----------------------------------------------------------------------------


def test_a_mapping_file_says_all_of_it(tmp_path: Path) -> None:
    (tmp_path / "map.yaml").write_text(
        "schema: engiagent-mapping/1\nmapping: {battery.net_charge: P}\nunits: {P: MW}\n"
        "labels: end\nzone: UTC\nhold: true\n"
    )
    frame = pd.DataFrame({"time": HOURS + pd.Timedelta("1h"), "P": (CHARGE - DISCHARGE) / 1e3})
    reading = load_mapping(tmp_path / "map.yaml")
    assert Reading.from_dict(reading.to_dict()) == reading
    path = _written(tmp_path / "plan.csv", frame)
    assert_the_plan(told(path, **reading.to_dict()))
