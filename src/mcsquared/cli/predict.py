"""mc2 predict: clusters and topic shares of new groups, as a table."""

from __future__ import annotations

from collections import Counter
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
    clusters: Counter[int] = Counter()  # groups of each

    def parts() -> Iterator[str]:
        # A file has one part, a folder has many.
        for corpus in corpora_for_model(model, file):
            table = prediction_table(model, corpus)
            yield table.to_csv(index=False, header=not clusters)
            clusters.update(table["cluster"].tolist())

    write_text(out, parts())
    typer.echo(f"{clusters.total()} groups in {len(clusters)} clusters, written to {out}")


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
