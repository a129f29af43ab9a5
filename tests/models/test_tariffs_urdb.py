"""Rates in the form of the Utility Rate Database, billed against sums by hand."""

from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest

from engiagent.models.ranges import ParameterError
from engiagent.models.tariffs import MeterTimes, NetBilling, NetMetering, Ratchet, bill
from engiagent.models.tariffs.urdb import from_urdb

EVENING = [0] * 16 + [1] * 5 + [0] * 3
RATE: dict[str, Any] = {
    "label": "made here",
    "energyratestructure": [
        [{"rate": 0.10, "adj": 0.01, "unit": "kWh", "sell": 0.03}],
        [{"rate": 0.30, "unit": "kWh", "sell": 0.05}],
    ],
    "energyweekdayschedule": [EVENING] * 12,
    "energyweekendschedule": [[0] * 24] * 12,
    "flatdemandstructure": [[{"rate": 5.0, "max": 40.0}, {"rate": 8.0, "adj": 0.5}]],
    "flatdemandmonths": [0] * 12,
    "demandratestructure": [[{"rate": 0.0}], [{"rate": 3.0}]],
    "demandweekdayschedule": [EVENING] * 12,
    "demandweekendschedule": [[0] * 24] * 12,
    "demandrateunit": "kW",
    "fixedchargefirstmeter": 20.0,
    "fixedchargeunits": "$/month",
    "dgrules": "Net Billing Instantaneous",
}
# January 2026: 22 weekdays.
TIMES = MeterTimes(start=datetime(2026, 1, 1, tzinfo=UTC), step_hours=1.0, count=744)


def test_a_bill_by_hand() -> None:
    power = np.full(744, 30.0)
    power[17] = 60.0  # on Thursday evening
    found = bill(from_urdb(RATE), TIMES, power, np.full(744, 2.0))
    evenings = 22 * 5
    energy = 0.11 * 30 * (744 - evenings) + 0.30 * (30 * evenings + 30)
    credit = 2 * (0.03 * (744 - evenings) + 0.05 * evenings)
    assert found.of("energy") == pytest.approx(energy)
    assert found.of("export") == pytest.approx(-credit)
    assert found.of("demand") == pytest.approx(5 * 40 + 8.5 * 20)
    assert found.of("demand by time") == pytest.approx(3 * 60)
    assert found.of("fixed") == 20
    assert found.currency == "USD"


def test_what_the_fields_become() -> None:
    more = RATE | {
        "dgrules": "Net Metering",
        "mincharge": 10,
        "minchargeunits": "$/month",
        "fueladjustmentsmonthly": [0.01] * 12,
        "demandratchetpercentage": [0.8] * 12,
        "demandwindow": 30,
        "fixedchargeunits": "$/day",
    }
    tariff = from_urdb({"items": [more]})
    assert isinstance(tariff.export, NetMetering)
    assert [part.name for part in tariff.energy] == ["energy", "fuel adjustment"]
    assert tariff.demand[0].ratchet == Ratchet(fraction=(0.8,) * 12)
    assert (tariff.minimum_per_month, tariff.demand_window_hours) == (10.0, 0.5)
    assert tariff.fixed[0].per_day == 20.0
    hourly = from_urdb(RATE | {"dgrules": "Net Billing Hourly"}).export
    assert isinstance(hourly, NetBilling)
    assert hourly.netting_hours == 1.0
    back = from_urdb(RATE | {"lookbackpercent": 0.9, "lookbackmonths": [0] * 5 + [1] * 4 + [0] * 3})
    assert back.demand[0].ratchet == Ratchet(fraction=0.9, months=None, seasons=(6, 7, 8, 9))


@pytest.mark.parametrize(
    ("rules", "by"),
    [
        ("Net Billing Instantaneous", "total"),
        ("Net Billing Hourly", "total"),
        ("Net Metering", "share"),
        (None, "share"),
    ],
)
def test_tiers_fill_as_the_rule_for_export_has_it_and_the_choice_is_stated(
    rules: str | None, by: str
) -> None:
    structure = [[{"rate": 0.1, "max": 500}, {"rate": 0.2}]] * 2
    sold = [[{**tier, "sell": 0.03} for tier in row] for row in structure]
    tariff = from_urdb(
        RATE | {"energyratestructure": sold if rules else structure, "dgrules": rules}
    )
    assert tariff.energy[0].tiers_by == by  # type: ignore[union-attr]
    text = "; ".join(tariff.assumptions)
    assert ("order of time" in text) == (by == "total")
    assert {None: "given away", "Net Metering": "surplus goes on"}.get(
        rules, "credit for export counts in its own month"
    ) in text


def test_charges_as_older_versions_name_them_are_billed() -> None:
    bare = {name: value for name, value in RATE.items() if not name.startswith("fixed")}
    tariff = from_urdb(bare | {"fixedmonthlycharge": 12.5, "minmonthlycharge": 40, "Name": "x"})
    assert (tariff.fixed[0].per_month, tariff.minimum_per_month) == (12.5, 40.0)
    assert from_urdb(RATE | {"annualmincharge": 500}).minimum_per_year == 500.0
    camel = RATE | {"lookbackPercent": 0.9, "lookbackRange": 6}
    assert from_urdb(camel).demand[0].ratchet == Ratchet(fraction=0.9, months=6)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"fixedmontlycharge": 12}, "did you mean fixedmonthlycharge"),
        ({"surcharge": 3}, "'surcharge'"),
        ({"fixedmonthlycharge": 12}, "fixedmonthlycharge is 12 and fixedchargefirstmeter 20"),
        ({"demandunits": "kVA"}, "demandunits is 'kVA'"),
        ({"lookbackpercent": 0.9, "lookbackPercent": 0.8}, "twice"),
        ({"energyratestructure": [[{"rates": 0.1}], [{"rate": 1}]]}, "'rates'"),
        ({"coincidentratestructure": [[{"rate": 1}]]}, "coincidentratestructure"),
        ({"demandrateunit": "kVA"}, "kVA"),
        ({"energyweekdayschedule": [[0] * 24]}, "12 rows"),
        ({"energyratestructure": [[{"rate": "ten"}], [{"rate": 1}]]}, "'ten'"),
        ({"energyratestructure": [[{"rate": 1.0}]]}, "period 1"),
        ({"dgrules": "Buy All Sell All"}, "Buy All"),
        ({"fixedchargeunits": "$/furlong"}, "furlong"),
        ({"lookbackpercent": 80}, "fraction"),
        ({"items": []}, "0 rates"),
    ],
)
def test_what_no_tariff_says_is_refused(changed: dict[str, Any], words: str) -> None:
    with pytest.raises(ParameterError, match=words.replace("$", r"\$")):
        from_urdb(RATE | changed)
