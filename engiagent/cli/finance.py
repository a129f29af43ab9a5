"""``engiagent finance``: annuities, present values, rates of return, what a battery may cost."""

from pathlib import Path
from typing import Any

import click

from engiagent.blueprint import Blueprint
from engiagent.cli import options
from engiagent.cli.options import limits, solve_options
from engiagent.cli.output import number, print_json, say
from engiagent.errors import InputError
from engiagent.io.files import write_atomic
from engiagent.run.inputs import problem_folder_of
from engiagent.study.economics import (
    annuity_payment,
    break_even_capital,
    internal_rates,
    net_present_value,
)
from engiagent.study.economics.arbitrage import Storage, YearOfArbitrage, arbitrage, read_prices
from engiagent.study.economics.tariffs import read_urdb, with_tariff

as_json_option = options.as_json
rate_option = click.option("--rate", type=float, required=True, help="Interest a year, as 0.08.")


@click.group()
def finance() -> None:
    """Compute with money over time; rates are fractions a year."""


@finance.command()
@rate_option
@click.option("--years", type=float, required=True, help="How many payments.")
@click.argument("capital", type=float)
@as_json_option
def annuity(capital: float, rate: float, years: float, as_json: bool) -> None:
    """Print the equal yearly payment that pays CAPITAL back."""
    payment = annuity_payment(capital, rate, years)
    _answer({"schema": "engiagent-annuity/1", "payment": payment}, f"{payment!r} a year", as_json)


@finance.command(context_settings={"ignore_unknown_options": True})
@rate_option
@click.argument("flows", type=float, nargs=-1, required=True)
@as_json_option
def npv(rate: float, flows: tuple[float, ...], as_json: bool) -> None:
    """Print what FLOWS, one at the end of each year from year 0 on, are worth today."""
    value = net_present_value(rate, flows)
    _answer({"schema": "engiagent-npv/1", "net_present_value": value}, repr(value), as_json)


@finance.command(context_settings={"ignore_unknown_options": True})
@click.argument("flows", type=float, nargs=-1, required=True)
@as_json_option
def irr(flows: tuple[float, ...], as_json: bool) -> None:
    """Print every internal rate of return of FLOWS, one at the end of each year from year 0 on."""
    found = internal_rates(flows)
    text = "\n".join(repr(rate) for rate in found.rates) or "there is none"
    if not found.is_unique:
        say(f"the flows change their sign {found.sign_changes} times: compare present values")
    _answer(
        {
            "schema": "engiagent-irr/1",
            "rates": list(found.rates),
            "sign_changes": found.sign_changes,
        },
        text,
        as_json,
    )


@finance.command()
@click.argument("prices", metavar="FILE#COLUMN")
@click.option("--hours", type=float, required=True, help="Rated energy over power, in h.")
@click.option("--round-trip", type=float, required=True, help="Efficiency there and back, as 0.81.")
@click.option("--target", type=float, required=True, help="Rate of return, as 0.13.")
@click.option("--years", type=click.IntRange(min=1), help="How long it lasts; the years of prices.")
@click.option("--least", type=float, default=0.0, help="Least content, as 0.1 of the rated energy.")
@click.option("--most", type=float, default=1.0, help="Most content, as 0.9 of the rated energy.")
@click.option("--wear", type=float, default=0.0, help="Cost of discharging, money per MWh.")
@click.option("--fixed", type=float, default=0.0, help="Fixed costs, money per kW and year.")
@click.option("--fade", type=float, default=0.0, help="Part of earnings lost each year.")
@click.option("--residual", type=float, default=0.0, help="Part of the capital left at the end.")
@click.option("--unit", help="Of the prices, as USD/MWh, where their header names none.")
@limits
def battery(
    prices: str,
    hours: float,
    round_trip: float,
    target: float,
    years: int | None,
    least: float,
    most: float,
    wear: float,
    fixed: float,
    fade: float,
    residual: float,
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
    unit_of_money = read.currency
    storage = Storage(
        power=1.0, hours=hours, round_trip=round_trip, least=least, most=most, wear=wear / 1000
    )
    options = solve_options(**given)
    found: list[YearOfArbitrage] = []
    for year, series in read.years.items():
        one = arbitrage(series, storage, step_hours=read.step_hours, year=year, options=options)
        found.append(one)
        say(f"  {year}: earns {number(one.earnings, unit_of_money)} per kW ({one.status})")
    result = break_even_capital(
        [one.earnings for one in found],
        target,
        years,
        fixed_costs=fixed,
        fade=fade,
        residual=residual,
    )
    record = {
        "schema": "engiagent-battery-value/1",
        "capital_per_kw": result.capital,
        "currency": unit_of_money,
        "target": target,
        "rates": list(result.rates.rates),
        "years": {one.year: one.earnings for one in found},
        "proven": all(one.status == "optimal" for one in found),
    }
    _answer(record, f"{result.capital!r} {unit_of_money} per kW", as_json)


@finance.command()
@click.argument("blueprint", type=click.Path(path_type=Path))
@click.argument("rate", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--imported", default="grid_import", show_default=True, help="Power bought, in kW.")
@click.option("--exported", help="Power sold, as grid_export.")
@click.option("--time", default="T", show_default=True, help="The time set.")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path, dir_okay=False), help="Blueprint to write."
)
def tariff(
    blueprint: Path, rate: Path, imported: str, exported: str | None, time: str, output: Path | None
) -> None:
    """Add the bill of RATE, a JSON file of the Utility Rate Database, to the cost of BLUEPRINT."""
    charges = read_urdb(rate)
    for text in charges.assumptions:
        say(f"assumed: {text}")
    full = with_tariff(
        Blueprint.load(blueprint),
        charges,
        imported=imported,
        exported=exported,
        time=time,
        folder=problem_folder_of(blueprint),
    )
    if output is None:
        click.echo(full.to_json(), nl=False)
    else:
        write_atomic(output, full.to_json())
        say(f"written to {output}")


def _answer(record: dict[str, Any], text: str, as_json: bool) -> None:
    if as_json:
        print_json(record)
    else:
        click.echo(text)
