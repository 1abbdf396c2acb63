"""A scratch folder, and errors of Parquet folders."""

import pytest

import mcsquared as mc2


@pytest.fixture
def scratch(tmp_path):
    """A folder for scratch folders, empty at the end."""
    path = tmp_path / "scratch"
    path.mkdir()
    yield path
    assert list(path.iterdir()) == []


@pytest.fixture
def refuses(tmp_path, scratch):
    """Write tables, open the folder, and return the error message."""
    import pyarrow as pa
    from pyarrow import parquet

    def sentence(*tables, **options):
        path = tmp_path / "data"
        path.mkdir()
        for number, table in enumerate(tables):
            parquet.write_table(pa.table(table), path / f"{number}.parquet")
        with pytest.raises(mc2.InputError) as caught:
            mc2.ParquetFolder(path, scratch=scratch, **options).open()
        message = str(caught.value)
        assert "\n" not in message
        return message

    return sentence
