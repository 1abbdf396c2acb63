"""A posterior as arrays and JSON, and back with every part checked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mcsquared.corpus import Column
from mcsquared.errors import InputError, ModelFileError
from mcsquared.families import Bag, Categorical, ConjugateFamily, MultivariateGaussian
from mcsquared.model.priors import Priors
from mcsquared.posterior import Posterior
from mcsquared.posterior.coherence import CoDocuments
from mcsquared.posterior.consensus import numbered_by_size
from mcsquared.storage.arrays import Reader, Tensors, pack_csr, pack_strings
from mcsquared.storage.draws import pack_draw, unpack_draw

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["pack_posterior", "unpack_posterior"]

_TRACE_TYPES = {"b": "bool", "i": "int64", "u": "int64", "f": "float64"}
_TRACE_WANTED = {"sweep", "chain", "kept", "n_clusters", "n_topics", "log_joint"}
_LARGEST = np.finfo(np.float64).max
_LARGEST_TOTAL = 2**62
_MOST_TOP_WORDS = 100


def pack_posterior(posterior: Posterior) -> tuple[Tensors, dict[str, Any]]:
    """Return a posterior as tensors and JSON-able data, for `write_file`."""
    if not posterior.parameters:
        raise InputError("the posterior holds no draw with parameters, which a model file needs")
    tensors: Tensors = {
        **pack_strings("group_names", posterior.group_names),
        "tokens_per_group": posterior.tokens_per_group,
        "cluster_of_group": posterior.cluster_of_group,
        "chain_of_draw": posterior.chain_of_draw,
        "sweep_of_draw": posterior.sweep_of_draw,
        "labels": posterior.labels,
    }
    if posterior.vocabulary is not None:
        tensors |= pack_strings("vocabulary", posterior.vocabulary)
    for name in ("word_frequency", "document_frequency"):
        frequency = getattr(posterior, name)
        if frequency is not None:
            tensors[name] = np.asarray(frequency, np.int64)
    if posterior.codocument is not None:
        tensors["codocument.words"] = np.asarray(posterior.codocument.words, np.int32)
        tensors["codocument.counts"] = np.asarray(posterior.codocument.counts, np.int32)
    contexts = []
    for i, (name, column) in enumerate(posterior.contexts.items()):
        tensors |= _pack_column(f"context.{i}", column)
        contexts.append({"name": name, "kind": column.kind, "note": column.note})
    for i, draw in enumerate(posterior.parameters):
        tensors |= pack_draw(f"parameters.{i}", draw)
    values, columns = _pack_trace(posterior.trace)
    tensors["trace"] = values
    meta = {
        "priors": posterior.priors.to_dict(),
        "contexts": contexts,
        "n_parameters": len(posterior.parameters),
        "trace": columns,
        "seed": posterior.seed,
        "n_fitted": posterior.n_fitted,
        "notes": [str(note) for note in posterior.notes],
        "source": {str(name): str(value) for name, value in posterior.source.items()},
    }
    return tensors, meta


def unpack_posterior(tensors: Mapping[str, NDArray[Any]], meta: Mapping[str, Any]) -> Posterior:
    """Return the posterior that `pack_posterior` took apart.

    Raises
    ------
    ModelFileError
        If anything is missing or not as a posterior has it.
    """
    try:
        return _unpack(Reader(tensors), meta)
    except ModelFileError:
        raise
    # What JSON holds may be of any type, and the families check their own fields.
    except (
        LookupError,
        TypeError,
        ValueError,
        AttributeError,
        ArithmeticError,
        MemoryError,
    ) as error:
        raise ModelFileError(
            f"the model file does not hold a posterior as it should: {error}"
        ) from error


def _unpack(reader: Reader, meta: Mapping[str, Any]) -> Posterior:
    draws = reader.array("cluster_of_group", np.int32, (None, None), 0)
    n_draws, n_groups = draws.shape
    tokens = reader.array("tokens_per_group", np.int64, (n_groups,), 0, 2**53)
    if tokens.sum(dtype=np.float64) > _LARGEST_TOTAL:
        raise ModelFileError("the array 'tokens_per_group' of the model file is too large")
    vocabulary = reader.strings("vocabulary") if "vocabulary.ends" in reader else None
    if vocabulary is not None and len(set(vocabulary)) < len(vocabulary):
        raise ModelFileError("the vocabulary of the model file holds a word twice")
    priors = _priors(_mapping(meta, "priors"), vocabulary)
    n_words = None if vocabulary is None else len(vocabulary)
    n_tokens = int(tokens.sum())
    posterior = Posterior(
        priors=priors,
        group_names=reader.strings("group_names", n_groups),
        vocabulary=vocabulary,
        contexts=_contexts(reader, meta["contexts"], priors, n_groups),
        tokens_per_group=tokens,
        cluster_of_group=draws,
        chain_of_draw=reader.array("chain_of_draw", np.int32, (n_draws,), 0),
        sweep_of_draw=reader.array("sweep_of_draw", np.int32, (n_draws,), 0),
        trace=_unpack_trace(reader, meta["trace"]),
        parameters=[
            unpack_draw(reader, f"parameters.{i}", draws, priors.content, n_words, n_tokens)
            for i in range(_whole(meta, "n_parameters", n_draws, least=1))
        ],
        word_frequency=_frequency(reader, "word_frequency", vocabulary, _LARGEST_TOTAL),
        document_frequency=_frequency(reader, "document_frequency", vocabulary, n_groups),
        seed=_whole(meta, "seed", 2**64 - 1),
        notes=_notes(meta["notes"]),
        source=_source(meta["source"]),
        n_fitted=_whole(meta, "n_fitted", 2**53, least=n_groups),
    )
    # The search for the consensus takes a while, and its result is easily checked.
    labels = reader.array("labels", np.int32, (n_groups,), 0, n_groups - 1)
    if not np.array_equal(numbered_by_size(labels), labels):
        raise ModelFileError("the consensus of the model file is not numbered by size")
    posterior.__dict__["labels"] = labels
    posterior.codocument = _codocument(reader, posterior)
    return posterior


def _mapping(meta: Mapping[str, Any], name: str) -> dict[str, Any]:
    if not isinstance(meta.get(name), dict):
        raise ModelFileError(f"the model file lacks {name!r}")
    return dict(meta[name])


def _whole(meta: Mapping[str, Any], name: str, most: int, least: int = 0) -> int:
    value = meta[name]
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise ModelFileError(
            f"{name!r} of the model file is {str(value)[:40]}, "
            f"but a whole number from {least} to {most} is wanted"
        )
    return value


def _notes(notes: Any) -> list[str]:
    if not isinstance(notes, list) or not all(isinstance(note, str) for note in notes):
        raise ModelFileError("the notes of the model file are not a list of sentences")
    return notes


def _source(source: Any) -> dict[str, str]:
    if not isinstance(source, dict) or not all(isinstance(value, str) for value in source.values()):
        raise ModelFileError("the source of the model file does not map names to texts")
    return source


def _priors(data: dict[str, Any], vocabulary: NDArray[np.object_] | None) -> Priors:
    """Return the priors, the content's family as large as the vocabulary."""
    priors = Priors.from_dict(data)
    if vocabulary is not None:
        size = priors.content.size if isinstance(priors.content, Categorical) else None
        if size != len(vocabulary):
            raise ModelFileError(
                f"the content family of the model file has size {size}, "
                f"but its vocabulary has {len(vocabulary)} words"
            )
    elif isinstance(priors.content, Categorical | Bag):
        raise ModelFileError("the model file has a family of words, but no vocabulary")
    _check_filled(priors.content, "content")
    return priors


