"""Exports of other programs: lines around the table, lists of paragraphs, several languages."""

import json
from datetime import date

import numpy as np
import pandas as pd
import pytest

import mcsquared as mc2
from mcsquared.corpus.columns.values import interpret
from mcsquared.corpus.sources.files import read_table
from mcsquared.errors import InputError

ROWS = "".join(f"B{j}\t{j}.02.23\tsaw {j}\t1,5\n" for j in range(1, 29))


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
@pytest.mark.parametrize(
    ("above", "below", "note"),
    [
        ("", "", None),
        ("Sales of 2023\n\n", "", "dropped 1 line above the header ('Sales of 2023') of sales.csv"),
        (
            "Sales\t\t\t\nYear\t2023\t\t\n",
            "Total:\t\t\t42\nPrinted on 5 January, page 1\n",
            "dropped 2 lines above the header ('Sales') and 2 lines below the table ('Total:') of "
            "sales.csv",
        ),
        ("", "Summe\t\t\t42,0\n", "dropped 1 line below the table ('Summe') of sales.csv"),
    ],
)
def test_lines_above_and_below_a_table_are_dropped(above, below, note, encoding, tmp_path):
    path = tmp_path / "sales.csv"
    path.write_text(f"{above}id\tdate\titem\tprice\n{ROWS}{below}", encoding=encoding)
    table = read_table(path)
    assert list(table.columns) == ["id", "date", "item", "price"]
    assert table.n_rows == 28
    assert [line for line in table.notes if "dropped" in line] == ([note] if note else [])
    assert not any("utf-16" in line for line in table.notes)  # the byte order mark is clear


@pytest.mark.parametrize(
    "text",
    [
        f"id\tdate\titem\tprice\n{ROWS}B99",  # cut off
        "id\tdate\titem\tprice\nB1\t1\t2\t3\nfooter\nB2\t1\t2\t3\n",
    ],
)
def test_a_truncated_table_is_an_error(text, tmp_path):
    path = tmp_path / "cut.csv"
    path.write_text(text)
    with pytest.raises(InputError, match="must have 4 fields per line as in its header, got 1"):
        read_table(path)


@pytest.mark.parametrize(
    "text",
    [
        "a,,\n1,2,3\n4,5,6\n",  # unnamed columns, not a title
        "id,item,price\nTotal,oil,7\nx,y,1\n",  # a company
        "title\nSales of 2023\n",
    ],
)
def test_rows_that_are_data_are_kept(text, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(text)
    table = read_table(path)
    assert table.n_rows == text.count("\n") - 1
    assert not table.notes


def test_lists_of_paragraphs_are_texts(tmp_path):
    rows = [
        {
            "url": f"https://example.org/{j:060d}",
            "body": ["The cat sat on the mat.", f"It was {j}."],
        }
        for j in range(30)
    ]
    path = tmp_path / "a.jsonl"
    path.write_text("\n".join(json.dumps(row) for row in rows))
    assert read_table(path).longest_texts() == "body"
    for frame in (pd.DataFrame(rows), read_table(path)):
        corpus = mc2.Corpus.from_frame(frame, text="body", max_df=1.0)
        assert {"cat", "mat"} <= set(corpus.vocabulary)
        assert "the lists of 'body' contain passages, not words" in corpus.notes[0]
    words = pd.DataFrame({"body": [["machine learning", "topic"], ["the big cat"]]})
    assert "machine learning" in mc2.Corpus.from_frame(words, text="body").vocabulary


def test_function_words_of_two_languages_are_dropped():
    german = "der Hund und die Katze sind in dem Haus mit einer Maus aber nicht auf dem Dach {}"
    english = "the dog and the cat are in a house with the mouse but they were not on this roof {}"
    german += " wenn es noch bei uns oder von ihm zu sehr ist"
    english += " when she would have been there for what he had of it"
    both = [text.format(f"wort{j % 9}") for j in range(120) for text in (german, english)]
    corpus = mc2.Corpus.from_texts(both)
    assert not {"und", "mit", "and", "with"} & set(corpus.vocabulary)
    assert any("44 English and German function words" in note for note in corpus.notes)
    alone = mc2.Corpus.from_texts(both[::2])
    assert any(" German function words" in note for note in alone.notes)


def test_dates_with_the_name_of_the_month_between_marks_are_read():
    fields = ["06/May/24 11:54 PM", "7-Jun-1998", "12-MAR-70", "1/Dez/2021", ""]
    expected = ["2024-05-06T23:54", "1998-06-07", "1970-03-12", "2021-12-01", "NaT"]
    np.testing.assert_array_equal(interpret(fields), np.array(expected, "datetime64[us]"))
    assert interpret(["06/Foo/24", "7/Jun/24"]) == ["06/Foo/24", "7/Jun/24"]


def test_percentages_are_numbers():
    np.testing.assert_array_equal(interpret(["5,5 %", "0 %", "", "3%"]), [5.5, 0, np.nan, 3])


@pytest.mark.parametrize(
    ("values", "hint"),
    [
        (["4h 10m", "2h", "35m", "1d 3h"], "strings such as '1d 3h' may be durations"),
        (
            [" ".join(pair) for a in "abcde" for b in "abcde" if (pair := {a, b})] + ["a b", "b a"],
            "strings with spaces may be lists: use bags={NAME: ' '} in Python, 'NAME:bag: '",
        ),
        (["New York", "New Jersey", "York"] * 10, ""),
        (["EUR"] * 30, "all values are equal"),
        ([3.0] * 30, "all values are equal"),
        ([date(2024, 5, 1)] * 30, "all values are equal"),
        ([date(2024, 5, j) for j in range(1, 31)], ""),
        ([90210000 + 3 * j for j in range(30)], "the values are distinct and in order"),
        ([*range(1990, 2020)], ""),
        ([90.5 + 3 * j for j in range(30)], ""),
        ([j * 7 % 31 for j in range(30)], ""),
    ],
)
def test_columns_without_information_and_lists_with_spaces_are_pointed_out(values, hint):
    contexts = {"column": values}
    line = mc2.Corpus.from_tokens([["ant"]] * len(values), contexts).describe().splitlines()[1]
    assert f"({hint}" in line if hint else "(" not in line


def test_lines_that_many_texts_share_are_reported():
    texts = [f"Where is my card {j}?\n> Thank you for contacting us today" for j in range(30)]
    texts += [f"<p>The card is lost {j}</p><br>Bye" for j in range(70)]
    note = "the line '> Thank you for contacting us today' is in 30 of 100 texts"
    assert mc2.Corpus.from_texts(texts).notes[0].startswith(note)
    for other in (["the same text of many words"] * 100, texts[30:]):
        assert not any("the line" in note for note in mc2.Corpus.from_texts(other).notes)


def test_values_in_capitals_and_small_letters_are_reported():
    items = ["Saw", "SAW", "Nail", "Hammer"] * 5
    frame = pd.DataFrame({"customer": np.arange(20) // 4, "item": items})
    corpus = mc2.Corpus.from_long(frame, "customer", "item")
    assert "'SAW' and 'Saw' are two words: write the values alike" in corpus.notes
    frame["item"] = frame["item"].str.title()
    assert not mc2.Corpus.from_long(frame, "customer", "item").notes
