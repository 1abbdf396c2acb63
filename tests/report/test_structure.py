"""Hierarchy, effects, names and texts in the browser; downloads."""

from itertools import pairwise

import numpy as np
import pytest

from mcsquared.corpus import Corpus
from mcsquared.report.structure import _ranges_of_bins

# Records downloads instead of saving files.
CAPTURE = """
window.saved = [];
HTMLAnchorElement.prototype.click = function () {
  window.saved.push([this.download, decodeURIComponent(this.href.split(',').slice(1).join(','))]);
};
"""


@pytest.fixture(params=[(1280, "light"), (400, "dark")], ids=["wide", "narrow"])
def page(browser, pages, request):
    width, scheme = request.param
    browser.open(pages["words"], width=width, scheme=scheme)
    browser.run(CAPTURE)
    yield browser
    assert browser.overflow() <= 0
    assert browser.console_messages() == []


def saved(page):
    return page.run("return window.saved")


def test_the_slider_cuts_the_hierarchy(page):
    page.go("hierarchy")
    for n in ("3", "2", "1"):
        page.type("#cut", n)
        assert len(page.all(".sets > li")) == int(n)
    assert len(page.all(".dendrogram svg a")) == 3
    page.click(page.all("main .switch button")[1])
    assert len(page.all(".dendrogram svg a")) == 4
    assert len(page.all("svg[aria-label='Map of topics'] circle")) == 4
    page.click(page.one(".card .download"))
    assert saved(page)[0][0].endswith(".svg")


def test_effects_have_intervals_and_differences(page):
    page.go("effects")
    assert page.all("main .chart svg path")
    names = page.texts("main select option")
    place = page.run("return document.querySelector('main select').options[arguments[0]].value", 2)
    assert names[2] == "place"
    page.choose("main select", place)
    assert len(page.all(".bar-spread")) == 3
    assert "place" in page.text("main h3:last-of-type") or page.all("main table tbody tr")
    page.click(page.all("main .download")[-1])
    [(name, text)] = saved(page)
    assert name.endswith(".csv")
    assert text.splitlines()[0] == "topic,name,difference,low,high"


def test_contexts_that_act_on_topics_have_a_table_of_effects(browser, pages):
    browser.open(pages["acting"])
    browser.go("effects")
    names = browser.texts("main select option")
    for context in ("place", "year"):
        index = names.index(context)
        value = browser.run(
            "return document.querySelector('main select').options[arguments[0]].value", index
        )
        browser.choose("main select", value)
        assert context in browser.text(".effect h3")
        assert browser.texts(".effect th[scope=col]") == ["topic", "effect", "90% interval"]
        assert len(browser.all(".effect tbody tr")) > 1
    assert browser.console_messages() == []


def test_clusters_can_be_renamed_and_the_names_saved(page):
    page.go("clusters", 0)
    page.click(page.one(".rename"))
    page.type(".rename-field", "Home affairs")
    page.run("document.querySelector('.rename-field').blur()")
    page.wait_for_frames()
    assert page.text(".lead").startswith("Home affairs")
    page.click(page.all(".rename")[1])
    assert saved(page) == [["labels.json", '{"clusters":{"0":"Home affairs"},"topics":{}}']]
    page.go("overview")
    assert "Home affairs" in page.text()


def test_a_group_shows_its_text_with_words_coloured_by_topic(page):
    page.go("groups", 20)
    assert page.text(".document").startswith("Wört0, wört8 and wört3 of text 20")
    assert page.texts(".document mark")
    assert set(page.texts(".document mark")) <= {"Wört0", "wört8", "wört3"}


# Cards with a table, a list or a chart, and without a button to download it.
WITHOUT_DOWNLOAD = """
const listed = '.bars, table, ol.plain, .chips, dl.values, .list, .chart';
return [...document.querySelectorAll('main .card')]
  .filter((card) => card.querySelector(listed) && !card.querySelector('.download'))
  .map((card) => card.textContent.slice(0, 40));
"""


ADDRESSES = [("overview",), ("clusters", 0), ("topics", 0), ("groups", 20), ("values", 0, 0)]
ADDRESSES += [("diagnostics",), ("effects",), ("hierarchy",), ("search", "1")]


@pytest.mark.parametrize("address", ADDRESSES, ids=lambda address: address[0])
def test_every_table_list_and_chart_can_be_downloaded(page, address):
    page.go(*address)
    assert page.run(WITHOUT_DOWNLOAD) == []
    shown = [button for button in page.all("main .download") if button.is_displayed()]
    for button in shown:
        page.click(button)
    files = saved(page)
    assert len(files) >= len(shown) > 0
    assert all(text.strip() for _, text in files)


def test_lists_download_all_their_rows(page):
    page.go("clusters")
    page.click(page.one(".side .download"))
    page.go("groups")
    page.click(page.one(".side .download"))
    (name, clusters), (_, groups) = saved(page)
    assert name == "clusters.csv"
    assert clusters.splitlines()[0] == "cluster,name,groups"
    assert len(clusters.splitlines()) == 1 + 3
    assert len(groups.splitlines()) == 1 + 60


def test_the_map_downloads_as_png(page):
    page.go("map")
    page.click(page.one(".toolbar .download"))
    [(name, data)] = saved(page)
    assert name == "map-of-groups.png"
    assert len(data) > 1000


def test_bars_download_as_csv(page):
    page.go("clusters", 0)
    page.click(page.one(".card .download"))
    [(name, text)] = saved(page)
    assert name == "topics.csv"
    assert text.splitlines()[0].startswith("name,value")


def test_bins_of_whole_numbers_are_named_by_their_ranges():
    years = Corpus.from_tokens([["a"]] * 80, {"year": np.arange(1940.0, 2020.0)}).contexts["year"]
    names = _ranges_of_bins(years)
    assert names[0].startswith("1940–19")
    assert names[-1].endswith("–2019")
    bounds = [tuple(map(int, name.split("–"))) for name in names]
    assert all(low <= high < after for (low, high), (after, _) in pairwise(bounds))
    grades = Corpus.from_tokens([["a"]] * 3, {"grade": [1, 2, 3]}).contexts["grade"]
    assert _ranges_of_bins(grades) == ["1", "2", "3"]
    halves = Corpus.from_tokens([["a"]] * 2, {"x": [0.5, 1.0]}).contexts["x"]
    assert _ranges_of_bins(halves) is None
