"""Levels above groups: their units as groups, and the clusters of their children as content.

A unit of a level is to its children what a group is to its tokens: its type is a mixture over the
clusters of its children (or their types, above other units). The posterior of a level therefore
has the same form as that of the groups, with λ = ∞:

    groups    clusters    tokens      topics      words                 τ    ε    v    η
    units     types       children    clusters    consensus clusters    Π    π    v    α

so that all queries apply: `clusters` lists the types, `topic_given_cluster` their weights Π.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from mcsquared.arrays import Floats, Int32s, Objects
from mcsquared.corpus import Column, Corpus
from mcsquared.errors import InputError
from mcsquared.families import Categorical
from mcsquared.families.dirichlet import Dirichlet
from mcsquared.model.priors import LevelPriors, Priors
from mcsquared.posterior.consensus import contingency, share_of_consensus
from mcsquared.posterior.draws import ParameterDraw, TypeDraw

if TYPE_CHECKING:
    import pandas as pd

    from mcsquared.posterior.posterior import Posterior


@dataclass(eq=False)
class UnitDraws:
    """The units of a level above groups, and their types in the kept draws."""

    name: str
    unit_names: Objects
    contexts: dict[str, Column]  # in the form that their families expect
    # (n_children,): unit of each group, or of each unit of the level below; -1 for none
    parent_of_child: Int32s
    type_of_unit: Int32s  # (n_draws, n_units)
    # (n_rows, 3): number of types, alpha and v, one row per row of `Posterior.trace`
    trace: Floats
    given_names: dict[str, dict[int, str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        n_units = len(self.unit_names)
        self.type_of_unit = np.ascontiguousarray(self.type_of_unit, np.int32)
        lengths = {len(column) for column in self.contexts.values()}
        if self.type_of_unit.ndim != 2 or {self.type_of_unit.shape[1], *lengths} != {n_units}:
            raise InputError(
                f"the level {self.name!r} must have one type and one row of contexts per unit "
                f"({n_units}), got types of shape {self.type_of_unit.shape} and "
                f"contexts of lengths {sorted(lengths)}"
            )
        if self.parent_of_child.min(initial=0) < -1 or self.parent_of_child.max() >= n_units:
            found = f"{self.parent_of_child.min()} to {self.parent_of_child.max()}"
            raise InputError(
                f"parent_of_child of the level {self.name!r} must be between -1 and {n_units - 1}, "
                f"got {found}"
            )


class UpperLevels:
    """Levels above groups; a base class of `Posterior`."""

    units: list[UnitDraws]

    def level(self, name: str) -> Posterior:
        """Return the posterior of a level above groups, whose groups are the units of the level.

        Its clusters are the types of units, and its topics are the clusters of the units' groups
        (or, above other units, their types): the tokens of a unit are its groups.
        ``topic_given_cluster`` has the share of each cluster in each type.

        Examples
        --------
        >>> import pandas as pd
        >>> rows = pd.DataFrame({"text": ["ants", "bees", "ants"], "country": list("FFG")})
        >>> corpus = mc2.Corpus.from_frame(rows, "text", levels="country", max_df=1.0)
        >>> fitted = mc2.MC2(n_sweeps=9, burn_in=4, random_state=0).fit(corpus)
        >>> countries = fitted.posterior_.level("country")
        >>> dict(zip(countries.group_names, countries.labels)).keys()
        dict_keys(['F', 'G'])
        >>> int(countries.clusters()["n_groups"].sum())
        2
        """
        names = [units.name for units in self.units]
        if name not in names:
            listed = ", ".join(map(repr, names)) or "none"
            raise InputError(f"name must be a level of this model ({listed}), got {name!r}")
        cache: dict[str, Any] = self.__dict__.setdefault("_levels", {})
        if name not in cache:
            cache[name] = level_posterior(self, names.index(name))  # type: ignore[arg-type]
        return cache[name]

    def cluster_given_type(self, name: str) -> pd.DataFrame:
        """Return the share of each cluster in each type of units of a level; rows sum to 1.

        Above other units, the columns are the types of the level below. Shares are means of Π over
        the draws with parameters.

        Examples
        --------
        >>> import pandas as pd
        >>> rows = pd.DataFrame({"text": ["ants", "bees", "ants"], "country": list("FFG")})
        >>> corpus = mc2.Corpus.from_frame(rows, "text", levels="country", max_df=1.0)
        >>> fitted = mc2.MC2(n_sweeps=9, burn_in=4, random_state=0).fit(corpus)
        >>> fitted.posterior_.cluster_given_type("country").sum(axis=1).round(6).unique()
        array([1.])
        """
        import pandas as pd

        level, lower, number = self.level(name), *self._below(name)
        total = np.zeros((level.n_clusters, lower.n_clusters))
        weights = level.parameter_weights
        for weight, draw in zip(weights, self.parameters, strict=True):  # type: ignore[attr-defined]
            types, drawn = draw.levels[number], level.cluster_of_group[draw.index]
            rows = types.children + types.v * types.weights_below(draw.alpha_below(number))[0]
            rows /= rows.sum(axis=1, keepdims=True)
            units = contingency(level.labels, drawn).toarray()
            units = units / units.sum(axis=1, keepdims=True)
            share = share_of_consensus(lower.cluster_of_group[draw.index], lower.labels)
            total += weight * (units @ rows @ share)
        below = "type below" if number else "cluster"
        return pd.DataFrame(
            total / total.sum(axis=1, keepdims=True),
            pd.RangeIndex(level.n_clusters, name="type"),
            pd.RangeIndex(lower.n_clusters, name=below),
        )

    def children(self, name: str) -> pd.DataFrame:
        """Return the groups of each unit of a level: unit, type, group, name, cluster.

        Above other units, their children are the units of the level below, with their types. Groups
        without a parent are left out.

        Examples
        --------
        >>> import pandas as pd
        >>> rows = pd.DataFrame({"text": ["ants", "bees", "ants"], "country": list("FFG")})
        >>> corpus = mc2.Corpus.from_frame(rows, "text", levels="country", max_df=1.0)
        >>> fitted = mc2.MC2(n_sweeps=9, burn_in=4, random_state=0).fit(corpus)
        >>> fitted.posterior_.children("country").columns.tolist()
        ['unit', 'type', 'group', 'name', 'cluster']
        """
        import pandas as pd

        level, lower, number = self.level(name), *self._below(name)
        parents = self.units[number].parent_of_child
        child = np.flatnonzero(parents >= 0)
        child = child[np.argsort(parents[child], kind="stable")]
        return pd.DataFrame(
            {
                "unit": level.group_names[parents[child]],
                "type": level.labels[parents[child]],
                "group": child,
                "name": lower.group_names[child],
                "cluster": lower.labels[child],
            }
        )

    def _below(self, name: str) -> tuple[Posterior, int]:
        """Return the posterior of the level below a level, and the number of the level."""
        number = [units.name for units in self.units].index(name)
        lower: Any = self.level(self.units[number - 1].name) if number else self
        return lower, number


def level_posterior(posterior: Posterior, number: int) -> Posterior:
    """Return the posterior of a level, given the draws of all groups and units."""
    from mcsquared.posterior.posterior import Posterior

    units = posterior.units[number]
    priors = list(posterior.priors.levels.values())
    if number:
        lower, below = posterior.level(posterior.units[number - 1].name), priors[number - 1]
        children, alpha = f"{posterior.units[number - 1].name} type", below.alpha
    else:
        lower, children, alpha = posterior, "cluster", posterior.priors.alpha
    corpus = children_as_words(units, lower, children)
    prior, content = priors[number], Categorical(0.5, max(corpus.n_words, 1))
    result = Posterior(
        priors=Priors(content, prior.contexts, prior.alpha, prior.v, alpha, math.inf),
        group_names=units.unit_names,
        vocabulary=corpus.vocabulary,
        contexts=units.contexts,
        tokens_per_group=corpus.tokens_per_group,
        cluster_of_group=units.type_of_unit,
        chain_of_draw=posterior.chain_of_draw,
        sweep_of_draw=posterior.sweep_of_draw,
        trace=trace_of_level(posterior.trace, posterior.units, number),
        parameters=[
            parameters_of_level(draw, number, prior, units, lower, corpus.n_words)
            for draw in posterior.parameters
        ],
        word_frequency=corpus.word_frequency,
        document_frequency=corpus.document_frequency,
        seed=posterior.seed,
        notes=list(posterior.notes),
        given_names=units.given_names,
        chain_weights=posterior.chain_weights if posterior.is_weighted else None,  # type: ignore[arg-type]
    )
    if corpus.vocabulary is not None:
        result.attach_codocuments(corpus.content.counts)  # type: ignore[union-attr]
    result.attach_content(corpus)
    return result


def children_as_words(units: UnitDraws, lower: Posterior, name: str) -> Corpus:
    """Return the units with the consensus clusters of their children as words."""
    parents, labels = units.parent_of_child, lower.labels
    inside = parents >= 0
    shape = (len(units.unit_names), lower.n_clusters)
    ones = np.ones(int(inside.sum()), np.int32)
    counts = sparse.coo_matrix((ones, (parents[inside], labels[inside])), shape=shape).tocsr()
    names = [f"{name} {k}" for k in range(lower.n_clusters)]
    return Corpus(counts, units.contexts, units.unit_names, names)


def parameters_of_level(
    draw: ParameterDraw,
    number: int,
    prior: LevelPriors,
    units: UnitDraws,
    lower: Posterior,
    n_words: int,
) -> ParameterDraw:
    """Return the parameters of a level in a draw, with types as clusters.

    Clusters without a child of a unit are not topics of the level.
    """
    types = draw.levels[number]
    inside = units.parent_of_child >= 0
    clusters = lower.cluster_of_group[draw.index][inside]
    used = np.flatnonzero(types.children.any(axis=0))
    weights, _ = types.weights_below(draw.alpha_below(number))
    ones = np.ones(len(clusters), np.int32)
    pairs = (clusters, lower.labels[inside])
    both = sparse.coo_matrix((ones, pairs), shape=(types.children.shape[1], n_words)).tocsr()
    return ParameterDraw(
        index=draw.index,
        topics_in_cluster=sparse.csr_matrix(types.children[:, used]),
        content_statistics=both[used],
        topic_weights=weights[used],
        unused_weight=1.0 - float(weights[used].sum()),
        category_shapes=shapes_of_categories(prior, types),
        alpha=types.alpha,
        v=types.v,
        eta=draw.alpha_below(number),
        lam=math.inf,
    )


def shapes_of_categories(prior: LevelPriors, draw: TypeDraw) -> Floats | None:
    """Return the Dirichlet parameters of the contexts of a level, in the form of `ParameterDraw`.

    Unlike those of `TypeDraw`, they include the parameters of fixed priors. None if all are fixed.
    """
    families = [family for family in prior.contexts.values() if isinstance(family, Dirichlet)]
    if not any(family.is_learned for family in families):
        return None
    shapes, learned = [], draw.shapes
    for family in families:
        if family.is_learned:
            shapes.append(learned[: family.n_stats])
            learned = learned[family.n_stats :]
        else:
            shapes.append(np.broadcast_to(family.shapes, (family.n_stats,)))
    return np.concatenate(shapes)


def trace_of_level(trace: pd.DataFrame, units: list[UnitDraws], number: int) -> pd.DataFrame:
    """Return the trace with the types of a level as clusters and those below as topics."""
    level_trace, result = units[number].trace, trace.copy()
    if len(level_trace) != len(result):
        return result
    below = units[number - 1].trace if number else trace[["n_clusters", "alpha"]].to_numpy()
    result["n_topics"], result["eta"] = below[:, 0].astype(np.int64), below[:, 1]
    result["n_clusters"] = level_trace[:, 0].astype(np.int64)
    result["alpha"], result["v"], result["lam"] = level_trace[:, 1], level_trace[:, 2], math.inf
    return result


def units_of_runs(
    corpus: Corpus, priors: Priors, types: list[list[Int32s]], traces: list[Any]
) -> list[UnitDraws]:
    """Return the units of every level of a fitted corpus.

    ``types`` has the types of the units of every level, a list per draw, ``traces`` the number of
    types, alpha and v of every level, a list per row of the trace.
    """
    result = []
    for number, level in enumerate(corpus.levels):
        families = priors.levels[level.name].contexts
        columns = {name: level.contexts[name].convert_for(f) for name, f in families.items()}
        drawn = np.array([draw[number] for draw in types], np.int32)
        rows = np.array([row[number] for row in traces], np.float64).reshape(-1, 3)
        result.append(
            UnitDraws(level.name, level.unit_names, columns, level.parent_of_child, drawn, rows)
        )
    return result
