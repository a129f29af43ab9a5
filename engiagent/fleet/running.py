"""A fleet from its file to plans, certificates and one summary."""

import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np

from engiagent.errors import InputError
from engiagent.fleet.assets import Asset, Plan, Price, Shared, Template, answer
from engiagent.fleet.coupled import Column, Decomposition, decompose
from engiagent.fleet.description import Fleet
from engiagent.fleet.results import TOLERANCE, Gathering, Json, bounds_of_columns, write_columns
from engiagent.formulations.program import Program
from engiagent.formulations.values import Floats
from engiagent.scale import Ledger, Limits, Outcome, Runs
from engiagent.scale.mapping import NO_LIMITS
from engiagent.solvers.result import SolveOptions

LEDGER: Final = "ledger.sqlite"


@dataclass(frozen=True)
class How:
    """Where and how long a fleet is planned."""

    scheduler: str | None = None
    workers: int | None = None
    limits: Limits = NO_LIMITS
    options: SolveOptions = field(default_factory=SolveOptions)
    gap: float = 1e-3  # between a coupled fleet's cost and its bound, relative to the cost
    rounds: int = 100  # of the price decomposition, at most
    on_text: Callable[[str], None] | None = None  # told how far it is


class _LeftOutError(Exception):
    """Assets did not answer, so that the rounds begin again without them."""


def run_fleet(fleet: Fleet, out: Path, how: How | None = None) -> Json:
    """Plan all assets, write plans, certificates and the summary into a folder, and return it.

    Started again in the same folder, it goes on where it was cut off.
    """
    how = how or How()
    shared = Shared(
        *(fleet.blueprint, str(fleet.folder.resolve()), fleet.variations, fleet.limit, how.options)
    )
    program = Template(shared).live.program  # refuses here what no worker could take
    identity = f"{fleet.identity} {fleet.limit and dict(fleet.limit.of)} {how.options!r}"
    with (
        Ledger(out / LEDGER) as ledger,
        Runs(
            answer,
            setup=Template,
            shared=shared,
            identity=identity,
            scheduler=how.scheduler,
            workers=how.workers,
            limits=how.limits,
            ledger=ledger,
        ) as runs,
    ):
        return _Run(fleet, out, how, runs, program).result()


