"""Messy files: separators, encodings, decimal commas, dates, long tables, function words."""

import json

import numpy as np
import pandas as pd
import pytest

import mcsquared as mc2
from mcsquared.corpus.columns.convert import conform
from mcsquared.corpus.columns.values import interpret
from mcsquared.corpus.sources.decoding import detect_encoding
from mcsquared.corpus.sources.files import detect_separator, read_table
from mcsquared.errors import InputError


def test_separator_and_encoding_are_detected_and_reported(tmp_path):
    path = tmp_path / "messy.csv"
    text = "Größe;wann;Text\n1,5;21.06.2014;über, alles\nn/a;3.7.2015;zwei\n"
    path.write_bytes(text.encode("latin-1"))
    corpus = mc2.Corpus.read(path, text="Text", contexts=["Größe", "wann"])
    assert corpus.contexts["Größe"].values.tolist()[0] == 1.5
    assert np.isnan(corpus.contexts["Größe"].values[1])
    assert corpus.contexts["wann"].kind == "date"
    assert any("';'" in note for note in corpus.notes)
    assert any("cp1252" in note and "--encoding" in note for note in corpus.notes)


def test_a_wrong_number_of_fields_names_the_option(tmp_path):
    path = tmp_path / "ragged.csv"
    path.write_text("a,b\n1,2\n1,2,3\n")
    with pytest.raises(InputError, match="--sep"):
        read_table(path)
    path.write_text("a^b\n1^2\n")
    assert list(read_table(path, sep="^").columns) == ["a", "b"]


@pytest.mark.parametrize(
    ("text", "separator"),
    [
        ("a;b\n1;2;3\n4;5\n", ";"),
        ("a\nb,c\n", ","),
        ("a,b\n1,2\n", ","),
        ("a;b\n1,5;2\n", ";"),
        ("a|b\n1|2\n", "|"),
        ("text\none, two\n", ","),
    ],
)
def test_the_separator_gives_the_same_number_of_fields_in_every_line(text, separator):
    assert detect_separator(text, ",") == separator


@pytest.mark.parametrize(
    ("fields", "day"),
    [
        (["2014-06-21", "21.06.2014", "21 Jun 2014", "June 21, 2014", "2014/6/21"], "2014-06-21"),
        (["06/21/2014", "6/21/2014"], "2014-06-21"),
    ],
)
def test_mixed_formats_of_dates_are_read(fields, day):
    dates = interpret(fields)
    assert dates.dtype.kind == "M"
    assert (dates == np.datetime64(day)).all()


def test_ambiguous_dates_and_thousands_stay_strings_with_a_hint():
    assert interpret(["01/02/2020", "03/04/2020"]) == ["01/02/2020", "03/04/2020"]
    assert interpret(["1,234", "5,678"]) == ["1,234", "5,678"]
    corpus = mc2.Corpus.from_tokens([["a"]] * 2, {"day": ["01/02/2020", "03/04/2020"]})
    assert "ambiguous" in corpus.describe()
    mostly = [str(i) for i in range(30)] + ["unknown"]
    corpus = mc2.Corpus.from_tokens([["a"]] * 31, {"x": mostly})
    assert "but not 'unknown'" in corpus.describe()


@pytest.mark.parametrize(
    ("fields", "numbers"),
    [
        (["3,14", "2", "-", "n/a"], [3.14, 2.0, np.nan, np.nan]),
        (["1.234,50", "7"], [1234.5, 7.0]),
        (["1,234.50", "1,234,567", "?"], [1234.5, 1234567.0, np.nan]),
        (["1,204", "0.5"], [1204.0, 0.5]),
    ],
)
def test_numbers_are_read_in_the_notation_that_fits_all_of_them(fields, numbers):
    np.testing.assert_array_equal(interpret(fields), numbers)


def test_signs_alone_are_names_and_not_missing_numbers():
    assert interpret(["+", "-", "+"]) == ["+", "-", "+"]
    assert interpret(["1,5", "x", "-"]) == ["1,5", "x", "-"]


def test_weekdays_are_ignored_in_dates():
    dates = interpret(["Sat 21 Jun 2014", "Saturday, June 21, 2014", "-"])
    assert (dates[:2] == np.datetime64("2014-06-21")).all()
    assert np.isnat(dates[2])


