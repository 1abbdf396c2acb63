"""Numbers, ranges and colours on the pages read as they are meant."""

import re
from importlib import resources

import pytest

from mcsquared.report.overview import _truncation
from tests.report.test_narrow import FIND

ASSETS = resources.files("mcsquared.report") / "assets"
FUNCTIONS = "".join(
    (ASSETS / f"{name}.js").read_text(encoding="utf-8")
    for name in ("elements", "effects", "downloads")
)


@pytest.fixture
def effects(browser, pages):
    browser.open(pages["acting"])
    browser.go("effects")
    browser.choose("main select", browser.run(FIND))
    return browser


def test_bins_of_whole_numbers_are_ranges_everywhere_on_the_page_of_effects(effects):
    choices = "return [...document.querySelectorAll('main select')[2].options].map((o) => o.text)"
    ranges = effects.run(choices)
    assert effects.texts("main .columns .bars .bar-label") == ranges
    assert all(re.fullmatch(r"\d{4}(–\d{4})?", text) for text in ranges)


def test_only_the_selected_topic_has_a_band(effects):
    bands = "return document.querySelectorAll('main .chart g > title + path[d$=Z]').length"
    assert effects.run(bands) == 1
    for topic in ("1", "0"):
        selector = "main .columns select"
        effects.choose(selector, topic)
        assert effects.run(bands) == 1
        assert f"interval of topic {topic}," in effects.text("main .card")


@pytest.mark.parametrize(
    ("number", "text"),
    [(0.0, "0.0%"), (-0.0004, "−0.04%"), (0.00003, "+0.003%"), (0.025, "+2.5%"), (-0.3, "−30%")],
)
def test_small_differences_keep_their_sign(browser, pages, number, text):
    browser.open(pages["acting"])
    assert browser.run(f"{FUNCTIONS} return signedPercent(arguments[0])", number) == text


@pytest.mark.parametrize(
    ("number", "text"),
    [(-8152179, "−8.15218M"), (-15506, "−15,506"), (-0.25, "−0.25"), (253.123, "253")],
)
def test_large_numbers_are_rounded_and_minus_signs_are_signs(browser, pages, number, text):
    browser.open(pages["acting"])
    assert browser.run(f"{FUNCTIONS} return formatNumber(arguments[0])", number) == text


def test_intervals_of_differences_stay_within_100_percent(browser, pages):
    browser.open(pages["acting"])
    found = {"share": [0.999, 0.0], "low": [0.9, 0.0], "high": [1.0, 0.1]}
    for first, second in ((0, 1), (1, 0)):
        script = f"{FUNCTIONS} return differenceOf(...arguments)"
        interval = browser.run(script, found, first, second)
        ends = sorted(abs(interval[end]) for end in ("low", "high"))
        assert 0.8 < ends[0] < 0.999
        assert ends[1] == 1


def test_numbers_are_numbers_in_downloads(browser, pages):
    browser.open(pages["acting"])
    csv = browser.run(f"{FUNCTIONS} return csvOf([['a', '−2.5', -3, '=1']])")
    assert csv == "a,-2.5,-3,'=1"


def test_sets_of_a_hierarchy_have_the_colours_of_the_dendrogram(browser, pages):
    browser.open(pages["words"])
    browser.go("hierarchy")
    colours = browser.run(
        "const colours = (set) => [...set.querySelectorAll('.dot')].map((d) => d.style.background);"
        "return [...document.querySelectorAll('.sets > li')].map((s) => new Set(colours(s)).size)"
    )
    assert set(colours) == {1}


def test_the_largest_truncation_of_all_chains_is_read_from_notes_of_any_version():
    notes = [
        "chain 0 extended its truncation to 48 clusters and 512 topics; "
        "at most 24 and 234 were occupied",
        "chain 1 extended its truncation to 64 clusters and 256 topics; "
        "at most 38 and 230 were occupied",
        "4 of 20 words were dropped",
    ]
    expected = {"cluster_slots": 64, "topic_slots": 512, "clusters": 38, "topics": 234}
    assert _truncation(notes) == expected
    together = "the truncation was extended to 64 clusters and 512 topics; "
    assert _truncation([f"{together}at most 38 and 234 were occupied"]) == expected
    assert _truncation(notes[2:]) is None
