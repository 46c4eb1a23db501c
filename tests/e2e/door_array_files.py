# SPDX-License-Identifier: Apache-2.0
"""Arrays whose truth is known, by seed: npy, npz and HDF5 files. For door_arrays.py."""

import h5py
import numpy

INTEGERS = ["|b1", "|i1", "|u1", "<i2", "<u2", "<i4", "<u4", "<i8", "<u8", ">i2", ">u2", ">i4", ">u4", ">i8", ">u8"]
FLOATS = ["<f2", "<f4", "<f8", ">f2", ">f4", ">f8"]
SHAPES = [
    (),
    (1,),
    (2,),
    (5,),
    (6,),
    (12,),
    (2, 3),
    (4, 4, 3),
    (3, 4, 4),
    (1, 6, 5),
    (6, 5, 1),
    (4, 5, 4),
    (3, 4, 3),
    (2, 3, 5),
]
TEXTS = ["Malmö", "red", "a b", "日本", "10", "9", "né", "x,y", "50%"]
NPY_NAMES = [("x.npy", "y.npy"), ("features.npy", "labels.npy"), ("Größe.npy", "klass.npy"), ("X data.npy", "Y 50%.npy")]
ARRAY_NAMES = [("x", "y"), ("features", "labels"), ("Images", "Class"), ("data", "targets"), ("größe", "art")]


def name_of(dtype):
    kind = numpy.dtype(dtype)
    return {"b": "bool", "U": "text", "S": "text", "O": "text"}.get(kind.kind, kind.name)


def integers(rng, dtype, size):
    kind = numpy.dtype(dtype)
    if kind.kind == "b":
        return [rng.randint(0, 1) for _ in range(size)]
    limits = numpy.iinfo(kind)
    low, high = int(limits.min), int(limits.max)
    style = rng.choice(["small"] * 8 + ["near"] * 5 + ["far"] * 5 + ["full"])
    if style == "small":
        return [rng.randint(max(low, -50), 100) for _ in range(size)]
    if style == "full":  # may be more than float32 holds
        return [rng.choice([low, high, rng.randint(low, high)]) for _ in range(size)]
    spread = min(high - low, rng.choice([10, 1000, 2**24, 2**24 + 5]))
    start = high - spread if style == "near" else rng.randint(low, high - spread)
    return [start + rng.randint(0, spread) for _ in range(size)]


def floats(rng, dtype, size):
    styles = {
        "gauss": lambda: rng.gauss(0, 1),
        "seconds": lambda: 1.7e9 + rng.uniform(0, 1e5),
        "close": lambda: 1e9 + rng.uniform(0, 1),
        "whole": lambda: float(rng.randint(-(10**15), 10**15)),
        "counter": lambda: float(2**40 + rng.randint(0, 1000)),
        "tiny": lambda: rng.uniform(-1, 1) * 1e-44,
        "huge": lambda: rng.uniform(-1, 1) * 1e38,
        "ids": lambda: float(2**60 + 4096 * rng.randint(0, 50)),
        "odd": lambda: rng.choice([0.0, -0.0, 1e-310, 5e-324, 0.1, 1 / 3]),
    }
    style = rng.choice(["gauss"] if numpy.dtype(dtype).itemsize == 2 else list(styles))
    return [styles[style]() for _ in range(size)]


def features(rng, rows, shape, dtype):
    """Every feature of a row has its own style where rows are of rank 1."""
    kind = numpy.dtype(dtype)
    draw = floats if kind.kind == "f" else integers
    size = int(numpy.prod(shape))
    if len(shape) <= 1:
        columns = [draw(rng, dtype, rows) for _ in range(size)]
        return numpy.array(list(zip(*columns)), dtype=kind).reshape(rows, *shape)
    return numpy.array(draw(rng, dtype, rows * size), dtype=kind).reshape(rows, *shape)


