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

from engiagent.blueprint.document import FrozenMap, Json, ParameterDef, SetDef
from engiagent.formulations.components.fragment import REQUIREMENT, Fragment
from engiagent.formulations.components.reader import Reader
from engiagent.models.buildings.network import HeatNetwork
from engiagent.models.ranges import ParameterError

NOTHING: Final = 1e-11
"""What an entry is worth over the largest one to be kept: 1e-10 K over ten kelvin."""
ZERO: Final = "0[degC]"
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Inputs:
    """What acts on a network, as expressions in ``t``.

    Attributes
    ----------
    boundary
        Temperatures by the names of the boundaries. [degC]
    heat
        Heat into nodes by their names. [kW]
    initial
        Temperatures of the nodes with mass at the start. [degC]
    """

    boundary: Mapping[str, str]
    heat: Mapping[str, str]
    initial: Mapping[str, str]


def network_of(reader: Reader, network: HeatNetwork, inputs: Inputs) -> Fragment:
    """Return states, their exact step and means of all nodes.

    The series are ``temperature`` at instants over the nodes with mass and ``mean_temperature``
    over all nodes.

    Raises
    ------
    InputError
        When a node with mass lacks its first temperature.
    """
    nodes = [node.name for node in network.nodes]
    heavy = [node.name for node in network.nodes if node.capacity > 0]
    missing = [name for name in heavy if name not in inputs.initial]
    if missing:
        raise reader.wrong(f"the node {missing[0]} has no initial_temperature")
    name, hours = reader.name, reader.hours()
    lengths, kind = np.unique(hours, return_inverse=True)
    result = _declared(reader, nodes, heavy, inputs)
    if len(lengths) > 1:
        result += Fragment(
            parameters=(
                _parameter(reader, "step_kind", "1", (reader.time,), tuple(map(float, kind))),
            )
        )
    means: list[tuple[str, str]] = []
    for number, length in enumerate(lengths):
        tail = "" if len(lengths) == 1 else f"_{number}"
        where = "" if len(lengths) == 1 else f"{name}_step_kind[t] == {number}"
        try:
            exact = network.discretise(float(length))
        except ParameterError as error:
            raise reader.wrong(f"its network has no step: {error}") from None
        parts, step = _linear(
            reader,
            f"after{tail}",
            f"{name}_masses",
            heavy,
            heavy,
            (exact.transition, exact.drive),
            network,
            inputs,
        )
        result += parts + reader.row(
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
        parts, mean = _linear(
            reader, f"mean{tail}", f"{name}_nodes", nodes, heavy, all_nodes, network, inputs
        )
        result += parts
        means.append((where, mean))
    return result + _mean(reader, means)


def _declared(reader: Reader, nodes: list[str], heavy: list[str], inputs: Inputs) -> Fragment:
    """Return sets, the temperatures of the nodes with mass and their start."""
    name = reader.name
    result = Fragment(
        sets=(
            SetDef(name=f"{name}_nodes", kind="labels", elements=tuple(nodes)),
            SetDef(name=f"{name}_masses", kind="labels", elements=tuple(heavy)),
        )
    )
    result += reader.variable(
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
        result += reader.row(f"initial_{k}", text, words, index=())
    return result


def _linear(
    reader: Reader,
    what: str,
    over: str,
    rows: list[str],
    heavy: list[str],
    matrices: tuple[Floats, Floats],
    network: HeatNetwork,
    inputs: Inputs,
) -> tuple[Fragment, str]:
    """Return the parameters of one linear map, and what it gives above 0 degC for a row ``k``."""
    name = reader.name
    transition, drive = (_without_rounding(matrix) for matrix in matrices)
    by_mass = f"{name}_{what}_by_mass"
    table = {
        row: {col: float(transition[i, j]) for j, col in enumerate(heavy)}
        for i, row in enumerate(rows)
    }
    parameters = [_parameter(reader, f"{what}_by_mass", "1", (over, f"{name}_masses"), table)]
    terms = [f"sum({by_mass}[k, j]*({name}_temperature[j, t] - {ZERO}) for j in {name}_masses)"]
    for number, boundary in enumerate(network.boundaries):
        column = {row: float(drive[i, number]) for i, row in enumerate(rows)}
        parameters.append(_parameter(reader, f"{what}_by_{boundary}", "1", (over,), column))
        terms.append(f"{name}_{what}_by_{boundary}[k]*({inputs.boundary[boundary]} - {ZERO})")
    index = network.index
    for number, (node, heat) in enumerate(inputs.heat.items()):
        place = len(network.boundaries) + index[node]
        column = {row: float(drive[i, place]) for i, row in enumerate(rows)}
        own = f"{what}_by_heat_{number}"
        parameters.append(_parameter(reader, own, "K/kW", (over,), column))
        terms.append(f"{name}_{own}[k]*({heat})")
    return Fragment(parameters=tuple(parameters)), " + ".join(terms)


def _without_rounding(matrix: Floats) -> Floats:
    """Return a matrix without entries that no digit of a temperature depends on.

    Between distant nodes the exponential leaves numbers that solvers refuse as coefficients.
    """
    return np.where(np.abs(matrix) < NOTHING * np.abs(matrix).max(), 0.0, matrix)


def _parameter(
    reader: Reader, suffix: str, unit: str, index: tuple[str, ...], value: Json
) -> ParameterDef:
    frozen = FrozenMap(value) if isinstance(value, dict) else value
    return ParameterDef(
        name=f"{reader.name}_{suffix}",
        index=index,
        value=frozen,
        unit=unit,
        description=f"of the exact step of {reader.name}",
        source_reference=reader.derived_from("matrix exponential of capacities and conductances"),
    )


def _mean(reader: Reader, means: list[tuple[str, str]]) -> Fragment:
    """Return the means, told apart by the length of the step."""
    texts = [f"({ZERO} + {terms})" for _, terms in means]
    text = texts[-1]
    for (where, _), other in zip(means[-2::-1], texts[-2::-1], strict=True):
        text = f"({other} if {where} else {text})"
    index = (f"k in {reader.name}_nodes", f"t in {reader.time}")
    words = "mean temperature over a period of all nodes"
    return reader.expression("mean_temperature", text, words, index=index)


def comfort(
    reader: Reader, mean: str, low: str | None, high: str | None, suffix: str = ""
) -> Fragment:
    """Return a band for a mean temperature: hard, or broken by ``discomfort`` when ``soft``."""
    soft = reader.flag("soft")
    if low is None and high is None:
        return Fragment()
    result, slack = Fragment(), ""
    if soft:
        series, quantity = f"discomfort{suffix}", f"discomfort{suffix.replace('_', '.', 1)}"
        slack = f"{reader.name}_{series}[t]"
        result = reader.variable(
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
            result += reader.row(own, text, words, REQUIREMENT)
    return result
