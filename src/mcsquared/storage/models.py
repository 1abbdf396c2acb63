"""Fitted models as files: the posterior, the parameters of the estimator and all labels."""

import math
import numbers
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mcsquared import families
from mcsquared.arrays import Int32s, Int64s, Integers, Objects
from mcsquared.errors import InputError, ModelFileError
from mcsquared.families import ConjugateFamily
from mcsquared.gamma import Gamma
from mcsquared.model.priors import Priors
from mcsquared.posterior import Posterior
from mcsquared.posterior.consensus import numbered_by_size
from mcsquared.posterior.content import ClusterContent, no_alternatives
from mcsquared.posterior.levels import UnitDraws
from mcsquared.posterior.tables import CoDocuments
from mcsquared.storage.columns import check_fields, pack_columns, unpack_columns
from mcsquared.storage.files import (
    DATA_ERRORS,
    PathLike,
    Reader,
    Tensors,
    pack_strings,
    read_file,
    write_file,
)
from mcsquared.storage.levels import check_types, pack_units, unpack_units
from mcsquared.storage.states import pack_draw, unpack_draw

MODEL_KIND = "model"
ALL_LABELS = "labels_of_all"
# Parameters of a run or a machine; a loaded model has their defaults.
NOT_SAVED = ("callbacks", "checkpoint", "checkpoint_every", "progress", "n_jobs")

_ARRAYS = ("tokens_per_group", "cluster_of_group", "chain_of_draw", "sweep_of_draw", "labels")
_TRACE_TYPES = {"b": "bool", "i": "int64", "u": "int64", "f": "float64"}
_TRACE_REQUIRED = {"sweep", "chain", "kept", "n_clusters", "n_topics", "log_joint"}
_MAX_TOTAL = 2**62
_MAX_CODOCUMENT_WORDS = 100
_MAX_CHAINS = 10_000


class SavedModel(NamedTuple):
    """Contents of a model file."""

    posterior: Posterior
    parameters: dict[str, Any]
    labels: Int32s | None  # labels of all groups, if the posterior has only a sample of them


def save_model(
    path: PathLike, posterior: Posterior, parameters: Mapping[str, Any], labels: Integers
) -> None:
    """Atomically write a fitted model to one file."""
    tensors, meta = pack_posterior(posterior)
    if posterior.n_fitted > posterior.n_groups:
        tensors[ALL_LABELS] = labels.astype(np.int32)
    packed = {name: _to_json(v) for name, v in parameters.items() if name not in NOT_SAVED}
    write_file(path, MODEL_KIND, tensors, {"posterior": meta, "parameters": packed})


def load_model(path: PathLike, known: set[str]) -> SavedModel:
    """Read a file written by `save_model`; ``known`` are the estimator's parameter names."""
    tensors, meta = read_file(path, MODEL_KIND)
    if not {"posterior", "parameters"} <= meta.keys():
        raise ModelFileError(f"{path} has no posterior or no parameters")
    parameters = _unpack_parameters(meta["parameters"], path, known)
    labels = None
    try:
        posterior = unpack_posterior(tensors, meta["posterior"])
        if posterior.n_fitted > posterior.n_groups:
            shape, high = (posterior.n_fitted,), posterior.n_clusters - 1
            labels = Reader(tensors).array(ALL_LABELS, np.int32, shape, 0, high)
    except ModelFileError as error:
        raise ModelFileError(f"{path} cannot be used: {error}") from None
    return SavedModel(posterior, parameters, labels)


