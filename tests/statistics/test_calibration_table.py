"""The page of calibration results keeps what a run did not measure again."""

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
