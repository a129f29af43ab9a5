"""A fleet from its file to plans, certificates and one summary."""

import contextlib
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from engiagent import __version__
from engiagent.errors import InputError
from engiagent.fleet import results
from engiagent.fleet.asking import Asked, LeftOutError
from engiagent.fleet.assets import Ask, Json, Limit, Planner, answer
from engiagent.fleet.coupled import Decomposer, Decomposition
from engiagent.fleet.description import Fleet
from engiagent.io.files import write_atomic
from engiagent.io.jsontext import dumps_canonical
from engiagent.scale import DEFAULT, Ledger, Outcome, Runs, Spread
from engiagent.scale.work import Job
from engiagent.verify.certificate import SEAL, seal_of

LEDGER: Final = "ledger.sqlite"
HOLDER: Final = "fleet.txt"
"""Holds the path of the fleet's file."""


@dataclass(frozen=True)
class How:
    """Where and how long a fleet is planned."""

    spread: Spread = DEFAULT
    gap: float = 1e-3  # between a coupled fleet's cost and its bound, relative to the cost
    rounds: int = 100  # of the price decomposition, at most
    on_text: Callable[[str], object] | None = None  # called with how far it is
    force: bool = False  # begin anew in a folder that holds something else


def run_fleet(fleet: Fleet, out: str | Path, how: How | None = None) -> Json:
    """Plan all assets, write plans, certificates and the summary into a folder, and return it.

    Started again in the same folder, it goes on where it was cut off.
    """
    planner = Planner(fleet.template)  # refuses here what no worker could take
    for row in fleet.values[[0, -1]]:
        planner.require_shared(tuple(row.tolist()))
    job, how, out = Job(answer, Planner, fleet.template), how or How(), Path(out)
    _claim(out, str(fleet.path), how.force)
    with (
        Ledger(out / LEDGER) as ledger,
        contextlib.closing(Runs(job, how.spread, ledger, fleet.template.identity)) as runs,
    ):
        return _Run(fleet, out, how, runs, planner).result()


def _claim(out: Path, source: str, force: bool) -> None:
    """Make a folder this fleet's; InputError where it holds something else."""
    holder = out / HOLDER
    known = holder.read_text("utf-8") if holder.exists() else None
    if known != source and out.is_dir() and any(out.iterdir()):
        if not force:
            text = "the folder is not empty" if known is None else "the folder holds another fleet"
            found, expected = known or str(next(out.iterdir()).name), "a new folder, or --force"
            raise InputError(text, str(out), found=found, expected=expected)
        (out / LEDGER).unlink(missing_ok=True)
    out.mkdir(parents=True, exist_ok=True)
    write_atomic(holder, source)


@dataclass
class _Run:
    """One fleet under way."""

    fleet: Fleet
    out: Path
    how: How
    runs: Runs
    planner: Planner
    left_out: dict[str, str] = field(default_factory=dict)  # why, by name
    # what each takes at least of a shared limit that cannot be kept, weighted by period
    needs: dict[str, float] = field(default_factory=dict)

    def asked(self) -> Iterator[Ask]:
        """Yield the assets that are not left out, one at a time: there may be very many."""
        for name, values in zip(self.fleet.names, self.fleet.values, strict=True):
            if name not in self.left_out:
                yield Ask(name, tuple(values.tolist()))

    def say(self, text: str) -> None:
        """Tell how far it is."""
        if self.how.on_text is not None:
            self.how.on_text(text)

    def result(self) -> Json:
        """Return the summary."""
        asks: Iterable[Ask] = self.asked()
        notes, state = ["the numbers of the table count as given"], Decomposition()
        limit = self.planner.limit
        if limit is not None:
            state, asks = self.decomposed(limit)
            if math.isinf(state.cost) and state.rounds:
                why = f"no plans that keep the shared limit were found in {state.rounds} rounds"
                if state.clash:
                    why = "no mix of plans keeps the shared limit, however dear excess is"
                least = f"{state.excess / abs(limit.scale):.6g} {limit.unit}"
                notes.append(f"{why}; the last plans exceed it by up to {least}")
                self.left_out |= dict.fromkeys((ask.name for ask in self.asked()), why)
        prices = [] if limit is None else [p * abs(limit.scale) for p in state.best]
        stated = self.written(self.runs.map(asks)).stated(prices, state.clash)
        if "shared_limit" in stated:
            stated["shared_limit"]["rounds"] = state.rounds
        content: Json = {"schema": results.SCHEMA, "engiagent": __version__, "notes": notes}
        content |= {"title": self.fleet.title, "inputs": dict(self.fleet.inputs)}
        content |= {"assets": len(self.fleet.names), **stated}
        content[SEAL] = seal_of(content)
        write_atomic(self.out / results.SUMMARY, dumps_canonical(content))
        return content

    def written(self, found: Iterator[Outcome]) -> results.Digest:
        """Write the plans as they come, and return what they come to."""
        digest, folder = results.Digest(), self.out / results.PLANS
        rows: list[Json] = []
        folder.mkdir(parents=True, exist_ok=True)
        for old in folder.glob("part-*.parquet"):
            old.unlink()
        for done, name in enumerate(self.fleet.names, 1):
            reason = self.left_out.get(name)
            outcome = next(found) if reason is None else Outcome(0, "error", reason=reason)
            known = {"bound": self.needs.get(name)}
            rows.append(outcome.value or self.planner.sealed(name, outcome.reason, known))
            if len(rows) == results.PART or done == len(self.fleet.names):
                place = folder / f"part-{len(digest.roots):05}.parquet"
                part = pa.Table.from_pylist(rows, self.planner.schema)
                pq.write_table(part, place, compression="zstd")
                digest.add(rows, part.schema)
                rows.clear()
            if done % 50 == 0:
                self.say(f"{done} of {len(self.fleet.names)} assets")
        return digest

    def decomposed(self, limit: Limit) -> tuple[Decomposition, list[Ask]]:
        """Return plans that keep the limit, and what each asset is asked for within it.

        Who does not answer is left out, by name, and the rounds begin again without them.
        """
        price = 10 * float(np.abs(self.planner.live.program.cost).max(initial=0.0)) or 1.0
        how, most = self.how, limit.at_most
        while asked := list(self.asked()):
            assets = Asked(self.runs, asked, how.spread, price, self.planner)
            try:
                state = Decomposer(assets, most, price, how.gap, how.rounds, self._tell).run()
                if state.clash:
                    least = assets.least(np.array(state.clash)) / abs(limit.scale)
                    self.needs = {a.name: v for a, v in zip(asked, least.tolist(), strict=True)}
                return state, assets.within(state, most.size)
            except LeftOutError as error:
                self.left_out |= error.reasons
        return Decomposition(), []

    def _tell(self, state: Decomposition) -> None:
        so_far = f"excess {state.excess:.4g}" if math.isinf(state.cost) else f"gap {state.gap:.2%}"
        self.say(f"round {state.rounds}: bound {state.bound:.6g}, {so_far}")
