"""The report in a browser: search, map, keys, lists, themes, printing."""

import re

import numpy as np
import pytest

import mcsquared as mc2
from mcsquared.palette import COLOURS, DARK_COLOURS, N_COLOURS

TABS = ("overview", "map", "clusters", "topics", "groups", "diagnostics")


def listed_words(browser):
    return browser.texts("article .cell:first-child .bars .bar-label")


def presses_to_reach(browser, index):
    """Return how often "down" must be pressed to reach the first hit after a title."""
    kinds = browser.run(
        "return [...document.querySelectorAll('#found > *')].map((e) => e.className)"
    )
    return kinds[:index].count("hit") + 1


@pytest.mark.parametrize(
    ("query", "section", "heading"),
    [
        ("wört3", "Words", "wört3"),
        ("place1", "place", "place1"),
        ("common", "tags", "common"),
        ("cluster 2", "Clusters", "Cluster 2"),
        ("topic 1", "Topics", "Topic 1"),
    ],
)
def test_search_finds_groups_words_values_clusters_and_topics(
    browser, pages, query, section, heading
):
    browser.open(pages["words"])
    browser.type("#search", query)
    assert section in browser.texts("#found .hit-title")
    at = browser.texts("#found > *").index(section)
    browser.press(*["\ue015"] * presses_to_reach(browser, at), "\ue007")  # down, enter
    assert browser.one("#found").get_attribute("hidden") is not None
    assert heading in browser.texts("main h2, article h3")


def test_search_results_list_groups_or_report_no_matches(browser, pages):
    browser.open(pages["nips"])
    browser.go("search", "network")
    assert any(title.startswith("Groups") for title in browser.texts("main h3"))
    browser.type("#search", "no such thing anywhere")
    assert "No matches" in browser.text("#found")


def test_the_slider_orders_words_by_relevance(browser, pages):
    browser.open(pages["nips"])
    browser.go("topics", 0)
    orders = []
    for relevance in ("0", "0.6", "1"):
        browser.type("#relevance", relevance)
        orders.append(browser.texts("#relevance ~ span output") and listed_words(browser))
    assert orders[0] != orders[2]
    shares = [
        float(text.strip("<%")) for text in browser.texts("article .cell:first-child .bar-value")
    ]
    assert shares == sorted(shares, reverse=True), "λ = 1 is the order of the shares"


