"""Whether one amount passes another on which a reading may rest."""

from engiagent.readings.datafiles import Json, Shapes
from engiagent.readings.moving import Move, flat, is_number
from engiagent.units.unit import Dimension, parse_unit

Range = tuple[float, float]


def check_order(move: Move) -> None:
    """Refuse where one amount of a kind passes another that the reading may rest on.

    A reading that leaves something out because one price is above another is right only as long
    as it is. Prices are compared always, other amounts where the reading makes assumptions.
    """
    extended = move.before.get("extended_analysis_and_robustness") or {}
    assumes = bool(extended.get("key_assumptions"))
    before, after = _ranges(move.before, move.old_files), _ranges(move.document, move.new_files)
    names = [name for name in before if name in after]
    for k, one in enumerate(names):
        for two in names[k + 1 :]:
            (a, dimension), (b, other) = before[one], before[two]
            money = any(len(base) == 3 and base.isupper() for base, _ in dimension)
            if dimension != other or not (money or assumes):
                continue
            was, is_now = _order(a, b), _order(after[one][0], after[two][0])
            if was not in (is_now, "crossing", "equal") or (was == "equal" != is_now and money):
                changed = [p for p in move.changes if p[0].number_span in move.moved]
                move.refuse(
                    f"{one} was {was} {two}, on which a reading may rest, and is no more", *changed
                )
                return


def _ranges(document: Json, shapes: Shapes) -> dict[str, tuple[Range, Dimension]]:
    """Return the least and the largest value of every parameter that is a number, in SI."""
    found = {}
    for item in document["core_model_elements"].get("parameters", []):
        written = item.get("unit") or "1"
        values = list(flat(item.get("value")))
        file, _, header = str(item.get("data") or "").partition("#")
        for column in shapes.get(file, {}).get("columns", []):
            if not values and column["header"] == header and column["kind"] == "number":
                values, written = [column["low"], column["high"]], column["unit"] or written
        if isinstance(written, str) and values and all(map(is_number, values)):
            unit, numbers = parse_unit(written), [float(v) for v in values]
            ends = unit.to_si(min(numbers)), unit.to_si(max(numbers))
            found[str(item["name"])] = (ends, unit.dimension)
    return found


def _order(a: Range, b: Range) -> str:
    if a == b and a[0] == a[1]:
        return "equal"
    return "below" if a[1] < b[0] else "above" if a[0] > b[1] else "crossing"
