"""What a fleet's run leaves: plans with their certificates as Parquet, and one summary of them.

The folder has ``plans/``, parts of :data:`PART` assets in the order of the table, and
``fleet.json``, the summary: counts, worst margins, the tree of hashes over all rows, and the bound.
It is computed from the parts alone, when they are written as when they are verified.
"""

import json
import math
from collections import Counter
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from engiagent.errors import InputError
from engiagent.fleet.assets import ABOUT, Json
from engiagent.formulations.values import Floats
from engiagent.io.files import open_inside
from engiagent.io.jsontext import loads_strict
from engiagent.verify.certificate import SEAL, seal_of

if TYPE_CHECKING:
    import xarray

SCHEMA: Final = "engiagent-fleet/1"
SUMMARY, PLANS = "fleet.json", "plans"
PART: Final = 500
FAILED: Final = "no answer"
"""What counts as the verdict of an asset without a plan."""
TOLERANCE: Final = 1e-6
"""Share of the shared limit's largest value by which it may be exceeded."""


def root(leaves: Sequence[str]) -> str:
    """Return the root of a tree of hashes; a node without a neighbour rises as it is."""
    level = list(leaves)
    while len(level) > 1:
        pairs = [level[k : k + 2] for k in range(0, len(level), 2)]
        level = [sha256("".join(p).encode()).hexdigest() if p[1:] else p[0] for p in pairs]
    return level[0] if level else sha256(b"").hexdigest()


class Digest:
    """What the rows of a fleet come to, one after the other."""

    def __init__(self) -> None:
        self.about: Json = {}
        self.counts: Counter[str] = Counter()
        self.answered = 0
        self.unanswered: list[Json] = []
        self.margins: dict[str, Json] = {}
        self.roots: list[str] = []
        self.objective = self.bound = 0.0
        self.needs, self.needing = 0.0, 0  # of those that cannot keep the shared limit together
        # taken, gross: of the shared limit in each period, the latter without signs
        self.taken: Floats = np.zeros(())
        self.gross: Floats = np.zeros(())
        self.names: Counter[str] = Counter()

    def add(self, rows: Sequence[Json], schema: pa.Schema) -> None:
        """Take the rows of the next part."""
        self.about = json.loads(schema.metadata[ABOUT])
        self.roots.append(root([row[SEAL] for row in rows]))
        for row in rows:
            asset, verdict = row["asset"], row["verdict"]
            self.counts[verdict or FAILED] += 1
            self.names[asset] += 1
            if verdict is None:
                self.unanswered.append({"asset": asset, "reason": row["reason"]})
                self.needs += row["bound"] or 0.0
                self.needing += row["bound"] is not None
                continue
            self.answered += 1
            self.objective += row["objective"] or 0.0
            self.bound += math.nan if row["bound"] is None else row["bound"]
            self.taken = self.taken + np.array(row["taken"])
            self.gross = self.gross + np.abs(row["taken"])
            levels = json.loads(row["certificate"])["levels"]
            for check in levels.get("algebra", {}).get("checks", ()):
                worst, known = check.get("worst") or {}, self.margins.get(check["id"])
                slack = worst.get("slack")
                if slack is not None and (known is None or slack < known["slack"]):
                    where = ", ".join(worst["where"].values())
                    about = {"unit": worst.get("unit") or "", "asset": asset, "where": where}
                    self.margins[check["id"]] = {"slack": slack, **about}

    def stated(self, prices: Sequence[float] = (), clash: Sequence[float] = ()) -> Json:
        r"""Return what the summary states of the rows, and of prices of the shared limit.

        .. math:: \sum_i \min_{x_i} (c_i x_i + \pi^T y_i) - \pi^T b, \quad \pi \ge 0

        Lagrangian duality: no plans within the limit b cost less. The minima are the bounds of the
        rows. With weights ``clash`` they are what assets take at least, whatever that costs: where
        they come to more than the limit, so weighted, no plans keep it (Farkas).
        """
        found: Json = {
            "counts": dict(sorted(self.counts.items())),
            "objective": {k: self.about.get(k) for k in ("unit", "sense")},
            "unanswered": self.unanswered,
            "margins": self.margins,
            "tree": {"part": PART, "parts": self.roots, "root": root(self.roots)},
        }
        found["objective"]["value"] = value = self.objective
        bound, method = self.bound, "sum of the bounds that the checker proves for each asset"
        sign = -1.0 if self.about.get("sense") == "maximize" else 1.0
        if "limit" in self.about:
            about, at = self.about["limit"], np.array(prices)
            side = -1.0 if about["is_lower"] else 1.0
            end = side * np.array(about["end"])
            margin = float((end - side * self.taken).min())
            small = TOLERANCE * float(np.maximum(np.abs(end), self.gross).max())
            is_kept = margin >= -small and self.answered > 0
            found["shared_limit"] = {key: about[key] for key in ("name", "unit", "end", "is_lower")}
            found["shared_limit"] |= {"margin": margin, "holds": is_kept, "prices": prices}
            weights = np.array(clash)
            if weights.size == end.size and weights.min() >= 0:
                allowed = float(weights @ end)
                beyond = self.needs - allowed > TOLERANCE * float(np.abs(end).max() + abs(allowed))
                found["shared_limit"]["clash"] = {
                    **{"weights": clash, "needs": self.needs, "allowed": allowed},
                    **{"assets": self.needing, "is_proven": beyond},
                }
            proven = at.size == end.size and at.min() >= 0
            bound = bound - sign * float(at @ end) if proven else math.nan
            method = "Lagrangian, from the bounds with prices that solvers prove for each asset"
        gap = sign * (value - bound) / max(abs(value), 1e-9)
        if gap < -TOLERANCE:  # no bound on these plans
            bound = math.nan
        known = self.answered > 0 and math.isfinite(bound)
        found["bound"] = {"value": bound, "gap": max(gap, 0.0), "method": method} if known else None
        return found


