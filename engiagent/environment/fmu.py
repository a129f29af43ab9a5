"""Functional mock-up units (FMI 2.0) as plants: co-simulation and model exchange, by fmpy.

In co-simulation the unit integrates itself between communication points. In model exchange it gives
derivatives, CVode integrates, and events (of time, of state, after a step of the integrator) are
iterated until no discrete state changes.
"""

import math
import shutil
import tempfile
import weakref
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from engiagent.environment.interface import Signal, Values
from engiagent.environment.signals import Signals
from engiagent.errors import EngiagentError, InputError
from engiagent.plant.source import nearest

KINDS: Final[Mapping[str, tuple[str, str]]] = {
    "co-simulation": ("coSimulation", "CoSimulation"),
    "model exchange": ("modelExchange", "ModelExchange"),
}
_ACCESS: Final = {
    "Real": "Real",
    "Integer": "Integer",
    "Enumeration": "Integer",
    "Boolean": "Boolean",
}
_EPS: Final = 1e-9
"""Of a time in seconds: two points closer than that share of them are one."""


class Fmu:
    """An FMU that is initialised, reset and stepped; its signals are its own variables and units.

    Raises InputError when the file is no FMU of FMI 2.0 that runs here, or has no such variable.
    """

    def __init__(self, path: Path, settings: Signals) -> None:
        self.path, self.settings, self.seconds = path, settings, 3600.0
        fmpy, self._about = _fmpy(), described(path)
        offered = [kind for kind, (name, _) in KINDS.items() if getattr(self._about, name)]
        self.kind = settings.kind or next(iter(offered), "co-simulation or model exchange")
        if self.kind not in offered:
            found = ", ".join(offered) or "neither"
            raise InputError(
                "the FMU runs otherwise", self.path.name, found=found, expected=self.kind
            )
        if fmpy.platform not in fmpy.supported_platforms(str(self.path)):
            found = ", ".join(fmpy.supported_platforms(str(self.path))) or "none"
            said = "the FMU has no binary for this machine"
            raise InputError(said, self.path.name, found=found, expected=fmpy.platform)
        self._variables = {v.name: v for v in self._about.modelVariables}
        self._averaged = settings.averaged
        self._start, self._held = settings.start_time or 0.0, settings.held
        for name in (*settings.parameters, *self._held, *settings.read):
            self._known(name)
        self.signals = dict(self._signals())
        self._folder = tempfile.mkdtemp(prefix="engiagent-fmu-")
        weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
        fmpy.extract(str(self.path), self._folder)
        self._instance: Any = None
        self._said = ""
        self._exchange: _Exchange | None = None
        self._time = self._start

    # -- what it has ------------------------------------------------------------------------------

    def _known(self, name: str) -> Any:
        if name not in self._variables:
            said = f"the FMU has no variable {name!r}"
            raise InputError(said, self.path.name, expected=nearest(name, self._variables))
        return self._variables[name]

    def _signals(self) -> Iterator[tuple[str, Signal]]:
        for name, variable in self._variables.items():
            if variable.type not in _ACCESS:
                continue
            unit = _unit(variable)
            low, high = (_number(getattr(variable, end)) for end in ("min", "max"))
            limits = (-math.inf if low is None else low, math.inf if high is None else high)
            if variable.causality == "input":
                yield name, Signal(unit, "action", _number(variable.start) or 0.0, *limits)
            elif variable.causality == "output" or name in self.settings.read:
                # What is not averaged is read at instants.
                yield name, Signal(unit, "observation" if name in self._averaged else "state")

    # -- running ----------------------------------------------------------------------------------

    def initialize(self, seconds: float) -> None:
        """Set the length of all steps. [s]."""
        self.seconds = seconds

    def reset(self, initial: Values | None = None, seed: int = 0) -> dict[str, float]:
        """Begin anew and return its outputs at the start; ``initial`` are start values."""
        self.close()
        # A year that begins at 0 has no weather before that.
        start = self._start
        fmpy, begin = _fmpy(), max(start - self.settings.warmup, min(start, 0.0))
        with self._named(begin):
            self._instance = unit = fmpy.instantiate_fmu(
                self._folder, self._about, KINDS[self.kind][1], logger=self._hear
            )
            unit.setupExperiment(startTime=begin)
            for name, value in {**self.settings.parameters, **(initial or {})}.items():
                self._set(name, value)
            unit.enterInitializationMode()
            for name, value in self._held.items():
                self._set(name, value)
            unit.exitInitializationMode()
            if self.kind == "model exchange":
                self._exchange = _Exchange(unit, self._about, begin)
        self._time = begin
        while start - self._time > _EPS:
            self._run(min(self.seconds, start - self._time), self._held)
        return self._read()

    def step(self, inputs: Values) -> dict[str, float]:
        """Advance by a step under inputs by name and return its outputs."""
        if self._instance is None:
            self.reset()
        return self._run(self.seconds, {**self._held, **inputs})

    def _run(self, seconds: float, inputs: Values) -> dict[str, float]:
        """Advance by some seconds in equal steps of communication."""
        count = max(math.ceil(seconds / (self.settings.communication_step or seconds) - _EPS), 1)
        begin, sums = self._time, dict.fromkeys(self._averaged, 0.0)
        with self._named(begin):
            if self._exchange is not None:
                self._exchange.open()
            for name, value in inputs.items():
                self._set(name, value)
            for k in range(count):
                here, there = (begin + seconds * part / count for part in (k, k + 1))
                if self._exchange is not None:
                    self._exchange.advance(here, there)
                else:
                    self._instance.doStep(here, there - here)
                for name in sums:
                    sums[name] += self._get(name) / count
        self._time = begin + seconds
        return self._read() | sums

    def _read(self) -> dict[str, float]:
        with self._named(self._time):
            shown = (name for name, signal in self.signals.items() if signal.role != "action")
            found = {name: self._get(name) for name in shown}
        for name, value in found.items():
            if not math.isfinite(value):
                raise EngiagentError(
                    f"{self.path.name}: {name} is {value} at {self._time:g} s; a shorter "
                    "communication_step may be needed, or another start"
                )
        return found

    def _get(self, name: str) -> float:
        variable = self._variables[name]
        get = getattr(self._instance, f"get{_ACCESS[variable.type]}")
        return float(get([variable.valueReference])[0])

    def _set(self, name: str, value: Any) -> None:
        variable = self._known(name)
        access = _ACCESS.get(variable.type, "String")
        kinds: dict[str, Any] = {"Integer": round, "Boolean": bool, "String": str, "Real": float}
        getattr(self._instance, f"set{access}")([variable.valueReference], [kinds[access](value)])

    @contextmanager
    def _named(self, time: float) -> Iterator[None]:
        """Say of which FMU and when an error is."""
        try:
            yield
        except EngiagentError:
            raise
        except Exception as error:  # of fmpy, of CVode, of the FMU's own library
            said = f"; it said: {self._said.strip()[:300]}" if self._said else ""
            most = self.settings.communication_step or self.seconds
            where = f"{self.path.name} failed at {time:g} s, in steps of at most {most:g} s"
            raise EngiagentError(f"{where}: {error}{said}") from None

    def _hear(self, *message: Any) -> None:
        """Take what the FMU logs, which would else stand among results on standard output."""
        text = message[-1]
        self._said = text.decode("utf-8", "replace") if isinstance(text, bytes) else str(text)

    def close(self) -> None:
        """End the instance; its folder goes with the object."""
        unit, self._instance, self._exchange = self._instance, None, None
        if unit is not None:
            try:
                unit.terminate()
            finally:
                unit.freeInstance()


