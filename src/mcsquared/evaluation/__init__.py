"""How good a result is: perplexity of held-out content, agreement of clusters, coherent topics.

Perplexity needs a posterior and all that belongs to it; it stays in its own module,
`mcsquared.evaluation.perplexity`, so that the scores below cost nothing to import.
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