def test_lists_in_strings_are_bags(tmp_path):
    assert interpret(["['a', 'b, c']", '["a"]', "", "[]"]) == [["a", "b, c"], ["a"], None, []]
    for other in ("[a, b]", "['a' 'b']", "[[1], [2]]"):
        assert interpret([other]) == [other]
    path = tmp_path / "lists.csv"
    path.write_text("text;tags\nants bees;['x', 'y']\nbees;['y']\n")
    corpus = mc2.Corpus.read(path, text="text", contexts=["tags"])
    assert corpus.contexts["tags"].categories.tolist() == ["x", "y"]
    options = {"n_sweeps": 4, "burn_in": 2, "random_state": 0, "progress": False}
    trained = mc2.MC2(**options).fit(corpus).posterior_.contexts["tags"]
    new = mc2.Corpus.from_tokens([["ants"]], {"tags": ["['y', 'z']"]}).contexts["tags"]
    assert conform(new, trained).values.toarray().tolist() == [[0, 1]]
    frame = pd.DataFrame({"text": ["ants"] * 2, "tags": ["['x', 'y, z']", "['x']"]})
    bags = mc2.Corpus.from_frame(frame, "text", ["tags"], bags=["tags"])
    assert bags.contexts["tags"].categories.tolist() == ["x", "y, z"]


def test_a_bag_is_split_at_bars_if_the_hint_says_so():
    frame = pd.DataFrame({"text": ["ants bees"] * 3, "who": ["Ann|Bob", "Bob|Cleo", "Ann"]})
    corpus = mc2.Corpus.from_frame(frame, "text", ["who"], bags=["who"])
    assert corpus.contexts["who"].categories.tolist() == ["Ann", "Bob", "Cleo"]


def test_a_column_of_distinct_values_is_not_used_unless_it_is_named():
    urls = [f"https://example.org/{j}" for j in range(30)]
    corpus = mc2.Corpus.from_tokens([["ant", "bee"]] * 30, {"url": urls, "x": range(30)})
    options = {"n_sweeps": 4, "burn_in": 2, "random_state": 0, "progress": False}
    model = mc2.MC2(**options).fit(corpus)
    assert list(model.posterior_.contexts) == ["x"]
    assert any("'url' is not used" in note for note in model.posterior_.notes)
    named = mc2.MC2(contexts={"url": "categorical"}, **options).fit(corpus)
    assert list(named.posterior_.contexts) == ["url"]


LONG = pd.DataFrame(
    {
        "doc": ["b", "b", "a", "b", "a"],
        "word": ["ant", "bee", "car", "ant", "van"],
        "x": [1.0, 2.0, 3.0, 4.0, 5.0],
        "y": [0.5, 0.5, 0.5, 0.5, 0.5],
        "year": [1990, 1990, 2000, 1990, 2000],
    }
)


def test_a_long_frame_gives_groups_of_words_texts_or_vectors():
    words = mc2.Corpus.from_long(LONG, group="doc", value="word", contexts="year")
    assert words.group_names.tolist() == ["b", "a"]
    assert words.tokens_per_group.tolist() == [3, 2]
    assert words.contexts["year"].values.tolist() == [1990.0, 2000.0]
    texts = mc2.Corpus.from_long(LONG, group="doc", text="word")
    assert texts.tokens_per_group.tolist() == [3, 2]
    vectors = mc2.Corpus.from_long(LONG, group="doc", value=["x", "y"])
    assert vectors.content.values[:, 0].tolist() == [1.0, 2.0, 4.0, 3.0, 5.0]
    assert vectors.tokens_per_group.tolist() == [3, 2]
    with pytest.raises(InputError, match="exactly one of value and text"):
        mc2.Corpus.from_long(LONG, group="doc")


def test_values_that_differ_within_a_group_and_repeated_names_are_reported():
    corpus = mc2.Corpus.from_long(LONG, group="doc", value="word", contexts="x")
    assert "'x' differs within 2 groups: the first value is used" in corpus.notes
    corpus = mc2.Corpus.from_frame(LONG, text="word", group_names="doc")
    assert any("Corpus.from_long" in note for note in corpus.notes)


@pytest.fixture(scope="module")
def sentences():
    rng = np.random.default_rng(0)
    common = ["the", "of", "and", "to", "in", "is", "it", "that", "for", "with"]
    words = [f"{a}{b}" for a in "bcdfg" for b in ("onor", "iver", "adel", "umen")]
    return [" ".join([*rng.choice(common, 6), *rng.choice(words, 4)]) for _ in range(150)]