def pack_posterior(posterior: Posterior) -> tuple[Tensors, dict[str, Any]]:
    """Return a posterior as tensors and JSON data, for `write_file`."""
    if not posterior.parameters:
        raise InputError("a model file requires a draw with parameters, got none")
    tensors: Tensors = {
        **pack_strings("group_names", posterior.group_names),
        **{name: getattr(posterior, name) for name in _ARRAYS},
    }
    if posterior.is_weighted:
        tensors["chain_weights"] = posterior.chain_weights
    if posterior.vocabulary is not None:
        tensors |= pack_strings("vocabulary", posterior.vocabulary)
    for name in ("word_frequency", "document_frequency"):
        frequency = getattr(posterior, name)
        if frequency is not None:
            tensors[name] = np.asarray(frequency, np.int64)
    if posterior.codocument is not None:
        tensors["codocument.words"] = np.asarray(posterior.codocument.words, np.int32)
        tensors["codocument.counts"] = np.asarray(posterior.codocument.counts, np.int32)
    if posterior.cluster_content is not None:
        content = posterior.cluster_content._asdict()
        tensors |= {f"cluster_content.{name}": array for name, array in content.items()}
    contexts = pack_columns("context", posterior.contexts, tensors)
    for i, draw in enumerate(posterior.parameters):
        tensors |= pack_draw(f"parameters.{i}", draw)
    trace = posterior.trace
    # The types of the columns are stored in the JSON.
    tensors["trace"] = np.zeros((trace.shape[1], len(trace)))
    for row, name in zip(tensors["trace"], trace.columns, strict=True):
        row[:] = trace[name].to_numpy(dtype=np.float64)
    meta: dict[str, Any] = {
        "priors": posterior.priors.to_dict(),
        "contexts": contexts,
        "n_parameters": len(posterior.parameters),
        "trace": [[str(name), _TRACE_TYPES[trace[name].dtype.kind]] for name in trace.columns],
        "seed": posterior.seed,
        "n_fitted": posterior.n_fitted,
        "notes": [str(note) for note in posterior.notes],
        "source": {str(name): str(value) for name, value in posterior.source.items()},
    }
    if posterior.given_names:
        meta["given_names"] = _names_to_json(posterior.given_names)
    if posterior.units:
        tensors |= pack_units(posterior.units)
        meta["units"] = [
            {
                "name": units.name,
                "contexts": pack_columns(f"units.{i}.context", units.contexts, tensors),
                "given_names": _names_to_json(units.given_names),
            }
            for i, units in enumerate(posterior.units)
        ]
    return tensors, meta


def _names_to_json(given: Mapping[str, Mapping[int, str]]) -> dict[str, dict[str, str]]:
    return {kind: {str(k): str(name) for k, name in names.items()} for kind, names in given.items()}


def unpack_posterior(tensors: Mapping[str, NDArray[Any]], meta: Mapping[str, Any]) -> Posterior:
    """Return a posterior packed by `pack_posterior`; raise `ModelFileError` if it is invalid."""
    try:
        return _unpack(Reader(tensors), meta)
    except ModelFileError:
        raise
    except DATA_ERRORS as error:
        raise ModelFileError(f"the posterior is invalid: {error}") from error


def _unpack(reader: Reader, meta: Mapping[str, Any]) -> Posterior:
    draws = reader.array("cluster_of_group", np.int32, (None, None), 0)
    n_draws, n_groups = draws.shape
    if draws.size and draws.max() >= n_groups:  # before anything is counted by cluster
        raise ModelFileError("the array 'cluster_of_group' has more clusters than groups")
    tokens = reader.array("tokens_per_group", np.int64, (n_groups,), 0, 2**53)
    if tokens.sum(dtype=np.float64) > _MAX_TOTAL:
        raise ModelFileError("the sum of the array 'tokens_per_group' is too large")
    vocabulary = reader.strings("vocabulary") if "vocabulary.ends" in reader else None
    if vocabulary is not None and len(set(vocabulary)) < len(vocabulary):
        raise ModelFileError("the vocabulary contains a word twice")
    priors = _priors(meta, vocabulary)
    n_words = None if vocabulary is None else len(vocabulary)
    n_tokens = int(tokens.sum())
    weights: Any = None
    if "chain_weights" in reader:
        weights = reader.array("chain_weights", np.float64, (None,))
    posterior = Posterior(
        priors=priors,
        group_names=reader.strings("group_names", n_groups),
        vocabulary=vocabulary,
        contexts=unpack_columns(reader, "context", meta["contexts"], priors.contexts, n_groups),
        tokens_per_group=tokens,
        cluster_of_group=draws,
        chain_of_draw=reader.array("chain_of_draw", np.int32, (n_draws,), 0, _MAX_CHAINS),
        sweep_of_draw=reader.array("sweep_of_draw", np.int32, (n_draws,), 0),
        trace=_unpack_trace(reader, meta["trace"]),
        parameters=[
            unpack_draw(reader, f"parameters.{i}", draws, priors, n_words, n_tokens)
            for i in range(_integer(meta, "n_parameters", n_draws, low=1))
        ],
        word_frequency=_frequency(reader, "word_frequency", vocabulary, _MAX_TOTAL),
        document_frequency=_frequency(reader, "document_frequency", vocabulary, n_groups),
        seed=_integer(meta, "seed", 2**64 - 1),
        notes=_strings(meta, "notes", list),
        source=_strings(meta, "source", dict),
        n_fitted=_integer(meta, "n_fitted", 2**53, low=n_groups),
        chain_weights=weights,
        units=_units(reader, meta.get("units", []), priors, n_groups, n_draws),
    )
    for name, effect in priors.effects.items():
        if name not in posterior.contexts or not effect.fits(posterior.contexts[name]):
            raise ModelFileError(f"the effect of {name!r} does not fit the contexts")
    # The consensus is expensive to compute and cheap to check.
    labels = reader.array("labels", np.int32, (n_groups,), 0, n_groups - 1)
    if not np.array_equal(numbered_by_size(labels), labels):
        raise ModelFileError("the labels are not numbered by decreasing size")
    posterior.__dict__["labels"] = labels
    posterior.codocument = _codocument(reader, posterior)
    posterior.cluster_content = _cluster_content(reader, posterior)
    posterior.given_names = _given_names(meta.get("given_names", {}), posterior)
    for draw in posterior.parameters:
        check_types(posterior.units, draw)
    for units, entry in zip(posterior.units, meta.get("units", []), strict=True):
        if entry["given_names"]:
            level = posterior.level(units.name)
            level.given_names = units.given_names = _given_names(entry["given_names"], level)
    return posterior


