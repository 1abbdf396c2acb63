"""Draw a corpus from the model's own prior: what the samplers' tests compare with."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf, isnan
from numbers import Real
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mcsquared.corpus import Column, Corpus
from mcsquared.datasets.observations import draw_observations, fill_from_nothing
from mcsquared.datasets.seating import Assignments, draw_assignments
from mcsquared.datasets.tokens import as_count, as_counts, count_matrix, sort_tokens
from mcsquared.errors import InputError
from mcsquared.families import Bag, Categorical, ConjugateFamily

__all__ = ["Simulated", "draw_content", "draw_contexts", "simulate"]

KIND_OF_FAMILY = {
    "gaussian": "number",
    "multivariate_gaussian": "vector",
    "categorical": "category",
    "bag": "bag",
    "bernoulli": "boolean",
    "poisson": "count",
}


class Prior(Protocol):
    """Anything that a concentration can be drawn from, `mcsquared.Gamma` for one."""

    def sample(self, rng: np.random.Generator) -> float:
        """Draw a concentration."""


@dataclass(frozen=True)
class Simulated:
    """A corpus drawn from the prior, and all that was drawn on the way.

    Attributes
    ----------
    corpus : Corpus
    cluster_of_group : int32 (n_groups,)
    topic_of_token : int32 (n_tokens,)
        In the order of the corpus: group by group; words ascend inside a group, vectors stay
        in the order they were drawn. Topics and clusters in use are 0, 1, ... without gaps.
    tables_in_cluster : int32 (n_clusters, n_topics)
        Tables of the cluster's restaurant by topic.
    alpha, v, eta, lam : float
        The concentrations, as given or as drawn.
    content_family, context_families
        The families the data came from, every field filled: the true prior.
    content_parameters, context_parameters
        The parameters of each topic, and of each cluster by context, as
        ``family.sample_parameters`` lays them out.

    Examples
    --------
    >>> drawn = mc2.datasets.simulate(20, lam=5.0, random_state=0)
    >>> len(drawn.cluster_of_group), len(drawn.topic_of_token), drawn.lam
    (20, 1000, 5.0)
    """

    corpus: Corpus
    cluster_of_group: NDArray[np.int32]
    topic_of_token: NDArray[np.int32]
    tables_in_cluster: NDArray[np.int32]
    alpha: float
    v: float
    eta: float
    lam: float
    content_family: ConjugateFamily
    context_families: dict[str, ConjugateFamily]
    content_parameters: NDArray[np.float64]
    context_parameters: dict[str, NDArray[np.float64]]


def simulate(
    n_groups: int,
    tokens_per_group: ArrayLike = 50,
    n_words: int = 100,
    content: ConjugateFamily | None = None,
    contexts: Mapping[str, ConjugateFamily] | None = None,
    alpha: float | Prior = 1.0,
    v: float | Prior = 1.0,
    eta: float | Prior = 1.0,
    lam: float | Prior = inf,
    missing: float | Mapping[str, ArrayLike] = 0.0,
    items_per_bag: ArrayLike = 3,
    random_state: int | np.random.Generator | None = None,
) -> Simulated:
    """Draw clusters, topics, parameters and a corpus from the model's prior, exactly.

    The measures are integrated out (restaurants instead of truncated sticks), so that nothing
    is approximated.

    Parameters
    ----------
    n_groups : int
    tokens_per_group : int or array-like of shape (n_groups,)
        Zero is a group without content.
    n_words : int
        Size of the vocabulary when ``content`` is not given: words with a Dirichlet prior of
        0.05 each.
    content : ConjugateFamily, optional
        A `Categorical` with its size makes words, any other family makes vectors.
    contexts : mapping from name to ConjugateFamily, optional
        Fields that are None are filled as they are for a column without any data.
    alpha, v, eta, lam : float, or an object with ``sample(rng)``
        Concentrations, positive; ``lam=inf`` is the paper's model.
    missing : float or mapping from name to float or bool array of shape (n_groups,)
        Share of contexts to leave out, each independently, or which ones.
    items_per_bag : int or array-like of shape (n_groups,)
        Size of the bags of every `Bag` context; an empty bag is a missing one.
    random_state : int, Generator or None

    Examples
    --------
    >>> contexts = {"year": mc2.Gaussian(mean=2000, rate=9), "tag": mc2.Categorical(size=3)}
    >>> mc2.datasets.simulate(20, 30, contexts=contexts, missing=0.5, random_state=0).corpus
    Corpus(20 groups, 600 tokens, 100 words, contexts: year, tag)
    """
    rng = np.random.default_rng(random_state)
    n_groups = as_count("n_groups", n_groups, at_least=1)
    lengths = as_counts("tokens_per_group", tokens_per_group, n_groups)
    items = as_counts("items_per_bag", items_per_bag, n_groups)
    if content is None:
        content = Categorical(0.05, size=as_count("n_words", n_words, at_least=1))
    content = fill_from_nothing(content, "content")
    families = {
        name: fill_from_nothing(family, f"contexts[{name!r}]")
        for name, family in (contexts or {}).items()
    }
    drawn = {
        name: _concentration(name, value, rng)
        for name, value in (("alpha", alpha), ("v", v), ("eta", eta), ("lam", lam))
    }
    assignments = draw_assignments(lengths, **drawn, rng=rng)
    values, topic, content_parameters = draw_content(lengths, assignments, content, rng)
    absent = _absent(missing, tuple(families), n_groups, rng)
    columns, context_parameters = draw_contexts(assignments, families, absent, items, rng)
    return Simulated(
        corpus=Corpus(values, contexts=columns),
        cluster_of_group=assignments.cluster_of_group,
        topic_of_token=topic,
        tables_in_cluster=assignments.tables_in_cluster,
        **drawn,
        content_family=content,
        context_families=families,
        content_parameters=content_parameters,
        context_parameters=context_parameters,
    )


def draw_content(
    tokens_per_group: NDArray[np.int64],
    assignments: Assignments,
    family: ConjugateFamily,
    rng: np.random.Generator,
) -> tuple[Any, NDArray[np.int32], NDArray[np.float64]]:
    """Draw the parameters of topics and the content of groups, given the topics of tokens.

    Returns
    -------
    values : int32 csr_matrix (n_groups, n_words), or a list of float64 (n_tokens of j, width)
    topic_of_token : int32 (n_tokens,)
        In the order of ``values``: words are sorted inside each group.
    parameters : float64 (n_topics, n_parameters)
    """
    topic = assignments.topic_of_token
    n_topics = assignments.tables_in_cluster.shape[1]
    parameters = family.sample_parameters(np.zeros((n_topics, family.n_stats)), rng)
    if isinstance(family, Bag):
        raise InputError("content is a bag; words are 'categorical' content")
    values = draw_observations(family, parameters, topic, rng)
    if isinstance(family, Categorical):
        group = np.repeat(np.arange(tokens_per_group.size), tokens_per_group)
        order = sort_tokens(group, values)
        counts = count_matrix(group, values, (tokens_per_group.size, family.n_stats))
        return counts, topic[order], parameters
    rows = values.reshape(topic.size, -1)
    return np.split(rows, np.cumsum(tokens_per_group)[:-1]), topic, parameters


def draw_contexts(
    assignments: Assignments,
    families: Mapping[str, ConjugateFamily],
    absent: Mapping[str, NDArray[np.bool_]],
    items_per_bag: NDArray[np.int64],
    rng: np.random.Generator,
) -> tuple[dict[str, Column], dict[str, NDArray[np.float64]]]:
    """Draw the parameters of clusters and the contexts of groups, given the clusters.

    Parameters
    ----------
    absent : mapping from name to bool (n_groups,)
        Where a context is missing.

    Returns
    -------
    columns : dict from name to Column
    parameters : dict from name to float64 (n_clusters, n_parameters)
    """
    cluster = assignments.cluster_of_group
    n_clusters = assignments.tables_in_cluster.shape[0]
    columns, parameters = {}, {}
    for name, family in families.items():
        prior = np.zeros((n_clusters, family.n_stats))
        parameters[name] = family.sample_parameters(prior, rng)
        items = np.where(absent[name], 0, items_per_bag)
        values = draw_observations(family, parameters[name], cluster, rng, items)
        columns[name] = _column(name, family, values, absent[name])
    return columns, parameters


def _column(name: str, family: ConjugateFamily, values: Any, absent: NDArray[np.bool_]) -> Column:
    kind = KIND_OF_FAMILY[family.name]
    if kind == "bag":  # a missing bag was drawn without items
        return Column(name, kind, values, _codes(values.shape[1]))
    values[absent] = -1 if kind == "category" else np.nan
    return Column(name, kind, values, _codes(family.n_stats) if kind == "category" else None)


def _codes(n_categories: int) -> NDArray[np.object_]:
    return np.array([str(code) for code in range(n_categories)], dtype=object)


def _concentration(name: str, value: float | Prior, rng: np.random.Generator) -> float:
    drawn = value if isinstance(value, Real) else getattr(value, "sample", lambda _: value)(rng)
    if not isinstance(drawn, Real) or isnan(drawn) or drawn <= 0:
        raise InputError(f"{name} is {value!r}; a positive number or a prior with sample is wanted")
    return float(drawn)


def _absent(
    missing: float | Mapping[str, ArrayLike],
    names: tuple[str, ...],
    n_groups: int,
    rng: np.random.Generator,
) -> dict[str, NDArray[np.bool_]]:
    """Return where each context is missing."""
    given = missing if isinstance(missing, Mapping) else dict.fromkeys(names, missing)
    unknown = [name for name in given if name not in names]
    if unknown:
        raise InputError(f"missing names {unknown[0]!r}, but contexts has no such column")
    result = {}
    for name in names:
        wanted = np.asarray(given.get(name, 0.0))
        if wanted.dtype.kind == "b" and wanted.shape == (n_groups,):
            result[name] = wanted
        elif wanted.dtype.kind in "fiu" and wanted.ndim == 0 and 0.0 <= wanted <= 1.0:
            result[name] = rng.random(n_groups) < wanted
        else:
            raise InputError(
                f"missing for {name!r} must be a share between 0 and 1,"
                f" or true and false for each of the {n_groups} groups"
            )
    return result
