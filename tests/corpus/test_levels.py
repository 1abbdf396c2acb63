"""Levels above groups: units, parents, and contexts that move up."""

import numpy as np
import pandas as pd
import pytest

import mcsquared as mc2
from mcsquared.corpus.levels import move_contexts_to_levels
from mcsquared.errors import InputError

SPEECHES = pd.DataFrame(
    {
        "text": ["war peace", "aid food", "war tax", "tax cut", "war aid", "peace aid"],
        "year": [1.0, 2.0, 3.0, 4.0, 5.0, np.nan],
        "region": ["E", "E", "E", "A", None, None],
        "mayor": ["m", "m", "n", "o", None, None],
        "city": ["p", "p", "q", "r", None, "q"],
        "country": ["F", "F", "F", "G", None, None],
    }
)
COUNTRIES = pd.DataFrame({"country": ["G", "F", "H"], "gdp": [1.5, None, 9.0]})


def read(frame=SPEECHES, **options):
    options = {"text": "text", "max_df": 1.0} | options
    return mc2.Corpus.from_frame(frame, **options)


def test_units_are_the_values_of_the_column_and_missing_ones_are_no_parent():
    (level,) = read(levels="city").levels
    assert level.unit_names.tolist() == ["p", "q", "r"]
    assert level.parent_of_child.tolist() == [0, 0, 1, 2, -1, 1]


def test_contexts_that_are_constant_within_units_move_up_as_far_as_they_can():
    corpus = read(contexts=["year", "region", "mayor"], levels=["city", "country"])
    city, country = corpus.levels
    assert list(corpus.contexts) == ["year"]
    assert list(city.contexts) == ["mayor"]
    assert list(country.contexts) == ["region"]
    assert city.contexts["mayor"].values.tolist() == [0, 1, 2]
    assert country.contexts["region"].values.tolist() == [1, 0]  # codes of E and A
    assert country.parent_of_child.tolist() == [0, 0, 1]
    assert "context mayor: constant within every city, so it is a context of the city" in (
        corpus.notes
    )


def test_categorical_contexts_of_a_corpus_become_levels():
    names = ["year", "region", "city", "country"]
    plain, framed = read(contexts=names), read(contexts=names[:2], levels=names[2:])
    corpus = plain.with_levels(["city", "country"])
    assert list(plain.contexts) == names
    assert list(corpus.contexts) == list(framed.contexts) == ["year"]
    for level, same in zip(corpus.levels, framed.levels, strict=True):
        assert level.unit_names.tolist() == same.unit_names.tolist()
        assert level.parent_of_child.tolist() == same.parent_of_child.tolist()
        assert list(level.contexts) == list(same.contexts)
    with pytest.raises(InputError, match="levels must name categorical contexts, got 'year'"):
        plain.with_levels("year")


def test_a_context_that_a_group_without_a_unit_has_stays_with_the_groups():
    frame = SPEECHES.assign(region=["E", "E", "E", "A", "E", None])
    corpus = read(frame, contexts="region", levels="city")
    assert list(corpus.contexts) == ["region"]

    note = (
        "context region: constant within every city, but not a context of the city, because 1 "
        "group without a city has a value"
    )
    assert note in corpus.notes


def test_a_context_moves_if_few_groups_without_a_unit_have_it():
    frame = pd.concat([SPEECHES] * 8).assign(region=["E", "E", "E", "A", None, None] * 8)
    frame.iloc[4, frame.columns.get_loc("region")] = "A"
    corpus = read(frame, contexts="region", levels=["city", "country"])
    assert [list(level.contexts) for level in corpus.levels] == [[], ["region"]]
    assert corpus.levels[1].contexts["region"].values.tolist() == [1, 0]  # codes of E and A
    assert corpus.notes[:2] == [
        "context region: the values of 1 group without a city are not used",
        "context region: constant within every country, so it is a context of the country",
    ]


def test_values_of_new_groups_without_a_unit_are_not_those_of_a_unit():
    frame = SPEECHES.assign(region=["E", "E", "E", "A", "Z", None])
    corpus = read(frame, contexts="region", levels="city")
    groups, (city,) = move_contexts_to_levels(corpus.contexts, corpus.levels, {"city": ["region"]})
    assert groups == {}
    region = city.contexts["region"]
    assert [region.categories[code] for code in region.values] == ["E", "E", "A"]


