"""Random changes of arrays, JSON, bytes and tables, each a function of a generator."""

import csv
import io
import json

import numpy as np

INTEGERS = [-(2**31), -1, 0, 1, 2, 1000, 65535, 2**31 - 1]
FLOATS = [-1.0, 0.0, 1e-320, 1e300, -1e300, np.nan, np.inf, -np.inf]
JSON = [None, -1, 0, 2, 1.5, 10**30, 1e300, "x", "", "inf", [], {}, True, [1, 2], {"a": 1}]
JSON += [{"mapping": 3}, {"mapping": []}, {"gamma": "x"}, {"gamma": [1e300, 1]}, {"family": []}]
JSON += [{"family": {"family": "categorical", "concentration": 1.0, "size": 2**40}}]
CELLS = ["", " ", "0", "-1", "1e400", "nan", "inf", "NULL", "true", "2020-01-01", "99999-99-99"]
CELLS += ["a;b;;c", '"', "'", "=1+1", "<script>", "\x00", "\ufeff", "\ud83d", "a" * 5000, "9" * 400]
CELLS += ["ant bee", "bee cat cat", "{}", "[1, 2]", "1,5", "\r", "\u202e", "e\u0301"]


def pick(rng, values):
    return values[int(rng.integers(len(values)))]


def changed_array(rng, array):
    """Return an array with other values, of another type or of another shape."""
    kind = rng.integers(8)
    if kind == 0:
        with np.errstate(all="ignore"):
            return array.astype(pick(rng, ["int8", "int32", "int64", "uint16", "float64", "bool"]))
    if kind == 1:
        return pick(rng, [array[:-1], array[None], array[:0], array.T, np.concatenate([array] * 2)])
    changed = array.copy()
    flat = changed.reshape(-1)
    if not flat.size:
        return np.zeros((int(rng.integers(4)), int(rng.integers(4))), array.dtype)
    positions = rng.integers(flat.size, size=1 if kind < 6 else int(rng.integers(1, 20)))
    values = FLOATS if array.dtype.kind == "f" else INTEGERS
    with np.errstate(all="ignore"):
        flat[positions] = np.array([pick(rng, values) for _ in positions]).astype(array.dtype)
    return changed


def changed_json(rng, value, depth=0):
    """Return JSON data of which one part is missing or different."""
    if isinstance(value, dict) and value and rng.random() < 0.9:
        key = pick(rng, sorted(value))
        if rng.random() < 0.15:
            return {name: entry for name, entry in value.items() if name != key}
        return value | {key: changed_json(rng, value[key])}
    if isinstance(value, list) and value and rng.random() < 0.9:
        i = int(rng.integers(len(value)))
        return [*value[:i], changed_json(rng, value[i]), *value[i + 1 :]]
    return pick(rng, JSON)


def changed_file(rng, tensors, meta):
    """Return the contents of a file with one to three changes."""
    tensors = dict(tensors)
    for _ in range(rng.integers(1, 4)):
        name = pick(rng, sorted(tensors))
        if rng.random() < 0.4:
            meta = changed_json(rng, meta)
            meta = meta if isinstance(meta, dict) else {}
        elif rng.random() < 0.1:
            del tensors[name]
        else:
            tensors[name] = changed_array(rng, tensors[name])
    return tensors, meta


def changed_bytes(rng, data):
    """Return bytes with some flipped, cut off or inserted."""
    data = bytearray(data)
    for _ in range(rng.integers(1, 5)):
        position = int(rng.integers(len(data) + 1))
        kind = rng.integers(3)
        if kind == 0 and data:
            data[position % len(data)] ^= int(rng.integers(1, 256))
        elif kind == 1:
            del data[position : position + int(rng.integers(1, 200))]
        else:
            data[position:position] = bytes(
                rng.integers(0, 256, rng.integers(1, 20), dtype=np.uint8)
            )
    return bytes(data)


def table(rng):
    """Return the columns of a table of strings; most rows are ordinary."""
    n = int(rng.integers(0, 12))

    def column(usual):
        return [pick(rng, CELLS) if rng.random() < 0.03 else pick(rng, usual) for _ in range(n)]

    names = ["text", "year", "tags"]
    if rng.random() < 0.1:
        names[int(rng.integers(3))] = pick(rng, CELLS)
    columns = (["ant bee", "bee cat", "cat ant ant"], ["1990", "2001"], ["a", "a;b", "c"])
    return dict(zip(names, map(column, columns), strict=True))


def csv_bytes(rng, columns):
    stream = io.StringIO()
    writer = csv.writer(stream, delimiter=pick(rng, [","] * 9 + [";", "\t"]))
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return stream.getvalue().encode(pick(rng, ["utf-8"] * 9 + ["utf-16"]), "surrogatepass")


def jsonl_bytes(rng, columns):
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    return "\n".join(
        json.dumps(changed_json(rng, row) if rng.random() < 0.1 else row) for row in rows
    ).encode("utf-8", "surrogatepass")


def vectors(rng, cells, shape):
    """Return nested lists of numbers, now and then of another length, empty or missing."""
    if not shape:
        return pick(rng, cells)
    if rng.random() < 0.03:
        return pick(rng, [None, []])
    n = shape[0] + int(rng.random() < 0.02)
    return [vectors(rng, cells, shape[1:]) for _ in range(n)]


def parquet_bytes(rng, columns):
    import pyarrow as pa
    from pyarrow import parquet

    def array(values):
        kind = rng.integers(6)
        usable = [value.encode("utf-8", "replace").decode() for value in values]
        if kind == 0:
            return pa.array([pick(rng, FLOATS) for _ in values])
        if kind == 1:
            return pa.array([pick(rng, [None, [], ["a", "b"], [None]]) for _ in values])
        if kind == 2:
            shape = pick(rng, [[], [2], [2], [3, 2]])
            cells = [0.5, -1.0, 2.0, 7.5] * 9 + [pick(rng, FLOATS)] * int(rng.random() < 0.2)
            return pa.array([vectors(rng, cells, shape) for _ in values])
        if kind == 3:
            return pa.array(usable).dictionary_encode()
        return pa.array([None if rng.random() < 0.1 else value for value in usable])

    names = [name.encode("utf-8", "replace").decode() for name in columns]
    stream = io.BytesIO()
    parquet.write_table(pa.table([array(v) for v in columns.values()], names=names), stream)
    return stream.getvalue()