def test_the_map_reacts_to_the_pointer(browser, pages):
    from selenium.webdriver import ActionChains

    browser.open(pages["words"])
    browser.go("map")
    canvas = browser.one("canvas.map")
    for step in range(300):
        ActionChains(browser.driver, duration=50).move_to_element_with_offset(
            canvas, 25 * (step % 20) - 250, 20 * (step // 20) - 150
        ).perform()
        if browser.one("#tip").get_attribute("hidden") is None:
            break
    title = browser.text("#tip .tip-title")
    ActionChains(browser.driver).click().perform()
    browser.wait(lambda: browser.fragment.startswith("#/groups/"))
    browser.wait_for_frames()
    assert browser.text("article h3") == title


def test_the_map_reacts_to_keys_and_has_all_colour_schemes(browser, pages):
    browser.open(pages["words"])
    browser.go("map")
    browser.run("document.querySelector('canvas.map').focus()")
    browser.press("\ue014", "\ue015", "+", "0")  # right, down
    name = browser.text(".map-status a")
    values = browser.run(
        "return [...document.querySelectorAll('.toolbar select option')].map((o) => o.value)"
    )
    assert {"cluster", "confidence", "context:0", "tokens"} <= set(values)
    for value in values:
        browser.choose(".toolbar select", value)
    browser.run("[...document.querySelectorAll('.switch button')][1].click()")  # by topics
    browser.wait_for_frames()
    browser.run("document.querySelector('canvas.map').focus()")
    browser.press("\ue007")
    assert browser.fragment.startswith("#/groups/")
    assert browser.text("article h3") == name
    assert browser.console_messages() == []


def test_keys_open_sections_search_neighbours_and_help(browser, pages):
    browser.open(pages["words"])
    browser.press("3")
    assert browser.fragment == "#/clusters"
    browser.go("clusters", 0)
    browser.press("]")
    assert browser.fragment == "#/clusters/1"
    browser.press("[")
    assert browser.fragment == "#/clusters/0"
    browser.press("/")
    assert browser.run("return document.activeElement.id") == "search"
    browser.press("\ue00c", "?")  # escape
    assert browser.run("return document.getElementById('keys').open")
    browser.press("\ue00c")
    assert not browser.run("return document.getElementById('keys').open")


def test_colours_are_those_of_the_palette_in_both_themes(browser, pages):
    style = "getComputedStyle(document.documentElement).getPropertyValue(`--c${i}`).trim()"
    script = f"return Array.from({{ length: arguments[0] }}, (_, i) => {style})"
    browser.open(pages["words"], scheme="light")
    assert browser.run(script, N_COLOURS) == list(COLOURS)
    browser.press("d")
    assert browser.run(script, N_COLOURS) == list(DARK_COLOURS)
    browser.run("localStorage.clear()")
    browser.open(pages["words"], scheme="dark")
    assert browser.run(script, N_COLOURS) == list(DARK_COLOURS)
    browser.press("d")
    assert browser.run(script, N_COLOURS) == list(COLOURS)
    browser.run("localStorage.clear()")


def test_the_theme_follows_the_system_and_the_button(browser, pages):
    colour = "return getComputedStyle(document.body).backgroundColor"
    browser.open(pages["words"], scheme="dark")
    dark = browser.run(colour)
    browser.open(pages["words"], scheme="light")
    light = browser.run(colour)
    assert dark != light
    for tab in TABS:
        browser.go(tab)
        browser.run("document.getElementById('theme').click()")
    assert browser.run(colour) == light, "six times there and back"
    browser.press("d")
    assert browser.run(colour) == dark
    browser.press("d")
    assert browser.console_messages() == []


def test_long_lists_render_only_visible_rows_and_react_to_arrows(browser, pages):
    browser.open(pages["words"])
    browser.go("groups")
    assert "60 groups" in browser.text(".side")
    assert 5 < len(browser.all(".side .row")) < 45
    browser.type(".side input[type=search]", "1")
    browser.choose(".side select", "uncertain")
    rows = browser.texts(".side .row .soft")
    shares = [int(text.split()[-1].rstrip("%")) for text in rows]
    assert shares == sorted(shares)
    browser.run("document.querySelector('.side .list').focus()")
    browser.press("\ue015", "\ue015", "\ue007")
    assert browser.fragment.startswith("#/groups/")
    assert browser.all(".side .row[aria-selected=true]")


def test_a_cluster_page_has_every_kind_of_context_and_missing_values(browser, pages):
    browser.open(pages["words"])
    browser.go("clusters", 1)
    for name in ("year", "day", "place", "tags", "flag", "where", "visits"):
        [block] = [
            card
            for card in browser.all(".context")
            if card.find_element("css selector", "h3").text.startswith(name)
        ]
        assert block.find_elements("css selector", "svg, .bars"), name
    assert "missing in" in browser.text("article")
    browser.go("overview")
    assert "Missing contexts" in browser.text()
    assert len(browser.all(".missing-cell")) > 3


def test_topics_of_vectors_are_drawn(browser, pages):
    browser.open(pages["pixels"])
    browser.go("topics", 0)
    assert browser.all("article canvas.pixels")
    browser.open(pages["vectors"])
    browser.go("topics", 0)
    assert "height" in browser.text("article")
    assert len(browser.all("article svg a")) == 4, "an ellipse for every topic"


def test_diagnostics_draw_every_chain(browser, pages):
    browser.open(pages["pixels"])
    browser.go("diagnostics")
    titles = browser.texts("main .card h3")
    assert any(title.startswith("log joint") for title in titles)
    [trace, *_] = browser.all("svg[aria-label^='trace of']")
    assert len(trace.find_elements("css selector", "path")) == 2
    assert "Truncation" in titles


def test_printed_pages_are_white_and_have_no_buttons(browser, pages):
    browser.open(pages["words"], scheme="dark")
    browser.go("clusters", 0)
    browser.command("Emulation.setEmulatedMedia", media="print", features=[])
    try:
        assert not browser.one("#tabs").is_displayed()
        assert not browser.one(".side").is_displayed()
        assert browser.one("article").is_displayed()
        white = browser.run("return getComputedStyle(document.body).backgroundColor")
        assert white == "rgb(255, 255, 255)"
    finally:
        browser.command("Emulation.setEmulatedMedia", media="")


def test_a_report_without_data_lists_its_limitations(browser, pages):
    browser.open(pages["words_alone"])
    assert "does not contain the content of the groups" in browser.text()
    browser.go("groups", 3)
    assert "Topics of its clusters" in browser.text("article")


def test_scroll_targets_are_not_covered_by_the_header(browser, pages):
    browser.open(pages["words"], width=400)
    browser.go("clusters", 0)
    browser.run("window.scrollTo(0, document.body.scrollHeight)")
    for link in browser.all("article .bars a")[:3]:
        browser.run("arguments[0].scrollIntoView({ block: 'start' })", link)
        script = "return arguments[0].getBoundingClientRect()"
        head = browser.one(".top")
        assert browser.run(script, link)["top"] >= browser.run(script, head)["bottom"]


@pytest.mark.parametrize(("query", "expected"), [("2010", "2010"), ("2020-07", "2020-07-")])
def test_numbers_and_dates_are_found_and_have_pages(browser, pages, query, expected):
    browser.open(pages["words"])
    browser.go("search", query)
    links = [a for a in browser.addresses() if a.startswith("#/values/")]
    assert links
    browser.run("window.location.hash = arguments[0]", links[0])
    browser.wait_for_frames()
    assert browser.text("main h2").startswith(expected)
    groups = browser.texts("main .group-row")
    assert f"{len(groups)} group" in browser.text()
    browser.go("groups", 1)
    assert "#/values/1/" in " ".join(browser.addresses()), "its day leads to the others of that day"


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (400, "dark")])
def test_unsettled_groups_are_counted_and_list_their_candidates(browser, pages, width, scheme):
    browser.open(pages["words"], width=width, scheme=scheme)
    assert any("unsettled group" in title for title in browser.texts(".check strong"))
    browser.go("groups", 10)
    assert browser.texts(".unsettled strong") == ["Unsettled: "]
    assert len(browser.texts("article .cell:first-child .bar-label")) == 3
    browser.go("groups", 40)
    assert browser.texts(".unsettled") == []
    assert browser.overflow() <= 0


