"""Columns of every type that Parquet files hold, drawn at random with missing values."""

import datetime
import decimal

import numpy as np
import pyarrow as pa

__all__ = ["COLUMNS", "WORDS", "random_table"]

WORDS = np.array([f"w{i}" for i in range(40)] + ["Ünïcode", "two words", ""])


def with_missing(rng, values, share=0.2):
    return [None if rng.random() < share else value for value in values]


def random_lists(rng, limit, draw):
    return [draw(rng.integers(0, limit)) for _ in range(rng.n)]


class RowGenerator:
    """A random generator and the number of rows to draw."""

    def __init__(self, seed, n):
        self.generator, self.n = np.random.default_rng(seed), n

    def __getattr__(self, name):
        return getattr(self.generator, name)


def days(rng):
    return [
        datetime.date(1960, 1, 1) + datetime.timedelta(int(d)) for d in rng.integers(0, 9999, rng.n)
    ]


def timestamps(rng):
    return [
        datetime.datetime(1960, 1, 1, tzinfo=datetime.UTC) + datetime.timedelta(seconds=int(s))
        for s in rng.integers(0, 2**31, rng.n)
    ]


COLUMNS = {
    "float": (pa.float64(), lambda rng: rng.normal(size=rng.n).tolist()),
    "float with NaN": (
        pa.float32(),
        lambda rng: np.where(rng.random(rng.n) < 0.5, np.nan, rng.normal(size=rng.n)).tolist(),
    ),
    "integer": (pa.int16(), lambda rng: rng.integers(-9, 9, rng.n).tolist()),
    "unsigned": (pa.uint64(), lambda rng: rng.integers(0, 9, rng.n).tolist()),
    "decimal": (
        pa.decimal128(9, 2),
        lambda rng: [decimal.Decimal(int(i)) / 4 for i in rng.integers(-99, 99, rng.n)],
    ),
    "boolean": (pa.bool_(), lambda rng: rng.integers(0, 2, rng.n).astype(bool).tolist()),
    "day": (pa.date32(), days),
    "64-bit day": (pa.date64(), days),
    "timestamp": (
        pa.timestamp("us"),
        lambda rng: [m.replace(tzinfo=None) for m in timestamps(rng)],
    ),
    "timestamp in ns": (
        pa.timestamp("ns"),
        lambda rng: [m.replace(tzinfo=None) for m in timestamps(rng)],
    ),
    "timestamp with a time zone": (pa.timestamp("ms", tz="Asia/Tokyo"), timestamps),
    "duration": (
        pa.duration("ms"),
        lambda rng: [datetime.timedelta(hours=int(h)) for h in rng.integers(0, 99, rng.n)],
    ),
    "string": (pa.string(), lambda rng: rng.choice(WORDS, rng.n).tolist()),
    "long string": (pa.large_string(), lambda rng: rng.choice(WORDS, rng.n).tolist()),
    "bytes": (pa.binary(), lambda rng: [w.encode() for w in rng.choice(WORDS, rng.n)]),
    "category": (
        pa.dictionary(pa.int32(), pa.string()),
        lambda rng: rng.choice(WORDS, rng.n).tolist(),
    ),
    "category of numbers": (
        pa.dictionary(pa.int32(), pa.int64()),
        lambda rng: rng.integers(0, 5, rng.n).tolist(),
    ),
    "bag": (
        pa.list_(pa.string()),
        lambda rng: random_lists(
            rng, 5, lambda n: [*rng.choice(WORDS, n).tolist(), *[None] * int(n == 2)]
        ),
    ),
    "long bag": (
        pa.large_list(pa.large_string()),
        lambda rng: random_lists(rng, 5, lambda n: rng.choice(WORDS, n).tolist()),
    ),
    "bag of numbers": (
        pa.list_(pa.int32()),
        lambda rng: random_lists(rng, 5, lambda n: rng.integers(0, 30, n).tolist()),
    ),
    "bag of booleans": (
        pa.list_(pa.bool_()),
        lambda rng: random_lists(rng, 3, lambda n: (rng.integers(0, 2, n) > 0).tolist()),
    ),
    "bag of days": (pa.list_(pa.date32()), lambda rng: [[day] for day in days(rng)]),
    "bag of categories": (
        pa.list_(pa.dictionary(pa.int8(), pa.string())),
        lambda rng: random_lists(rng, 4, lambda n: rng.choice(WORDS, n).tolist()),
    ),
    "pair of strings": (
        pa.list_(pa.string(), 2),
        lambda rng: rng.choice(WORDS, (rng.n, 2)).tolist(),
    ),
    "vector": (pa.list_(pa.float64(), 3), lambda rng: rng.normal(size=(rng.n, 3)).tolist()),
    "vector with missing values": (
        pa.list_(pa.float32(), 2),
        lambda rng: [with_missing(rng, row) for row in rng.normal(size=(rng.n, 2)).tolist()],
    ),
    "list of floats": (
        pa.list_(pa.float64()),
        lambda rng: [with_missing(rng, row, 0.1) for row in rng.normal(size=(rng.n, 3)).tolist()],
    ),
    "list of integral floats": (
        pa.list_(pa.float32()),
        lambda rng: random_lists(rng, 4, lambda n: rng.integers(0, 9, n).astype(float).tolist()),
    ),
    "record": (
        pa.struct([("red", pa.int32()), ("blue", pa.int32())]),
        lambda rng: [{"red": int(r), "blue": int(b)} for r, b in rng.integers(0, 3, (rng.n, 2))],
    ),
}


def random_table(seed, n, names, share=0.2):
    rng = RowGenerator(seed, n)
    tokens = with_missing(
        rng, random_lists(rng, 9, lambda length: rng.choice(WORDS, length).tolist()), 0.1
    )
    columns = {"tokens": pa.array(tokens, pa.list_(pa.string()))}
    for name in names:
        kind, draw = COLUMNS[name]
        columns[name] = pa.array(with_missing(rng, draw(rng), share), kind)
    return pa.table(columns)
