"""An FMU runs as its equations do, its overrides are seen to act, and a plan controls it."""

import csv
import math
import re
import shutil
import subprocess
import textwrap
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from scipy.integrate import solve_ivp

from engiagent import Site
from engiagent.cli.app import app
from engiagent.control import ClosedLoop
from engiagent.control.assessment import prediction_errors
from engiagent.environment.fmu import Fmu
from engiagent.environment.signals import Connected, Signals, open_simulated
from engiagent.errors import EngiagentError, InputError

ON = {"oveQ_u": 2000.0, "oveQ_activate": 1.0}


def controlled(site: Path, steps: int = 16) -> ClosedLoop:
    plant = Site.load(site / "house.yaml").blueprint()
    return plant.control(
        steps, plant=f"fmu:{site / 'House.fmu'}", signals=site / "signals.yaml", progress=False
    )


def changed(site: Path, old: str, new: str) -> None:
    file = site / "signals.yaml"
    assert old in file.read_text()
    file.write_text(file.read_text().replace(old, new))


def zoned(site: Path, outside: str) -> None:
    """Put a plan of two zones into the place of that of a network, and signals for it."""
    (site / "house.yaml").write_text(
        "title: House\nhorizon: {start: 2026-01-10, step: 15 min, periods: 192}\ncomponents:\n"
        "  grid: {model: grid, import_price: 0.3 EUR/kWh}\n"
        "  air: {model: thermal_zone, capacitance: 0.4167 kWh/K, initial_temperature: 20 degC,"
        " neighbours: {wall: 2 K/kW}}\n"
        "  wall: {model: thermal_zone, capacitance: 5.556 kWh/K, initial_temperature: 12 degC,"
        f" resistance: 6 K/kW, ambient_temperature: {outside}}}\n"
        "  pump: {model: heater, zone: air, electric_power_max: 5 kW, cop: 1}\n"
        'requirements: {warm: {for: t in T, must: "20 degC <= air.temperature[t] <= 21 degC"}}\n'
        "goal: {minimize: cost}\n"
    )
    (site / "signals.yaml").write_text(
        "time_zero: 2026-01-01\ncommunication_step: 60 s\n"
        "inputs: {pump.electric_power: {to: oveQ_u, unit: W, activate: oveQ_activate}}\n"
        "outputs:\n  zone.air.temperature: {from: reaT_y, unit: K}\n"
        "  wall.ambient_temperature: {from: t_out, unit: K, mean: yes}\n"
        "  heat: {from: oveQ_y, unit: W, mean: yes}\n"
    )


def test_a_house_follows_its_equations(house: Path) -> None:
    plant = Fmu(house, Signals(start_time=86400.0, communication_step=60.0))
    plant.initialize(900.0)
    first = plant.reset()
    for _ in range(8):
        last = plant.step(ON)

    def heat(t: float, x: Any) -> list[float]:
        outside = 273.15 + 5.0 * math.sin(2 * math.pi * (t / 86400.0 - 0.375))
        flow = (x[1] - x[0]) / 0.002
        return [(2000.0 + flow) / 1.5e6, ((outside - x[1]) / 0.006 - flow) / 2.0e7]

    exact = solve_ivp(heat, (86400.0, 86400.0 + 7200.0), [293.15, 291.15], rtol=1e-8).y[:, -1]
    assert first["reaT_y"] == 293.15
    assert last["reaT_y"] == pytest.approx(exact[0], abs=0.01)
    assert last["t_wall"] == pytest.approx(exact[1], abs=0.01)
    again = plant.reset()
    assert again == first  # a reset begins anew


def test_a_warm_up_runs_the_house_by_its_own_thermostat(house: Path) -> None:
    def warmed(start: float, warmup: float) -> dict[str, float]:
        given = Signals(start_time=start, warmup=warmup, communication_step=60.0)
        plant = Fmu(house, given)
        plant.initialize(900.0)
        return plant.reset()

    assert 293.9 < warmed(86400.0, 36000.0)["reaT_y"] < 294.6  # what it keeps; it began at 293.15
    assert warmed(3600.0, 86400.0) == warmed(3600.0, 3600.0)  # not before the clock begins


def opened(site: Path, begins: str | None = None) -> Connected:
    date = None if begins is None else np.datetime64(begins)
    given = Signals.load(site / "signals.yaml").beginning(date)
    plant = open_simulated("fmu", site / "House.fmu", given)
    plant.initialize(900.0)
    return plant


