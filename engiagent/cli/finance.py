"""``engiagent finance``: annuities, present values, rates of return, what a battery may cost."""

from pathlib import Path
from typing import Any, Final

import click

from engiagent.blueprint import Blueprint
from engiagent.cli import options
from engiagent.cli.options import Decorator, added, limits, solve_options
from engiagent.cli.output import number, print_json, say, written
from engiagent.errors import InputError
from engiagent.run.inputs import problem_folder_of
from engiagent.study.economics import (
    annuity_payment,
    break_even_capital,
    internal_rates,
    net_present_value,
)
from engiagent.study.economics.arbitrage import Storage, arbitrage, read_prices
from engiagent.study.economics.tariffs import read_urdb, with_tariff

_FLOWS: Final = {"ignore_unknown_options": True}  # a flow may begin with a minus


def _number(name: str, said: str, default: float | None = None) -> Decorator:
    """Return the option of a number, which has to be given where there is no default."""
    return click.option(name, type=float, required=default is None, default=default, help=said)


_rate = _number("--rate", "Interest a year, as 0.08.")
_flows = click.argument("flows", type=float, nargs=-1, required=True)
_STORAGE: Final = ("hours", "round_trip", "least", "most")
_BUSINESS: Final = ("fixed_costs", "fade", "residual")
_storage = added(
    _number("--hours", "Rated energy over power, in h."),
    _number("--round-trip", "Efficiency there and back, as 0.81."),
    _number("--least", "Least content, as 0.1 of the rated energy.", 0.0),
    _number("--most", "Most content, as 0.9 of the rated energy.", 1.0),
    _number("--wear", "Cost of discharging, money per MWh.", 0.0),
)
_business = added(
    _number("--target", "Rate of return, as 0.13."),
    click.option("--years", type=options.COUNT, help="How long it lasts; the years of prices."),
    click.option(
        "--fixed",
        "fixed_costs",
        type=float,
        default=0.0,
        help="Fixed costs, money per kW and year.",
    ),
    _number("--fade", "Part of earnings lost each year.", 0.0),
    _number("--residual", "Part of the capital left at the end.", 0.0),
)


@click.group()
def finance() -> None:
    """Compute with money over time; rates are fractions a year."""


@finance.command()
@_rate
@_number("--years", "How many payments.")
@click.argument("capital", type=float)
@options.as_json
def annuity(capital: float, rate: float, years: float, as_json: bool) -> None:
    """Print the equal yearly payment that pays CAPITAL back."""
    payment = annuity_payment(capital, rate, years)
    _answer(as_json, f"{payment!r} a year", "annuity", payment=payment)


@finance.command(context_settings=_FLOWS)
@_rate
@_flows
@options.as_json
def npv(rate: float, flows: tuple[float, ...], as_json: bool) -> None:
    """Print what FLOWS, one at the end of each year from year 0 on, are worth today."""
    value = net_present_value(rate, flows)
    _answer(as_json, repr(value), "npv", net_present_value=value)


@finance.command(context_settings=_FLOWS)
@_flows
@options.as_json
def irr(flows: tuple[float, ...], as_json: bool) -> None:
    """Print every internal rate of return of FLOWS, one at the end of each year from year 0 on."""
    found = internal_rates(flows)
    if not found.is_unique:
        say(f"the flows change their sign {found.sign_changes} times: compare present values")
    text = "\n".join(repr(rate) for rate in found.rates) or "there is none"
    _answer(as_json, text, "irr", rates=list(found.rates), sign_changes=found.sign_changes)


@finance.command()
@click.argument("prices", metavar="FILE#COLUMN")
@_storage
@_business
@click.option("--unit", help="Of the prices, as USD/MWh, where their header names none.")
@limits
def battery(
    prices: str,
    wear: float,
    target: float,
    years: int | None,
    unit: str | None,
    as_json: bool,
    **given: Any,
) -> None:
    """Say what a battery may cost per kW to earn a target rate by arbitrage on prices of a file.

    Each calendar year of prices is solved by itself, with all its prices known; what is earned is
    thus the most that can be. When the battery lasts longer than the prices, they come again.
    """
    path, _, column = prices.rpartition("#")
    if not path:
        raise InputError("prices are named by file and column", found=prices, expected="a.csv#b")
    read = read_prices(Path(path), column, unit=unit)
    rated, business = ({n: given.pop(n) for n in names} for names in (_STORAGE, _BUSINESS))
    storage = Storage(power=1.0, wear=wear / 1000, **rated)
    about: dict[str, Any] = {"step_hours": read.step_hours, "options": solve_options(**given)}
    found = []
    for year, series in read.years.items():
        found.append(arbitrage(series, storage, year=year, **about))
        earned = number(found[-1].earnings, read.currency)
        say(f"  {year}: earns {earned} per kW ({found[-1].status})")
    earnings = [one.earnings for one in found]
    result = break_even_capital(earnings, target, years, **business)
    _answer(
        as_json,
        f"{result.capital!r} {read.currency} per kW",
        "battery-value",
        capital_per_kw=result.capital,
        currency=read.currency,
        target=target,
        rates=list(result.rates.rates),
        years={one.year: one.earnings for one in found},
        proven=all(one.status == "optimal" for one in found),
    )


@finance.command()
@click.argument("blueprint", type=click.Path(path_type=Path))
@click.argument("rate", type=options.FILE)
@click.option("--imported", default="grid_import", show_default=True, help="Power bought, in kW.")
@click.option("--exported", help="Power sold, as grid_export.")
@click.option("--time", default="T", show_default=True, help="The time set.")
@click.option("-o", "--output", type=options.FILE, help="Blueprint to write.")
def tariff(
    blueprint: Path, rate: Path, imported: str, exported: str | None, time: str, output: Path | None
) -> None:
    """Add the bill of RATE, a JSON file of the Utility Rate Database, to the cost of BLUEPRINT."""
    charges, stated = read_urdb(rate), Blueprint.load(blueprint)
    for text in charges.assumptions:
        say(f"assumed: {text}")
    sides: dict[str, Any] = {"imported": imported, "exported": exported, "time": time}
    full = with_tariff(stated, charges, **sides, folder=problem_folder_of(blueprint))
    written(full.to_json(), output)


def _answer(as_json: bool, text: str, form: str, **fields: Any) -> None:
    if as_json:
        print_json({"schema": f"engiagent-{form}/1", **fields})
    else:
        click.echo(text)