def test_function_words_are_dropped_by_default_and_reported(sentences):
    corpus = mc2.Corpus.from_texts(sentences)
    assert not {"the", "of", "with"} & set(corpus.vocabulary)
    [note] = [note for note in corpus.notes if "function words" in note]
    assert note.startswith("10 English function words (")
    assert not any("min_df" in note for note in corpus.notes)
    assert "stop_words=None (--stop-words none in mc2 fit) keeps them" in note
    kept = mc2.Corpus.from_texts(sentences, stop_words=None, max_df=1.0)
    assert {"the", "of", "with"} <= set(kept.vocabulary)
    few = mc2.Corpus.from_texts(sentences[:50], max_df=1.0)
    assert "the" in few.vocabulary


def test_function_words_that_an_earlier_step_left_are_dropped():
    """Exports without the most frequent words and apostrophes still have "can" and "didn"."""
    rng = np.random.default_rng(0)
    left = ["can", "will", "just", "get", "now", "even", "may", "well", "much", "still", "never"]
    left += ["let", "per", "didn", "doesn", "isn"]
    words = [f"z{chr(97 + a)}{chr(97 + b)}" for a in range(20) for b in range(20)]
    texts = [" ".join([*rng.choice(left, 2), *rng.choice(words, 40)]) for _ in range(150)]
    corpus = mc2.Corpus.from_texts(texts)
    assert not {*left} & {*corpus.vocabulary}
    assert any(note.startswith("16 English function words (") for note in corpus.notes)
    few = [" ".join([*rng.choice(left[:12], 2), *rng.choice(words, 40)]) for _ in range(150)]
    assert {*left[:12]} <= {*mc2.Corpus.from_texts(few).vocabulary}


def test_contractions_are_whole_words():
    corpus = mc2.Corpus.from_texts(["I don't know, we'll see l'homme; it doesn’t"], max_df=1.0)
    assert set(corpus.vocabulary) == {"don't", "know", "we", "see", "homme", "it", "doesn’t"}


def test_ngrams_hashtags_emojis_and_languages_are_options():
    texts = ["Der Hund #wau \U0001f600", "die Katze und der Hund"]
    options = {"max_df": 1.0, "keep": ["hashtags", "emojis"], "stop_words": "german"}
    assert set(mc2.Corpus.from_texts(texts, **options).vocabulary) == {
        *("hund", "katze", "#wau", "\U0001f600")
    }
    assert "der hund" in mc2.Corpus.from_texts(texts, ngrams=2, max_df=1.0).vocabulary
    assert not any("emojis" in note for note in mc2.Corpus.from_texts(texts, **options).notes)
    notes = mc2.Corpus.from_texts(texts * 9, max_df=1.0).notes
    assert any(note.startswith("50% of the texts contain emojis, which are") for note in notes)
    with pytest.raises(InputError, match="keep must contain only 'hashtags' or 'emojis', got 'x'"):
        mc2.Corpus.from_texts(texts, keep=["x"])
    with pytest.raises(InputError, match="stop_words must be"):
        mc2.Corpus.from_texts(texts, stop_words="klingon")


@pytest.mark.parametrize(("text", "language"), [("我爱北京天安门", "Chinese"), ("ฉันรักเธอ", "Thai")])
def test_scripts_without_spaces_are_detected(text, language):
    corpus = mc2.Corpus.from_texts([text, text + "!"], max_df=1.0)
    assert any(language in note and "from_tokens" in note for note in corpus.notes)


def test_words_of_scripts_without_spaces_do_not_depend_on_the_files_of_a_folder(tmp_path):
    texts = ["good wifi room"] * 3 + ["酒店房间很好", "手机电池很好", "房间电池"] * 10
    for name, part in (("a", texts[:3]), ("b", texts[3:])):
        pd.DataFrame({"text": part}).to_parquet(tmp_path / f"{name}.parquet")
    whole = mc2.Corpus.from_texts(texts, max_df=1.0)
    with mc2.ParquetFolder(tmp_path, text="text", max_df=1.0).open() as disk:
        assert disk.vocabulary.tolist() == whole.vocabulary.tolist()
        assert disk.word_frequency.tolist() == whole.word_frequency.tolist()
    assert "酒店" in whole.vocabulary


def test_without_spaces_pairs_of_characters_are_counted_in_new_texts_as_well(tmp_path):
    texts = ["手机屏幕很好", "酒店房间, good wifi", "手机电池"] * 2
    corpus = mc2.Corpus.from_texts(texts)
    assert {"电池", "机屏", "屏幕", "good", "wifi"} <= set(corpus.vocabulary)
    assert any("pairs of characters are counted instead" in note for note in corpus.notes)
    for options in ({"token_pattern": r"\w+"}, {"character_pairs": False}):
        assert "手机屏幕很好" in mc2.Corpus.from_texts(texts, **options).vocabulary
    model = mc2.MC2(n_sweeps=4, burn_in=2, random_state=0, progress=False).fit(corpus)
    model.save(tmp_path / "m.mc2")
    loaded = mc2.MC2.load(tmp_path / "m.mc2")
    _, read = loaded._prepare(["good 机电池"], None)
    assert read.n_tokens == 3
    with pytest.raises(InputError, match="character_pairs must be True or False, got 'no'"):
        mc2.Corpus.from_texts(texts, character_pairs="no")


