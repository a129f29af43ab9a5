"""What a fleet's run leaves: plans and certificates as Parquet, and one summary that counts them.

The folder has ``plans/`` and ``certificates/``, parts of :data:`PART` assets in the order of the
table, ``columns/`` with what each round of a price decomposition found, and ``fleet.json``, the
summary: counts, worst margins, the tree of hashes over all certificates, and the bound.
"""

import json
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from engiagent import __version__
from engiagent.errors import InputError
from engiagent.formulations.values import Floats
from engiagent.io.files import write_atomic
from engiagent.io.jsontext import dumps_canonical, loads_strict
from engiagent.verify.certificate import SEAL, seal_of

if TYPE_CHECKING:
    import xarray

SCHEMA: Final = "engiagent-fleet/1"
SUMMARY: Final = "fleet.json"
PART: Final = 500
FAILED: Final = "no answer"
"""What counts as the verdict of an asset without a plan."""
TOLERANCE: Final = 1e-6
"""Share of the shared limit's largest value by which it may be exceeded."""
Json = dict[str, Any]


def leaf(asset: str, seal: str) -> str:
    """Return the hash of an asset's name and its certificate's seal."""
    return sha256(f"{asset}\n{seal}".encode()).hexdigest()


def root(leaves: Sequence[str]) -> str:
    """Return the root of a tree of hashes; a node without a neighbour rises as it is."""
    level = list(leaves)
    while len(level) > 1:
        pairs = [level[k : k + 2] for k in range(0, len(level), 2)]
        level = [sha256("".join(p).encode()).hexdigest() if p[1:] else p[0] for p in pairs]
    return level[0] if level else sha256(b"").hexdigest()


class Gathering:
    """Takes assets in order, writes parts, and counts."""

    def __init__(self, folder: Path, periods: int) -> None:
        self.folder = folder
        self._rows: list[Json] = []
        self._parts: list[str] = []
        self._leaves: list[str] = []
        self.counts: dict[str, int] = {}
        self.unanswered: list[Json] = []
        self.margins: dict[str, Json] = {}
        self.objective, self.bound = 0.0, 0.0
        self.all_bounded = True
        self.flow: Floats = np.zeros(periods)
        for name in ("plans", "certificates"):
            for old in (folder / name).glob("part-*.parquet"):
                old.unlink()
            (folder / name).mkdir(parents=True, exist_ok=True)

    def add(self, asset: str, found: Mapping[str, Any] | None, reason: str) -> None:
        """Take what became of the next asset."""
        verdict = FAILED if found is None else str(found["verdict"])
        self.counts[verdict] = self.counts.get(verdict, 0) + 1
        if found is None:
            self.unanswered.append({"asset": asset, "reason": reason})
        else:
            self._count(asset, found)
        self._rows.append({"asset": asset, "reason": reason, "found": found})
        if len(self._rows) == PART:
            self._write()

    def _count(self, asset: str, found: Mapping[str, Any]) -> None:
        self.objective += found["objective"] or 0.0
        self.all_bounded &= found["bound"] is not None
        self.bound += found["bound"] or 0.0
        self.flow = self.flow if found["flow"] is None else self.flow + found["flow"]
        for name, slack, unit, where in found["margins"]:
            worst = self.margins.get(name)
            if worst is None or slack < worst["slack"]:
                self.margins[name] = {"slack": slack, "unit": unit, "asset": asset, "where": where}

    def _write(self) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        rows, number = self._rows, len(self._parts)
        if not rows:
            return
        known = [row["found"] for row in rows if row["found"] is not None]
        pick = [row["found"] or {} for row in rows]
        columns: Json = {
            "asset": pa.array([row["asset"] for row in rows], pa.string()),
            "verdict": pa.array([found.get("verdict") for found in pick], pa.string()),
            "objective": pa.array([found.get("objective") for found in pick], pa.float64()),
            "bound": pa.array([found.get("bound") for found in pick], pa.float64()),
            "reason": pa.array([row["reason"] for row in rows], pa.string()),
        }
        about: Json = {"dims": {}, "axes": {}, "units": {}}
        if known:
            first = known[0]
            series = {name: dims for name, (dims, _) in first["series"].items()}
            used = {dim for dims in series.values() for dim in dims}
            axes = {name: labels for name, labels in first["axes"].items() if name in used}
            about = {"dims": series, "axes": axes, "units": first["units"]}
            for name in series:
                values = [
                    found["series"][name][1].ravel() if "series" in found else None
                    for found in pick
                ]
                columns[name] = pa.array(values, pa.list_(pa.float64()))
        table = pa.table(columns).replace_schema_metadata({"engiagent": json.dumps(about)})
        pq.write_table(table, self.folder / "plans" / f"part-{number:05}.parquet")
        seals = [found.get("seal") for found in pick]
        texts = [zlib.decompress(f["certificate"]).decode() if f else None for f in pick]
        table = pa.table(
            {
                "asset": columns["asset"],
                "sha256": pa.array(seals, pa.string()),
                "certificate": pa.array(texts, pa.string()),
            }
        )
        place = self.folder / "certificates" / f"part-{number:05}.parquet"
        pq.write_table(table, place, compression="zstd")
        leaves = [leaf(row["asset"], seal or FAILED) for row, seal in zip(rows, seals, strict=True)]
        self._parts.append(root(leaves))
        self._rows = []

    def summary(self, about: Mapping[str, Any]) -> Json:
        """Write the last part and the summary; return it."""
        self._write()
        content: Json = {
            "schema": SCHEMA,
            "engiagent": __version__,
            **about,
            "counts": dict(sorted(self.counts.items())),
            "unanswered": self.unanswered,
            "margins": self.margins,
            "tree": {"part": PART, "parts": self._parts, "root": root(self._parts)},
        }
        content[SEAL] = seal_of(content)
        write_atomic(self.folder / SUMMARY, dumps_canonical(content))
        return content


