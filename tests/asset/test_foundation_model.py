"""Foundation models: where weights are found, and that a forecast sees nothing of what it tells."""

import contextlib
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.asset.test_history import called, refused, written

ABOUT = {"sensors": "sensors.csv", "sensor": "a", "horizon": 24, "level": 0.9, "every": 1}


def measured(root: Path) -> None:
    """Write sixty days of hourly temperatures."""
    hours, noise = np.arange(60 * 24), np.random.default_rng(4).normal(size=60 * 24)
    written(root, (20 + 3 * np.sin(hours / 24 * 2 * np.pi) + 0.5 * noise).tolist())


class Yesterday:
    """A pipeline with Chronos's calls that repeats the last day that it sees."""

    asked: list[str]

    @classmethod
    def from_pretrained(cls, place: str, **_: Any) -> "Yesterday":
        if place.endswith("absent"):
            raise OSError(f"{place} is not in the cache\nand more")
        return cls()

    def predict_quantiles(
        self, given: list[np.ndarray], prediction_length: int, quantile_levels: list[float]
    ) -> tuple[None, list[np.ndarray]]:
        repeats = -(-prediction_length // 24)
        return None, [np.tile(seen[-24:], repeats)[None, :prediction_length] for seen in given]


def stand_in(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = SimpleNamespace(
        tensor=lambda values, dtype: np.array(values),
        no_grad=contextlib.nullcontext,
        manual_seed=lambda _: None,
        float32=np.float32,
    )
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setitem(sys.modules, "chronos", SimpleNamespace(BaseChronosPipeline=Yesterday))


def test_each_period_is_forecast_from_what_was_known_a_horizon_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a model that repeats yesterday, the error is exactly that of yesterday's value."""
    stand_in(monkeypatch)
    measured(tmp_path)
    (tmp_path / "weights").mkdir()
    for weights in ("weights", "amazon/chronos-bolt-small"):
        found = called(tmp_path, "tsfm_forecast", **ABOUT, weights=weights)
        assert found["mean_absolute_error"] == pytest.approx(found["error_of_last_day"])
        assert found["model"] == f"{weights}, not fitted"
        assert len(found["values"]) == 24
        assert 0.75 <= found["measured_coverage"] <= 1


def test_weights_that_are_not_there_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured(tmp_path)
    monkeypatch.setitem(sys.modules, "chronos", None)
    needed = refused(tmp_path, "tsfm_forecast", **ABOUT, weights="amazon/chronos-bolt-small")
    assert "pip install chronos-forecasting" in needed
    stand_in(monkeypatch)
    said = refused(tmp_path, "tsfm_forecast", **ABOUT, weights="amazon/absent")
    assert "not in the cache" in said
    assert "and more" not in said
    assert "no such file" in refused(tmp_path, "tsfm_forecast", **ABOUT, weights="nowhere")
    outside = refused(tmp_path, "tsfm_forecast", **ABOUT, weights="../weights")
    assert "'../weights'" in outside


def test_chronos_itself_with_weights_of_its_own_making(tmp_path: Path) -> None:
    """Weights are drawn, so that nothing is said of the forecast but that it comes."""
    pytest.importorskip("chronos")
    from chronos import ChronosBoltPipeline  # noqa: F401 (registers the architecture)
    from chronos.chronos_bolt import ChronosBoltModelForForecasting
    from transformers import T5Config

    about: dict[str, Any] = {"context_length": 512, "prediction_length": 64, "input_patch_size": 16}
    about |= {"input_patch_stride": 16, "quantiles": [0.1, 0.5, 0.9], "use_reg_token": True}
    sizes = {"d_model": 32, "d_kv": 8, "d_ff": 64, "num_layers": 2, "num_heads": 4}
    config = T5Config(**sizes, vocab_size=2, decoder_start_token_id=0, pad_token_id=0)
    config.chronos_config, config.chronos_pipeline_class = about, "ChronosBoltPipeline"
    config.architectures = ["ChronosBoltModelForForecasting"]
    ChronosBoltModelForForecasting(config).save_pretrained(tmp_path / "bolt")
    measured(tmp_path)
    found = called(tmp_path, "tsfm_forecast", **ABOUT, weights="bolt")
    assert len(found["values"]) == 24
    assert np.isfinite(found["values"]).all()
    (tmp_path / "bolt" / "model.safetensors").unlink()
    assert "no weights" in refused(tmp_path, "tsfm_forecast", **ABOUT, weights="bolt")
