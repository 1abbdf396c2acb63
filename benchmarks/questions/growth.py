"""Whether a sweep costs in proportion to the tokens."""

from __future__ import annotations

from benchmarks.contenders import ALL
from benchmarks.corpora import corpus_for, name_of_corpus, share_of
from benchmarks.questions.throughput import WHOLE, time_sweeps
from benchmarks.settings import Settings
from benchmarks.tables import Answer

__all__ = ["SHARES", "ask"]

SHARES = (0.25, 0.5, 1.0)


def ask(settings: Settings) -> Answer:
    whole = corpus_for(settings)
    corpora = [share_of(whole, share, settings.seed) for share in SHARES]
    contenders = [ALL[0].begin(corpus, settings) for corpus in corpora]
    for contender, share in zip(contenders, SHARES, strict=True):
        contender.name = f"{share:g}×"
    timings = time_sweeps(contenders, settings)
    per_token = [
        timings[contender.name, WHOLE].median / corpus.n_tokens
        for contender, corpus in zip(contenders, corpora, strict=True)
    ]
    rows = []
    for contender, corpus, cost in zip(contenders, corpora, per_token, strict=True):
        timing, size = timings[contender.name, WHOLE], contender.size()
        rows.append(
            (
                contender.name,
                corpus.n_groups,
                corpus.n_tokens,
                size["clusters"],
                size["topics"],
                timing.median,
                timing.least,
                cost / per_token[-1],
            )
        )
    return Answer(
        title=f"Growth with tokens: {ALL[0].NAME} on {name_of_corpus(settings)}",
        columns=(
            "share",
            "groups",
            "tokens",
            "clusters",
            "topics",
            "CPU-s a sweep",
            "fastest",
            "cost per token against 1×",
        ),
        rows=rows,
        notes=[
            "Groups are chosen at random. 1 in the last column is exactly linear, less is better."
        ],
    )