def read_summary(folder: Path) -> Json:
    """Return a fleet's summary; InputError when it is none."""
    if (folder / PLANS).is_dir() and not (folder / SUMMARY).exists():
        expected = "to start it again with --out of this folder: what is planned stays"
        raise InputError("the fleet was cut off before its end", str(folder), expected=expected)
    found = loads_strict(open_inside(folder, SUMMARY).decode(), str(folder / SUMMARY))
    if not isinstance(found, dict) or found.get("schema") != SCHEMA:
        raise InputError("no fleet's summary", str(folder), expected=f'"schema": "{SCHEMA}"')
    return found


def verify_fleet(folder: str | Path) -> list[str]:
    """Return what does not hold of a stored fleet; nothing is solved.

    The seals of summary, rows and certificates, and all that the summary states of the rows, which
    is computed again.
    """
    folder = Path(folder)
    stated, digest = read_summary(folder), Digest()
    content = {key: value for key, value in stated.items() if key != SEAL}
    wrong = [] if seal_of(content) == stated.get(SEAL) else ["the seal of the summary"]
    for file in sorted((folder / PLANS).glob("part-*.parquet")):
        part = pq.read_table(file)
        rows = part.to_pylist()
        digest.add(rows, part.schema)
        limit = digest.about.get("limit")
        wrong += [f"the row of {row['asset']}" for row in rows if not _is_whole(row, limit)]
    wrong += [f"{name}, which stands twice" for name, n in digest.names.items() if n > 1]
    if digest.names.total() != stated.get("assets"):
        wrong.append(f"the number of assets, which is {digest.names.total()}")
    shared = stated.get("shared_limit") or {}
    own = shared.get("prices", ()), (shared.get("clash") or {}).get("weights", ())
    for name, value in digest.stated(*own).items():
        other = stated.get(name)
        if name == "shared_limit" and isinstance(other, dict):
            other = {key: other.get(key) for key in value}
        wrong += [] if value == other else [f"{name.replace('_', ' ')}, which is {value}"]
    return wrong


def _is_whole(row: Json, limit: Json | None) -> bool:
    """Whether seals, verdict, objective, bound and what is taken are those of the plan."""
    certificate = json.loads(row["certificate"] or "{}")
    goal, bound = ((certificate.get(key) or {}).get("value") for key in ("objective", "bound"))
    own = [item for item in (row, certificate) if item]
    sealed = all(seal_of({k: v for k, v in o.items() if k != SEAL}) == o[SEAL] for o in own)
    is_same = (row["verdict"], row["objective"]) == (certificate.get("verdict"), goal)
    if limit is None or not certificate:  # under a limit the bound is one with prices
        return sealed and is_same and (limit is not None or row["bound"] == bound)
    taken = np.zeros(len(limit["end"]))
    for part in limit["terms"]:
        series = np.array(row[part["series"]], dtype=np.float64)
        np.add.at(taken, part["rows"], np.array(part["factors"]) * series[part["places"]])
    close = np.allclose(taken, row["taken"], rtol=1e-9, atol=1e-9 * (1 + np.abs(taken).max()))
    return bool(sealed and is_same and (close or not limit["terms"]))


def open_plans(folder: str | Path) -> "xarray.Dataset":
    """Return all plans of a fleet with the coordinates ``asset`` and those of the template.

    Times are UTC.
    """
    import xarray

    table = pq.read_table(Path(folder) / PLANS)
    about, names = json.loads(table.schema.metadata[ABOUT]), table["asset"].to_pylist()
    known = table["verdict"].is_valid().to_numpy()
    found: Json = {n: ("asset", table[n].to_numpy()) for n in ("objective", "bound")}
    for name, dims in about["dims"].items():
        data = np.full((len(names), *(len(about["axes"][dim]) for dim in dims)), np.nan)
        values = np.array(table[name].drop_null().to_pylist(), np.float64)  # None becomes NaN
        data[known] = values.reshape(-1, *data.shape[1:])
        found[name] = (("asset", *dims), data, {"units": about["units"][name]})
    axes = {dim: np.array(axis, about["types"][dim]) for dim, axis in about["axes"].items()}
    return xarray.Dataset(found, coords={"asset": names, **axes})