@pytest.mark.parametrize("tab", ["clusters", "topics"])
def test_typical_groups_show_the_beginning_of_their_texts(browser, pages, tab):
    browser.open(pages["words"])
    browser.run("location.hash = arguments[0]", f"#/{tab}/1")
    browser.wait(lambda: browser.texts("article .excerpt"))
    excerpts = browser.texts("article .excerpt")
    assert 0 < len(excerpts) <= 5
    assert all(re.fullmatch(r"Wört0, wört\d+ and wört3 of text \d+", text) for text in excerpts)
    names = "return [...document.querySelectorAll('ol.plain')].flatMap((list) => list.csv())"
    assert all(len(row) == 2 for row in browser.run(names))


def test_values_as_frequent_as_overall_are_not_called_characteristic(browser, tmp_path):
    """Every kind of group has all places equally often, and two marks of its own."""
    kind = np.arange(128) // 8 % 4
    words = [[f"word{3 * k + i % 3}" for i in range(12)] for k in kind]
    places = [f"place{j % 8}" for j in range(128)]
    marks = [f"mark{2 * k + j // 64}" for j, k in enumerate(kind)]
    corpus = mc2.Corpus.from_tokens(words, {"place": places, "mark": marks})
    model = mc2.MC2(n_sweeps=60, n_chains=1, random_state=0, progress=False).fit(corpus)
    mc2.write_report(model, tmp_path / "page.html")
    browser.open(tmp_path / "page.html")
    browser.run("location.hash = '#/clusters/0'")
    browser.wait(lambda: browser.texts("article .card"))
    cards = [text for text in browser.texts("article .card") if "most characteristic" in text]
    mark, place = sorted(cards)
    assert 1 <= len(re.findall(r"mark\d", mark)) <= 2
    assert "No value is clearly more frequent than overall." in place
    assert "Line: share in all clusters." in mark
    assert "Line:" not in place