def test_a_context_is_not_moved_if_every_unit_has_one_group():
    frame = SPEECHES.assign(city=list("pqrstu"))
    assert list(read(frame, contexts="region", levels="city").contexts) == ["region"]


@pytest.mark.parametrize("as_index", [False, True])
def test_contexts_of_units_are_matched_by_name(as_index):
    countries = COUNTRIES.set_index("country") if as_index else COUNTRIES
    corpus = read(levels="country", level_contexts={"country": countries})
    np.testing.assert_array_equal(corpus.levels[0].contexts["gdp"].values, [np.nan, 1.5])


def test_units_without_a_row_of_contexts_lack_them_and_a_note_says_so():
    tags = pd.DataFrame({"city": ["q"], "tags": [["x", "y"]], "kind": ["k"], "size": [3.0]})
    corpus = read(levels="city", level_contexts={"city": tags})
    contexts = corpus.levels[0].contexts
    for column in contexts.values():
        assert column.observed.tolist() == [False, True, False]
    assert "level city: 2 of 3 units have no row of contexts" in corpus.notes


def test_selected_groups_keep_their_units_only():
    corpus = read(contexts=["year", "mayor"], levels=["city", "country"])
    city, country = corpus[[2, 4]].levels
    assert city.unit_names.tolist() == ["q"]
    assert city.parent_of_child.tolist() == [0, -1]
    assert city.contexts["mayor"].values.tolist() == [1]
    assert country.unit_names.tolist() == ["F"]
    assert corpus[[4]].levels == ()


def test_a_group_of_a_country_without_a_city_is_noted():
    frame = SPEECHES.assign(country=["F", "F", "F", "G", "F", None])
    note = "1 groups have a country but no city: it is not used for them"
    assert note in read(frame, levels=["city", "country"]).notes


def test_levels_change_the_fingerprint_and_the_description():
    plain, leveled = read(), read(levels="city")
    assert plain.fingerprint() != leveled.fingerprint()
    assert repr(leveled).endswith("contexts: none, levels: city)")
    assert "city: level of 3 units, 5 of 6 groups belong to one" in leveled.describe()


WRONG = [
    ({"levels": "town"}, "levels must name a column of frame, got 'town'"),
    ({"levels": ["city", "city"]}, "levels must name each column once, got 'city' twice"),
    ({"levels": "city", "contexts": "city"}, "must not share a column, got 'city' in both"),
    ({"levels": "none"}, "levels must name columns with values, got 'none' without any"),
    (
        {"levels": ["country", "city"]},
        "every country must have one city, got 'F' with 'p' and 'q'",
    ),
    ({"level_contexts": {"city": COUNTRIES}}, "must be of levels (none), got 'city'"),
    ({"levels": "city", "level_contexts": COUNTRIES}, "must be a dict from level to data frame"),
    ({"levels": "city", "level_contexts": {"city": 3}}, "must be a data frame, got int"),
    (
        {"levels": "city", "level_contexts": {"city": COUNTRIES}},
        "must have a column 'city', or an index",
    ),
    (
        {"levels": "country", "level_contexts": {"country": pd.concat([COUNTRIES] * 2)}},
        "must have one row per country, got 'G' twice",
    ),
    (
        {
            "levels": "country",
            "level_contexts": {"country": pd.DataFrame({"country": ["X"], "gdp": [1.0]})},
        },
        "must name units of the level, such as 'F', got none of them",
    ),
    (
        {
            "levels": "country",
            "contexts": "year",
            "level_contexts": {"country": COUNTRIES.rename(columns={"gdp": "year"})},
        },
        "different names at all levels, got 'year' for the groups and for the level 'country'",
    ),
]


@pytest.mark.parametrize(("options", "message"), WRONG)
def test_levels_that_do_not_fit_the_frame_are_refused(options, message):
    frame = SPEECHES.assign(none=None)
    with pytest.raises(InputError) as error:
        read(frame, **options)
    assert message in str(error.value)
