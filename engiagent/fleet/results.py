"""What a fleet's run leaves: plans with their certificates as Parquet, and one summary of them.

The folder has ``plans/``, parts of :data:`PART` assets in the order of the table, ``columns/`` with
what each round of a price decomposition found, and ``fleet.json``, the summary: counts, worst
margins, the tree of hashes over all certificates, and the bound. It is computed from the parts
alone, when they are written as when they are verified.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from engiagent.errors import InputError
from engiagent.fleet.assets import ABOUT, Json
from engiagent.formulations.values import Floats
from engiagent.io.jsontext import loads_strict
from engiagent.verify.certificate import SEAL, seal_of

if TYPE_CHECKING:
    import xarray

SCHEMA: Final = "engiagent-fleet/1"
SUMMARY, PLANS, COLUMNS = "fleet.json", "plans", "columns"
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
    """What parts come to, one after the other."""

    def __init__(self) -> None:
        self.about: Json = {}
        self.counts: Counter[str] = Counter()
        self.answered: list[str] = []
        self.unanswered: list[Json] = []
        self.margins: dict[str, Json] = {}
        self.roots: list[str] = []
        self.objective = self.bound = 0.0
        self.taken: Floats = np.zeros(())  # of the shared limit, in each period

    def add(self, part: pa.Table) -> None:
        """Take the next part."""
        self.about, leaves = json.loads(part.schema.metadata[ABOUT]), []
        for asset, text, why in zip(*(part[n].to_pylist() for n in HEAD), strict=True):
            found = {"verdict": FAILED, SEAL: FAILED} if text is None else json.loads(text)
            self.counts[found["verdict"]] += 1
            leaves.append(sha256(f"{asset}\n{found[SEAL]}".encode()).hexdigest())
            if text is None:
                self.unanswered.append({"asset": asset, "reason": why})
            else:
                self.answered.append(asset)
                self._take(asset, found)
        self.roots.append(root(leaves))
        if "shared" in self.about:
            self.taken = self.taken + _taken(part, self.about["shared"])

    def _take(self, asset: str, found: Json) -> None:
        self.objective += (found.get("objective") or {}).get("value") or 0.0
        self.bound += (found.get("bound") or {}).get("value") or np.nan
        for check in found["levels"].get("algebra", {}).get("checks", ()):
            worst, known = check.get("worst") or {}, self.margins.get(check["id"])
            slack = worst.get("slack")
            if slack is not None and (known is None or slack < known["slack"]):
                about = {"slack": slack, "unit": worst.get("unit") or "", "asset": asset}
                self.margins[check["id"]] = about | {"where": ", ".join(worst["where"].values())}

    def stated(self, folder: Path) -> Json:
        """Return what the summary states of the parts, and of the columns in a folder."""
        bound, method = self.bound, "sum of the bounds that the checker proves for each asset"
        found: Json = {
            "counts": dict(sorted(self.counts.items())),
            "objective": {k: self.about.get(k) for k in ("unit", "sense")}
            | {"value": self.objective},
            "unanswered": self.unanswered,
            "margins": self.margins,
            "tree": {"part": PART, "parts": self.roots, "root": root(self.roots)},
        }
        if "shared" in self.about:
            limit = np.array(self.about["shared"]["at_most"])
            margin = float((limit - self.taken).min())
            holds = bool(self.answered) and margin >= -TOLERANCE * max(np.abs(limit).max(), 1.0)
            known = {name: self.about["shared"][name] for name in ("name", "unit", "at_most")}
            found["shared_limit"] = {**known, "margin": margin, "holds": bool(holds)}
            bounds = bounds_of_columns(folder / COLUMNS, limit, self.answered)
            sign = 1.0 if self.about["sense"] == "minimize" else -1.0
            bound, method = sign * max(bounds, default=np.nan), "Lagrangian, from the columns"
        found["bound"] = None
        if self.answered and np.isfinite(bound):
            gap = abs(self.objective - bound) / max(abs(self.objective), 1e-9)
            found["bound"] = {"value": bound, "gap": gap, "method": method}
        return found


HEAD: Final = ("asset", "certificate", "reason")


def _taken(part: pa.Table, shared: Json) -> Floats:
    """Return what the plans of a part take of the shared limit in each period."""
    names = dict.fromkeys(name for name, _, _ in shared["terms"])
    sums = {name: _matrix(part[name]).sum(axis=0) for name in names}
    terms = [factor * sums[n][k] if sums[n].size else 0.0 for n, k, factor in shared["terms"]]
    return np.array([sum(terms[a:b]) for a, b in pairwise(shared["starts"])])


def _matrix(column: pa.ChunkedArray) -> Floats:
    """Return the lists of a column, a row each; those that are absent are left out."""
    flat, rows = column.combine_chunks().flatten().to_numpy(), len(column) - column.null_count
    return np.asarray(flat, np.float64).reshape(rows, -1) if rows else np.zeros((0, 0))


def write_columns(folder: Path, prices: Floats, names: list[str], found: Floats) -> None:
    """Write cost, bound and what is taken (n, 2 + periods) of the next round."""
    taken = pa.FixedSizeListArray.from_arrays(found[:, 2:].ravel(), prices.size)
    columns = {"asset": names, "cost": found[:, 0], "bound": found[:, 1], "taken": taken}
    table = pa.table(columns).replace_schema_metadata({"prices": json.dumps(prices.tolist())})
    (folder / COLUMNS).mkdir(parents=True, exist_ok=True)
    number = len(list((folder / COLUMNS).iterdir()))
    pq.write_table(table, folder / COLUMNS / f"round-{number:03}.parquet", compression="zstd")


def given_by(folder: Path, shares: Floats, member: Any) -> Floats:
    """Return how much of the shared limit a mix of the rounds' plans gives each asset (n, periods).

    ``shares``: of the rounds in the mix of each group; ``member``: the group of each asset.
    """
    total: Any = 0.0
    for number, share in enumerate(shares):
        table = pq.read_table(folder / COLUMNS / f"round-{number:03}.parquet", columns=["taken"])
        total = total + share[member][:, None] * _matrix(table["taken"])
    return np.asarray(total)


def bounds_of_columns(folder: Path, limit: Floats, answered: list[str]) -> Iterator[float]:
    r"""Yield the bound that the columns of each round prove, as of a minimisation.

    .. math:: L(\pi) = \sum_i \min_{x_i} (c_i x_i + \pi^T y_i) - \pi^T b, \quad \pi \ge 0

    Lagrangian duality: no plans within the limit b cost less. A round in which an asset is absent
    proves nothing.
    """
    for file in sorted(folder.glob("round-*.parquet")):
        table = pq.read_table(file, columns=["asset", "bound"])
        prices = np.array(json.loads(table.schema.metadata[b"prices"]))
        if table["asset"].to_pylist() == answered and prices.min() >= 0:
            yield float(table["bound"].to_numpy().sum()) - float(prices @ limit)


def read_summary(folder: Path) -> Json:
    """Return a fleet's summary; InputError when it is none."""
    place = folder / SUMMARY
    if not place.is_file():
        raise InputError("there is no fleet's summary", str(place), expected=SUMMARY)
    found = loads_strict(place.read_text("utf-8"), str(place))
    if not isinstance(found, dict) or found.get("schema") != SCHEMA:
        raise InputError("no fleet's summary", str(place), expected=f'"schema": "{SCHEMA}"')
    return found


