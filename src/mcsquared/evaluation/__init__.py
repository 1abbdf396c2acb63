"""Evaluation of results: agreement of clusterings, coherence of topics, perplexity.

Perplexity is in the module `mcsquared.evaluation.perplexity`, which takes longer to import.
"""

from mcsquared.evaluation.clustering import (
    PairwiseScores,
    adjusted_rand_index,
    nmi,
    pairwise_f_score,
    pairwise_scores,
    purity,
    rand_index,
    variation_of_information,
)
from mcsquared.evaluation.coherence import count_codocuments, diversity, npmi_coherence

__all__ = [
    "PairwiseScores",
    "adjusted_rand_index",
    "count_codocuments",
    "diversity",
    "nmi",
    "npmi_coherence",
    "pairwise_f_score",
    "pairwise_scores",
    "purity",
    "rand_index",
    "variation_of_information",
]
