"""Whether colours stand out from paper, and from one another for whoever sees fewer of them."""

import itertools

import numpy as np
import pytest

from engiagent.report.charts.palette import DARK, LIGHT, STYLES
from engiagent.report.charts.timeline import Floats

# Machado, Oliveira and Fernandes (2009), doi:10.1109/TVCG.2009.113: full severity, linear RGB.
SIGHT = {
    "full": np.eye(3),
    "protanopia": np.array(
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ]
    ),
    "deuteranopia": np.array(
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ]
    ),
    "tritanopia": np.array(
        [
            [1.255528, -0.076749, -0.178779],
            [-0.078411, 0.930809, 0.147602],
            [0.004733, 0.691367, 0.303900],
        ]
    ),
}
TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
WHITE = np.array([0.95047, 1.0, 1.08883])
TOLD_APART = 20.0
"""CIE76 difference of two colours; 2.3 can just be seen side by side."""


def linear(colour: str) -> Floats:
    parts = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def lab(light: Floats) -> Floats:
    xyz = TO_XYZ @ np.clip(light, 0, 1) / WHITE
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def contrast(a: str, b: str) -> float:
    low, high = sorted(float(linear(colour) @ TO_XYZ[1]) for colour in (a, b))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("sight", SIGHT)
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_colours_are_told_apart(theme: str, sight: str) -> None:
    palette = LIGHT if theme == "light" else DARK
    seen = [lab(SIGHT[sight] @ linear(palette[f"s{k}"])) for k in range(STYLES)]
    assert min(np.linalg.norm(a - b) for a, b in itertools.combinations(seen, 2)) > TOLD_APART
