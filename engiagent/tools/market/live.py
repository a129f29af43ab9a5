"""Live prices and loads into a table of the session: of ENTSO-E, and of US system operators.

The only tool that reaches a network. Keys come from the environment and stand in no answer.
"""

import os
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from engiagent.environment.interface import quiet
from engiagent.errors import EngiagentError, InputError
from engiagent.io.schemawords import COUNT, TEXT, record
from engiagent.plant.source import nearest
from engiagent.tools.market.data import PACK
from engiagent.tools.modelling import plain
from engiagent.tools.places import write_rows
from engiagent.tools.registry import Json, Outcome, State, tool
from engiagent.tools.site.arguments import stated

if TYPE_CHECKING:  # half a second
    import pandas as pd

GROUP: Final = "market"
_KEY: Final = "ENTSOE_API_KEY"
_OPERATORS: Final = ("CAISO", "Ercot", "ISONE", "MISO", "NYISO", "PJM", "SPP")
_COLUMNS: Final = {"prices": ("price", "MWh"), "load": ("load", "MW")}


@tool(
    "write",
    *stated("fetch", pack=PACK),
    returns=record(
        {"file": TEXT, "rows": COUNT, "first": TEXT, "last": TEXT, "column": TEXT, "provider": TEXT}
    ),
    outside=True,
    repeatable=False,
    open_world=True,
)
def market_fetch(state: State, given: Json) -> Outcome:
    """Fetch day-ahead prices or loads of some days into a new CSV file of the session's folder.

    From ENTSO-E's transparency platform (areas as DE_LU; the key in ENTSOE_API_KEY) or, by
    gridstatus, from US system operators (areas as CAISO with a location for prices).
    """
    first, last = (datetime.fromisoformat(given[k][:10]) for k in ("first", "last"))
    if last < first:
        raise InputError("the last day is before the first", found=given["last"])
    american = given["area"] in _OPERATORS
    series = _american(given, first, last) if american else _european(given, first, last)
    if series.empty or series.isna().any():
        raise EngiagentError(
            f"there are no {given['what']} of {given['area']} for all of these days"
        )
    name, per = _COLUMNS[given["what"]]
    currency = ("USD" if american else "EUR") + "/" if given["what"] == "prices" else ""
    column = f"{name} [{currency}{per}]"
    stamps = [stamp.isoformat(timespec="minutes") for stamp in series.index]
    rows = zip(stamps, map(float, series), strict=True)
    file = write_rows(state.root, given["file"], ("time", column), rows)
    content = {"file": file, "rows": len(stamps), "first": stamps[0], "last": stamps[-1]}
    provider = f"gridstatus, {given['area']}" if american else "ENTSO-E Transparency Platform"
    return Outcome(plain({**content, "column": column, "provider": provider}), {}, (file,))


def _european(given: Json, first: datetime, last: datetime) -> "pd.Series[float]":
    try:
        import pandas as pd
        from entsoe.entsoe import EntsoePandasClient
        from entsoe.exceptions import NoMatchingDataError
        from entsoe.mappings import Area, lookup_area
    except ImportError:
        expected = 'pip install "engiagent[market]"'
        raise InputError("entsoe-py is not installed", expected=expected) from None
    if not os.environ.get(_KEY):
        raise InputError("there is no key of ENTSO-E", expected=f"{_KEY} in the environment")
    try:
        area = lookup_area(given["area"])
    except ValueError:
        known = [*(one.name for one in Area), *_OPERATORS]
        near = nearest(given["area"], known)
        raise InputError(f"there is no area {given['area']!r}", expected=near) from None
    start, end = (pd.Timestamp(day, tz=area.tz) for day in (first, last + timedelta(days=1)))
    client = EntsoePandasClient(api_key=os.environ[_KEY], retry_count=1, timeout=60)
    asked: Any = client.query_day_ahead_prices if given["what"] == "prices" else client.query_load
    try:
        with quiet():
            found = asked(area, start=start, end=end)
    except NoMatchingDataError:
        return pd.Series(dtype=float)
    except Exception as error:  # of the network and its library; their texts may hold the key
        said = f"the platform of ENTSO-E gives no answer: {type(error).__name__}"
        raise EngiagentError(said) from None
    values = found.iloc[:, 0] if isinstance(found, pd.DataFrame) else found
    return values[(values.index >= start) & (values.index < end)]


def _american(given: Json, first: datetime, last: datetime) -> "pd.Series[float]":
    try:
        with quiet():
            import gridstatus
            import pandas as pd
    except ImportError:
        expected = "pip install gridstatus, in an environment of its own: it needs pandas below 3"
        raise InputError("gridstatus is not installed", expected=expected) from None
    operator = getattr(gridstatus, given["area"])()
    days = {"date": pd.Timestamp(first), "end": pd.Timestamp(last + timedelta(days=1))}
    try:
        with quiet():
            if given["what"] == "load":
                table, column = operator.get_load(**days), "Load"
            elif "location" not in given:
                raise InputError(
                    "prices of an operator are those of a place", expected="location=…"
                )
            else:
                places = [given["location"]]
                market = "DAY_AHEAD_HOURLY"
                table = operator.get_lmp(**days, market=market, locations=places)
                column = "LMP"
    except EngiagentError:
        raise
    except Exception as error:  # of the network and its library
        said = f"{given['area']} gives no answer: {type(error).__name__}"
        raise EngiagentError(said) from None
    times = pd.DatetimeIndex(table["Interval Start" if "Interval Start" in table else "Time"])
    return pd.Series(table[column].to_numpy(dtype=float), times).sort_index()