def _integer(meta: Mapping[str, Any], name: str, high: int, low: int = 0) -> int:
    value = meta[name]
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise ModelFileError(
            f"{name!r} must be an integer between {low} and {high}, got {str(value)[:40]}"
        )
    return value


def _strings(meta: Mapping[str, Any], name: str, container: type) -> Any:
    """Return a list or dict of strings."""
    values = meta[name]
    strings = values.values() if isinstance(values, dict) else values
    if type(values) is not container or not all(isinstance(value, str) for value in strings):
        raise ModelFileError(f"{name!r} must be a {container.__name__} of strings")
    return values


def _priors(meta: Mapping[str, Any], vocabulary: Objects | None) -> Priors:
    """Return the priors; the family of the content must agree with the vocabulary."""
    if not isinstance(meta.get("priors"), dict):
        raise ModelFileError("'priors' is missing")
    priors = Priors.from_dict(meta["priors"])
    content = priors.content
    if content.content_kind != ("vectors" if vocabulary is None else "words"):
        raise ModelFileError(f"the family {content.name!r} does not agree with the vocabulary")
    if vocabulary is not None and content.n_dimensions != len(vocabulary):
        raise ModelFileError(
            f"the content family must have the size of the vocabulary ({len(vocabulary)}), "
            f"got {content.n_dimensions}"
        )
    check_fields(content, "content")
    return priors


def _units(
    reader: Reader, listed: Any, priors: Priors, n_groups: int, n_draws: int
) -> list[UnitDraws]:
    """Return the units of all levels above groups; their priors must agree."""
    found: list[UnitDraws] = []
    n_children = n_groups
    for i, entry in enumerate(listed):
        fields = unpack_units(reader, i, entry["name"], n_children, n_draws, priors)
        n_children = len(fields["unit_names"])
        chosen, prefix = priors.levels[entry["name"]].contexts, f"units.{i}.context"
        contexts = unpack_columns(reader, prefix, entry["contexts"], chosen, n_children)
        found.append(UnitDraws(contexts=contexts, **fields))
    if [units.name for units in found] != list(priors.levels):
        raise ModelFileError("the priors do not agree with the levels above groups")
    return found


def _frequency(reader: Reader, name: str, vocabulary: Objects | None, high: int) -> Int64s | None:
    if vocabulary is None or name not in reader:
        return None
    return reader.array(name, np.int64, (len(vocabulary),), 0, high)


def _codocument(reader: Reader, posterior: Posterior) -> CoDocuments | None:
    if "codocument.words" not in reader or posterior.vocabulary is None:
        return None
    n_words = len(posterior.vocabulary)
    words = reader.array("codocument.words", np.int32, (posterior.n_topics, None), 0, n_words - 1)
    n_top = words.shape[1]
    shape = (len(words), n_top, n_top)
    counts = reader.array("codocument.counts", np.int32, shape, 0, posterior.n_groups)
    alone = np.diagonal(counts, axis1=1, axis2=2)
    if n_top > _MAX_CODOCUMENT_WORDS or (counts > alone[:, :, None]).any():
        raise ModelFileError("the array 'codocument.counts' is invalid")
    return CoDocuments(words, counts)


