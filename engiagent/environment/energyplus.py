"""Buildings of EnergyPlus as plants, by its runtime API, where it is installed.

Its engine runs a whole year and calls back; here it runs on a thread of its own and waits after
each of its time steps until the plant is stepped. Names are those of its API, joined by ``/``: a
variable is ``Zone Mean Air Temperature/CORE_ZN``, an actuator ``Schedule:Compact/Schedule
Value/HEATING``, a meter ``Fans:Electricity``, which is shown as mean power.
"""

import importlib
import math
import os
import shutil
import sys
import tempfile
import threading
import weakref
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Final

from engiagent.environment.interface import Signal, Values, quiet
from engiagent.environment.signals import Signals
from engiagent.errors import EngiagentError, InputError
from engiagent.plant.source import nearest
from engiagent.units.unit import UnitError, parse_unit

WEATHER_RUN: Final = 3
"""The kind of simulation that is no sizing and no design day."""
_UNITS: Final = {"C": "degC", "deltaC": "K", "m3/s": "m^3/s", "kgWater/kgDryAir": "kg/kg"}


def _api() -> Any:
    """Return EnergyPlus's Python API: of the package, or of an installation that is on the path."""
    try:
        with quiet():
            return importlib.import_module("pyenergyplus.api").EnergyPlusAPI()
    except ImportError:
        program = shutil.which("energyplus")
        folder = os.environ.get("ENERGYPLUS_DIR") or (program and Path(program).resolve().parent)
        if not folder or not (Path(folder) / "pyenergyplus").is_dir():
            expected = 'pip install "engiagent[energyplus]", or its folder in ENERGYPLUS_DIR'
            raise InputError("EnergyPlus is not installed", expected=expected) from None
        sys.path.append(str(folder))
        return importlib.import_module("pyenergyplus.api").EnergyPlusAPI()


@dataclass(eq=False)
class _Engine:
    """One year on a thread: after each time step of the weather run it gives what it reads."""

    arguments: Sequence[str]  # of the command line, without the folder of outputs
    variables: Sequence[str]  # that are read, requested before the run
    begin: float  # time of the year at which it begins to give. [s]

    def __post_init__(self) -> None:
        self.api = _api()
        self.state = self.api.state_manager.new_state()
        self.folder = tempfile.mkdtemp(prefix="engiagent-energyplus-")
        self.points: dict[str, Any] = {}  # by name, once the building is read
        self.time: float | None = None  # at the end of the last time step, in the year. [s]
        self.given: SimpleQueue[dict[str, float] | Exception] = SimpleQueue()
        self.taken: SimpleQueue[dict[str, float] | None] = SimpleQueue()
        self._acting: dict[str, Any] = {}
        self._read: dict[str, tuple[Any, Any]] = {}  # how, and the handle
        self.seconds = math.nan  # of a time step
        runtime = self.api.runtime
        runtime.set_console_output_status(self.state, False)
        for name in self.variables:
            what, slash, key = name.partition("/")
            if slash:
                self.api.exchange.request_variable(self.state, what, key)
        runtime.callback_end_zone_timestep_after_zone_reporting(self.state, self._called)
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self) -> None:
        try:
            code = self.api.runtime.run_energyplus(
                self.state, [*self.arguments, "-a", "-d", self.folder]
            )
            message = "the year of the weather file is over"
            if code:
                log = Path(self.folder, "eplusout.err")
                text = log.read_text(errors="replace") if log.is_file() else ""
                wrong = [line.strip(" *") for line in text.splitlines() if "Severe" in line]
                message = "; ".join(wrong[:3]) or f"it ended with code {code}"
            self.given.put(EngiagentError(message))
        except Exception as error:
            self.given.put(error)

    def _called(self, state: Any) -> None:
        """Take what it knows after a time step, and wait for what is to act in the next one."""
        x = self.api.exchange
        if x.kind_of_sim(state) != WEATHER_RUN or x.warmup_flag(state):
            return
        try:
            self.seconds = 3600.0 * x.zone_time_step(state)
            if self.time is None:
                self._begin(state)
            self.time = (self.time or 0.0) + self.seconds
            if self.time < self.begin - 1e-6:
                return
            self.given.put(dict(self._values(state)))
            inputs = self.taken.get()
            if inputs is None:
                self.api.runtime.stop_simulation(state)
                return
            self._act(state, inputs)
        except Exception as error:  # it would be lost in the engine, which is not Python
            self.given.put(error)
            self.api.runtime.stop_simulation(state)

    def _begin(self, state: Any) -> None:
        x = self.api.exchange
        self.time = 86_400.0 * (x.day_of_year(state) - 1)
        self.points = {_name(point): point for point in x.get_api_data(state)}
        for name in self.variables:
            point = self.points.get(name)
            if point is None or point.what == "Actuator":
                raise _unknown(name, self.points, "variable or meter")
            if point.what == "OutputMeter":
                self._read[name] = (x.get_meter_value, x.get_meter_handle(state, point.key))
            else:
                handle = x.get_variable_handle(state, point.name, point.key)
                self._read[name] = (x.get_variable_value, handle)

    def _values(self, state: Any) -> Iterator[tuple[str, float]]:
        for name, (read, handle) in self._read.items():
            meter = self.points[name].what == "OutputMeter"
            yield name, read(state, handle) / (self.seconds if meter else 1.0)

    def _act(self, state: Any, inputs: Values) -> None:
        """Let actuators act, and give back to the building's own control those that do no more."""
        x = self.api.exchange
        for name in set(self._acting) - set(inputs):
            x.reset_actuator(state, self._acting.pop(name))
        for name, value in inputs.items():
            if name not in self._acting:
                p = self.points[name]
                self._acting[name] = x.get_actuator_handle(state, p.name, p.type, p.key)
            x.set_actuator_value(state, self._acting[name], value)

    def next(self) -> dict[str, float]:
        """Return what is read after the next time step; raises what went wrong instead."""
        found = self.given.get()
        if isinstance(found, Exception):
            raise found
        return found

    def close(self) -> None:
        """End the run and take its folder away."""
        self.taken.put(None)
        self.thread.join(timeout=60.0)
        shutil.rmtree(self.folder, ignore_errors=True)


