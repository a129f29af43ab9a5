r"""Backward/forward sweep for radial feeders, over all periods at once.

Backwards the currents of the demands, :math:`I_i = \overline{S_i / V_i} + y_i V_i`, are summed
towards the source; forwards the voltages follow from the drops :math:`z I` on the way from the
source. The error shrinks by a constant factor in each sweep, which tends to 1 as the demand comes
to the most that the feeder can carry.

Source: D. Shirmohammadi et al., doi:10.1109/59.192932.
"""

import numpy as np
import numpy.typing as npt

from engiagent.models.grids.network import Complexes, Network
from engiagent.models.grids.tree import Tree
from engiagent.models.ranges import Floats

TOLERANCE = 1e-13  # of the voltage, from sweep to sweep [p.u.]
SWEEPS = 1000
CHUNK = 2048  # periods at once: their arrays stay near the processor


def sweep(
    network: Network, power: Complexes, source_voltage: Floats
) -> tuple[Complexes, npt.NDArray[np.int64]]:
    """Return the voltages, NaN where no solution was found, and the number of sweeps.

    Parameters
    ----------
    power
        Net demand, shape (time, buses). [p.u.]
    source_voltage
        Shape (time,). [p.u.]
    """
    tree = Tree.of(network)
    voltage = np.full(power.shape, complex(np.nan, np.nan))
    iterations = np.zeros(len(power), dtype=np.int64)
    for first in range(0, len(power), CHUNK):
        part = slice(first, first + CHUNK)
        voltage[part], iterations[part] = _chunk(tree, power[part], source_voltage[part])
    return voltage, iterations


def _chunk(
    tree: Tree, power: Complexes, source_voltage: Floats
) -> tuple[Complexes, npt.NDArray[np.int64]]:
    found = np.full(power.shape, complex(np.nan, np.nan))
    iterations = np.full(len(power), SWEEPS, dtype=np.int64)
    open_ = np.arange(len(power))
    demand = np.ascontiguousarray(power.T)
    held = source_voltage.astype(np.complex128)
    impedance = tree.impedance[:, None]
    admittance = tree.admittance[:, None]
    voltage = np.repeat(held[None, :], len(demand), axis=0)
    # Periods beyond what the feeder can carry may run through zero or infinity before they stop.
    with np.errstate(all="ignore"):
        for count in range(1, SWEEPS + 1):
            current = np.conj(demand / voltage) + admittance * voltage
            updated = tree.descend(held, impedance * tree.gather(current))
            change = np.abs(updated - voltage).max(axis=0)
            done = change <= TOLERANCE
            hopeless = ~(np.abs(updated).max(axis=0) < 10.0)
            voltage = updated
            if done.any() or hopeless.any():
                found[open_[done]] = (voltage[:, done] / tree.factor[:, None]).T
                iterations[open_[done | hopeless]] = count
                stay = ~(done | hopeless)
                open_, held = open_[stay], held[stay]
                voltage, demand = voltage[:, stay], demand[:, stay]
            if not open_.size:
                break
    return found, iterations
