"""The environment is one of gymnasium's, also where its own check is blind."""

from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from engiagent.environment.gym import ID, SiteEnv
from engiagent.errors import InputError

PLANT = """\
title: Shop
horizon: {start: 2026-06-01, step: 1 h, periods: 24}
components:
  grid: {model: grid, import_price: 0.3 EUR/kWh, export_price: 0.05 EUR/kWh}
  shop: {model: load, power: 10 kW}
  roof: {model: generator_profile, available_power: 12 kW}
  battery:
    model: battery
    energy_capacity: 30 kWh
    charge_power_max: 10 kW
    discharge_power_max: 10 kW
    initial_energy: 10 kWh
goal: {minimize: cost}
"""


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    path = tmp_path / "plant.yaml"
    path.write_text(PLANT)
    return path


def made(shop: Path, **more: Any) -> SiteEnv:
    found = gymnasium.make(ID, plant=shop, seconds=900, **more).unwrapped
    assert isinstance(found, SiteEnv)
    return found


@pytest.mark.filterwarnings("ignore:.*Box.*:UserWarning")
def test_gymnasium_accepts_it(shop: Path) -> None:
    check_env(made(shop), skip_render_check=True)


def test_what_it_returns_lies_in_its_spaces_and_is_plain(shop: Path) -> None:
    site = made(shop)
    seen, _ = site.reset(seed=3)
    generator = np.random.default_rng(0)
    for k in range(96):
        assert seen in site.observation_space
        assert np.abs(seen).max() <= 1.0
        assert seen.dtype == np.float32
        action = generator.uniform(-2, 2, site.action_space.shape).astype(np.float32)  # beyond
        seen, reward, terminated, truncated, info = site.step(action)
        assert type(reward) is float
        assert terminated is False
        assert truncated is (k == 95)
        assert 0 <= info["values"]["battery.state_of_charge"] <= 30
    with pytest.raises(InputError, match="behind the end"):
        site.step(action)
    again, _ = site.reset(seed=3)
    assert again in site.observation_space


def test_the_reward_is_what_energy_costs(shop: Path) -> None:
    site = made(shop)
    site.reset(options={"battery.state_of_charge": 20.0})
    rest = -np.ones(2, dtype=np.float32)
    _, reward, *_ = site.step(rest)
    assert reward == pytest.approx(2.0 * 0.25 * 0.05)  # the sun gives 2 kW more than is used
    full = rest.copy()
    full[site.action_names.index("battery.charge")] = 1.0
    _, reward, _, _, info = site.step(full)
    assert info["values"]["battery.charge"] == pytest.approx(10.0)
    assert reward == pytest.approx(-8.0 * 0.25 * 0.3)


def test_a_signal_without_bounds_is_named(shop: Path) -> None:
    shop.write_text(PLANT.replace("    charge_power_max: 10 kW\n", ""))
    with pytest.raises(InputError, match=r"battery\.charge has no finite bounds"):
        made(shop)
    assert made(shop, bounds={"battery.charge": (0.0, 5.0)})