def write_columns(
    folder: Path, number: int, prices: Floats, rows: Iterable[tuple[str, Any]]
) -> None:
    """Write what one round of a price decomposition found for each asset."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    found = list(rows)
    table = pa.table(
        {
            "asset": pa.array([name for name, _ in found], pa.string()),
            "cost": pa.array([column[0] for _, column in found], pa.float64()),
            "bound": pa.array([column[1] for _, column in found], pa.float64()),
            "flow": pa.array([np.frombuffer(c[2]) for _, c in found], pa.list_(pa.float64())),
        }
    ).replace_schema_metadata({"prices": json.dumps(prices.tolist())})
    folder.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, folder / f"round-{number:03}.parquet", compression="zstd")


def bounds_of_columns(
    folder: Path, limit: Floats, answered: set[str]
) -> Iterator[tuple[int, float]]:
    r"""Yield each round and the bound that its columns prove, as of a minimisation.

    .. math:: L(\pi) = \sum_i \min_{x_i} (c_i x_i + \pi^T y_i) - \pi^T b, \quad \pi \ge 0

    Lagrangian duality: no plans within the limit b cost less. A round in which an asset is absent
    proves nothing.
    """
    import pyarrow.parquet as pq

    for file in sorted(folder.glob("round-*.parquet")):
        table = pq.read_table(file, columns=["asset", "bound"])
        prices = np.array(json.loads(table.schema.metadata[b"prices"]))
        if set(table["asset"].to_pylist()) == answered and (prices >= 0).all():
            total = float(np.sum(table["bound"].to_numpy()))
            yield int(file.stem.split("-")[1]), total - float(prices @ limit)


def read_summary(folder: Path) -> Json:
    """Return a fleet's summary; InputError when it is none."""
    place = folder / SUMMARY
    if not place.is_file():
        raise InputError("there is no fleet's summary", str(place), expected=SUMMARY)
    found = loads_strict(place.read_text("utf-8"), str(place))
    if not isinstance(found, dict) or found.get("schema") != SCHEMA:
        raise InputError("no fleet's summary", str(place), expected=f'"schema": "{SCHEMA}"')
    return found


def _parts(folder: Path, name: str, columns: list[str]) -> Iterator[list[Json]]:
    import pyarrow.parquet as pq

    for file in sorted((folder / name).glob("part-*.parquet")):
        yield pq.read_table(file, columns=columns).to_pylist()


