"""mc2 demo: what was found on the letters."""

import re

from tests.cli.commands import invoke, refused


def test_demo_finds_the_four_clusters_and_prints_them():
    result = invoke("demo", "letters")
    assert result.exit_code == 0, result.output
    assert "4 clusters (true: 4)" in result.stdout
    assert float(re.search(r"NMI ([\d.]+)", result.stdout)[1]) > 0.95
    for mean in (2, 4, 6, 8):
        assert re.search(rf"\b({mean - 1}\.9|{mean}\.[01])\d\b", result.stdout)


def test_a_demo_that_is_not_there_is_refused_by_name():
    assert "'stdlib' is not there yet" in refused(invoke("demo", "stdlib"))
    assert "'birds'" in refused(invoke("demo", "birds"))
