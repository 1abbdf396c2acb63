"""Colours of clusters and topics can be told apart and are seen on both backgrounds."""

import re
from importlib import resources

import numpy as np
import pytest

from mcsquared.palette import COLOURS, DARK_COLOURS, GREY, N_COLOURS

THEMES = {"light": COLOURS, "dark": DARK_COLOURS}
# From linear sRGB to the responses of the cones, and from their cube roots to OKLab.
_CONES = np.array(
    [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
)
_OKLAB = np.array(
    [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
)
# Machado, Oliveira and Fernandes (2009), full severity: linear sRGB as it is seen.
_SIGHTS = {
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
}


def linear(colour):
    """Return the linear red, green and blue of a colour such as "#0072b2", each from 0 to 1."""
    parts = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def oklab(colours, sight=None):
    light = np.array([linear(colour) for colour in colours])
    if sight is not None:
        light = np.clip(light @ _SIGHTS[sight].T, 0, 1)
    return np.cbrt(light @ _CONES.T) @ _OKLAB.T


def closest(colours, sight=None):
    """Return the smallest distance of two colours; about 0.02 is just visible side by side."""
    points = oklab(colours, sight)
    distance = np.linalg.norm(points[:, None] - points[None], axis=2)
    return distance[np.triu_indices(len(points), 1)].min()


def contrast(one, other):
    """Return the contrast ratio of the Web Content Accessibility Guidelines, 1 to 21."""
    low, high = sorted(float(linear(colour) @ [0.2126, 0.7152, 0.0722]) for colour in (one, other))
    return (high + 0.05) / (low + 0.05)


def backgrounds(theme):
    """Return the colours of the page and of its cards."""
    style = (resources.files("mcsquared.report") / "assets" / "base.css").read_text()
    selector = r':root\[data-theme="dark"\]' if theme == "dark" else r":root"
    block = re.search(rf"^{selector} \{{(.*?)^\}}", style, re.DOTALL | re.MULTILINE)[1]
    return [re.search(rf"--{name}: (#\w+);", block)[1] for name in ("paper", "card")]


def test_the_two_backgrounds_are_those_of_the_page():
    assert [contrast(colour, "#ffffff") < 1.1 for colour in backgrounds("light")] == [True] * 2
    assert [contrast(colour, "#ffffff") > 14 for colour in backgrounds("dark")] == [True] * 2


@pytest.mark.parametrize("theme", THEMES)
def test_no_two_colours_look_alike(theme):
    colours = THEMES[theme]
    assert len(colours) == N_COLOURS == len(set(colours)) >= 48
    assert closest(colours[:10]) > 0.07
    assert closest(colours[:24]) > 0.065
    assert closest([*colours, GREY]) > 0.045


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("sight", _SIGHTS)
def test_later_colours_differ_for_red_green_blindness_too(theme, sight):
    points = oklab(THEMES[theme], sight)
    for number in range(9, N_COLOURS):
        nearest = np.linalg.norm(points[:number] - points[number], axis=1).min()
        assert nearest > 0.025, THEMES[theme][number]


@pytest.mark.parametrize(("theme", "least"), [("light", 2.0), ("dark", 3.0)])
def test_colours_stand_out_from_the_page_and_its_cards(theme, least):
    for background in backgrounds(theme):
        assert min(contrast(colour, background) for colour in THEMES[theme]) >= least


def test_a_colour_keeps_its_hue_in_the_dark():
    for one, other in zip(oklab(COLOURS), oklab(DARK_COLOURS), strict=True):
        cosine = one[1:] @ other[1:] / np.linalg.norm(one[1:]) / np.linalg.norm(other[1:])
        assert cosine > np.cos(np.radians(25))
