"""The observations of a corpus as the arrays that samplers read, prepared for their families."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from mcsquared.arrays import Bools, Floats, Int32s, Int64s, Integers
from mcsquared.corpus import Words
from mcsquared.corpus.content import entries_of_rows, row_offsets
from mcsquared.corpus.disk import SampledCorpus
from mcsquared.errors import InputError
from mcsquared.families.dirichlet import Dirichlet
from mcsquared.kernels.cpu.contexts import BagContexts, DenseContexts
from mcsquared.kernels.cpu.effects import EffectValues
from mcsquared.kernels.cpu.groups import Groups
from mcsquared.kernels.cpu.predictive import KINDS, prepared_size
from mcsquared.model.priors import has_background, vector_observations
from mcsquared.observations.effects import observe_effects, take_effects
from mcsquared.observations.layout import Entries, Layout
from mcsquared.observations.units import Units, observe_units

if TYPE_CHECKING:
    from mcsquared.corpus import Column, Corpus
    from mcsquared.families import ConjugateFamily
    from mcsquared.model.priors import Priors

MAX_TOKENS = 2**31 - 1  # in memory: the counts of a shard are 32-bit


@dataclass(frozen=True)
class PythonObservations:
    """Observations of a family without a kernel, such as a user-defined one."""

    family: ConjugateFamily
    statistics: Floats  # (n, n_stats): a row of zeros if missing
    observed: Bools  # (n,)
    x: Any  # the observed values only, in the form that the family requires

    def take(self, rows: slice | Integers) -> PythonObservations:
        """Return selected observations."""
        observed = self.observed[rows]
        positions = (np.cumsum(self.observed) - 1)[rows][observed]
        return PythonObservations(self.family, self.statistics[rows], observed, self.x[positions])

    @classmethod
    def from_values(cls, family: ConjugateFamily, x: Any, observed: Bools) -> Self:
        """Compute and check the statistics of the observed values ``x``."""
        shape = (int(observed.sum()), family.n_stats)
        computed = np.asarray(family.statistics(x), np.float64) if shape[0] else np.zeros(shape)
        argument = f"statistics of the family {type(family).__name__}"
        if computed.shape != shape:
            raise InputError(
                f"{argument} must have shape {shape} (observations, n_stats), got {computed.shape}"
            )
        if not np.isfinite(computed).all():
            raise InputError(f"{argument} must be finite, got infinite values or NaN")
        statistics = np.zeros((len(observed), family.n_stats))
        statistics[observed] = computed
        return cls(family, statistics, observed, x)


@dataclass(frozen=True)
class Observations:
    """Content and contexts of all groups as arrays, which are never modified."""

    group_start: Int64s  # (n_groups + 1,): tokens of group j are group_start[j]:group_start[j + 1]
    # Contexts whose families have kernels; see `mcsquared.kernels.cpu.contexts`.
    dense: DenseContexts
    bags: BagContexts
    python_contexts: list[PythonObservations]
    # Families of the content, of ``dense`` and of ``bags``, in the same order.
    content_family: ConjugateFamily
    dense_families: list[ConjugateFamily]
    bag_families: list[ConjugateFamily]
    # (n_tokens,): word of each token; empty for vector content
    word: Int32s = field(default_factory=lambda: np.zeros(0, np.int32))
    n_words: int = 0  # 0 for vector content
    # (n_tokens, width): vectors relative to the origin of their family; (0, 0) for words
    values: Floats = field(default_factory=lambda: np.zeros((0, 0)))
    # Kernel of the content family, see `KINDS`; -1 for words and for a family without a kernel.
    content_kernel: int = -1
    content_parameters: Floats = field(default_factory=lambda: np.zeros(0))  # (n_parameters,)
    python_content: PythonObservations | None = None
    # Number of groups and tokens of the corpus before this shard.
    first_group: int = 0
    first_token: int = 0
    effect_values: EffectValues | None = None  # values of the effects of each group
    # (n_groups,): unit of each group one level above, -1 for none; empty without levels
    parent_of_group: Int32s = field(default_factory=lambda: np.zeros(0, np.int32))
    levels: tuple[Units, ...] = ()  # all units of the levels above groups, the lowest first
    # (n_groups, dense contexts): values that come from a background, see `with_foreground`
    outliers: Bools | None = None

    @property
    def sampled(self) -> Int64s | None:
        """Indices of the groups in memory, int64; None if all of them are."""
        return None

    @property
    def n_groups(self) -> int:
        """Number of groups, including empty ones."""
        return len(self.group_start) - 1

    @property
    def parents_of_all(self) -> Int32s:
        """Unit of each group one level above, also if the groups are on disk."""
        return self.parent_of_group

    @property
    def n_tokens(self) -> int:
        """Number of tokens of all groups."""
        return int(self.group_start[-1])

    @property
    def n_content_statistics(self) -> int:
        """Number of float statistics per topic: 0 for words, whose counts are integers."""
        if self.content_kernel < 0 and self.python_content is None:
            return 0
        return self.content_family.n_stats

    @property
    def has_wide_vectors(self) -> bool:
        """Whether vectors have a kernel, and so many dimensions that every topic slot is slow."""
        return self.content_kernel >= 0 and self.content_family.is_wide

    def in_memory(self) -> Observations:
        """Return all groups, in memory."""
        return self

    @cached_property
    def groups(self) -> Groups:
        """Positions of groups and chunks in the flat arrays of tokens."""
        return Groups(
            start=self.group_start,
            chunk_start=self.layout.chunk_start,
            longest=self.layout.longest,
            first_group=self.first_group,
            first_token=self.first_token,
        )

    @cached_property
    def layout(self) -> Layout:
        """The order in which parallel samplers read groups and words."""
        return Layout(self.group_start, self.word, self.n_words)

    def without_contexts(self) -> Observations:
        """Return the same groups and content without contexts and levels."""
        groups = replace(
            self,
            dense=_dense([], self.n_groups),
            bags=_bags([], self.n_groups),
            python_contexts=[],
            dense_families=[],
            bag_families=[],
            effect_values=None,
            parent_of_group=np.zeros(0, np.int32),
            levels=(),
        )
        groups.__dict__["layout"] = self.layout  # shared: it is large and independent of contexts
        return groups

    def shard(self, first_chunk: int, last_chunk: int) -> Observations:
        """Return the groups of the chunks ``first_chunk:last_chunk``.

        Draws for a group do not depend on its shard: random numbers are indexed by position in the
        whole corpus, and floats are summed by chunk.
        """
        chunks = self.layout.chunk_start[first_chunk : last_chunk + 1]
        groups = slice(int(chunks[0]), int(chunks[-1]))
        start = self.group_start[groups.start : groups.stop + 1]
        tokens = slice(int(start[0]), int(start[-1]))
        part = replace(
            self._select(groups, tokens, start - start[0]),
            first_group=self.first_group + groups.start,
            first_token=self.first_token + tokens.start,
        )
        return with_chunks(part, chunks)

    def take(self, groups: Integers) -> Observations:
        """Return selected groups."""
        return self._select(groups, *entries_of_rows(self.group_start, groups))

    def _select(
        self, groups: slice | Integers, tokens: slice | Int64s, start: Int64s
    ) -> Observations:
        """Return selected groups, given their tokens and their offsets."""
        content, dense = self.python_content, self.dense
        rows = np.arange(self.n_groups)[groups]
        return replace(
            self,
            group_start=start,
            word=self.word[tokens] if len(self.word) else self.word,
            values=self.values[tokens] if len(self.values) else self.values,
            python_content=None if content is None else content.take(tokens),
            dense=dense._replace(values=dense.values[groups], observed=dense.observed[groups]),
            bags=take_bags(self.bags, rows),
            python_contexts=[context.take(groups) for context in self.python_contexts],
            effect_values=take_effects(self.effect_values, rows),
            parent_of_group=self.parent_of_group[groups] if self.levels else self.parent_of_group,
        )

    @cached_property
    def context_columns(self) -> list[tuple[ConjugateFamily, slice]]:
        """Families of contexts other than bags, and their columns in the statistics of clusters.

        First those of ``dense``, then those of ``python_contexts``.
        """
        families = [*self.dense_families, *(context.family for context in self.python_contexts)]
        start = row_offsets([family.n_stats for family in families]).tolist()
        return [(f, slice(*bounds)) for f, bounds in zip(families, pairwise(start), strict=True)]

    @cached_property
    def background_columns(self) -> list[tuple[int, slice]]:
        """Dense contexts with a background, and the columns of values that come from it.

        These columns follow those of `context_columns`; only their sums over clusters are used.
        """
        first, result = self.context_columns[-1][1].stop if self.context_columns else 0, []
        for c, family in enumerate(self.dense_families):
            if has_background(family):
                result.append((c, slice(first, first + family.n_stats)))
                first += family.n_stats
        return result

    @property
    def n_context_statistics(self) -> int:
        """Number of float statistics per cluster, of all contexts except bags."""
        if self.background_columns:
            return self.background_columns[-1][1].stop
        return self.context_columns[-1][1].stop if self.context_columns else 0

    def with_foreground(self, foreground: Bools) -> Observations:
        """Return the same groups; observed values outside the foreground are ``outliers``.

        ``foreground`` is bool (n_groups, dense contexts).
        """
        dense = self.dense._replace(observed=foreground)
        part = replace(self, dense=dense, outliers=self.dense.observed & ~foreground)
        part.__dict__["layout"] = self.layout
        return part

    @property
    def statistics_in_rows(self) -> list[tuple[Floats, slice]]:
        """Statistics of each group, and their columns: of Python contexts and of outliers."""
        result = [(context.statistics, columns) for context, columns in self.python_columns]
        if self.outliers is not None:
            for c, columns in self.background_columns:
                values = self.dense.values[:, self.dense.value_start[c], None]
                rows = self.dense_families[c].centred_statistics(values)
                result.append((rows * self.outliers[:, [c]], columns))
        return result

    @property
    def python_columns(self) -> list[tuple[PythonObservations, slice]]:
        """Python contexts, and their columns in the statistics of clusters."""
        columns = [columns for _, columns in self.context_columns[len(self.dense_families) :]]
        return list(zip(self.python_contexts, columns, strict=True))

    @property
    def n_categories(self) -> int:
        """Number of categories of all bags."""
        return sum(family.n_stats for family in self.bag_families)

    @property
    def bag_columns(self) -> list[tuple[Dirichlet, slice]]:
        """Families of bags, and their columns in the counts of categories."""
        start = row_offsets([family.n_stats for family in self.bag_families]).tolist()
        families = map(_dirichlet, self.bag_families)
        return [(f, slice(*bounds)) for f, bounds in zip(families, pairwise(start), strict=True)]

    @property
    def has_learned_bags(self) -> bool:
        """Whether the Dirichlet parameters of some bags are resampled."""
        return any(family.is_learned for family, _ in self.bag_columns)

    def bags_given(self, shapes: Floats) -> BagContexts:
        """Return the bags with the current Dirichlet parameters of all categories."""
        if not self.has_learned_bags:
            return self.bags
        smoothing = [
            shapes[columns].sum() if family.is_learned else fixed
            for (family, columns), fixed in zip(self.bag_columns, self.bags.smoothing, strict=True)
        ]
        return self.bags._replace(shapes=shapes, smoothing=np.array(smoothing, np.float64))

    def bag_columns_given(self, shapes: Floats) -> list[tuple[Dirichlet, slice]]:
        """Return `bag_columns`, the families with their current Dirichlet parameters."""
        return [
            (family.given(shapes[columns]) if family.is_learned else family, columns)
            for family, columns in self.bag_columns
        ]


def _dirichlet(family: ConjugateFamily) -> Dirichlet:
    assert isinstance(family, Dirichlet)
    return family


def with_chunks(part: Observations, chunks: Int64s) -> Observations:
    """Set the chunks of a shard, given by their bounds in the corpus, and return the shard."""
    part.__dict__["layout"] = Layout(part.group_start, part.word, part.n_words, chunks - chunks[0])
    return part


def observe(corpus: Corpus, priors: Priors) -> Observations:
    """Return the observations of a corpus in memory or on disk."""
    if isinstance(corpus, SampledCorpus):
        from mcsquared.observations.disk import observe_disk

        return observe_disk(corpus.source, priors, corpus.groups)
    columns = priors.columns(corpus)
    chosen = [(columns[name], family) for name, family in priors.contexts.items()]
    dense = [(c, f) for c, f in chosen if f.kernel in KINDS]
    bags = [(c, f) for c, f in chosen if f.kernel == "dirichlet"]
    python = [(c, f) for c, f in chosen if f.kernel is None]
    observations = Observations(
        **_content(corpus, priors.content),
        dense=_dense(dense, corpus.n_groups),
        bags=_bags(bags, corpus.n_groups),
        python_contexts=[
            PythonObservations.from_values(f, c.observations(), c.observed) for c, f in python
        ],
        content_family=priors.content,
        dense_families=[family for _, family in dense],
        bag_families=[family for _, family in bags],
        effect_values=observe_effects(corpus, priors),
        **_levels(corpus, priors),
    )
    if isinstance(corpus.content, Words):
        entries = Entries.from_matrix(corpus.content.counts)
        observations.layout.__dict__["words_of_group"] = entries  # shares the memory of the corpus
    return observations


def _levels(corpus: Corpus, priors: Priors) -> dict[str, Any]:
    if not corpus.levels:
        return {}
    parent_of_group = corpus.levels[0].parent_of_child
    return {"parent_of_group": parent_of_group, "levels": observe_units(corpus, priors)}


def _content(corpus: Corpus, family: ConjugateFamily) -> dict[str, Any]:
    content = corpus.content
    if (n_tokens := content.n_tokens) > MAX_TOKENS:
        raise InputError(f"the corpus must have <= {MAX_TOKENS} tokens in memory, got {n_tokens}")
    if isinstance(content, Words):
        word = np.repeat(content.counts.indices, content.counts.data).astype(np.int32, copy=False)
        start = row_offsets(content.tokens_per_group)
        return {"group_start": start, "word": word, "n_words": content.n_words}
    x = vector_observations(corpus, family)
    if family.kernel is None:
        observed = np.ones(len(x), np.bool_)
        python_content = PythonObservations.from_values(family, x, observed)
        return {"group_start": content.start, "python_content": python_content}
    return {
        "group_start": content.start,
        "values": np.ascontiguousarray(content.values - _origin(family)),
        "content_kernel": KINDS[family.kernel],
        "content_parameters": family.kernel_parameters(),
    }


def _origin(family: ConjugateFamily) -> Floats:
    origin = getattr(family, "origin", None)
    return np.asarray(0.0 if origin is None else origin, dtype=np.float64)


def _dense(contexts: list[tuple[Column, ConjugateFamily]], n_groups: int) -> DenseContexts:
    values = []
    for column, family in contexts:
        matrix = np.asarray(column.values, np.float64).reshape(n_groups, -1) - _origin(family)
        values.append(np.where(column.observed[:, None], matrix, 0.0))
    kinds = [KINDS[str(family.kernel)] for _, family in contexts]
    parameters = [family.kernel_parameters() for _, family in contexts]
    observed = [column.observed for column, _ in contexts]
    return DenseContexts(
        kind=np.array(kinds, np.int64),
        parameters=np.concatenate([np.zeros(0), *parameters]),
        parameter_start=row_offsets([p.size for p in parameters]),
        values=np.ascontiguousarray(np.hstack([np.zeros((n_groups, 0)), *values])),
        value_start=row_offsets([v.shape[1] for v in values]),
        observed=np.column_stack([np.zeros((n_groups, 0), bool), *observed]),
        stat_start=row_offsets([family.n_stats for _, family in contexts]),
        prepared_start=row_offsets(list(map(prepared_size, kinds, parameters))),
    )


def take_bags(bags: BagContexts, groups: Integers) -> BagContexts:
    """Return the bags of selected groups."""
    entries, starts, before = [np.zeros(0, np.int64)], [], 0
    for row in bags.start:
        chosen, start = entries_of_rows(row, groups)
        entries.append(chosen)
        starts.append(start + before)
        before += len(chosen)
    taken = np.concatenate(entries)
    return bags._replace(
        start=np.array(starts, np.int64).reshape(len(bags.start), len(groups) + 1),
        category=bags.category[taken],
        count=bags.count[taken],
    )


def _bags(contexts: list[tuple[Column, ConjugateFamily]], n_groups: int) -> BagContexts:
    start = np.zeros((len(contexts), n_groups + 1), np.int64)
    category, count = [np.zeros(0, np.int32)], [np.zeros(0, np.int32)]
    shapes, smoothing = [np.zeros(0)], []
    n_entries = n_categories = 0
    for c, (column, family) in enumerate(contexts):
        if column.kind == "bag":
            indptr, codes, counts = column.values.indptr, column.values.indices, column.values.data
        else:
            indptr = row_offsets(column.observed)
            codes = column.values[column.observed]
            counts = np.ones(len(codes), np.int32)
        start[c] = indptr.astype(np.int64) + n_entries
        category.append((codes + n_categories).astype(np.int32))
        count.append(counts.astype(np.int32))
        per_category, size = _dirichlet(family).initial_shape, family.n_stats
        shapes.append(np.full(size, per_category))
        smoothing.append(per_category * size)
        n_entries += len(codes)
        n_categories += size
    return BagContexts(
        start=start,
        category=np.concatenate(category),
        count=np.concatenate(count),
        shapes=np.concatenate(shapes),
        smoothing=np.array(smoothing, np.float64),
    )
