"""A fleet from its file to plans, certificates and one summary."""

import contextlib
import math
import shutil
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from engiagent import __version__
from engiagent.fleet import results
from engiagent.fleet.asking import Asked, LeftOutError
from engiagent.fleet.assets import Ask, Json, Planner, answer
from engiagent.fleet.coupled import Decomposer, Decomposition
from engiagent.fleet.description import Fleet
from engiagent.io.files import write_atomic
from engiagent.io.jsontext import dumps_canonical
from engiagent.scale import DEFAULT, Ledger, Outcome, Runs, Spread
from engiagent.scale.work import Job
from engiagent.verify.certificate import SEAL, seal_of

LEDGER: Final = "ledger.sqlite"


@dataclass(frozen=True)
class How:
    """Where and how long a fleet is planned."""

    spread: Spread = DEFAULT
    gap: float = 1e-3  # between a coupled fleet's cost and its bound, relative to the cost
    rounds: int = 100  # of the price decomposition, at most
    on_text: Callable[[str], object] | None = None  # called with how far it is


def run_fleet(fleet: Fleet, out: Path, how: How | None = None) -> Json:
    """Plan all assets, write plans, certificates and the summary into a folder, and return it.

    Started again in the same folder, it goes on where it was cut off.
    """
    planner = Planner(fleet.template)  # refuses here what no worker could take
    job, how = Job(answer, Planner, fleet.template), how or How()
    with (
        Ledger(out / LEDGER) as ledger,
        contextlib.closing(Runs(job, how.spread, ledger, fleet.template.identity)) as runs,
    ):
        return _Run(fleet, out, how, runs, planner).result()


@dataclass
class _Run:
    """One fleet under way."""

    fleet: Fleet
    out: Path
    how: How
    runs: Runs
    planner: Planner
    left_out: dict[str, str] = field(default_factory=dict)  # why, by name

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
        if self.fleet.template.limit is not None:
            state, asks = self.decomposed()
            if math.isinf(state.cost):
                why = "no plans of all assets keep the shared limit"
                notes.append(f"{why}; the least excess that was found is {state.excess:.6g}")
                self.left_out |= dict.fromkeys((ask.name for ask in self.asked()), why)
        stated = self.written(self.runs.map(asks)).stated(state.best)
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
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        for done, name in enumerate(self.fleet.names, 1):
            reason = self.left_out.get(name)
            outcome = next(found) if reason is None else Outcome(0, "error", reason=reason)
            rows.append(outcome.value or self.planner.sealed(name, outcome.reason, {}))
            if len(rows) == results.PART or done == len(self.fleet.names):
                place = folder / f"part-{len(digest.roots):05}.parquet"
                part = pa.Table.from_pylist(rows, self.planner.schema)
                pq.write_table(part, place, compression="zstd")
                digest.add(rows, part.schema)
                rows.clear()
            if done % 50 == 0:
                self.say(f"{done} of {len(self.fleet.names)} assets")
        return digest

    def decomposed(self) -> tuple[Decomposition, list[Ask]]:
        """Return plans that keep the limit, and what each asset is asked for within it.

        Who does not answer is left out, by name, and the rounds begin again without them.
        """
        price = 10 * float(np.abs(self.planner.live.program.cost).max(initial=0.0)) or 1.0
        how, limit = self.how, self.planner.limit
        while asked := list(self.asked()):
            assets = Asked(self.runs, asked, how.spread, price, self.planner)
            try:
                state = Decomposer(assets, limit, price, how.gap, how.rounds, self._tell).run()
                return state, assets.within(state, limit)
            except LeftOutError as error:
                self.left_out |= error.reasons
        return Decomposition(), []

    def _tell(self, state: Decomposition) -> None:
        so_far = f"excess {state.excess:.4g}" if math.isinf(state.cost) else f"gap {state.gap:.2%}"
        self.say(f"round {state.rounds}: bound {state.bound:.6g}, {so_far}")