def _check_filled(family: ConjugateFamily, what: str) -> None:
    """Refuse a family that has a field open, or whose numbers give nothing finite."""
    with np.errstate(all="ignore"):
        constant = family.log_normaliser(np.zeros((1, family.n_stats)))
    if constant.shape != (1,) or not np.isfinite(constant).all():
        raise ModelFileError(f"the family of {what} in the model file has fields that cannot be")


# Contexts -------------------------------------------------------------------------------------


def _pack_column(prefix: str, column: Column) -> Tensors:
    if column.kind == "bag":
        tensors = pack_csr(f"{prefix}.values", column.values)
    else:
        tensors = {f"{prefix}.values": column.values}
    if column.categories is not None:
        tensors |= pack_strings(f"{prefix}.categories", column.categories)
    return tensors


def _contexts(reader: Reader, listed: Any, priors: Priors, n_groups: int) -> dict[str, Column]:
    columns: dict[str, Column] = {}
    for i, entry in enumerate(listed):
        name, kind, note = entry["name"], entry["kind"], entry["note"]
        if not all(isinstance(part, str) for part in (name, kind, note)) or name in columns:
            raise ModelFileError("the contexts of the model file are not described as they should")
        column = _column(reader, f"context.{i}", name, kind, note, n_groups)
        family = priors.contexts.get(name)
        if family is None or not column.accepts(family) or not _sizes_agree(column, family):
            raise ModelFileError(f"the model file has no fitting family for the context {name!r}")
        _check_filled(family, f"context {name!r}")
        columns[name] = column
    if columns.keys() != priors.contexts.keys():
        raise ModelFileError("the model file has families for contexts that it does not hold")
    return columns


