"""The standard library as a corpus: words counted, and contexts of each file."""

import numpy as np
import pytest

from mcsquared.datasets import standard_library
from mcsquared.errors import InputError

FILLER = "\n".join(f"filler_word_{letter * 3} = 1" for letter in "abcdefghijklmnopqrstuvw")


@pytest.fixture
def tree(tmp_path):
    (tmp_path / "zoo").mkdir()
    (tmp_path / "tests").mkdir()
    (tmp_path / "zoo" / "__init__.py").write_text(f'"""Animals of a zoo."""\n{FILLER}\n')
    (tmp_path / "cage.py").write_text(
        "import os.path\nfrom zoo import lion as cat\nfrom . import beside\n"
        f'class BigCage:\n    "# no comment"\n    ironBars = 3  # rusty, mended\n{FILLER}\n'
    )
    (tmp_path / "tests" / "test_cage.py").write_text(FILLER)
    (tmp_path / "broken.py").write_text("def (:\n")
    (tmp_path / "short.py").write_text("lonely = 1\n")
    (tmp_path / "latin.py").write_bytes(
        b"# -*- coding: latin-1 -*-\n# caf\xe9s\n" + FILLER.encode()
    )
    return tmp_path


def test_modules_are_named_and_tests_broken_and_empty_files_left_out(tree):
    corpus = standard_library(tree)
    assert list(corpus.group_names) == ["cage", "latin", "zoo"]


def test_words_are_those_of_names_docstrings_and_comments(tree):
    corpus = standard_library(tree)
    counts = dict(zip(corpus.vocabulary, corpus.content.counts[0].toarray()[0], strict=True))
    for word in ("big", "cage", "iron", "bars", "rusty", "mended", "lion", "cat", "zoo"):
        assert counts.get(word, 0) >= 1, word
    assert "class" not in counts
    assert "os" not in counts  # two letters
    assert counts["comment"] == 1  # the docstring, whose # begins no comment


def test_contexts_are_imports_size_and_package(tree):
    corpus = standard_library(tree)
    assert list(corpus.contexts) == ["imports", "size", "package"]
    imports = corpus.contexts["imports"]
    first = np.asarray(imports.categories)[imports.values[0].indices]
    assert sorted(first) == ["os", "zoo"]
    lines = (tree / "cage.py").read_text().count("\n") + 1
    assert corpus.contexts["size"].values[0] == pytest.approx(np.log10(lines))
    assert np.asarray(corpus.contexts["package"].values).tolist() == [0, 0, 1]


def test_a_folder_without_sources_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"at least two Python files .* got 0"):
        standard_library(tmp_path)
