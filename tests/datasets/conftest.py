"""The folder of the real data sets, which no checkout holds."""

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def data_folder():
    """MCSQUARED_DATA, or shared/data beside the checkout; skips where neither is there."""
    beside = Path(__file__).resolve().parents[3] / "shared" / "data"
    folder = Path(os.environ.get("MCSQUARED_DATA", beside))
    if not folder.is_dir():
        pytest.skip("the real data sets are not here: set MCSQUARED_DATA (docs/data.md)")
    return folder