class _Run:
    """One fleet under way."""

    def __init__(self, fleet: Fleet, out: Path, how: How, runs: Runs, program: Program) -> None:
        self.fleet, self.out, self.how, self.runs = fleet, out, how, runs
        self.program = program
        self.left_out: dict[str, str] = {}

    def asked(self) -> Iterator[Asset]:
        """Yield the assets that are not left out, one at a time: there may be very many."""
        for name, values in zip(self.fleet.names, self.fleet.values, strict=True):
            if name not in self.left_out:
                yield Asset(name, tuple(values.tolist()))

    def result(self) -> Json:
        """Return the summary."""
        state: Decomposition | None = None
        periods = 0
        plans: Iterator[Plan] = (Plan(asset) for asset in self.asked())
        unplanned = ""
        if self.fleet.limit is not None:
            limit = self.limit
            periods, state = limit.size, self.decomposed(limit)
            plans = self.mixed(state)
            unplanned = "" if state.mixes else "no plans of all assets keep the shared limit"
        gathered = Gathering(self.out, periods)
        found = self.runs.map(plans)
        for done, name in enumerate(self.fleet.names, 1):
            reason = self.left_out.get(name, unplanned)
            if reason:
                gathered.add(name, None, reason)
            else:
                outcome = next(found)
                gathered.add(name, outcome.value if outcome.ok else None, outcome.reason)
            if done % 50 == 0:
                self.say(f"{done} of {len(self.fleet.names)} assets")
        return gathered.summary(self.about(gathered, state))

    def say(self, text: str) -> None:
        """Tell how far it is."""
        if self.how.on_text is not None:
            self.how.on_text(text)

    # -- one by one -------------------------------------------------------------------------------

    def about(self, gathered: Gathering, state: Decomposition | None) -> Json:
        """Return what the summary states besides counts, margins and hashes."""
        program, unit = self.program, self.program.objective_unit
        value = gathered.objective
        bound = gathered.bound if gathered.all_bounded else None
        stated: Json = {
            "title": self.fleet.title,
            "inputs": dict(sorted(self.fleet.inputs.items())),
            "assets": len(self.fleet.names),
            "objective": {"value": value, "unit": unit, "sense": program.sense},
            "notes": ["the numbers of the table count as given; no text was read"],
        }
        method = "sum of the bounds that the checker proves for each asset"
        if state is not None:
            answered = set(self.fleet.names) - {r["asset"] for r in gathered.unanswered}
            limit = self.limit
            found = dict(bounds_of_columns(self.out / "columns", limit, answered))
            sign = 1.0 if program.sense == "minimize" else -1.0
            bound = sign * max(found.values()) if found else None
            method = "Lagrangian bound, recomputed from the columns"
            stated["shared_limit"] = self.shared(gathered, limit, state)
            if not state.mixes:
                stated["notes"].append(f"the least excess that was found is {state.excess:.6g}")
        stated["bound"] = None
        if bound is not None and len(gathered.unanswered) < len(self.fleet.names):
            gap = abs(value - bound) / max(abs(value), 1e-9)
            stated["bound"] = {"value": bound, "gap": gap, "method": method}
        return stated

    # -- under a shared limit ---------------------------------------------------------------------

    @property
    def limit(self) -> Floats:
        """The shared limit in each period."""
        assert self.fleet.limit is not None
        program = self.program
        if program.is_mip or not program.is_linear or program.goals:
            raise InputError(
                "a shared limit needs plans that can be mixed",
                self.fleet.title,
                found="whole numbers, products or several goals in the template",
                expected="a linear programme",
            )
        return self.fleet.limit.values(program)

    def shared(self, gathered: Gathering, limit: Floats, state: Decomposition) -> Json:
        """Return what the summary states of the shared limit."""
        assert self.fleet.limit is not None
        blocks = self.fleet.limit.rows(self.program)
        margin = limit - gathered.flow
        size = max(float(np.abs(limit).max()), 1.0)
        return {
            "columns": {block.name: factor for block, factor in blocks},
            "unit": blocks[0][0].unit,
            "at_most": limit.tolist(),
            "margin": float(margin.min()),
            "holds": bool(state.mixes) and bool(margin.min() >= -TOLERANCE * size),
            "rounds": len(state.prices),
            "prices": [] if state.best is None else state.best.tolist(),
        }

    def decomposed(self, limit: Floats) -> Decomposition:
        """Return the mixes that keep the limit; who does not answer is left out, by name."""
        costs = np.abs(self.program.cost)
        price = 10 * float(costs.max(initial=0.0)) or 1.0
        while True:
            shutil.rmtree(self.out / "columns", ignore_errors=True)
            asked = list(self.asked())
            if not asked:
                return Decomposition()
            number = iter(range(self.how.rounds))

            def ask(prices: Floats, asked: list[Asset] = asked, number: Any = number) -> Any:
                return self._columns(asked, prices, next(number))

            try:
                return decompose(
                    *(ask, limit, len(asked), price),
                    gap=self.how.gap,
                    rounds=self.how.rounds,
                    on_round=self._told,
                )
            except _LeftOutError:
                continue

    def _told(self, state: Decomposition) -> None:
        gap = f"{state.gap:.2%}" if state.mixes else f"excess {state.excess:.4g}"
        self.say(f"round {len(state.prices)}: bound {state.bound:.6g}, gap {gap}")

    def _columns(self, asked: Sequence[Asset], prices: Floats, number: int) -> list[Column]:
        data = np.ascontiguousarray(prices).tobytes()
        found: list[Outcome] = list(self.runs.map(Price(asset, data) for asset in asked))
        lost = {a.name: o.reason for a, o in zip(asked, found, strict=True) if not o.ok}
        if lost:
            self.left_out |= lost
            raise _LeftOutError
        rows = ((asset.name, o.value) for asset, o in zip(asked, found, strict=True))
        write_columns(self.out / "columns", number, prices, rows)
        return [o.value for o in found]

    def mixed(self, state: Decomposition) -> Iterator[Plan]:
        """Yield the plan to ask each asset for; none where no mix keeps the limit."""
        prices = [item.tobytes() for item in state.prices]
        for place, asset in enumerate(self.asked() if state.mixes else ()):
            mix = state.mixes[place % len(state.mixes)]
            yield Plan(asset, tuple((share, prices[number]) for share, number in mix))
