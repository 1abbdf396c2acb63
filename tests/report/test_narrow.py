"""Pages on a telephone: nothing that a table says is out of view."""

import pytest

OUTSIDE = """
const width = document.documentElement.clientWidth;
return [...document.querySelectorAll('main table th, main table td')].filter((cell) => {
  const box = cell.getBoundingClientRect();
  return box.width === 0 || box.right > width || box.left < 0;
}).map((cell) => cell.textContent);
"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [400, 1280])
def test_intervals_of_differences_and_effects_are_in_view(browser, pages, width, scheme):
    browser.open(pages["acting"], width=width, scheme=scheme)
    browser.go("effects")
    headings = browser.texts("main .differences thead th")
    assert headings == ["topic", "difference", "95% interval", "topic", "effect", "90% interval"]
    assert browser.run(OUTSIDE) == []
    assert browser.run("return document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("name", ["effects", "hierarchy", "overview"])
def test_the_tab_of_the_page_is_in_view(browser, pages, name):
    browser.open(pages["acting"], width=400)
    browser.go(name)
    left, right = browser.run(
        "const box = document.querySelector('#tabs [aria-current]').getBoundingClientRect();"
        "return [box.left, box.right];"
    )
    assert left >= 0
    assert right <= 400


FIND = """
const found = [...document.querySelectorAll('main select option')];
return found.find((option) => option.text === 'year').value;
"""


def test_all_topics_over_a_number_are_on_one_chart(browser, pages):
    browser.open(pages["acting"])
    browser.go("effects")
    browser.choose("main select", browser.run(FIND))
    lines = browser.run(
        "return [...document.querySelectorAll('main .chart g > title')].map((t) => t.textContent)"
    )
    choice = "return [...document.querySelectorAll('main select')[1].options].map((o) => o.text)"
    assert sorted(lines) == sorted(browser.run(choice))
