r"""Any heat network as algebra: the exact step of its nodes with mass, and means of all nodes.

.. math::
    T_{k,t+1} = \sum_j A_{kj} T_{j,t} + \sum_b D_{kb} T_{b,t} + \sum_h D_{kh} \dot Q_{h,t}

in degrees Celsius, with the matrices of ``HeatNetwork.discretise``, which hold temperatures at the
boundaries and heat over a step; the means over the step follow alike.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from engiagent.blueprint.document import FrozenMap, Json, SetDef
from engiagent.formulations.components.fragment import REQUIREMENT
from engiagent.formulations.components.reader import Reader
from engiagent.models.buildings.network import HeatNetwork
from engiagent.models.ranges import ParameterError

NOTHING: Final = 1e-11
"""What an entry is worth over the largest one to be kept: 1e-10 K over ten kelvin."""
ZERO: Final = "0[degC]"
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Inputs:
    """What acts on a network, as expressions in ``t``."""

    boundary: Mapping[str, str]  # temperatures by the names of the boundaries. [degC]
    heat: Mapping[str, str]  # heat into nodes by their names. [kW]
    initial: Mapping[str, str]  # temperatures of the nodes with mass at the start. [degC]


def network_of(reader: Reader, network: HeatNetwork, inputs: Inputs) -> None:
    """Add states, their exact step and means of all nodes.

    The series are ``temperature`` at instants over the nodes with mass and ``mean_temperature``
    over all nodes.

    Raises InputError when a node with mass lacks its first temperature.
    """
    nodes = [node.name for node in network.nodes]
    heavy = [node.name for node in network.nodes if node.capacity > 0]
    missing = [name for name in heavy if name not in inputs.initial]
    if missing:
        raise reader.wrong(f"the node {missing[0]} has no initial_temperature")
    name, hours = reader.name, reader.hours()
    lengths, kind = np.unique(hours, return_inverse=True)
    _declared(reader, nodes, heavy, inputs)
    if len(lengths) > 1:
        _table(reader, "step_kind", "1", (reader.time,), tuple(map(float, kind)))
    means: list[tuple[str, str]] = []
    for number, length in enumerate(lengths):
        tail = "" if len(lengths) == 1 else f"_{number}"
        where = "" if len(lengths) == 1 else f"{name}_step_kind[t] == {number}"
        try:
            exact = network.discretise(float(length))
        except ParameterError as error:
            raise reader.wrong(f"its network has no step: {error}") from None
        step = _linear(
            reader,
            f"after{tail}",
            f"{name}_masses",
            heavy,
            heavy,
            (exact.transition, exact.drive),
            network,
            inputs,
        )
        reader.row(
            f"dynamics{tail}",
            f"{name}_temperature[k, t+1] == {ZERO} + {step}",
            "heat balance",
            where=where or None,
            index=(f"k in {name}_masses", f"t in {reader.time}"),
        )
        # Nodes without mass follow the means of the others.
        all_nodes = (
            exact.spread @ exact.mean_transition,
            exact.spread @ exact.mean_drive + exact.direct,
        )
        mean = _linear(
            reader, f"mean{tail}", f"{name}_nodes", nodes, heavy, all_nodes, network, inputs
        )
        means.append((where, mean))
    _mean(reader, means)


def _declared(reader: Reader, nodes: list[str], heavy: list[str], inputs: Inputs) -> None:
    """Add sets, the temperatures of the nodes with mass and their start."""
    name = reader.name
    for group, members in (("nodes", nodes), ("masses", heavy)):
        reader.added.append(SetDef(name=f"{name}_{group}", kind="labels", elements=tuple(members)))
    reader.variable(
        "temperature",
        "temperature of the nodes of {} with mass",
        lower=None,
        role="state",
        index=(f"k in {name}_masses", f"i in {reader.instants}"),
    )
    for k, node in enumerate(heavy):
        state = f"{name}_temperature['{node}', first({reader.instants})]"
        words = f"temperature of {node} of {{}} at the start"
        text = f"{state} == {inputs.initial[node]}"
        reader.row(f"initial_{k}", text, words, index=())


def _linear(
    reader: Reader,
    what: str,
    over: str,
    rows: list[str],
    heavy: list[str],
    matrices: tuple[Floats, Floats],
    network: HeatNetwork,
    inputs: Inputs,
) -> str:
    """Return the parameters of one linear map, and what it gives above 0 degC for a row ``k``."""
    name = reader.name
    transition, drive = (_without_rounding(matrix) for matrix in matrices)
    by_mass = f"{name}_{what}_by_mass"
    table = {
        row: {col: float(transition[i, j]) for j, col in enumerate(heavy)}
        for i, row in enumerate(rows)
    }
    _table(reader, f"{what}_by_mass", "1", (over, f"{name}_masses"), FrozenMap(table))
    terms = [f"sum({by_mass}[k, j]*({name}_temperature[j, t] - {ZERO}) for j in {name}_masses)"]
    for number, boundary in enumerate(network.boundaries):
        column = {row: float(drive[i, number]) for i, row in enumerate(rows)}
        _table(reader, f"{what}_by_{boundary}", "1", (over,), FrozenMap(column))
        terms.append(f"{name}_{what}_by_{boundary}[k]*({inputs.boundary[boundary]} - {ZERO})")
    index = network.index
    for number, (node, heat) in enumerate(inputs.heat.items()):
        place = len(network.boundaries) + index[node]
        column = {row: float(drive[i, place]) for i, row in enumerate(rows)}
        own = f"{what}_by_heat_{number}"
        _table(reader, own, "K/kW", (over,), FrozenMap(column))
        terms.append(f"{name}_{own}[k]*({heat})")
    return " + ".join(terms)


def _without_rounding(matrix: Floats) -> Floats:
    """Return a matrix without entries that no digit of a temperature depends on.

    Between distant nodes the exponential leaves numbers that solvers refuse as coefficients.
    """
    return np.where(np.abs(matrix) < NOTHING * np.abs(matrix).max(), 0.0, matrix)


def _table(reader: Reader, suffix: str, unit: str, index: tuple[str, ...], value: Json) -> None:
    note = "matrix exponential of capacities and conductances"
    reader.derived(suffix, unit, value, "of the exact step of {}", note=note, index=index)


def _mean(reader: Reader, means: list[tuple[str, str]]) -> None:
    """Add the means, told apart by the length of the step."""
    texts = [f"({ZERO} + {terms})" for _, terms in means]
    text = texts[-1]
    for (where, _), other in zip(means[-2::-1], texts[-2::-1], strict=True):
        text = f"({other} if {where} else {text})"
    index = (f"k in {reader.name}_nodes", f"t in {reader.time}")
    words = "mean temperature over a period of all nodes"
    reader.expression("mean_temperature", text, words, index=index)


def comfort(reader: Reader, mean: str, low: str | None, high: str | None, suffix: str = "") -> None:
    """Add a band for a mean temperature: hard, or broken by ``discomfort`` when ``soft``."""
    soft = reader.flag("soft")
    if low is None and high is None:
        return
    slack = ""
    if soft:
        series, quantity = f"discomfort{suffix}", f"discomfort{suffix.replace('_', '.', 1)}"
        slack = f"{reader.name}_{series}[t]"
        reader.variable(
            series,
            "kelvin outside the band",
            unit="K",
            quantity=f"{reader.name}.{quantity}",
            role="auxiliary",
        )
    for side, limit, op, sign in (("low", low, ">=", "-"), ("high", high, "<=", "+")):
        if limit is not None:
            text = f"{mean} {op} {limit}" + (f" {sign} {slack}" if soft else "")
            own, words = f"comfort_{side}{suffix}", f"comfort of {{}}, {side} side"
            reader.row(own, text, words, REQUIREMENT)