def _name(point: Any) -> str:
    parts = (point.name, point.type, point.key) if point.what == "Actuator" else None
    return "/".join(parts or (part for part in (point.name, point.key) if part))


def _unknown(name: str, points: Any, kind: str) -> InputError:
    known = [n for n, p in points.items() if (p.what == "Actuator") == (kind == "actuator")]
    return InputError(f"EnergyPlus has no {kind} {name!r} here", expected=nearest(name, known))


class EnergyPlus:
    """A building of EnergyPlus that is reset and stepped; nothing is overridden before the start.

    Raises InputError when a file is missing, a name is unknown, or a step does not fit.
    """

    def __init__(self, path: Path, settings: Signals) -> None:
        if settings.weather is None:
            expected = "weather: FILE.epw in the signals"
            raise InputError("EnergyPlus needs weather", expected=expected)
        for file in (path, settings.weather):
            if not file.is_file():
                raise InputError("there is no such file", str(file))
        self.path, self.settings, self.seconds = path, settings, 3600.0
        self.signals: dict[str, Signal] = {}
        self.reset()

    def initialize(self, seconds: float) -> None:
        """Set the length of all steps, a multiple of EnergyPlus's own. [s]."""
        own = self._engine.seconds
        if abs(seconds / own - max(round(seconds / own), 1)) > 1e-9:
            said = "the step is no multiple of the building's"
            found, expected = f"{seconds / 60:g} min", f"a multiple of {own / 60:g} min"
            raise InputError(said, self.path.name, found=found, expected=expected)
        self.seconds = seconds

    def reset(self, initial: Values | None = None, seed: int = 0) -> dict[str, float]:
        """Run to the start under the building's own control and return what it shows there."""
        if initial:
            raise InputError("EnergyPlus takes no initial states", found=", ".join(initial))
        if self.signals:
            self.close()
        given = self.settings
        arguments = ["-w", str(given.weather), str(self.path)]
        self._engine = engine = _Engine(arguments, given.read, given.start_time or 0.0)
        self._closing = weakref.finalize(self, engine.close)
        found = self._next()
        if not self.signals:
            self.signals = {n: _signal(p, n in given.averaged) for n, p in engine.points.items()}
        return found

    def _next(self) -> dict[str, float]:
        try:
            return self._engine.next()
        except InputError:
            raise
        except EngiagentError as error:
            raise EngiagentError(f"{self.path.name}: {error}") from None

    def step(self, inputs: Values) -> dict[str, float]:
        """Advance under actuators by name; those that are not given are left to the building."""
        engine = self._engine
        for name in inputs:
            if name not in engine.points or engine.points[name].what != "Actuator":
                raise _unknown(name, engine.points, "actuator")
        count = max(round(self.seconds / engine.seconds), 1)
        sums = dict.fromkeys(self.settings.averaged, 0.0)
        for _ in range(count):
            engine.taken.put(dict(inputs))
            found = self._next()
            for name in sums:
                sums[name] += found[name] / count
        return found | sums

    def close(self) -> None:
        """End the run."""
        self._closing()


def _signal(point: Any, averaged: bool) -> Signal:
    if point.what == "OutputMeter":
        unit = "W"
    else:
        text = point.unit.strip("[] ")
        unit = _UNITS.get(text, text) or "1"
        try:
            parse_unit(unit)
        except UnitError:
            unit = "1"  # the file of signals may name it
    if point.what == "Actuator":
        return Signal(unit, "action")
    return Signal(unit, "observation" if averaged or point.what == "OutputMeter" else "state")
