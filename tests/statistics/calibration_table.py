"""The table of docs/calibration.md: what `make calibrate` measured."""

from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

PAGE = Path(__file__).parents[2] / "docs" / "calibration.md"

HEAD = """\
# Calibration of the samplers

`make calibrate` runs the long exactness tests and writes this table. Each row is one test:

- **enumeration**: all labels of a tiny corpus are enumerated, which gives the exact posterior. *TV*
  is the total variation between the frequencies of the partitions of the groups in the chain and
  the exact posterior; the remark has the same for all labels (counts per cluster, word and topic),
  and the value expected by chance. max|z| is over the probabilities of each number of clusters and
  of topics.
- **theorem 4**: without contents the model is a DP mixture, without contexts a nested DP mixture
  with shared atoms; the sampler is compared with an independent computation of each.
- **negative control**: the cluster step as printed in the paper, which must fail.
- **blocked** is the blocked sampler; all other rows use the collapsed one. Groups share the mixture
  of their cluster (λ = ∞), or vary around it (λ fixed, or resampled with the other concentrations);
  the exact posterior is that of the infinite model, so the distance includes the truncation.
- **joint test** (Geweke 2004): draws of data and labels from the prior, compared with a chain that
  alternates sweeps and new data given the labels. max|z| is over all statistics. They are
  correlated, so their rms varies more between chains than that of independent ones. p, where it
  is given, is the probability that the largest of the correlated scores is at least as large.
- **ranks** (simulation-based calibration, Talts et al. 2018): the rank of a true value among its
  posterior draws is uniform. p is the smallest chi-square p-value of all quantities.

| test | `make calibrate TESTS=` | n | max\\|z\\| | TV | p | remark |
| --- | --- | ---: | ---: | ---: | ---: | --- |
"""


@dataclass(frozen=True)
class Row:
    """One line of the table; what a test does not measure is None."""

    test: str
    file: str
    n: int
    largest_z: float | None = None
    total_variation: float | None = None
    p: float | None = None
    note: str = ""

    def line(self) -> str:
        def cell(value, pattern):
            return "" if value is None else format(value, pattern)

        cells = (
            self.test,
            f"`{self.file}`",
            f"{self.n:,}",
            cell(self.largest_z, ".2f"),
            cell(self.total_variation, ".4f"),
            cell(self.p, ".3f"),
            self.note,
        )
        return "| " + " | ".join(cells) + " |"


def to_property(row: Row) -> dict:
    """Return a row as plain Python values, which is all that a worker can send on."""
    return {
        name: value.item() if isinstance(value, np.generic) else value
        for name, value in asdict(row).items()
    }


def write(rows: list[dict], page: Path = PAGE) -> None:
    """Put these rows into the page; rows of tests that did not run stay as they were."""
    lines = {}
    if page.exists():
        body = page.read_text(encoding="utf-8").partition("| --- | --- |")[2].splitlines()[1:]
        lines = {line.split("|")[1].strip(): line for line in body if line.startswith("| ")}
    lines |= {row["test"]: Row(**row).line() for row in rows}
    page.parent.mkdir(exist_ok=True)
    page.write_text(
        HEAD + "\n".join(lines[name] for name in sorted(lines)) + "\n", encoding="utf-8"
    )