def test_tags_and_entities_of_html_are_no_words():
    texts = [
        "Fish &amp; chips<br>caf&eacute;&nbsp;open",
        "fish <a href='x'>chips</a> if a<b &lt; c",
    ]
    words = set(mc2.Corpus.from_texts(texts, max_df=1.0).vocabulary)
    assert words == {"fish", "chips", "café", "open", "if"}
    custom = mc2.Corpus.from_texts(texts, tokenizer=str.split, token_pattern=None)
    assert "&amp;" in custom.vocabulary


def test_the_first_line_of_excel_names_the_separator(tmp_path):
    path = tmp_path / "excel.csv"
    path.write_text("\ufeffsep=;\r\ntext;a\r\nred;1,5\r\n", encoding="utf-8")
    table = read_table(path)
    assert list(table.columns) == ["text", "a"]
    assert table.typed("a", "x").tolist() == [1.5]
    assert list(read_table(path, sep="^").columns) == ["text;a"]
    path.write_text("sep=;\n")
    with pytest.raises(InputError, match="one row per group, got only a separator line"):
        read_table(path)


def test_repeated_headers_and_empty_fields_beyond_the_header_are_dropped(tmp_path):
    path = tmp_path / "joined.txt"
    path.write_text("text\tyear\none\t1\t\t\ntext\tyear\ntwo\t2\n")
    table = read_table(path)
    assert table.columns == {"text": ["one", "two"], "year": ["1", "2"]}
    assert "dropped 1 repetition of the header of joined.txt" in table.notes
    path.write_text("text\tyear\none\t1\t\t3\n")
    with pytest.raises(InputError, match="must have 2 fields per line"):
        read_table(path)


def test_only_a_used_column_must_have_a_unique_name(tmp_path):
    path = tmp_path / "p.csv"
    path.write_text("t,x,x,y\nant bee,1,2,3\n")
    assert list(mc2.Corpus.read(path, text="t", contexts=["y"]).contexts) == ["y"]
    message = "contexts must name a unique column, got 'x', which p.csv has several times"
    with pytest.raises(InputError, match=message):
        mc2.Corpus.read(path, text="t", contexts=["x"])
    with pytest.raises(InputError, match="must name a unique column"):
        mc2.Corpus.read(path, content=["x"])


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("用户,评论\n1,这个手机很好,但是电池不行\n", "gb18030"),
        ("名前,感想\n1,この部屋はとても静かでした\n", "cp932"),
        ("名前,感想\n1,この部屋はとても静かでした\n", "euc_jp"),
        ("이름,평가\n1,이 방은 정말 좋았습니다\n", "cp949"),
        ("姓名,評論\n1,這個手機很好,但是電池不行\n", "big5"),
        ("Größe,Text\n1,über alles äöü\n", "cp1252"),
        ("âge,é\nà,été où ça brûlé\n", "cp1252"),
    ],
)
def test_encodings_of_several_languages_are_detected(text, encoding):
    assert detect_encoding(text.encode(encoding)) == encoding
    assert detect_encoding(text.encode("utf-8")) == "utf-8"
    assert detect_encoding(text.encode("utf-16")) == "utf-16"


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("имя,отзыв\n1,очень хорошая комната и вид\n", "cp1251"),
        ("имя,отзыв\n1,очень хорошая комната и вид\n", "koi8-r"),
        ("όνομα,κριτική\n1,πολύ καλό δωμάτιο\n", "cp1253"),
        ("žluťoučký,kůň\npříliš,úpěl\n", "cp1250"),
    ],
)
def test_other_alphabets_are_not_taken_for_chinese(text, encoding):
    assert detect_encoding(text.encode(encoding)) in ("cp1252", "latin-1")


@pytest.mark.parametrize(
    ("fields", "moment"),
    [
        (["15.03.2024 14:30", "2024-03-15T14:30:00Z"], "2024-03-15T14:30"),
        (["3/15/2024 2:30 PM", "03/15/2024 14:30:00"], "2024-03-15T14:30"),
        (["15.03.24", "15 marzo 2024", "15. März 2024", "15 mars 2024"], "2024-03-15"),
        (["15 de mar de 2024", "15/03/2024", "2024年3月15日"], "2024-03-15"),
        (["01.05.70", "1 mag 1970", "1 mei 1970"], "1970-05-01"),
    ],
)
def test_dates_of_several_languages_with_times_are_read(fields, moment):
    dates = interpret(fields)
    assert dates.dtype.kind == "M"
    assert (dates == np.datetime64(moment)).all()