def _column(reader: Reader, prefix: str, name: str, kind: str, note: str, n_groups: int) -> Column:
    categories = None
    values: Any
    if kind in ("category", "bag"):
        categories = reader.strings(f"{prefix}.categories")
    if categories is not None and kind == "bag":
        values = reader.csr(f"{prefix}.values", n_groups, len(categories))
    elif categories is not None:
        most = len(categories) - 1
        values = reader.array(f"{prefix}.values", np.int32, (n_groups,), -1, most)
    else:
        shape = (n_groups, None) if kind == "vector" else (n_groups,)
        values = reader.array(f"{prefix}.values", np.float64, shape)
    return Column(name, kind, values, categories, note)


def _sizes_agree(column: Column, family: ConjugateFamily) -> bool:
    """Say whether a family is as wide as its column; a family of a file may claim any size."""
    if isinstance(family, Categorical | Bag):
        return family.size == max(column.n_categories, 1)
    if isinstance(family, MultivariateGaussian):
        return column.kind == "vector" and family.width == column.values.shape[1]
    return True


# The rest -------------------------------------------------------------------------------------


def _frequency(
    reader: Reader, name: str, vocabulary: NDArray[np.object_] | None, most: int
) -> NDArray[np.int64] | None:
    if vocabulary is None or name not in reader:
        return None
    return reader.array(name, np.int64, (len(vocabulary),), 0, most)


def _codocument(reader: Reader, posterior: Posterior) -> CoDocuments | None:
    if "codocument.words" not in reader or posterior.vocabulary is None:
        return None
    n_words = len(posterior.vocabulary)
    words = reader.array("codocument.words", np.int32, (posterior.n_topics, None), 0, n_words - 1)
    n_top = words.shape[1]
    shape = (len(words), n_top, n_top)
    counts = reader.array("codocument.counts", np.int32, shape, 0, posterior.n_groups)
    alone = np.diagonal(counts, axis1=1, axis2=2)
    if n_top > _MOST_TOP_WORDS or (counts > alone[:, :, None]).any():
        raise ModelFileError("the array 'codocument.counts' of the model file is impossible")
    return CoDocuments(words, counts)


def _pack_trace(trace: pd.DataFrame) -> tuple[NDArray[np.float64], list[list[str]]]:
    """Return the trace as one float64 array with a row per column, and the columns' types."""
    columns = [[str(name), _TRACE_TYPES[trace[name].dtype.kind]] for name in trace.columns]
    values = np.zeros((len(columns), len(trace)))
    for row, name in enumerate(trace.columns):
        values[row] = trace[name].to_numpy(dtype=np.float64)
    return values, columns


def _unpack_trace(reader: Reader, columns: Any) -> pd.DataFrame:
    import pandas as pd

    values = reader.array("trace", np.float64, (len(columns), None))
    table = {}
    for row, (name, kind) in zip(values, columns, strict=True):
        if not isinstance(name, str) or kind not in _TRACE_TYPES.values() or name in table:
            raise ModelFileError("the trace of the model file is not described as it should be")
        if kind != "float64" and not ((np.abs(row) < 2**53) & (row == np.floor(row))).all():
            raise ModelFileError(f"the trace of the model file has fractions in {name[:40]!r}")
        table[name] = row.astype(kind)
    if table and not table.keys() >= _TRACE_WANTED:
        raise ModelFileError("the trace of the model file lacks some of its columns")
    return pd.DataFrame(table)
