"""The battery LP as the users of other tools write it, each solved by HiGHS.

Every function builds, solves and reads the schedule out as arrays, and returns its times.
"""

from pathlib import Path
from typing import Any

import battery_instance as instance
import numpy as np
from battery_laps import Lap


def linopy(periods: int, folder: Path) -> dict[str, Any]:
    """Solve a vectorised linopy model, handed to HiGHS directly."""
    import linopy as lp
    import pandas as pd

    prices = instance.prices(periods)
    lap = Lap()
    model = lp.Model()
    time, edges = pd.RangeIndex(periods, name="t"), pd.RangeIndex(periods + 1, name="t")
    charge = model.add_variables(0, instance.POWER, coords=[time], name="charge")
    discharge = model.add_variables(0, instance.POWER, coords=[time], name="discharge")
    lower = np.zeros(periods + 1)
    upper = np.full(periods + 1, instance.ENERGY)
    lower[0] = upper[0] = lower[-1] = instance.ENERGY_START
    energy = model.add_variables(
        pd.Series(lower, edges), pd.Series(upper, edges), coords=[edges], name="energy"
    )
    later = energy.isel(t=slice(1, None)).assign_coords(t=time)
    now = energy.isel(t=slice(None, -1))
    into = instance.EFFICIENCY * charge - (1.0 / instance.EFFICIENCY) * discharge
    model.add_constraints(later - now - into == 0, name="balance")
    price = pd.Series(prices, time).to_xarray()
    profit = (price * discharge - price * charge - instance.WEAR * discharge).sum()
    model.add_objective(profit, sense="max")
    lap.stop("build_s")
    _, condition = model.solve("highs", io_api="direct", log_to_console=False)
    lap.stop("solve_s")
    for variable in (charge, discharge, energy):
        np.asarray(variable.solution)
    lap.stop("extract_s")
    return {**lap.times, "status": condition, "objective": float(model.objective.value)}


def cvxpy(periods: int, folder: Path) -> dict[str, Any]:
    """Solve a vectorised CVXPY model with HiGHS."""
    import cvxpy as untyped

    cp: Any = untyped

    prices = instance.prices(periods)
    lap = Lap()
    charge, discharge = cp.Variable(periods), cp.Variable(periods)
    energy = cp.Variable(periods + 1)
    into = instance.EFFICIENCY * charge - discharge / instance.EFFICIENCY
    limits = [
        charge >= 0,
        charge <= instance.POWER,
        discharge >= 0,
        discharge <= instance.POWER,
        energy >= 0,
        energy <= instance.ENERGY,
        energy[1:] == energy[:-1] + into,
        energy[0] == instance.ENERGY_START,
        energy[-1] >= instance.ENERGY_START,
    ]
    profit = prices @ (discharge - charge) - instance.WEAR * cp.sum(discharge)
    problem = cp.Problem(cp.Maximize(profit), limits)
    lap.stop("build_s")
    problem.solve(solver=cp.HIGHS)
    lap.stop("solve_s")
    for variable in (charge, discharge, energy):
        np.asarray(variable.value)
    lap.stop("extract_s")
    return {**lap.times, "status": problem.status, "objective": float(problem.value)}


def pyomo(periods: int, folder: Path) -> dict[str, Any]:
    """Solve an ordinary concrete Pyomo model."""
    import pyomo.environ as pyo
    from pyomo.contrib.appsi.solvers.highs import Highs

    prices = instance.prices(periods).tolist()
    lap = Lap()
    model = _pyomo_model(pyo, prices)
    lap.stop("build_s")
    solver = Highs()
    solver.config.load_solution = True
    result = solver.solve(model)
    lap.stop("solve_s")
    for part in (model.charge, model.discharge, model.energy):
        np.array([part[index].value for index in part])
    lap.stop("extract_s")
    status = result.termination_condition.name
    return {**lap.times, "status": status, "objective": pyo.value(model.profit)}


def _pyomo_model(pyo: Any, prices: list[float]) -> Any:
    n, model = len(prices), pyo.ConcreteModel()
    power, energy = (0.0, instance.POWER), (0.0, instance.ENERGY)
    model.charge = pyo.Var(range(n), bounds=power)
    model.discharge = pyo.Var(range(n), bounds=power)
    model.energy = pyo.Var(range(n + 1), bounds=energy)

    def balance(m: Any, t: int) -> Any:
        into = instance.EFFICIENCY * m.charge[t] - m.discharge[t] / instance.EFFICIENCY
        return m.energy[t + 1] == m.energy[t] + into

    model.balance = pyo.Constraint(range(n), rule=balance)
    model.start = pyo.Constraint(expr=model.energy[0] == instance.ENERGY_START)
    model.end = pyo.Constraint(expr=model.energy[n] >= instance.ENERGY_START)
    model.profit = pyo.Objective(
        expr=sum(
            prices[t] * (model.discharge[t] - model.charge[t]) - instance.WEAR * model.discharge[t]
            for t in range(n)
        ),
        sense=pyo.maximize,
    )
    return model