class _Exchange:
    """Integration of a model exchange FMU between two times."""

    def __init__(self, unit: Any, about: Any, start: float) -> None:
        from fmpy.sundials import CVodeSolver

        self.unit, self._next = unit, math.inf
        self._asks = about.modelExchange.needsCompletedIntegratorStep
        self._open = False
        self._iterate()
        experiment = about.defaultExperiment
        tolerance = _number(experiment.tolerance) if experiment is not None else None
        self._solver = CVodeSolver(
            nx=about.numberOfContinuousStates,
            nz=about.numberOfEventIndicators,
            get_x=unit.getContinuousStates,
            set_x=unit.setContinuousStates,
            get_dx=unit.getDerivatives,
            get_z=unit.getEventIndicators,
            get_nominals=unit.getNominalsOfContinuousStates,
            set_time=unit.setTime,
            input=_Held(),
            startTime=start,
            relativeTolerance=min(tolerance or 1e-6, 1e-6),
            maxNumSteps=100_000,
        )

    def open(self) -> None:
        """Let inputs be set: discrete ones may change in an event alone."""
        self.unit.enterEventMode()
        self._open = True

    def advance(self, here: float, there: float) -> None:
        """Integrate from one time to another."""
        if self._open:
            self._open = False
            self._iterate()
            self._solver.reset(here)
        time = here
        while there - time > _EPS * max(1.0, abs(there)):
            of_state, _, time = self._solver.step(time, min(there, self._next))
            self.unit.setTime(time)
            of_step, ends = False, False
            if self._asks:
                of_step, ends = self.unit.completedIntegratorStep()
            if ends:
                raise EngiagentError("the model ended the simulation")
            if of_state or of_step or time >= self._next - _EPS * max(1.0, abs(time)):
                self.unit.enterEventMode()
                self._iterate()
                self._solver.reset(time)

    def _iterate(self) -> None:
        """Let discrete states settle and go back to continuous time."""
        again, planned, when = True, False, math.inf
        while again:
            again, ends, _, _, planned, when = self.unit.newDiscreteStates()
            if ends:
                raise EngiagentError("the model ended the simulation")
        self._next = when if planned else math.inf
        self.unit.enterContinuousTimeMode()