def test_names_and_numbers_that_resemble_dates_are_not_dates():
    for fields in (["Marvel 2019"], ["1.2.10"], ["25.61.14"], ["jui 2020"], ["01/02/24"]):
        assert interpret(fields) == fields


def test_marks_of_spreadsheets_are_missing_numbers():
    np.testing.assert_array_equal(interpret(["1,5", "#N/A", "k.A.", "n.d."]), [1.5, *[np.nan] * 3])
    assert interpret(["red", "k.A."]) == ["red", "k.A."]


def test_a_model_splits_new_texts_as_those_of_the_fit(tmp_path):
    corpus = mc2.Corpus.from_texts(
        ["A#b c#d", "c#d e#f"] * 3, token_pattern=r"\S+", lowercase=False
    )
    model = mc2.MC2(n_sweeps=4, burn_in=2, random_state=0, progress=False).fit(corpus)
    model.save(tmp_path / "m.mc2")
    loaded = mc2.MC2.load(tmp_path / "m.mc2")
    assert loaded.posterior_.text_options == {"token_pattern": r"\S+", "lowercase": False}
    _, read = loaded._prepare(["A#b A#b c#d"], None)
    assert read.n_tokens == 2  # c#d is in too many texts


def test_amounts_of_one_currency_are_numbers(tmp_path):
    prices = ["€1,299.00", "12,50 €", "EUR 1.000", "-3 €", "7,- €", "€ 2'500.75", "44", "8,5"]
    expected = [1299.0, 12.5, 1000.0, -3.0, 7.0, 2500.75, 44.0, 8.5, None]
    frame = pd.DataFrame(
        {"text": ["red car", "blue car"] * 4 + ["red bus"], "price": [*prices, None]}
    )
    frame.to_csv(tmp_path / "a.csv", index=False)
    frame.to_json(tmp_path / "a.jsonl", orient="records", lines=True)
    for name in ("a.csv", "a.jsonl"):
        column = mc2.Corpus.read(tmp_path / name, text="text", contexts="price").contexts["price"]
        assert column.kind == "number"
        np.testing.assert_array_equal(column.values, np.array(expected, float))


@pytest.mark.parametrize(
    ("values", "hint"),
    [
        (["$5", "5 €"] * 20, "amounts in several currencies (EUR, USD): write them in one"),
        (
            [*(f"{i},50 €" for i in range(30)), "on request"],
            "most strings are amounts, but not 'on request': leave such fields empty",
        ),
        ([f"REF {i % 9}" for i in range(40)], ""),
        (["5 €", "6", "7", "8"] * 10, ""),
    ],
)
def test_other_amounts_are_pointed_out(values, hint):
    frame = pd.DataFrame({"text": "red car", "price": values})
    corpus = mc2.Corpus.from_frame(frame, text="text", contexts="price", max_df=1.0)
    assert corpus.contexts["price"].kind == "category"
    assert hint in corpus.describe()


def test_parts_of_nested_objects_are_columns(tmp_path):
    rows = [
        {"text": "red car", "tags": {"x": 2}, "seller": {"name": "Ann", "score": 4.5}, "parts": []},
        {"text": "blue car", "tags": {"y": 1}, "seller": None, "parts": [{"colour": "red"}, {}]},
    ]
    lines = "\n".join(json.dumps(row) for row in rows)
    (tmp_path / "a.jsonl").write_text(lines, encoding="utf-8")
    names = ["tags", "seller.name", "seller.score", "parts.colour"]
    corpus = mc2.Corpus.read(tmp_path / "a.jsonl", text="text", contexts=names, max_df=1.0)
    kinds = [column.kind for column in corpus.contexts.values()]
    assert kinds == ["bag", "category", "number", "bag"]
    with pytest.raises(InputError, match=r"it has parts: 'seller\.name', 'seller\.score'"):
        mc2.Corpus.read(tmp_path / "a.jsonl", text="text", contexts="seller")
    frame = pd.DataFrame([{"text": row["text"], "seller": row["seller"]} for row in rows])
    frame.to_parquet(tmp_path / "a.parquet")
    corpus = mc2.Corpus.read(tmp_path / "a.parquet", text="text", contexts=names[1:3], max_df=1.0)
    assert corpus.contexts["seller.score"].kind == "number"
