"""The environment as agents of gymnasium know it: ``gymnasium.make("engiagent/Site-v0", …)``.

An action is a vector of all actions, an observation one of all states and of what drives the plant
now, both in the order of :attr:`SiteEnv.action_names` and :attr:`SiteEnv.observation_names`, both
scaled to -1 … 1 between finite bounds. What is beyond these is clipped, so that every observation
lies in its space.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from engiagent.environment.environment import Environment
from engiagent.environment.interface import Signal
from engiagent.errors import InputError

try:
    import gymnasium
except ImportError as error:
    raise ImportError('agents need gymnasium: pip install "engiagent[rl]"') from error

Floats = npt.NDArray[np.float32]
Reward = Callable[[Mapping[str, float]], float]
ID = "engiagent/Site-v0"
USUAL = {"degC": (-40.0, 110.0), "1": (0.0, 1.0)}
"""Bounds of states and weather whose unit says what is possible."""


class SiteEnv(gymnasium.Env[Floats, Floats]):
    """A site for agents.

    ``plant``: a plant file, or an environment. ``seconds``: length of a step; the plant's own when
    None. [s] ``reward``: from the values of a step by name to its reward; what the energy of the
    step costs at the grids, with the other sign, when None. ``actions``: names of the actions that
    the agent decides; all with a default or a limit when None. ``bounds``: between which a signal
    lies, by name, where its limits and the plant's series do not say. Raises InputError for an
    action without a finite bound.
    """

    metadata = {"render_modes": []}  # noqa: RUF012  # gymnasium declares it so

    def __init__(
        self,
        plant: str | Path | Environment,
        seconds: float | None = None,
        reward: Reward | None = None,
        actions: Sequence[str] | None = None,
        bounds: Mapping[str, tuple[float, float]] | None = None,
        render_mode: str | None = None,
    ) -> None:
        self.render_mode = render_mode
        self.site = plant if isinstance(plant, Environment) else Environment.load(plant)
        self.site.initialize(seconds or self.site.seconds)
        signals, self._given = self.site.signals, dict(bounds or {})
        decided = [n for n, s in signals.items() if s.role == "action" and s.default is not None]
        self.action_names = tuple(decided if actions is None else actions)
        self.observation_names = tuple(
            name for name, signal in signals.items() if signal.role in ("state", "disturbance")
        )
        self._low, self._high = self._ends(self.action_names)
        low, high = self._ends(self.observation_names)
        self._middle, self._half = (low + high) / 2, np.maximum((high - low) / 2, 1e-9)
        sizes = (len(self.action_names),), (len(self.observation_names),)
        self.action_space, self.observation_space = (
            gymnasium.spaces.Box(-1.0, 1.0, size, np.float32) for size in sizes
        )
        self._reward = reward or self._saved

    def _ends(self, names: Sequence[str]) -> npt.NDArray[np.float64]:
        """Return lower and upper ends of signals, shape (2, names)."""
        return (
            np.array([self._bounds(name, self.site.signals[name]) for name in names])
            .reshape(-1, 2)
            .T
        )

    def _bounds(self, name: str, signal: Signal) -> tuple[float, float]:
        if name in self._given:
            return self._given[name]
        if np.isfinite(signal.lower) and np.isfinite(signal.upper):
            return signal.lower, signal.upper
        if signal.role == "disturbance":
            values = self.site.series(name)
            return float(values.min()), float(values.max())
        if signal.role == "state" and signal.unit in USUAL:
            return USUAL[signal.unit]
        expected = f"bounds={{{name!r}: (low, high)}}"
        raise InputError(f"{name} has no finite bounds", expected=expected)

    def _saved(self, values: Mapping[str, float]) -> float:
        """Return what the energy of a step costs, with the other sign."""
        return -float(self.site.step_cost(values))

    def _seen(self, values: Mapping[str, float]) -> Floats:
        known = {**values, **self.site.ahead()}
        found = np.array([known[name] for name in self.observation_names])
        scaled = np.clip((found - self._middle) / self._half, -1.0, 1.0)
        return np.asarray(scaled, dtype=np.float32)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Floats, dict[str, Any]]:
        """Return to the first instant; ``options`` are initial states by name."""
        super().reset(seed=seed)
        values = self.site.reset(options or {}, seed=0 if seed is None else seed)
        return self._seen(values), {"values": values}

    def step(self, action: Floats) -> tuple[Floats, float, bool, bool, dict[str, Any]]:
        """Advance by a step; the end of the series truncates, nothing terminates."""
        share = (np.clip(np.asarray(action, dtype=np.float64), -1.0, 1.0) + 1.0) / 2.0
        wanted = self._low + share * (self._high - self._low)
        given = dict(zip(self.action_names, wanted.tolist(), strict=True))
        values = self.site.step(given)
        ended = bool(self.site.number >= self.site.steps)
        return self._seen(values), float(self._reward(values)), False, ended, {"values": values}


def register() -> None:
    """Make the environment known to gymnasium; importing this module does it."""
    if ID not in gymnasium.registry:
        gymnasium.register(ID, entry_point=f"{__name__}:SiteEnv")


register()
