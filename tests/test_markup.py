"""Notebook summaries are complete, well formed and escaped."""

import html
import re
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

import mcsquared as mc2
from mcsquared.markup import bar, card, details, paragraph, paragraphs, table
from tests.posterior.models import make_posterior

EVIL = "<script>alert('1 & \"2\"')</script>"
VOID = {"br", "meta"}


class Page(HTMLParser):
    """Parser that checks the nesting of tags and collects text and tags."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.text = [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        assert not any(name.startswith("on") for name, _ in attrs)
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if not self.open or self.open[-1] != "style":
            self.text.append(data)

    @property
    def words(self):
        return " ".join("".join(self.text).split())


def displayed(thing):
    return Page(thing._repr_html_())


def test_all_text_is_escaped():
    rows = [(EVIL, 1), (EVIL, 2)]
    texts = paragraph(EVIL), paragraphs([EVIL])
    text = card(EVIL, *texts, table([EVIL, "n"], rows), details(EVIL))
    page = Page(text)
    assert "script" not in page.tags
    assert text.count(html.escape(EVIL)) == 7
    assert page.words.count("<script>") == 7


def test_numbers_are_formatted_and_right_aligned():
    text = table(["n", "x", "year", "name"], [(12_345, 0.123456, 1994.25, "a"), (1, 2.0, 1.0, "b")])
    assert ">12,345<" in text
    assert ">0.123<" in text
    assert ">1994.2<" in text
    assert text.count('class="mc2-n"') == 9
    assert Page(table(["nothing"], [])).words == "nothing"


def test_a_bar_is_as_long_as_its_share():
    def width(part):
        return float(re.search(r"width:([\d.]+)em", part)[1])

    assert width(bar(0.5)) == width(bar(1.0)) / 2
    assert width(bar(0.1, longest=0.2)) == width(bar(0.5))
    assert Page(bar(0.125)).words == "12.5%"


def test_colours_are_those_of_the_notebook():
    style = re.search(r"<style>(.*?)</style>", card("x"), re.DOTALL)[1]
    colours = set(re.findall(r"(?<!-)\b(?:color|background):([^;}]+)", style))
    assert colours == {"inherit", "transparent", "none", "#0072b2"}
    rules = [rule for rule in re.findall(r"([^{}]+)\{", style) if rule.strip()]
    assert all(".mc2-card" in part for rule in rules for part in rule.split(","))


# Corpus ---------------------------------------------------------------------------------------


def test_a_corpus_shows_its_size_and_its_contexts():
    corpus = make_posterior()[1]
    page = displayed(corpus)
    assert f"{corpus.n_tokens} tokens, 12 words" in page.words
    assert "1 groups without any" in page.words
    for name, column in corpus.contexts.items():
        at = page.text.index(name)
        assert page.text[at + 1] == column.kind
    assert "3 categories: place0, place1, place2" in page.words
    assert "2020-01-01 to 2020" in page.words
    assert f"{corpus.contexts['year'].observed.mean():.1%}" in page.words


def test_markup_in_names_words_and_categories_has_no_effect():
    contexts = {EVIL: [EVIL, "b", None], "tags": [[EVIL], ["x"], []]}
    corpus = mc2.Corpus([[1, 2], [0, 1], [2, 0]], contexts, vocabulary=[EVIL, "w"])
    corpus.notes.append(EVIL)
    page = displayed(corpus)
    assert "script" not in page.tags
    assert page.words.count("<script>") >= 3


def test_a_corpus_without_contexts_or_tokens_has_a_summary():
    assert "no contexts" in displayed(mc2.Corpus([[0, 0]])).words
    assert "vectors of width 2" in displayed(mc2.Corpus(np.zeros((3, 2)))).words


def test_only_the_first_of_many_contexts_are_listed():
    contexts = pd.DataFrame({f"c{i}": [1.0, 2.0] for i in range(50)})
    page = displayed(mc2.Corpus([[1], [2]], contexts))
    assert "c29" in page.words
    assert "c30" not in page.words
    assert "and 20 more" in page.words


# Posterior and model --------------------------------------------------------------------------


@pytest.mark.parametrize("vectors", [False, True])
def test_a_posterior_lists_results_and_advice(vectors):
    posterior = make_posterior(vectors=vectors)[0]
    page = displayed(posterior)
    kind = "vectors" if vectors else "tokens"
    assert f"30 groups in 3 clusters, {posterior.tokens_per_group.sum()} {kind} in 4 topics" in (
        page.words
    )
    assert "12 draws from 2 chains, 4 with topics" in page.words
    for line in posterior.diagnostics().attrs["advice"]:
        assert line in page.words
    if not vectors:
        for words in posterior.topics(n_words=8)["words"]:
            assert words in page.words
    for row in posterior.clusters().itertuples():
        assert row.topics in page.words
        assert str(row.day)[:10] in page.words
    assert "a note" in page.words


def test_markup_in_a_posterior_has_no_effect():
    posterior, _, _ = make_posterior()
    posterior.vocabulary[:] = [f"{EVIL}{word}" for word in posterior.vocabulary]
    posterior.notes.append(EVIL)
    page = displayed(posterior)
    assert "script" not in page.tags
    assert page.words.count("<script>") > 4


def test_a_posterior_without_topics_or_trace_has_a_summary():
    posterior = make_posterior()[0]
    posterior.parameters, posterior.trace = [], pd.DataFrame()
    page = displayed(posterior)
    assert "30 groups in 3 clusters" in page.words
    assert "Topics" not in page.words


def test_repr_includes_clusters_and_topics_once_they_are_known():
    posterior = make_posterior(vectors=True)[0]
    assert repr(posterior) == "Posterior(12 draws of 30 groups, 4 with parameters)"
    assert "labels" not in vars(posterior)
    posterior.topics()
    assert repr(posterior).endswith("with parameters; 3 clusters, 4 topics)")


@pytest.fixture(scope="module")
def fitted():
    corpus = mc2.Corpus.from_tokens([[f"<b>{w}", "x"] for w in "abcabcabc"])
    return mc2.MC2(n_sweeps=8, burn_in=2, thin=1, random_state=0, progress=False).fit(corpus)


def test_a_fitted_model_shows_its_posterior_and_parameters(fitted):
    bundle = fitted._repr_mimebundle_()
    page = Page(bundle["text/html"])
    assert bundle["text/html"] == fitted._repr_html_()
    assert bundle["text/plain"] == repr(fitted)
    assert "9 groups in" in page.words
    assert "MC2(burn_in=2, n_sweeps=8" in page.words
    assert "<b>" in page.words
    assert "b" not in page.tags


def test_an_unfitted_model_is_displayed_by_scikit_learn():
    text = mc2.MC2(n_sweeps=7)._repr_html_()
    assert "sk-container" in text
    assert "mc2-card" not in text
