"""Size and speed of reports of 2,000 and 100,000 groups."""

import time

import pytest

import mcsquared as mc2
from tests.report.models import large_posterior

CLICKS = ("clusters/3", "topics/5", "groups/777", "values/1/3", "map", "words/9", "groups/40")
# Time from a click until the page is drawn.
CLICK = """
const done = arguments[arguments.length - 1];
const begun = performance.now();
window.addEventListener('hashchange', () => requestAnimationFrame(
  () => setTimeout(() => done(performance.now() - begun), 0)), { once: true });
window.location.hash = arguments[0];
"""


def slowest_click(browser, path):
    """Return the milliseconds of the slowest click; each is the best of several."""
    browser.open(path)
    best = dict.fromkeys(CLICKS, float("inf"))
    for _ in range(3):
        for click in CLICKS:
            taken = browser.driver.execute_async_script(CLICK, f"#/{click}")
            best[click] = min(best[click], taken)
    assert browser.console_messages() == []
    return max(best.values())


def test_a_report_of_two_thousand_groups_is_small(tmp_path, browser):
    path = tmp_path / "page.html"
    mc2.write_report(large_posterior(2000), path)
    assert path.stat().st_size < 5e6
    browser.open(path)
    assert browser.console_messages() == []


@pytest.mark.slow
def test_a_report_of_a_hundred_thousand_groups_is_fast(tmp_path, browser):
    path = tmp_path / "page.html"
    posterior = large_posterior(100_000)
    started = time.monotonic()
    mc2.write_report(posterior, path)
    assert time.monotonic() - started < 60
    assert path.stat().st_size < 20e6
    assert slowest_click(browser, path) < 200