def test_units_are_converted_and_inputs_limited(site: Path) -> None:
    changed(site, "read_back: oveQ_y}", "read_back: oveQ_y, at_most: 1500}")
    plant = opened(site)
    assert 19 < plant.reset()["house.air.temperature"] < 22
    assert plant.step({"house.heating": 1.2})["house.power"] == pytest.approx(1.2)
    assert plant.step({"house.heating": 4.0})["house.power"] == pytest.approx(1.5)


def test_a_share_of_full_power_is_a_signal(site: Path) -> None:
    changed(site, "unit: W, activate", "full: 5 kW, activate")
    plant = opened(site)
    plant.reset()
    assert plant.step({"house.heating": 2.5})["house.power"] == pytest.approx(0.5e-3)


@pytest.mark.parametrize("noise", ["estimated: {house.wall.temperature: 0.05 K}", ""])
def test_a_plan_controls_an_fmu_and_keeps_it_warm(site: Path, noise: str) -> None:
    """Also where nothing is stated of noise: a hidden state is not left where the plan began."""
    changed(site, "estimated: {house.wall.temperature: 0.05 K}", noise)
    loop = controlled(site)
    assert [e.state for e in prediction_errors(loop)] == ["house.air.temperature"]
    assert loop.plant is not None
    assert loop.plant["house.air.temperature"].values[1:].min() > 19.8
    assert not any("does not act" in note for note in loop.notes)
    # The wall is not shown; from the air alone its estimate comes near.
    wall = opened(site, "2026-01-10T00:00:00")
    wall.reset()
    for heat in loop.plant["house.heating"].values:
        wall.step({"house.heating": float(heat)})
    assert isinstance(wall.plant, Fmu)
    true = wall.plant._get("t_wall") - 273.15
    estimate = next(iter(loop.state.values()))[1]
    assert abs(12.0 - true) > 3.0  # where the plan began
    assert estimate == pytest.approx(true, abs=1.0)


@pytest.mark.parametrize("late", [0, 1])
def test_weather_by_another_clock_than_the_plant_is_seen(site: Path, late: int) -> None:
    """A forecast an hour late is off by as much as the weather changes in an hour."""
    weather = [
        5.0 * math.sin(2 * math.pi * ((k + 0.5) / 96 - late / 24 - 0.375)) for k in range(192)
    ]
    rows = (
        f"2026-01-{10 + k // 96}T{k // 4 % 24:02}:{k % 4 * 15:02},{weather[k]}" for k in range(192)
    )
    (site / "days.csv").write_text("\n".join(["time,outside [degC]", *rows]))
    zoned(site, "days.csv#outside")
    (note,) = (n for n in controlled(site, 96).notes if n.startswith("wall.ambient_temperature"))
    mean, worst = (float(part) for part in re.findall(r"([\d.e-]+) K", note))
    change = 2 * 5.0 * math.sin(math.pi * late / 24)  # the largest in that time
    assert worst == pytest.approx(change, abs=0.02)
    assert mean == pytest.approx(change * 2 / math.pi, abs=0.02)


def test_an_override_that_does_not_act_is_named(site: Path) -> None:
    changed(site, "warmup: 5 h", "warmup: 5 h\nparameters: {dead: true}")
    said = [note for note in controlled(site).notes if "does not act" in note]
    assert len(said) == 1
    assert said[0].startswith("oveQ_u does not act in")
    assert "oveQ_y reads" in said[0]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("oveQ_u,", "oveQ_v,", "oveQ_v is no input; 'oveQ_u' is one"),
        ("from: reaT_y", "from: reaT", "no variable 'reaT'; expected"),
        ("to: oveQ_u, ", "", "does not say to which variable"),
        ("warmup: 5 h", "warmup: 5 kW", "warmup: "),
        ("outputs:", "output:", "unknown key in the file; found output; expected 'outputs'"),
        ("house.air.", "hause.air.", "shows no state of the plan"),
        ("unit: K", "unit: W", "house.air.temperature"),
        ("warmup:", "start_time: 2 d\nwarmup:", "begins at another time"),
        ("warmup:", "kind: model exchange\nwarmup:", "found co-simulation"),
        ("warmup: 5 h", "warmup: -5 h", "warmup is below 0"),
        ("mean: yes", "mean: Yes", "mean of house.power is neither"),
        ("deviation: 0.1 K", "deviation: 5 kW", "kW and K measure different things"),
    ],
)
def test_what_is_wrong_with_names_is_said(site: Path, old: str, new: str, said: str) -> None:
    changed(site, old, new)
    with pytest.raises(EngiagentError, match=said):
        controlled(site)