def test_values_of_a_single_group_are_not_characteristic_of_a_cluster(browser, tmp_path):
    kind = np.arange(128) // 8 % 4
    words = [[f"word{3 * k + i % 3}" for i in range(12)] for k in kind]
    labels = [f"label{j // 2 * 2}" if j % 16 else "rare" for j in range(128)]
    corpus = mc2.Corpus.from_tokens(words, {"label": labels})
    model = mc2.MC2(n_sweeps=60, n_chains=1, random_state=0, progress=False).fit(corpus)
    mc2.write_report(model, tmp_path / "page.html")
    browser.open(tmp_path / "page.html")
    browser.go("clusters", 0)
    (card,) = [text for text in browser.texts("article .card") if "most characteristic" in text]
    shares = [float(x) for x in re.findall(r"([\d.]+)%", card)]
    size = (model.labels_ == 0).sum()
    assert all(share / 100 * size >= 1.4 for share in shares)


def test_emojis_and_hashtags_are_coloured_in_texts(browser, tmp_path):
    texts = ["great sound \U0001f3a7 #music", "dull book \U0001f4da @shop"] * 20
    corpus = mc2.Corpus.from_texts(texts, max_df=1.0, keep=["emojis", "hashtags"])
    model = mc2.MC2(n_sweeps=20, n_chains=1, random_state=0, progress=False).fit(corpus)
    mc2.write_report(model, tmp_path / "page.html", corpus=corpus, texts=texts)
    browser.open(tmp_path / "page.html")
    browser.go("groups", 0)
    assert browser.texts(".document mark") == ["great", "sound", "\U0001f3a7", "#music"]


def test_words_of_several_words_are_coloured_line_by_line_and_long_names_wrap(browser, tmp_path):
    items = [
        [
            "oil lamp of brass for the garden, 40 cm",
            "water hose of 20 m with a mount",
            "sharp scythe",
        ],
        [
            "paint for walls and ceilings, 10 l",
            "brush for varnish, 40 mm wide",
            "ladder of ten steps",
        ],
    ]
    baskets = [[*items[j % 2], items[j % 2][0]] for j in range(40)]
    corpus = mc2.Corpus.from_tokens(baskets, {"shop": ["north", "south"] * 20})
    model = mc2.MC2(n_sweeps=20, n_chains=1, random_state=0, progress=False).fit(corpus)
    texts = [f"{row[0]} ×2\n{row[1]}\n{row[2]}" for row in baskets]
    mc2.write_report(model, tmp_path / "page.html", corpus=corpus, texts=texts)
    for width in (1280, 400):
        browser.open(tmp_path / "page.html", width=width)
        browser.go("groups", 0)
        assert browser.texts(".document mark") == texts[0].split("\n")
        chips = "return [...document.querySelectorAll('.chip')]"
        cut = browser.run(f"{chips}.filter((chip) => chip.scrollWidth > chip.clientWidth)")
        assert cut == []  # a long name in a legend ends with an ellipsis
        browser.go("effects")
        assert browser.overflow() <= 0
