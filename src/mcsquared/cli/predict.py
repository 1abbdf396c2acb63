"""mc2 predict: clusters and topic shares of new groups, as a table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import typer

from mcsquared.cli.guard import check_output
from mcsquared.cli.reading import FileOptions, corpora_for_model
from mcsquared.estimator import MC2
from mcsquared.storage import write_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pandas as pd

    from mcsquared.corpus import Corpus


def run(model_file: Path, file: FileOptions, out: Path) -> None:
    """Read, predict, and write the table completely or not at all."""
    check_output(out, model_file, file.path)
    model = MC2.load(model_file)
    writer = TableWriter()
    write_text(out, writer.texts(model, file))
    typer.echo(f"{writer.n_groups} groups in {len(writer.clusters)} clusters, written to {out}")


class TableWriter:
    """Writes a table part by part, and counts its groups and clusters."""

    def __init__(self) -> None:
        self.n_groups = 0
        self.clusters: set[int] = set()

    def texts(self, model: MC2, file: FileOptions) -> Iterator[str]:
        """Yield the table of all groups: a file at once, a folder in parts."""
        for corpus in corpora_for_model(model, file):
            table = prediction_table(model, corpus)
            yield table.to_csv(index=False, header=self.n_groups == 0)
            self.n_groups += len(table)
            self.clusters.update(table["cluster"].unique().tolist())


def prediction_table(model: MC2, corpus: Corpus) -> pd.DataFrame:
    """Return one row per group.

    Returns
    -------
    DataFrame
        Columns group, cluster, probability (of that cluster), new_cluster_probability, and
        topic_0, topic_1, ...: shares that sum to 1.
    """
    import pandas as pd

    probability = np.asarray(model.predict_proba(corpus))
    shares = np.asarray(model.transform(corpus))
    head = pd.DataFrame(
        {
            "group": corpus.group_names,
            "cluster": probability.argmax(axis=1),
            "probability": probability.max(axis=1),
            "new_cluster_probability": np.asarray(model.predict_new_proba(corpus)),
        }
    )
    topics = pd.DataFrame(shares, columns=[f"topic_{m}" for m in range(shares.shape[1])])
    return pd.concat([head, topics], axis=1)