def pypsa(periods: int, folder: Path) -> dict[str, Any]:
    """Solve a PyPSA network: the market is a generator that runs both ways, the battery a store.

    The energy at the end of the last hour is the store's level at the last snapshot.
    """
    import logging

    import pandas as pd
    import pypsa as ps

    logging.disable(logging.INFO)
    prices = instance.prices(periods)
    lap = Lap()
    network = ps.Network()
    snapshots = pd.RangeIndex(periods)
    network.set_snapshots(snapshots)
    network.add("Bus", ["grid", "battery"])
    price = pd.Series(prices, snapshots)
    network.add(
        "Generator",
        "market",
        bus="grid",
        p_nom=2 * instance.POWER,
        p_min_pu=-1.0,
        p_max_pu=1.0,
        marginal_cost=price,
    )
    least = pd.Series(0.0, snapshots)
    least.iloc[-1] = instance.ENERGY_START / instance.ENERGY
    network.add(
        "Store",
        "store",
        bus="battery",
        e_nom=instance.ENERGY,
        e_initial=instance.ENERGY_START,
        e_min_pu=least,
    )
    network.add(
        "Link",
        "charge",
        bus0="grid",
        bus1="battery",
        p_nom=instance.POWER,
        efficiency=instance.EFFICIENCY,
    )
    network.add(
        "Link",
        "discharge",
        bus0="battery",
        bus1="grid",
        p_nom=instance.POWER / instance.EFFICIENCY,
        efficiency=instance.EFFICIENCY,
        marginal_cost=instance.WEAR * instance.EFFICIENCY,
    )
    lap.stop("build_s")
    _, condition = network.optimize(solver_name="highs", io_api="direct", log_to_console=False)
    lap.stop("solve_s")
    np.asarray(network.stores_t.e), np.asarray(network.links_t.p0)
    lap.stop("extract_s")
    return {**lap.times, "status": condition, "objective": -float(network.objective)}


def oemof(periods: int, folder: Path) -> dict[str, Any]:
    """Solve an oemof.solph energy system with a generic storage."""
    import logging
    import warnings

    import pandas as pd
    import pyomo.environ as pyo
    from oemof import solph
    from pyomo.contrib.appsi.solvers.highs import Highs

    logging.disable(logging.INFO)
    warnings.simplefilter("ignore")
    prices = instance.prices(periods)
    lap = Lap()
    index = pd.date_range(instance.START, periods=periods + 1, freq="h")
    system = solph.EnergySystem(timeindex=index, infer_last_interval=False)
    bus = solph.Bus("grid")
    market = solph.components.Source("buy", outputs={bus: solph.Flow(variable_costs=prices)})
    sale = solph.components.Sink("sell", inputs={bus: solph.Flow(variable_costs=-prices)})
    store = solph.components.GenericStorage(
        "store",
        nominal_capacity=instance.ENERGY,
        initial_storage_level=instance.ENERGY_START / instance.ENERGY,
        balanced=False,
        inflow_conversion_factor=instance.EFFICIENCY,
        outflow_conversion_factor=instance.EFFICIENCY,
        inputs={bus: solph.Flow(nominal_capacity=instance.POWER)},
        outputs={bus: solph.Flow(nominal_capacity=instance.POWER, variable_costs=instance.WEAR)},
    )
    system.add(bus, market, sale, store)
    model = solph.Model(system)
    content = model.GenericStorageBlock.storage_content
    last = max(t for _, t in content)
    content[store, last].setlb(instance.ENERGY_START)
    lap.stop("build_s")
    solver = Highs()
    solver.config.load_solution = True
    result = solver.solve(model)
    lap.stop("solve_s")
    np.array([content[key].value for key in content])
    lap.stop("extract_s")
    status = result.termination_condition.name
    return {**lap.times, "status": status, "objective": -float(pyo.value(model.objective))}


PEERS = {"linopy": linopy, "cvxpy": cvxpy, "pyomo": pyomo, "pypsa": pypsa, "oemof.solph": oemof}
