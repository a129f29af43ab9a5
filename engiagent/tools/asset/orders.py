"""Tools on orders of work, in an SQLite file of the session.

An order that a tool makes is a draft. Only :func:`wo_confirm` opens it, which belongs to no
specialist, nor does :func:`wo_import`: a person calls them.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date, timedelta
from pathlib import Path
from typing import Any, Final

import numpy as np

from engiagent.errors import InputError
from engiagent.io.tabular import is_number
from engiagent.study.economics.cashflow import Floats
from engiagent.tools.asset.history import asset_tool, rows_of
from engiagent.tools.modelling import plain
from engiagent.tools.places import below
from engiagent.tools.registry import Json, Outcome, State

STORE: Final = "work_orders.sqlite"
STATES: Final = ("draft", "open", "done", "cancelled")
_NEEDED: Final = ("id", "asset", "mode", "status", "opened")
_TEXTS: Final = (*_NEEDED, "site", "due", "closed", "priority", "text", "confirmed_by")
_NUMBERS: Final = ("hours", "cost")
_TABLE: Final = ", ".join([*(f"{n} TEXT" for n in _TEXTS), *(f"{n} REAL" for n in _NUMBERS)])
_FEWEST: Final = 3


@contextmanager
def store(root: Path, given: Json, *, new: bool = False) -> Iterator[sqlite3.Connection]:
    """Yield the store of orders; its changes stand when nothing fails."""
    name = given.get("store", STORE)
    path = below(root, name)
    if not new and not path.exists():
        raise InputError("there are no orders yet", name, expected="wo_import or wo_draft first")
    path.parent.mkdir(parents=True, exist_ok=True)
    con = sqlite3.connect(path)
    try:
        con.row_factory = sqlite3.Row
        if new:
            con.execute(f"CREATE TABLE IF NOT EXISTS orders ({_TABLE}, PRIMARY KEY (id))")
        with con:
            yield con
    except sqlite3.DatabaseError as error:
        raise InputError(f"the store cannot be used: {error}", name) from None
    finally:
        con.close()


def _insert(con: sqlite3.Connection, order: Json) -> None:
    names = (*_TEXTS, *_NUMBERS)
    text = f"INSERT INTO orders ({', '.join(names)}) VALUES ({', '.join('?' * len(names))})"
    try:
        con.execute(text, [order.get(name) for name in names])
    except sqlite3.IntegrityError:
        raise InputError(f"there is an order {order['id']!r} already") from None


def _found(con: sqlite3.Connection, **wanted: Any) -> list[Json]:
    names = [name for name, value in wanted.items() if value is not None]
    rule = " AND ".join(f"{name} = ?" for name in names) or "1"
    text = f"SELECT * FROM orders WHERE {rule} ORDER BY opened, id"
    return [dict(row) for row in con.execute(text, [wanted[name] for name in names])]


def _day(text: str, what: str) -> date:
    try:
        return date.fromisoformat(text[:10])
    except ValueError:
        raise InputError(f"{what} is no date", found=text, expected="2026-07-01") from None


def _refuse_impossible(order: Json, place: str = "") -> None:
    """Refuse dates and amounts that no order can have."""
    opened = _day(order["opened"], f"{place}opened")
    for name in ("due", "closed"):
        if order.get(name) and _day(order[name], f"{place}{name}") < opened:
            expected = f"{opened}, when it was opened, or later"
            raise InputError(f"{place}{name}", found=order[name], expected=expected)
    for name in _NUMBERS:
        if (order.get(name) or 0) < 0:
            raise InputError(f"{place}{name}", found=f"{order[name]:g}", expected="0 or more")


@asset_tool(
    "orders store", "imported: count; store: text", access="write", group="person", destructive=True
)
def wo_import(state: State, given: Json) -> Outcome:
    """Take orders of a CSV file into the store; nothing is taken unless every row is good."""
    orders = []
    for place, order in rows_of(state.root, given["orders"], _NEEDED, _TEXTS, _NUMBERS):
        for name in _NEEDED:
            if order[name] is None:
                raise InputError(f"{place}: no {name}", given["orders"])
        if order["status"] not in STATES:
            said, expected = f"{place}: the status", ", ".join(STATES)
            raise InputError(said, given["orders"], found=order["status"], expected=expected)
        if order["status"] == "draft":
            order["confirmed_by"] = None
        _refuse_impossible(order, f"{place}: ")
        orders.append(order)
    with store(state.root, given, new=True) as con:
        for order in orders:
            _insert(con, order)
    name = given.get("store", STORE)
    return Outcome({"imported": len(orders), "store": name}, {}, (name,))


@asset_tool("filter store", "count: count; orders: list of object")
def wo_list(state: State, given: Json) -> Outcome:
    """List orders by asset, site, failure mode and state, the earliest first."""
    with store(state.root, given) as con:
        wanted = {name: given.get(name) for name in ("asset", "site", "mode", "status")}
        found = _found(con, **wanted)
    return Outcome(plain({"count": len(found), "orders": found}))


@asset_tool("bundle store", "bundles: list of object; without_due: list of text")
def wo_bundle(state: State, given: Json) -> Outcome:
    """Bundle open orders of one site or asset that are due within some days of one another.

    The earliest order that is in no bundle begins one; it takes all that are due so soon after it.
    """
    with store(state.root, given) as con:
        found = _found(con, status="open")
    by = given.get("by", "site")
    groups: dict[tuple[str, str], list[Json]] = {}
    for order in sorted((o for o in found if o["due"]), key=lambda o: (o["due"], o["id"])):
        groups.setdefault((order["site"] or "", order[by] or ""), []).append(order)
    bundles = []
    for (site, place), own in groups.items():
        while own:
            first = _day(own[0]["due"], "due")
            taken = [o for o in own if (_day(o["due"], "due") - first).days <= given["days"]]
            own = own[len(taken) :]
            hours = [o["hours"] for o in taken]
            bundles.append(
                {by: place, "due": taken[0]["due"], "orders": [o["id"] for o in taken]}
                | {"site": site, "assets": sorted({o["asset"] for o in taken})}
                | {"hours": None if None in hours else sum(hours)}
            )
    bundles.sort(key=lambda b: (-len(b["orders"]), b["due"]))
    without = [o["id"] for o in found if not o["due"]]
    return Outcome(plain({"bundles": bundles, "without_due": without}))


@asset_tool("next filter store", "likely too_few: list of object; notes: list of text")
def wo_next(state: State, given: Json) -> Outcome:
    """Find which orders come next: the days between those of the past, by asset and failure mode.

    Of n intervals the median and, where n carries it, a prediction interval by their order.
    """
    today, level = _day(given["today"], "today"), given.get("level", 0.8)
    with store(state.root, given) as con:
        found = _found(con, **{n: given.get(n) for n in ("asset", "site", "mode", "status")})
    counted = STATES if "status" in given else ("open", "done")
    groups: dict[tuple[str, str, str], list[date]] = {}
    for order in found:
        if order["status"] in counted and _day(order["opened"], "opened") <= today:
            key = (order["asset"], order["site"] or "", order["mode"])
            groups.setdefault(key, []).append(_day(order["opened"], "opened"))
    likely, few = [], []
    for (asset, site, mode), days in groups.items():
        gaps = np.diff([day.toordinal() for day in sorted(set(days))]).astype(float)
        about: Json = {"asset": asset, "site": site, "mode": mode, "past": len(days)}
        if len(gaps) < _FEWEST:
            few.append(about)
            continue
        last, middle = max(days), float(np.median(gaps))
        expected = last + timedelta(int(middle))
        about |= {"last": last, "median_days": middle, "expected": expected, "level": level}
        about["days_from_today"] = (expected - today).days
        for name, end in zip(("earliest", "latest"), _prediction(gaps, level), strict=True):
            about[name] = None if end is None else last + timedelta(int(end))
        likely.append(about)
    likely.sort(key=lambda row: row["days_from_today"])
    notes = ["intervals count as alike and independent; repairs that changed that are unknown"]
    return Outcome(plain({"likely": likely, "too_few": few, "notes": notes}))


def _prediction(gaps: Floats, level: float) -> tuple[float | None, float | None]:
    """Return between which of the sorted values a new one lies at the level, None at open ends.

    Of n + 1 exchangeable values each rank is as likely: k/(n+1) below the k-th smallest.
    """
    ranked, count = np.sort(gaps), len(gaps)
    k = int(np.floor((1 - level) / 2 * (count + 1)))
    return (None, None) if k < 1 else (float(ranked[k - 1]), float(ranked[count - k]))


@asset_tool("losses store", "ranked: list of object; not_ranked notes: list of text")
def wo_priority(state: State, given: Json) -> Outcome:
    """Rank open orders by the days after which waiting has cost as much as the work.

    Orders without a loss or a cost are not ranked but listed; no weights are made up.
    """
    today, ranked = _day(given["today"], "today"), []
    with store(state.root, given) as con:
        found = {order["id"]: order for order in _found(con, status="open")}
    for name, _, loss in (text.partition("=") for text in given.get("losses", ())):
        if not is_number(loss):
            raise InputError(f"the loss of {name} is no number", found=loss, expected="17=120")
        if name.strip() not in found:
            expected = ", ".join(found) or "none is open"
            raise InputError(f"no order {name!r} is open", expected=expected)
        order = found[name.strip()]
        if order["cost"] is not None and float(loss) > 0:
            about = {name: order[name] for name in ("id", "asset", "site", "mode", "cost")}
            about |= {"loss_by_day": float(loss), "pays_back_days": order["cost"] / float(loss)}
            overdue = (today - _day(order["due"], "due")).days if order["due"] else None
            ranked.append({**about, "days_overdue": overdue})
    ranked.sort(key=lambda row: row["pays_back_days"])
    rest = [name for name in found if name not in {row["id"] for row in ranked}]
    notes = ["orders for safety or by law are not a matter of payback; rank them yourself"]
    return Outcome(plain({"ranked": ranked, "not_ranked": rest, "notes": notes}))


@asset_tool("draft store", "order: object; next: text", access="write")
def wo_draft(state: State, given: Json) -> Outcome:
    """Write an order as a draft, which counts for nothing until a person confirms it."""
    _refuse_impossible(given)
    with store(state.root, given, new=True) as con:
        known = {row["id"] for row in con.execute("SELECT id FROM orders")}
        name = next(f"D{k}" for k in range(1, len(known) + 2) if f"D{k}" not in known)
        names = ("asset", "mode", "text", "opened", "site", "due", "cost", "hours")
        order = {n: given[n] for n in names if n in given} | {"id": name, "status": "draft"}
        _insert(con, order)
    said = f"a person confirms it: engiagent tool wo_confirm id={name} person=NAME"
    return Outcome(plain({"order": order, "next": said}), {}, (given.get("store", STORE),))


@asset_tool("confirm store", "order: object", access="write", group="person", destructive=True)
def wo_confirm(state: State, given: Json) -> Outcome:
    """Open a draft, by a person; no specialist of engiagent ask may call it."""
    with store(state.root, given) as con:
        found = _found(con, id=given["id"], status="draft")
        if not found:
            drafts = [order["id"] for order in _found(con, status="draft")]
            expected = ", ".join(drafts) or "none is there"
            raise InputError(f"there is no draft {given['id']!r}", expected=expected)
        text = "UPDATE orders SET status = 'open', confirmed_by = ? WHERE id = ?"
        con.execute(text, (given["person"], given["id"]))
        order = _found(con, id=given["id"])[0]
    return Outcome(plain({"order": order}), {}, (given.get("store", STORE),))