def test_a_file_that_is_no_fmu_is_refused(tmp_path: Path) -> None:
    (tmp_path / "no.fmu").write_text("nothing")
    with pytest.raises(InputError, match=r"no\.fmu: this is no FMU"):
        Fmu(tmp_path / "no.fmu", Signals())


# -- model exchange -------------------------------------------------------------------------------

BALL = """
#include <stddef.h>
typedef struct {double x, u, t; int on; double when;} M;
#define OK 0
#define E(name) __attribute__((visibility("default"))) fmi2##name
static M m;
const char* E(GetTypesPlatform)(void){return "default";}
const char* E(GetVersion)(void){return "2.0";}
void* E(Instantiate)(const char*a,int b,const char*c,const char*d,const void*e,int f,int g)
{m.x=20.0;m.u=0.0;m.on=0;m.when=1800.0;return &m;}
void E(FreeInstance)(void*c){}
int E(SetupExperiment)(void*c,int a,double b,double t,int d,double e){m.t=t;return OK;}
int E(EnterInitializationMode)(void*c){return OK;}
int E(ExitInitializationMode)(void*c){return OK;}
int E(Terminate)(void*c){return OK;}
int E(Reset)(void*c){return OK;}
int E(SetDebugLogging)(void*c,int a,size_t n,const void*d){return OK;}
int E(GetReal)(void*c,const unsigned*r,size_t n,double*v)
{for(size_t k=0;k<n;k++)v[k]=r[k]==0?m.x:r[k]==1?m.u:m.on;return OK;}
int E(SetReal)(void*c,const unsigned*r,size_t n,const double*v)
{for(size_t k=0;k<n;k++)if(r[k]==1)m.u=v[k];return OK;}
#define NOT(name) int E(name)(void){return 3;}
NOT(GetFMUstate) NOT(SetFMUstate) NOT(FreeFMUstate) NOT(SerializedFMUstateSize)
NOT(SerializeFMUstate) NOT(DeSerializeFMUstate) NOT(GetDirectionalDerivative)
NOT(GetInteger) NOT(SetInteger) NOT(GetBoolean) NOT(SetBoolean) NOT(GetString) NOT(SetString)
int E(EnterEventMode)(void*c){return OK;}
int E(NewDiscreteStates)(void*c,void*i){struct{int a,b,d,e,f;double t;}*p=i;
if(m.t>=m.when-1e-6){m.on=1;m.when=1e300;}
p->a=0;p->b=0;p->d=0;p->e=0;p->f=m.when<1e299;p->t=m.when;return OK;}
int E(EnterContinuousTimeMode)(void*c){return OK;}
int E(CompletedIntegratorStep)(void*c,int a,int*b,int*d){*b=0;*d=0;return OK;}
int E(SetTime)(void*c,double t){m.t=t;return OK;}
int E(SetContinuousStates)(void*c,const double*x,size_t n){m.x=x[0];return OK;}
int E(GetContinuousStates)(void*c,double*x,size_t n){x[0]=m.x;return OK;}
int E(GetDerivatives)(void*c,double*d,size_t n)
{d[0]=(0.0-m.x)/3600.0+m.u/3600.0+(m.on?5.0/3600.0:0.0);return OK;}
int E(GetEventIndicators)(void*c,double*z,size_t n){return OK;}
int E(GetNominalsOfContinuousStates)(void*c,double*x,size_t n){x[0]=1.0;return OK;}
"""
ABOUT = """<?xml version="1.0" encoding="UTF-8"?>
<fmiModelDescription fmiVersion="2.0" modelName="room" guid="{1}" numberOfEventIndicators="0">
<ModelExchange modelIdentifier="room"/>
<ModelVariables>
<ScalarVariable name="T" valueReference="0" causality="output"><Real/></ScalarVariable>
<ScalarVariable name="u" valueReference="1" causality="input"><Real start="0"/></ScalarVariable>
<ScalarVariable name="der(T)" valueReference="3"><Real derivative="1"/></ScalarVariable>
</ModelVariables>
<ModelStructure><Outputs><Unknown index="1"/></Outputs>
<Derivatives><Unknown index="3"/></Derivatives>
</ModelStructure></fmiModelDescription>
"""


@pytest.fixture(scope="module")
def room(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A first-order room that a heater of 5 joins after half an hour, as model exchange."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no compiler of C, and no tool makes a model exchange FMU without one")
    folder = tmp_path_factory.mktemp("room")
    (folder / "room.c").write_text(textwrap.dedent(BALL))
    library = folder / "room.so"
    subprocess.run(
        [compiler, "-shared", "-fPIC", "-w", "-o", library, folder / "room.c"], check=True
    )
    with zipfile.ZipFile(folder / "room.fmu", "w") as file:
        file.writestr("modelDescription.xml", ABOUT)
        file.write(library, "binaries/linux64/room.so")
    return folder / "room.fmu"


