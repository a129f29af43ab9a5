"""Buildings of a cluster that each plan alone, each with a share of what they are limited to."""

from typing import TYPE_CHECKING, Any

from engiagent.control.closedloop import ClosedLoop
from engiagent.control.starting import ENVIRONMENT, control
from engiagent.errors import EngiagentError, InputError
from engiagent.plant.reading import read_building

if TYPE_CHECKING:
    import xarray


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
