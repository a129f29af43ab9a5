"""What else could control the plant of a loop: rules, another plan, each building alone."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from engiagent.blueprint.document import Blueprint
from engiagent.control.assessment import assess, computing_time
from engiagent.control.closedloop import ClosedLoop
from engiagent.control.starting import ENVIRONMENT, MODEL, Names, begins_of, control, load_plant
from engiagent.environment.controllers import chosen
from engiagent.environment.environment import Answered, Environment
from engiagent.environment.interface import Runs, between
from engiagent.environment.running import INPUTS, Forcing, run
from engiagent.environment.signals import Connected
from engiagent.errors import EngiagentError, InputError
from engiagent.plant.reading import read_building
from engiagent.run.keyfigures import Figure

if TYPE_CHECKING:
    import xarray


@dataclass(frozen=True, eq=False)
class Rival:
    """Another controller of the plant of a loop, and how it did."""

    # as those of the loop: with the prices and comfort limits of its plan
    figures: tuple[Figure, ...]
    # what the plant was told and showed; None where a function answered
    record: "xarray.Dataset | None"
    loop: ClosedLoop | None = None  # of another plan; None of rules


def rival(
    loop: ClosedLoop,
    controller: str | Callable[..., ClosedLoop],
    plant: str,
    signals: str | Path | None,
    blueprint: Blueprint,
    folder: Path | None,
) -> Rival:
    """Run the plant of a loop under another controller, for as long as the loop went.

    Where the plan's own prediction answered the loop, the physics of the plan answers here.

    ``controller``: a rule, a file of rules, or what closes the loop of another plan:
    :func:`control` with all but ``steps`` and ``plant``. ``plant``, ``signals``, ``blueprint``,
    ``folder``: as the loop had them. Raises InputError when the plans have other periods.
    """
    place, begins = ENVIRONMENT if plant == MODEL else plant, begins_of(loop.schedule.elaboration)
    runs = load_plant(place, signals, begins, blueprint, folder)
    steps, seconds = len(loop.controls), loop.runner.horizon.hours * loop.runner.applied * 3600.0
    if not isinstance(controller, str):
        other = controller(steps=steps, plant=runs)
        if other.times != loop.times[: len(other.times)]:
            said = "a plan that is compared has other periods"
            raise InputError(said, found=other.times[0], expected=f"one step, from {loop.times[0]}")
        figures = assess(other, None) if other.plant is None else assess(loop, other.plant)
        return Rival((*figures, computing_time(other)), other.plant, other)
    assert runs is not None  # the model's place is taken by the plan's plant
    if callable(runs):
        runs = Answered(blueprint, folder, runs)
    forcing = _came(loop, runs, seconds)
    rule = chosen(controller, runs, lambda: Environment(blueprint, folder))
    data = run(runs, steps, seconds, rule, forcing=forcing, begins=begins)
    if isinstance(runs, Connected):
        runs.close()
    return Rival(assess(loop, data), data)


def _came(loop: ClosedLoop, plant: Runs, seconds: float) -> Forcing:
    """Return what drove the plant in a loop, by the names and in the units of the plant."""
    found = {}
    for name, own in Names(loop.runner, loop.runner.blueprint.core).disturbances.items():
        signal, came = plant.signals.get(name), loop.log[own]
        if signal is not None and signal.role in INPUTS and came.ndim == 1:
            factor, shift = between(came.attrs["units"], signal.unit)
            found[name] = factor * came.values + shift
    return Forcing(seconds * np.arange(len(loop.controls), dtype=np.float64), found)


def per_building(
    loop: ClosedLoop, rule: str, **options: Any
) -> tuple["xarray.Dataset", tuple[str, ...]]:
    """Control each building of a loop's cluster alone; return what all did, and relaxed limits.

    The physics of each answers its plans; nothing but the limits joins the buildings.

    ``loop``: that of the whole cluster; the buildings are controlled for as long. ``rule``: by what
    the buildings share the limits: one of :data:`~engiagent.plant.cluster.SHARES`. ``options``: as
    :func:`~engiagent.control.starting.control` takes them. Raises InputError when the loop is of no
    cluster, or a building alone has no plan, as where its share is too small.
    """
    import xarray  # here, since every command imports this package

    if loop.cluster is None:
        raise InputError("the loop is of no cluster", expected="buildings: {…}")
    steps, given = len(loop.controls), {"horizon": loop.runner.horizon.size, **options}
    given |= {"plant": ENVIRONMENT, "folder": loop.cluster.source.problem.folder}
    records, notes = [], []
    for name, share in loop.cluster.shares(rule).items():
        try:
            alone = control(read_building(loop.cluster, name, share), steps, **given)
        except EngiagentError as error:
            raise InputError(f"{name} alone, {rule}: {error}") from None
        if alone.stopped or alone.plant is None:
            raise InputError(f"{name} alone, {rule}: {alone.stopped}")
        records.append(alone.plant)
        if alone.relaxed:
            said = f"{len(alone.relaxed)} of {steps} steps relax a limit"
            notes.append(f"{name} alone, {rule}: {said}")
    return xarray.merge(records, combine_attrs="override"), tuple(notes)
