"""A house as an FMU: two capacities, an override, absolute temperatures; built by pythonfmu."""

import math
from typing import Any

from pythonfmu import Boolean, Fmi2Causality, Fmi2Slave, Fmi2Variability, Real


class House(Fmi2Slave):  # type: ignore[misc]
    """Air and walls with heating, whose own thermostat acts where nobody overrides it."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.c_air, self.c_wall, self.r_wall, self.r_out = 1.5e6, 2.0e7, 0.002, 0.006
        self.dead = False
        self.t_air, self.t_wall, self.heat, self.t_out = 293.15, 291.15, 0.0, 273.15
        self.oveQ_u, self.oveQ_activate, self.gains = 0.0, False, 0.0
        self.oveQ_y = self.reaT_y = self.wall = 0.0
        for name in ("c_air", "c_wall", "r_wall", "r_out"):
            self.register_variable(
                Real(name, causality=Fmi2Causality.parameter, variability=Fmi2Variability.tunable)
            )
        self.register_variable(
            Boolean("dead", causality=Fmi2Causality.parameter, variability=Fmi2Variability.tunable)
        )
        for name in ("oveQ_u", "gains"):
            self.register_variable(Real(name, causality=Fmi2Causality.input))
        self.register_variable(
            Boolean(
                "oveQ_activate", causality=Fmi2Causality.input, variability=Fmi2Variability.discrete
            )
        )
        for name in ("reaT_y", "oveQ_y", "t_wall", "t_out"):
            self.register_variable(Real(name, causality=Fmi2Causality.output))

    def exit_initialization_mode(self) -> None:
        self.reaT_y = self.t_air

    def do_step(self, time: float, step: float) -> bool:
        count = max(int(step // 10), 1)
        for k in range(count):
            self._advance(time + k * step / count, step / count)
        self.reaT_y, self.oveQ_y = self.t_air, self.heat
        return True

    def _advance(self, time: float, step: float) -> None:
        own = 4000.0 if self.t_air < 294.15 else 0.0
        self.heat = self.oveQ_u if self.oveQ_activate and not self.dead else own
        self.t_out = 273.15 + 5.0 * math.sin(2 * math.pi * (time / 86400.0 - 0.375))
        flow = (self.t_wall - self.t_air) / self.r_wall
        out = (self.t_out - self.t_wall) / self.r_out
        self.t_air += step * (self.heat + self.gains + flow) / self.c_air
        self.t_wall += step * (out - flow) / self.c_wall
