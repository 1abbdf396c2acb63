"""Pages of the levels above groups: types, units, and links between levels."""

import numpy as np
import pytest

import mcsquared as mc2
from mcsquared.report.page import report_data
from tests.report.test_drive import WALK
from tests.report.test_structure import WITHOUT_DOWNLOAD
from tests.samplers.leveled_cases import two_levels_above


@pytest.fixture(params=[1280, 400])
def page(browser, pages, request):
    """Yield a browser at the report, and check that there were no requests or console messages."""
    browser.open(pages["levels"], width=request.param)
    yield browser
    assert browser.console_messages() == []
    assert browser.requests() == []


def test_every_page_of_a_level_opens_and_leads_to_its_units_and_groups(page):
    corpus = two_levels_above()
    city, country = corpus.levels
    assert page.texts("#tabs a")[5:7] == ["City", "Country"]
    page.go("level0", "units", 2)
    groups = np.flatnonzero(city.parent_of_child == 2)
    assert page.text("article h3") == "city 2"
    assert {f"#/groups/{j}" for j in groups} <= page.addresses()
    assert f"{len(groups)} groups · country: H" in page.text("article .note")
    page.go("level1", "units", 0)
    assert {f"#/level0/units/{u}" for u in np.flatnonzero(country.parent_of_child == 0)} <= (
        page.addresses()
    )
    page.go("groups", int(groups[0]))
    page.click(page.one("article a[href='#/level0/units/2']"))
    assert page.fragment == "#/level0/units/2"
    seen, wrong = page.driver.execute_async_script(WALK, 6)
    assert wrong == []
    assert {address.split("/")[1] for address in seen} >= {"level0", "level1", "groups"}


def test_units_are_found_by_search_and_by_the_list(page):
    page.type("#search", "city 11")
    page.click(page.one("#found a[href='#/level0/units/11']"))
    assert page.text("article h3") == "city 11"
    page.go("level0")
    page.click(page.all(".side .switch button")[1])
    assert page.fragment == "#/level0/units"
    page.type(".side input", "city 7")
    assert page.texts(".side .row .grow") == ["city 7"]


def test_a_type_of_one_unit_is_described_in_the_singular(browser, tmp_path):
    corpus = mc2.Corpus([[2, 1], [1, 3]], {"country": ["F", "F"]}).with_levels("country")
    model = mc2.MC2(n_sweeps=4, burn_in=2, random_state=0, progress=False).fit(corpus)
    mc2.write_report(model, tmp_path / "report.html", corpus=corpus)
    browser.open(tmp_path / "report.html")
    browser.go("level0", "types", 0)
    units, _, stability = browser.texts("article .tile")
    assert units == "1unit100% of all"
    assert stability == "100%stabilityprobability that its only unit is alone in its type"
    assert "With the probability of being alone in its type." in browser.text("article .columns")
    browser.go("level0", "units", 0)
    assert "is alone in its type with probability 100%" in browser.text("article")


def test_a_list_shows_the_entry_that_an_address_opens(browser, pages):
    browser.open(pages["levels"])
    last = two_levels_above().n_groups - 1
    browser.go("groups", last)
    browser.wait(lambda: browser.all(".side .row[aria-selected='true']"))
    browser.go("level0", "units", 11)
    browser.go("groups", last)
    browser.wait(lambda: browser.all(".side .row[aria-selected='true']"))


def test_every_list_of_a_level_can_be_downloaded(page):
    for address in (("level0", "types", 0), ("level0", "units", 2), ("level1", "units", 0)):
        page.go(*address)
        assert page.run(WITHOUT_DOWNLOAD) == []
        assert page.all(".side .download")
        assert page.all("article .download")


def test_data_of_a_level_agree_with_its_posterior():
    model = mc2.MC2(n_sweeps=8, burn_in=4, thin=1, random_state=0, progress=False)
    posterior = model.fit(two_levels_above()).posterior_
    data = report_data(posterior)["levels"]
    assert [level["name"] for level in data] == ["city", "country"]
    assert data[0]["types"]["n"] == posterior.level("city").n_clusters
    assert [context["name"] for context in data[1]["contexts"]] == ["region", "tags"]
    assert data[1]["names"] == ["F", "G", "H", "I"]


def test_diagnostics_include_the_types_of_every_level():
    model = mc2.MC2(n_sweeps=8, burn_in=4, thin=1, random_state=0, progress=False)
    posterior = model.fit(two_levels_above()).posterior_
    data = report_data(posterior)["diagnostics"]
    labels = [row["label"] for row in data["scalars"]]
    assert labels[-3:] == [
        "types of country",
        "α, concentration of types of country",
        "v, concentration within types of country",
    ]
    traces = {trace["label"]: trace for trace in data["traces"]}
    (chain,) = traces["types of city"]["chains"]
    expected = posterior.level("city").trace["n_clusters"].tolist()
    assert chain["values"] == expected
    # A bound of clusters does not apply to types.
    assert traces["types of city"]["name"] == "city n_clusters"