def verify_fleet(folder: Path) -> list[str]:
    """Return what does not hold of a stored fleet; the summary is computed again from its parts.

    The seal of every certificate, what stands beside it, and all that the summary states of the
    parts, bound and shared limit too; nothing is solved.
    """
    stated, digest = read_summary(folder), Digest()
    content = {key: value for key, value in stated.items() if key != SEAL}
    wrong = [] if seal_of(content) == stated.get(SEAL) else ["the seal of the summary"]
    for file in sorted((folder / PLANS).glob("part-*.parquet")):
        part = pq.read_table(file)
        digest.add(part)
        rows = part.select(["asset", "certificate", "verdict", "objective"]).to_pylist()
        wrong += [f"the certificate of {row['asset']}" for row in rows if not _is_whole(row)]
    return wrong + list(_astray(digest.stated(folder), stated))


def _is_whole(row: Json) -> bool:
    if row["certificate"] is None:
        return row["verdict"] is None
    found = json.loads(row["certificate"])
    seal, goal = found.pop(SEAL), (found.get("objective") or {}).get("value")
    same = (found["verdict"], goal) == (row["verdict"], row["objective"])
    return same and seal == seal_of(found)


def _astray(found: Mapping[str, Any], stated: Mapping[str, Any]) -> Iterator[str]:
    for name, value in json.loads(json.dumps(found)).items():
        other = stated.get(name)
        if name == "shared_limit" and isinstance(other, dict):
            other = {key: other.get(key) for key in value}
        if value != other:
            yield f"{name.replace('_', ' ')}, which is {value}"


def open_plans(folder: Path) -> "xarray.Dataset":
    """Return all plans of a fleet with the coordinates ``asset`` and those of the template."""
    import xarray

    table = pq.read_table(folder / PLANS)
    about, names = json.loads(table.schema.metadata[ABOUT]), table["asset"].to_pylist()
    known = table["verdict"].is_valid().to_numpy()
    found: Json = {n: ("asset", table[n].to_numpy()) for n in ("objective", "bound")}
    for name, dims in about["dims"].items():
        data = np.full((len(names), *(len(about["axes"][dim]) for dim in dims)), np.nan)
        data[known] = _matrix(table[name]).reshape(-1, *data.shape[1:])
        found[name] = (("asset", *dims), data, {"units": about["units"][name]})
    return xarray.Dataset(found, coords={"asset": names, **about["axes"]})