def test_model_exchange_is_integrated_through_changes_of_inputs_and_events_of_time(
    room: Path,
) -> None:
    plant = Fmu(room, Signals(communication_step=300.0))
    assert plant.kind == "model exchange"
    plant.initialize(1200.0)
    assert plant.reset()["T"] == 20.0
    found = [plant.step({"u": u})["T"] for u in (0.0, 10.0, 10.0)]

    def after(x: float, drive: float, seconds: float) -> float:
        return drive + (x - drive) * math.exp(-seconds / 3600.0)

    one = after(20.0, 0.0, 1200.0)
    two = after(after(one, 10.0, 600.0), 15.0, 600.0)  # the heater joins at 1800 s
    assert found == pytest.approx([one, two, after(two, 15.0, 1200.0)], abs=1e-4)
    plant.close()


def test_variables_are_listed_where_names_are_missing(house: Path) -> None:
    done = CliRunner().invoke(app, ["simulate", f"fmu:{house}"])
    assert done.exit_code == 2
    for line in ("input   oveQ_u [1] = 0", "output  reaT_y [1]", "and 5 of causality parameter"):
        assert line in done.output


def test_the_own_control_of_an_fmu_is_a_baseline(site: Path) -> None:
    """It holds 21 °C; the plan lets the air cool to the 20 °C that are asked for."""
    plan, plant = str(site / "house.yaml"), f"fmu:{site / 'House.fmu'}"
    given = ["--signals", str(site / "signals.yaml"), "--against", "default", "--steps", "8"]
    out = ["--out", str(site / "loop")]
    done = CliRunner().invoke(app, ["control", plan, "--plant", plant, *given, *out])
    assert done.exit_code < 2, done.output
    rows = list(csv.DictReader((site / "loop/against-default.csv").read_text().splitlines()))
    assert all(20.5 < float(row["house.air.temperature [degC]"]) < 21.5 for row in rows)


@pytest.mark.parametrize("power", ["unit: W", "full: 2000 W", "full: 2 kW"])
def test_a_thermostat_between_the_limits_of_the_plan_runs_an_fmu(site: Path, power: str) -> None:
    """It is on from 20 to 21 °C and off from there on; the wall, which nothing limits, is left."""
    zoned(site, "0 degC")
    changed(site, "oveQ_u, unit: W", f"oveQ_u, {power}")
    full = 5.0 if power == "unit: W" else 2.5e-3  # five times what 1 W stands for
    plan, plant = str(site / "house.yaml"), f"fmu:{site / 'House.fmu'}"
    given = ["--signals", str(site / "signals.yaml"), "--against", "thermostat", "--steps", "32"]
    out = ["--out", str(site / "loop")]
    done = CliRunner().invoke(app, ["control", plan, "--plant", plant, *given, *out])
    assert done.exit_code < 2, done.output
    rows = list(csv.DictReader((site / "loop/against-thermostat.csv").read_text().splitlines()))
    on, seen = False, set()
    for row in rows:
        warmth = float(row["zone.air.temperature [degC]"])
        on = warmth < 20 or (on and warmth < 21)
        assert float(row["heat [kW]"]) == pytest.approx(full * on)
        seen.add(on)
    assert seen == {False, True}
    file = (site / "signals.yaml").read_text()
    (site / "signals.yaml").write_text(file.replace("zone.air.", "zone.wall."))
    done = CliRunner().invoke(app, ["control", plan, "--plant", plant, *given, *out, "--force"])
    assert done.exit_code == 2
    assert "the rule thermostat does not see zone.air.temperature" in done.output


def test_what_is_no_whole_step_is_named(tmp_path: Path) -> None:
    hour = "horizon: {start: 2026-01-10, step: 1 h, periods: 2}"
    grid, load = "{model: grid, import_price: 0.3 EUR/kWh}", "{model: load, power: 1 kW}"
    parts = f"components: {{grid: {grid}, all: {load}}}"
    (tmp_path / "p.yaml").write_text(f"title: P\n{hour}\n{parts}\ngoal: {{minimize: cost}}\n")
    for step, left in (("7min", "the last 1 min"), ("8min", "")):
        words = [
            "simulate",
            str(tmp_path / "p.yaml"),
            "--step",
            step,
            "--out",
            str(tmp_path / step),
        ]
        done = CliRunner().invoke(app, words)
        assert done.exit_code == 0, done.output
        assert ("no whole step" in done.output) == bool(left)
        assert left in done.output
