"""Tabs, links, search and sliders of three reports, in wide and narrow windows.

Synthetic data (words, pixels, vectors) replace public data sets that are not available.
"""

import pytest

REPORTS = {"papers": ("nips", "words"), "images": ("labelme", "pixels")}
REPORTS |= {"schools": ("schools", "vectors")}
TABS = ("overview", "map", "clusters", "topics", "groups", "diagnostics")
VISITED = 6  # of every kind of address

# Follows all links and reports errors.
WALK = """
const [most, done] = arguments;
const drawn = () => new Promise((ready) => requestAnimationFrame(() => setTimeout(ready, 0)));
const arrive = async (address) => {
  if (window.location.hash === address) return;
  const changed = new Promise((ready) => addEventListener('hashchange', ready, { once: true }));
  window.location.hash = address;
  await changed;
  await drawn();
};
(async () => {
  const waiting = [...document.querySelectorAll('#tabs a')].map((a) => a.getAttribute('href'));
  const [seen, counts, wrong] = [new Set(), {}, []];
  while (waiting.length) {
    const address = waiting.shift();
    if (seen.has(address)) continue;
    seen.add(address);
    await arrive(address);
    const main = document.querySelector('main');
    const chosen = /^#.(clusters|topics|groups).\\d/.test(address);
    const heading = main.querySelector('h2').textContent;
    if (/no such/.test(heading)) wrong.push([address, 'leads nowhere']);
    if (chosen && !main.querySelector('.has-detail')) wrong.push([address, 'is not there']);
    if (main.textContent.length < 40) wrong.push([address, 'is empty']);
    const wide = document.documentElement.scrollWidth - window.innerWidth;
    if (wide > 0) wrong.push([address, `is ${wide} pixels too wide`]);
    for (const link of main.querySelectorAll('a')) {
      const href = link.getAttribute('href');
      const kind = href.split('/')[1];
      if (!href.startsWith('#/')) wrong.push([address, `has a link to ${href}`]);
      if (seen.has(href) || waiting.includes(href)) continue;
      counts[kind] = (counts[kind] || 0) + 1;
      if (counts[kind] <= most) waiting.push(href);
    }
  }
  done([[...seen], wrong]);
})();
"""

# The first visible link to each kind of page.
LINKS = """
const found = {};
for (const link of document.querySelectorAll('main a')) {
  const box = link.getBoundingClientRect();
  const href = link.getAttribute('href');
  const shown = box.width > 2 && box.height > 2;
  if (shown && href !== window.location.hash) found[href.split('/')[1]] ||= link;
}
return Object.values(found);
"""


@pytest.fixture(params=[1280, 400])
def width(request):
    return request.param


@pytest.fixture(params=REPORTS)
def page(browser, pages, request, width):
    """Yield a browser at a page, and check that there were no requests or console messages."""
    real, made = REPORTS[request.param]
    try:
        path = pages[real]
    except pytest.skip.Exception:
        path = pages[made]
    browser.open(path, width=width)
    yield browser
    assert browser.console_messages() == []
    assert browser.requests() == []


def test_every_tab_and_link_opens_its_page(page):
    for tab in TABS:
        page.click(page.one(f"#tabs a[data-tab={tab}]"))
        assert page.fragment == f"#/{tab}"
        assert page.one("#tabs a[aria-current]").get_attribute("data-tab") == tab
    seen, wrong = page.driver.execute_async_script(WALK, VISITED)
    assert wrong == []
    kinds = {address.split("/")[1] for address in seen}
    assert kinds >= set(TABS)
    assert "#/clusters/0" in seen
    assert "#/topics/0" in seen


def test_links_are_not_covered_by_other_elements(page):
    page.go("clusters", 0)
    for number in range(len(page.run(LINKS))):
        page.go("clusters", 0)
        link = page.run(LINKS)[number]
        target = link.get_attribute("href").partition("#")[2]
        page.click(link)
        assert page.fragment == f"#{target}"


def test_search_slider_and_switches_update_the_page(page):
    page.go("groups", 1)
    name = page.text("article h3")
    for query, fragment in (
        (name.removeprefix("Group ")[:40], "#/groups/"),
        ("cluster 0", "#/clusters/0"),
        ("topic 1", "#/topics/"),
    ):
        page.type("#search", query)
        page.click(page.one(f"#found a[href^='{fragment}']"))
        assert page.fragment.startswith(fragment)
        assert not page.one("#found").is_displayed()
    page.go("topics", 0)
    for slider in page.all("article input[type=range]"):
        before = page.texts("article .cell:first-child .bar-label")
        slider.send_keys("\ue010")  # to its end
        often = page.texts("article .cell:first-child .bar-label")
        slider.send_keys("\ue011")  # and to its beginning
        labels = page.texts("article .cell:first-child .bar-label")
        assert len(before) == len(often) == len(labels)
        assert often != labels
    for section in (("topics", 0), ("clusters", 0), ("map",)):
        page.go(*section)
        for number in range(len(page.all("main .switch button"))):
            page.click(page.all("main .switch button")[number])
        assert page.overflow() <= 0


def test_only_reports_with_words_have_a_slider(browser, pages):
    for kind, sliders in (("words", 1), ("vectors", 0), ("pixels", 0)):
        browser.open(pages[kind])
        browser.go("topics", 0)
        assert len(browser.all("#relevance")) == sliders
