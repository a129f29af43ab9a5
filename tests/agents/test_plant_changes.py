"""Sentences that change the problem of a shop or a dairy: none is passed over."""

from pathlib import Path

import pytest

from tests.agents.support import analysed
from tests.agents.test_plant_heat import DAIRY, UNITS
from tests.agents.test_plant_times import BASE, GOAL, shop_files

SHOP = (
    "The battery may be used from noon on only.",
    "Outside the period from 17:00 to 20:00 the import must not exceed 45 kW.",
    "In odd hours the import must not exceed 45 kW.",
    "At most 45 kW may be imported in three hours of the day.",
    "The sum of import and load must not exceed 120 kW.",
    "The import must be at most 45 kW for the first few hours.",
    "The battery must be discharged by at least 10 kWh per day.",
    "The price above holds for the first 500 kWh.",
    "Beyond 500 kWh electricity costs 0.40 EUR/kWh.",
    "For the first 20 kW the price is 0.20 EUR/kWh.",
    "The charging power falls above a state of charge of 80 %.",
    "Above 80 % the battery charges at up to 10 kW.",
    "The battery holds 50 kWh at 12:00.",
    "A discount of 10 % is granted.",
    "VAT of 19 % is added.",
    "All prices are net of 19 % tax.",
    "The standing charge is 2 EUR per day.",
    "At weekends the demand charge is 5 EUR/kW.",
    "The battery may deliver 30 kW for at most 2 hours.",
    "The inverter loses 3 % of the power.",
    "The battery needs to rest for 1 h between charging and discharging.",
    "The load may fall to 40 kW.",
    "Demand above 70 kW costs 0.10 EUR/kWh more.",
    "The grid fails from 10:00 to 12:00.",
    "The import should be at most 45 kW if possible.",
    "The import must not change by more than 10 kW from one hour to the next.",
    "The battery was full at the start of the week.",
    "The efficiency holds for half load; at full load it is 84 %.",
    "The minimum import is 10 kW.",
    "The import must be at least 10 kW at all times.",
    "No more than 30 % of the import may happen at night.",
    "Electricity costs 0.50 EUR/kWh when the load exceeds 60 kW.",
    "The battery has to be charged to 100 % once a day.",
    "The battery is charged to 100 % at noon.",
    "Each cycle costs 3 EUR.",
    "Wear costs 2 ct/kWh.",
    "The grid operator pays 5 EUR for each kW of peak below 60 kW.",
    "Peak load must be reduced by 10 %.",
    "Another shop shares the battery.",
    "The neighbour takes 5 kW.",
)

HEAT = (
    "The CHP unit must run for at least 3 hours at a time.",
    "The CHP unit runs only when heat is needed.",
    "The CHP unit gets a bonus of 0.04 EUR/kWh for its electricity.",
    "Heat is sold at 80 EUR/MWh.",
    "The boiler must be used last.",
    "The network loses 5 % of the heat.",
    "The tank cools down over night.",
    "The boiler takes 30 minutes to start.",
    "The heat demand can be shifted by an hour.",
    "The CHP unit can be run at 50 % or 100 % only.",
    "The CHP unit has a maintenance cost of 1 ct/kWh.",
    "At part load the efficiency of the CHP unit falls to 28 %.",
    "The gas price holds up to 100 kW; above it is 70 EUR/MWh.",
    "CO2 costs 50 EUR per ton.",
    "Each kWh of gas emits 0.2 kg of CO2.",
    "Two boilers of this kind are installed.",
    "The dairy may buy heat from its neighbour at 90 EUR/MWh.",
)


@pytest.mark.parametrize("sentence", SHOP)
def test_a_sentence_on_the_shop(tmp_path: Path, sentence: str) -> None:
    assert not analysed(tmp_path, BASE + sentence + GOAL, shop_files()).complete


@pytest.mark.parametrize("sentence", HEAT)
def test_a_sentence_on_the_dairy(tmp_path: Path, sentence: str) -> None:
    text = DAIRY.format(units="\n\n".join(ways[0] for ways in UNITS.values()))
    assert not analysed(tmp_path, f"{text}\n{sentence}\n").complete


def test_both_are_understood_without_them(tmp_path: Path) -> None:
    (tmp_path / "shop").mkdir()
    (tmp_path / "dairy").mkdir()
    assert analysed(tmp_path / "shop", BASE + GOAL, shop_files()).complete
    text = DAIRY.format(units="\n\n".join(ways[0] for ways in UNITS.values()))
    assert analysed(tmp_path / "dairy", text).complete
