r"""A tariff in a blueprint: its charges as parameters, variables, rows and one expression of cost.

Energy :math:`E_g = \sum_{t \in g} P_t \Delta t` of a billing month (or day) and period fills tiers

.. math:: E_g = \sum_k e_{g,k}, \qquad 0 \le e_{g,k} \le w_{g,k}, \qquad
    \text{cost} = \sum_{g,k} p_{g,k} e_{g,k},

in their order by itself while prices rise; where one falls, a binary says that the tier below is
full. Demand of a month and period is the highest mean of its windows,

.. math:: D_d \ge \frac{1}{n} \sum_{t \in \text{window}} P_t, \qquad
    B_d \ge D_d, \qquad B_d \ge f_{d,d'} D_{d'},

with the fractions :math:`f` of a ratchet, and fills tiers of its own. Everything is written in the
blueprint language, so that whatever takes a blueprint takes its tariff. It is exact where the cost
is minimised; :func:`engiagent.models.tariffs.bill` computes the same bill from the schedule.
"""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np

from engiagent.blueprint.document import Blueprint, ExpressionDef, ObjectiveDef, VariableDef
from engiagent.blueprint.elaborate import Elaboration
from engiagent.errors import InputError
from engiagent.formulations.expansion import expand
from engiagent.io.files import open_inside
from engiagent.io.jsontext import loads_strict
from engiagent.models.ranges import ParameterError
from engiagent.models.tariffs import BillHistory, MeterTimes, Tariff, from_urdb
from engiagent.study.economics.tariff_parts import TariffParts


def read_urdb(path: Path | str) -> Tariff:
    """Return the tariff of a JSON file of the Utility Rate Database.

    Raises InputError when the file cannot be read or is no rate; ParameterError when it says what
    no tariff here can.
    """
    where = Path(path)
    data = open_inside(where.parent, where.name)
    try:
        rate = loads_strict(data.decode("utf-8-sig"), where.name)
    except UnicodeDecodeError:
        raise InputError("no text in UTF-8", where.name) from None
    try:
        return from_urdb(rate)
    except ParameterError:
        raise
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise InputError(f"this is no rate of the database: {error}", where.name) from None


def meter_times(blueprint: Blueprint, time: str, folder: Path | None = None) -> MeterTimes:
    """Return the clock of a time set as a meter's.

    Raises InputError when the set has no date or no zone, or its periods differ in length.
    """
    index_set = Elaboration(blueprint.core, folder).index_set(time)
    axis = index_set.axis
    if axis is None or not axis.dated or axis.zone is None:
        text = f"the set {time} needs a date and a time zone, so that a tariff knows its hours"
        raise InputError(text, expected='as "start": "2025-07-01T00:00", "zone": "Europe/Berlin"')
    steps = np.unique(axis.steps)
    if len(steps) != 1:
        raise InputError(f"the periods of {time} differ in length; a meter's do not")
    start = datetime.fromtimestamp(float(axis.edges[0]), UTC).astimezone(ZoneInfo(axis.zone))
    return MeterTimes(start=start, step_hours=float(steps[0]), count=index_set.size)


def with_tariff(
    blueprint: Blueprint,
    tariff: Tariff,
    *,
    imported: str = "grid_import",
    exported: str | None = None,
    time: str = "T",
    name: str = "tariff",
    history: BillHistory | None = None,
    folder: Path | None = None,
) -> Blueprint:
    """Return a blueprint whose minimised cost has the bill of a tariff in it.

    ``blueprint``: with an objective to be minimised in the tariff's currency, or none. Components
    are expanded. ``tariff``: what is charged. ``imported``, ``exported``: variables over the time
    set: the power of the meter in each direction; of the grid ``grid`` these are ``grid_import``
    and ``grid_export``. [kW] ``time``: the time set; it has a date and a zone. ``name``: what the
    names of everything added begin with; the expression ``<name>_cost`` is the bill. ``history``:
    what happened in the first billing month before the horizon. ``folder``: where data files lie.
    Raises InputError when a part of the tariff has no exact form here, a boundary of it cuts a
    period, or the objective is not one cost to be minimised.
    """
    full = expand(blueprint)
    known = {variable.name: variable for variable in full.core.decision_variables}
    for power in (imported, *([exported] if exported else [])):
        if power not in known:
            raise InputError(f"there is no variable {power}", expected=", ".join(sorted(known)))
    times = meter_times(full, time, folder)
    writer = TariffParts(
        tariff,
        times,
        imported,
        exported,
        time,
        name,
        history or BillHistory(),
        _limit(known[imported], time),
    )
    writer.write()
    return _joined(full, writer)


def _limit(power: VariableDef, time: str) -> str | None:
    """Return the upper bound of a power in period ``t`` as an expression, None without one."""
    if power.upper is None or power.index != (f"t in {time}",):
        return None
    if isinstance(power.upper, int | float):
        return f"{power.upper!r}[{power.unit or '1'}]"
    return power.upper


def _joined(full: Blueprint, writer: TariffParts) -> Blueprint:
    core, name, currency = full.core, writer.name, writer.tariff.currency
    objective = core.objective_function
    if objective is not None and (objective.sense != "minimize" or objective.terms):
        raise InputError("a tariff is added to one cost that is minimised; this objective is not")
    assumed = "; ".join(writer.tariff.assumptions)
    total = ExpressionDef(
        name=f"{name}_cost",
        expression=" + ".join(writer.costs) or "0",
        unit=currency,
        description=f"bill of the tariff; assumed: {assumed}" if assumed else "bill of the tariff",
    )
    changed: dict[str, Any] = {
        "sets": core.sets + tuple(writer.sets),
        "parameters": core.parameters + tuple(writer.parameters),
        "decision_variables": core.decision_variables + tuple(writer.variables),
        "expressions": (*core.expressions, total),
        "constraints": core.constraints + tuple(writer.constraints),
    }
    if objective is not None:
        both = f"({objective.expression}) + {name}_cost"
        changed["objective_function"] = replace(objective, expression=both)
    else:
        goal = ObjectiveDef(name="bill", sense="minimize", expression=f"{name}_cost", unit=currency)
        changed["objective_function"] = goal
    return Blueprint.from_dict(full.with_core(**changed).to_dict())
