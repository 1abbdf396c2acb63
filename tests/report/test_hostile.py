"""Names that contain markup or scripts are displayed as text and have no effect."""

import csv
import io

from mcsquared.report.packing import embedded_json
from tests.report.models import HOSTILE
from tests.report.test_structure import CAPTURE


def harmless(text):
    """Return a name as in the page; lone surrogates cannot be encoded."""
    return text.replace("\ud800", "\ufffd")


def test_hostile_names_are_text_everywhere(browser, pages):
    browser.open(pages["hostile"])
    assert browser.driver.title == "</title><script>window.harmed = 9</script>"
    for section in ("overview", "map", "clusters", "topics", "groups", "diagnostics"):
        browser.go(section)
    for name, numbers in (
        ("clusters", range(2)),
        ("topics", range(2)),
        ("groups", range(14)),
        ("words", range(14)),
    ):
        for number in numbers:
            browser.go(name, number)
            if name == "groups":
                assert browser.text("article h3") == harmless(HOSTILE[number])
            if name == "words":
                assert browser.text("main h2") in set(map(harmless, HOSTILE))
    for context in range(2):
        for value in range(4):
            browser.go("values", context, value)
    for query in ("script", "window.harmed", "<img src=x onerror='window.harmed = 10'>"):
        browser.go("search", query)
        assert browser.text("main h2") == f"Search: {query}"
        browser.type("#search", query)
    assert browser.run("return window.harmed") is None
    assert browser.run("return document.querySelectorAll('script').length") == 2
    assert browser.run("return document.querySelectorAll('img, iframe, object, style').length") == 1
    assert browser.console_messages() == []
    assert browser.requests() == []


def test_names_that_a_spreadsheet_would_run_are_escaped_in_downloads(browser, pages):
    browser.open(pages["hostile"])
    browser.run(CAPTURE)
    browser.go("groups")
    browser.click(browser.one(".side .download"))
    ((_, text),) = browser.run("return window.saved")
    cells = [cell for row in csv.reader(io.StringIO(text)) for cell in row]
    for name in HOSTILE:
        start = "'" if name.startswith(("=", "@")) else ""
        assert start + harmless(name) in cells


def test_names_in_tooltips_are_text(browser, pages):
    browser.open(pages["hostile"])
    browser.go("map")
    browser.run("document.querySelector('canvas.map').focus()")
    browser.press("\ue014", "\ue014", "\ue015")
    assert browser.text(".map-status a") in {
        harmless(name) + end for name in HOSTILE for end in ("", *(f" {j}" for j in range(60)))
    }
    assert browser.run("return window.harmed") is None


def test_embedded_json_cannot_end_its_element():
    text = embedded_json({name: [name, float("nan")] for name in HOSTILE})
    assert not set(text) & set("<>&\u2028\u2029")
    text.encode("utf-8")