def _cluster_content(reader: Reader, posterior: Posterior) -> ClusterContent | None:
    if "cluster_content.words" not in reader:
        return None
    n_words = 0 if posterior.vocabulary is None else len(posterior.vocabulary)
    sizes = np.bincount(posterior.labels)[:, None]
    n_clusters, n_topics = posterior.n_clusters, posterior.n_topics
    tokens = reader.array("cluster_content.topic_tokens", np.float64, (n_clusters, n_topics))
    words = reader.array("cluster_content.words", np.int32, (n_clusters, None), -1, n_words - 1)
    n_groups = reader.array("cluster_content.n_groups", np.int32, words.shape, 0)
    alternatives = no_alternatives(n_clusters)
    if "cluster_content.alternatives" in reader:  # older files have none
        name, shape = "cluster_content.alternatives", alternatives.shape
        alternatives = reader.array(name, np.int32, shape, -1, n_words - 1)
    if not (np.isfinite(tokens).all() and (tokens >= 0).all() and (n_groups <= sizes).all()):
        raise ModelFileError("the content of the clusters is invalid")
    return ClusterContent(tokens, words, n_groups, alternatives)


def _given_names(listed: Any, posterior: Posterior) -> dict[str, dict[int, str]]:
    """Return names given to clusters and topics; their keys are strings in JSON."""
    sizes = {"clusters": posterior.n_clusters, "topics": posterior.n_topics}
    if not isinstance(listed, dict) or not listed.keys() <= sizes.keys():
        raise ModelFileError("'given_names' must contain names of clusters and topics")
    names: dict[str, dict[int, str]] = {}
    for kind in listed:
        found = _strings(listed, kind, dict)
        if not all(key.isdecimal() and int(key) < sizes[kind] for key in found):
            raise ModelFileError(f"the names of {kind} must have numbers below {sizes[kind]}")
        names[kind] = {int(key): name for key, name in found.items()}
    return names


def _unpack_trace(reader: Reader, columns: Any) -> pd.DataFrame:
    values = reader.array("trace", np.float64, (len(columns), None))
    table = {}
    for row, (name, kind) in zip(values, columns, strict=True):
        if not isinstance(name, str) or kind not in _TRACE_TYPES.values() or name in table:
            raise ModelFileError("the columns of the trace must have unique names and known types")
        if kind != "float64" and not ((np.abs(row) < 2**53) & (row == np.floor(row))).all():
            raise ModelFileError(f"the column {name[:40]!r} of the trace must be integers")
        table[name] = row.astype(kind)
    if table and not table.keys() >= _TRACE_REQUIRED:
        raise ModelFileError("the trace lacks required columns")
    return pd.DataFrame(table)


def _unpack_parameters(data: Any, path: PathLike, known: set[str]) -> dict[str, Any]:
    if not isinstance(data, Mapping) or not data.keys() <= known - set(NOT_SAVED):
        raise ModelFileError(f"{path} has parameters that this estimator does not have")
    try:
        return {name: _from_json(value) for name, value in data.items()}
    except DATA_ERRORS as error:
        raise ModelFileError(f"{path} has an invalid parameter: {error}") from error


def _to_json(value: Any) -> Any:
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, Gamma):
        return {"gamma": [value.shape, value.rate]}
    if isinstance(value, ConjugateFamily):
        return {"family": value.to_dict()}
    if isinstance(value, Mapping):
        return {"mapping": {str(key): _to_json(entry) for key, entry in value.items()}}
    if isinstance(value, list | tuple) and all(isinstance(entry, str) for entry in value):
        return {"strings": list(value)}
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, numbers.Real):
        return "inf" if math.isinf(float(value)) else float(value)
    return None  # e.g. a RandomState; the posterior contains the seed drawn from it


def _from_json(value: Any) -> Any:
    if value == "inf":
        return math.inf
    if not isinstance(value, Mapping):
        if not (value is None or isinstance(value, bool | str | int | float)):
            raise ValueError(f"a parameter cannot be a {type(value).__name__}")
        return value
    if len(value) != 1:
        raise ValueError("a prior, family, mapping or list must have exactly one key")
    if "strings" in value:
        return tuple(map(str, value["strings"]))
    if "gamma" in value:
        return Gamma(*value["gamma"])
    if "family" in value:
        return families.from_dict(value["family"])
    if "mapping" in value:
        return {str(key): _from_json(entry) for key, entry in value["mapping"].items()}
    raise ValueError(f"unknown kind of parameter: {next(iter(value))!r}")