def verify_fleet(folder: Path) -> list[str]:
    """Return what does not hold of a stored fleet; the summary is computed again from its parts.

    The seal of every certificate, the tree, the counts, the sums, the shared quantity from the
    plans, and the bound from the columns; nothing is solved.
    """
    stated = read_summary(folder)
    content = {key: value for key, value in stated.items() if key != SEAL}
    wrong = [] if seal_of(content) == stated.get(SEAL) else ["the seal of the summary"]
    parts: list[str] = []
    counts: dict[str, int] = {}
    objective, answered = 0.0, set()
    for rows in _parts(folder, "certificates", ["asset", "sha256", "certificate"]):
        for row in rows:
            text = row["certificate"]
            verdict = FAILED
            if text is not None:
                found = json.loads(text)
                seal = found.pop(SEAL)
                verdict = found["verdict"]
                answered.add(row["asset"])
                objective += (found.get("objective") or {}).get("value") or 0.0
                if not seal == row["sha256"] == seal_of(found):
                    wrong.append(f"the certificate of {row['asset']}")
            counts[verdict] = counts.get(verdict, 0) + 1
        parts.append(root([leaf(row["asset"], row["sha256"] or FAILED) for row in rows]))
    if (parts, root(parts)) != (stated["tree"]["parts"], stated["tree"]["root"]):
        wrong.append("the tree of hashes")
    if counts != stated["counts"]:
        wrong.append("the counts of verdicts")
    if not _close(objective, stated["objective"]["value"]):
        wrong.append("the sum of objectives")
    shared = stated.get("shared_limit")
    return wrong + ([] if shared is None else list(_shared_astray(folder, stated, answered)))


def _shared_astray(folder: Path, stated: Json, answered: set[str]) -> Iterator[str]:
    shared = stated["shared_limit"]
    limit = np.array(shared["at_most"])
    total = np.zeros(limit.size)
    for rows in _parts(folder, "plans", ["verdict", *shared["columns"]]):
        for row in (row for row in rows if row["verdict"] is not None):
            total += sum(np.array(row[n]) * f for n, f in shared["columns"].items())
    margin = float((limit - total).min())
    size = max(float(np.abs(limit).max()), 1.0)
    if abs(margin - shared["margin"]) > TOLERANCE * size:
        yield f"the margin of the shared limit, which is {margin:.9g}"
    if shared["holds"] != (margin >= -TOLERANCE * size):
        yield "whether the shared limit holds"
    left = {row["asset"] for row in stated["unanswered"]}
    if left & answered:
        yield "the assets without an answer"
    found = dict(bounds_of_columns(folder / "columns", limit, answered))
    sign = 1.0 if stated["objective"]["sense"] == "minimize" else -1.0
    best = max(found.values(), default=None)
    if best is None or stated["bound"] is None or not _close(sign * best, stated["bound"]["value"]):
        yield "the bound from the columns"


def _close(one: float, other: float) -> bool:
    return abs(one - other) <= 1e-9 * max(1.0, abs(one), abs(other))


def open_plans(folder: Path) -> "xarray.Dataset":
    """Return all plans of a fleet with the coordinates ``asset`` and those of the template."""
    import pyarrow.parquet as pq
    import xarray

    tables = [pq.read_table(f) for f in sorted((folder / "plans").glob("part-*.parquet"))]
    if not tables:
        raise InputError("there are no plans", str(folder), expected="a fleet's folder")
    metas = [json.loads(table.schema.metadata[b"engiagent"]) for table in tables]
    about = max(metas, key=lambda meta: len(meta["dims"]))
    names = [name for table in tables for name in table["asset"].to_pylist()]
    found: Json = {}
    for name, dims in about["dims"].items():
        shape = tuple(len(about["axes"][dim]) for dim in dims)
        absent = np.full(int(np.prod(shape)), np.nan)
        lists = (
            table[name].to_pylist() if name in table.column_names else [None] * len(table)
            for table in tables
        )
        values = [absent if row is None else row for rows in lists for row in rows]
        data = np.array(values, np.float64).reshape(len(names), *shape)
        found[name] = (("asset", *dims), data, {"units": about["units"][name]})
    for name in ("objective", "bound"):
        values = [value for table in tables for value in table[name].to_pylist()]
        found[name] = ("asset", np.array(values, np.float64))
    return xarray.Dataset(found, coords={"asset": names, **about["axes"]})