class _Held:
    """Inputs that stay as they are between two events."""

    def apply(self, time: float) -> None:
        """Leave the inputs of the FMU as they are."""


def described(path: Path) -> Any:
    """Return what an FMU says of itself; InputError when it is none of FMI 2.0."""
    if not path.is_file():
        raise InputError("there is no such FMU", str(path))
    try:
        # Tools break rules of the standard that do no harm: its schema is not insisted on.
        about = _fmpy().read_model_description(str(path), validate=False)
    except InputError:
        raise
    except Exception as error:  # fmpy raises bare exceptions and those of zip and XML
        raise InputError(f"this is no FMU: {error}", path.name) from None
    if about.fmiVersion != "2.0":
        said = "an FMU of another version"
        raise InputError(said, path.name, found=about.fmiVersion, expected="2.0")
    return about


def variables(path: Path) -> Iterator[str]:
    """Yield a line for each input and output of an FMU, and how many variables else there are."""
    found = described(path).modelVariables
    for causality in ("input", "output"):
        for v in (v for v in found if v.causality == causality):
            start = "" if v.start is None else f" = {v.start}"
            about = f"{causality:6}  {v.name} [{_unit(v)}]{start}  {v.description or ''}"
            yield about.rstrip()
    for causality, count in Counter(v.causality for v in found).items():
        if causality not in ("input", "output", "independent"):
            yield f"and {count} of causality {causality}"


def _unit(variable: Any) -> str:
    declared = variable.declaredType
    return variable.unit or (declared.unit if declared is not None else None) or "1"


def _number(text: Any) -> float | None:
    if text is None or text == "":
        return None
    words = {"true": "1", "false": "0"}
    return float(words.get(str(text).lower(), str(text)))


def _fmpy() -> Any:
    try:
        import fmpy
    except ImportError:
        expected = 'pip install "engiagent[fmu]"'
        raise InputError("an FMU needs fmpy, which is not installed", expected=expected) from None
    return fmpy