class Labels:
    """values: an array; refused: why an import must not take it."""

    def __init__(self, rng, rows, texts):
        self.rng, self.rows, self.refused, self.task, self.options = rng, rows, None, "classification", []
        kinds = ["zero up", "zero up", "gaps", "big", "whole", "fraction", "edge", "one hot", "one class", "multilabel"]
        kinds += ["zero up", "gaps", "big", "whole", "multilabel", "targets", "targets", "integer targets", "two"] * 2 + [
            "nan"
        ]
        kinds += ["texts"] * 8 + ["enumeration"] * 2 if texts else []
        self.kind = rng.choice(kinds)
        self.values = getattr(self, self.kind.replace(" ", "_"))()
        if self.values.ndim == 1 and rng.random() < 0.25 and self.kind != "texts":
            self.values = self.values.reshape(-1, *rng.choice([(1,), (1, 1)]))

    def some(self, values, dtype):
        """All of them, in any order."""
        drawn = [*values, *(self.rng.choice(values) for _ in range(self.rows - len(values)))]
        self.rng.shuffle(drawn)
        return numpy.array(drawn, dtype=dtype)

    def zero_up(self):
        dtype = self.rng.choice(INTEGERS)
        return self.some([0, 1] if dtype == "|b1" else [0, 1, 2], dtype)

    def gaps(self):
        return self.some(
            *self.rng.choice([([-3, 0, 5, 100], "|i1"), ([1, 2, 3], ">u2"), ([-(2**31), 7], "<i4"), ([0, 2], "|u1")])
        )

    def big(self):
        big = [([2**53, 2**53 + 1, -(2**63)], "<i8"), ([2**64 - 1, 0, 2**63], ">u8"), ([2**64 - 1, 2**64 - 2], "<u8")]
        return self.some(*self.rng.choice(big))

    def whole(self):
        dtype = self.rng.choice(FLOATS)
        return self.some(self.rng.choice([[0, 1, 2], [-5, 3, 1000], [0, 1, 3]]), dtype)

    def edge(self):
        """The last integers that a floating type holds one by one, or the first beyond."""
        bits = {"<f2": 11, "<f4": 24, ">f8": 53}
        dtype = self.rng.choice(list(bits))
        beyond = self.rng.random() < 0.5
        self.refused = "a float may hold two labels as one" if beyond else None
        return self.some([0, 2 ** bits[dtype] - (0 if beyond else 1)], dtype)

    def fraction(self):
        self.refused = "a fraction is not a class"
        return self.some([0.0, 1.0, 1.5], self.rng.choice(FLOATS))

    def one_hot(self):
        self.refused = "a class is one number"
        return numpy.eye(3, dtype=self.rng.choice(INTEGERS))[[n % 3 for n in range(self.rows)]]

    def one_class(self):
        self.refused = "there is one class"
        return self.some([7], "<i4")

    def enumeration(self):
        dtype = self.rng.choice(["u1", ">u2", "u4", "i4", "i8"])
        numbers = [0, int(numpy.iinfo(dtype).max), int(numpy.iinfo(dtype).max) // 2 + 1]
        names = dict(zip(["cat", "dog", "né"], numbers))
        return self.some(numbers, h5py.enum_dtype(names, dtype))

    def texts(self):
        return self.some(self.rng.sample(TEXTS, 3), object)

    def multilabel(self):
        self.task, self.options = "multilabel", ["--multilabel"]
        dtype = self.rng.choice(INTEGERS + FLOATS)
        values = numpy.array([[self.rng.randint(0, 1) for _ in range(3)] for _ in range(self.rows)], dtype=dtype)
        if self.rng.random() < 0.2 and dtype != "|b1":
            self.refused = "2 is neither 0 nor 1"
            values[3, 1] = 2
        return values

    def regression(self, dtype, draw):
        self.task, self.options = "regression", ["--regression"]
        if self.rng.random() < 0.3:
            self.options.append("--no-standardise")
        shape = self.rng.choice([(), (1,), (3,), (2, 2)])
        cells = [draw() for _ in range(self.rows * int(numpy.prod(shape)))]
        return numpy.array(cells, dtype=dtype).reshape(self.rows, *shape)

    def targets(self):
        dtype = self.rng.choice(FLOATS)
        most = 1 if numpy.dtype(dtype).itemsize == 2 else 7
        scale, offset = 10 ** self.rng.uniform(-3, most), self.rng.choice([0, 100, 1e9 if most > 1 else 5])
        return self.regression(dtype, lambda: self.rng.gauss(0, 1) * scale + offset)

    def integer_targets(self):
        dtype = self.rng.choice(INTEGERS[1:])
        limits, far = numpy.iinfo(dtype), self.rng.choice([100, 2**30, 2**53, 2**63])
        low, high = max(int(limits.min), -far), min(int(limits.max), far)
        values = self.regression(dtype, lambda: self.rng.randint(low, high))
        if max(abs(int(value)) for value in values.ravel()) >= 2**53:
            self.refused = "float64 does not hold every integer from 2^53"
        return values

    def nan(self):
        values = self.regression("<f8", lambda: self.rng.gauss(0, 1))
        values.ravel()[self.rng.randrange(values.size)] = self.rng.choice([numpy.nan, numpy.inf])
        self.refused = "a target is not a number"
        return values

    def two(self):
        return self.some([False, True], bool)


def write_npy(rng, path, array):
    version = rng.choice([None, (1, 0), (2, 0), (3, 0)])
    with open(path, "wb") as file:
        numpy.lib.format.write_array(file, array, version=version, allow_pickle=False)


def h5_options(rng, array):
    if rng.random() < 0.5 or array.size == 0:
        return {}
    chunks = tuple(max(1, rng.randint(1, n)) for n in array.shape)
    return {"chunks": chunks, **rng.choice([{}, {"compression": "gzip"}, {"shuffle": True, "fletcher32": True}])}


def write_h5(rng, file, name, array):
    if array.dtype != object:  # with its metadata: an enumeration
        file.create_dataset(name, data=array, **h5_options(rng, array))
    elif rng.random() < 0.5:
        file.create_dataset(name, data=list(array), dtype=h5py.string_dtype("utf-8"))
    else:
        longest = max((len(text.encode()) for text in array), default=1)
        dtype = h5py.string_dtype("utf-8", longest + rng.randint(0, 3))
        file.create_dataset(name, data=numpy.array([text.encode() for text in array], dtype=dtype))
