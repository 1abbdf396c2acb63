"""The page of calibration results keeps what a run did not measure again."""

import numpy as np

from tests.statistics.calibration_table import Row, to_property, write


def test_rows_are_replaced_by_name_and_others_stay(tmp_path):
    page = tmp_path / "docs" / "calibration.md"
    first = [Row("ranks", "a.py", 400, p=0.25), Row("joint test", "b.py", 1000, largest_z=2.0)]
    write([to_property(row) for row in first], page)
    write([to_property(Row("ranks", "a.py", 20_000, p=0.5, note="again"))], page)
    rows = [line for line in page.read_text(encoding="utf-8").splitlines() if "`" in line][-2:]
    assert rows == [
        "| joint test | `b.py` | 1,000 | 2.00 |  |  |  |",
        "| ranks | `a.py` | 20,000 |  |  | 0.500 | again |",
    ]
    assert page.read_text(encoding="utf-8").startswith("# Calibration")


def test_a_row_is_sent_on_as_plain_values():
    sent = to_property(Row("ranks", "a.py", np.int64(400), np.float64(2.0), p=np.float64(0.5)))
    assert {type(value) for value in sent.values()} <= {str, int, float, type(None)}
