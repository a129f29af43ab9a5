r"""A connection to a grid: import and export as two non-negative powers.

.. math:: 0 \le P^\mathrm{in}_t \le P^{\mathrm{in},\max}, \qquad
    0 \le P^\mathrm{out}_t \le P^{\mathrm{out},\max}

Where one limit is not stated, the balance of the bus implies one whenever everything else on the
bus is limited: import cannot exceed all demands and the export together, export cannot exceed all
supplies and the import. With ``exclusive_on`` a binary variable on that set keeps one of the two
at zero, and the other one then no longer counts in these limits. With prices the connection
declares what import costs and what export earns, the latter as a negative cost.
"""

from engiagent.formulations.components.fragment import balance
from engiagent.formulations.components.reader import Reader


def declare(reader: Reader) -> None:
    """Add the algebra of a grid connection."""
    over = reader.exclusive_set()
    stated = {way: reader.optional(f"{way}_power_max") for way in ("import", "export")}
    alone = over is not None and over == reader.time
    limits = {
        "import": stated["import"] or _implied(reader, stated["export"], alone, supplies=False),
        "export": stated["export"] or _implied(reader, stated["import"], alone, supplies=True),
    }
    for way, words in (("import", "power drawn from {}"), ("export", "power fed into {}")):
        power = reader.variable(way, words, upper=limits[way], of=f"{way}_power_max")
        reader.terminal(power, limits[way], supplies=way == "import")
    for way, sign, meaning in (("import", "", "cost"), ("export", "-", "revenue, negative,")):
        if reader.given(f"{way}_price"):
            text = f"{sign}{reader.text(f'{way}_price')}*{reader.name}_{way}[t]*dt(t)"
            reader.expression(f"{way}_cost", text, meaning)
    if over is None:
        return
    big = {
        "import": stated["import"] or _implied(reader, None, True, supplies=False),
        "export": stated["export"] or _implied(reader, None, True, supplies=True),
    }
    if big["import"] is None or big["export"] is None:
        raise reader.wrong("exclusive_on needs import_power_max and export_power_max")
    reader.exclusive(over, "importing", ("import", big["import"]), ("export", big["export"]))


def _implied(reader: Reader, other_way: str | None, alone: bool, *, supplies: bool) -> str | None:
    """Return the limit that the balance implies for one direction, None when there is none.

    ``supplies`` selects the terminals that feed this direction: supplies for the export, demands
    for the import. ``alone`` says that the other direction is at zero when this one is not.
    """
    bus = reader.connection("bus")
    if bus is None or (other_way is None and not alone):
        return None
    feeding = [t for t in reader.around.terminals if t.bus == bus and t.supplies == supplies]
    against = [t for t in reader.around.terminals if t.bus == bus and t.supplies != supplies]
    seen = reader.around.over.get(reader.name, ())
    limits = [t.limit for t in feeding if t.limit is not None and {*t.scenarios} <= {*seen}]
    if len(limits) < len(feeding):
        return None
    if not alone and other_way is not None:
        limits.append(other_way)
    floors = [t.floor for t in against if t.floor is not None and {*t.scenarios} <= {*seen}]
    total = balance(limits, floors)
    # Never below 0: where the balance cannot be met at all, the balance is what should say so.
    return f"max({total}, 0[kW])"
