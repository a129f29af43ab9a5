"""Systems of modules and clusters of systems.

A system inside a system is laid out flat: its modules and buses get its name in front, as in
``house1.battery``. So the order of steps is found among units, and two systems that feed each
other do not block one another.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from engiagent.models.systems.module import Module
from engiagent.models.systems.ports import Port, State, WiringError
from engiagent.models.systems.wiring import Bus, Link, Wiring

if TYPE_CHECKING:
    from engiagent.models.systems.simulation import Simulation


@dataclass(frozen=True, kw_only=True)
class System:
    """Modules and systems by name, with buses for what flows and links for what is told.

    Attributes
    ----------
    modules
        Modules or whole systems. Names without a dot.
    buses
        Where flows are balanced.
    links
        Which output feeds which action or disturbance.

    Raises
    ------
    WiringError
        When a connection means nothing: unknown ports, different units, domains or shapes, two
        suppliers of an input, a flow on two buses, an algebraic loop.

    Examples
    --------
    >>> from engiagent.models import Battery, Load
    >>> from engiagent.models.systems.electrical import BatteryModule, GridModule, LoadModule
    >>> home = System(
    ...     modules={
    ...         "battery": BatteryModule(Battery(energy_capacity=10.0, initial_energy=5.0)),
    ...         "load": LoadModule(Load(power=2.0)),
    ...         "grid": GridModule(),
    ...     },
    ...     buses=(Bus(name="home", domain="electrical", members=(
    ...         "battery.charge", "battery.discharge", "load.power", "grid.exchange")),),
    ... )
    >>> sorted(home.actions)
    ['battery.charge', 'battery.discharge']
    """

    modules: Mapping[str, "Module | System"]
    buses: tuple[Bus, ...] = ()
    links: tuple[Link, ...] = ()

    def __post_init__(self) -> None:
        for name in self.modules:
            if not name or "." in name:
                raise WiringError(
                    f"the module name {name!r} is empty or has a dot; use a plain one"
                )
        _ = self.wiring

    @cached_property
    def wiring(self) -> Wiring:
        """All modules, buses and links, laid out flat and checked."""
        modules, buses, links = _flat(self)
        return Wiring.of(modules, buses, links)

    def initialize(self, step_hours: float) -> "Simulation":
        """Return the system ready to ``reset`` and ``step`` with periods of this length [h]."""
        from engiagent.models.systems.simulation import Simulation

        return Simulation(self, step_hours)

    @property
    def actions(self) -> dict[str, Port]:
        """Inputs left to whoever runs the system, by full name."""
        return self.wiring.open_inputs("action")

    @property
    def disturbances(self) -> dict[str, Port]:
        """Exogenous inputs that no module of the system supplies, by full name."""
        return self.wiring.open_inputs("disturbance")

    @property
    def observations(self) -> dict[str, Port]:
        """All outputs, flows among them, by full name."""
        return {name: port for name, port in self.wiring.ports.items() if not port.is_input}

    @property
    def states(self) -> dict[str, State]:
        """All states by full name."""
        return {
            f"{name}.{state.name}": state
            for name, module in self.wiring.modules.items()
            for state in module.states
        }


def _flat(system: System) -> tuple[dict[str, Module], tuple[Bus, ...], tuple[Link, ...]]:
    modules: dict[str, Module] = {}
    buses: list[Bus] = []
    links: list[Link] = []
    for name, part in system.modules.items():
        if isinstance(part, Module):
            modules[name] = part
            continue
        inner_modules, inner_buses, inner_links = _flat(part)
        modules |= {f"{name}.{inner}": module for inner, module in inner_modules.items()}
        buses += [
            replace(
                bus,
                name=f"{name}.{bus.name}",
                members=tuple(f"{name}.{member}" for member in bus.members),
            )
            for bus in inner_buses
        ]
        links += [Link(f"{name}.{link.source}", f"{name}.{link.target}") for link in inner_links]
    return modules, (*buses, *system.buses), (*links, *system.links)
