# SPDX-License-Identifier: Apache-2.0
"""Files of MNIST's and CIFAR's formats and of tokens, whose truth is known, by seed. For door_arrays.py: each function
fills an Arrays, and returns the arguments of the import."""

import gzip
import struct

import numpy


def noise(rng, *shape):
    return numpy.frombuffer(rng.randbytes(int(numpy.prod(shape))), dtype=numpy.uint8).reshape(shape)


def classes(rng, rows, values):
    drawn = [*values, *(rng.choice(values) for _ in range(rows - len(values)))]
    rng.shuffle(drawn)
    return numpy.array(drawn, dtype=numpy.uint8)


def idx(made, folder):
    rng = made.rng
    shape = rng.choice([(7, 5), (4, 4), (3, 4, 4), (6,), (1, 2, 3, 4)])
    values = rng.choice([[0, 1, 2], [0, 1, 2], [0, 2], [7, 250], [1, 2, 3, 255]])
    usual = rng.random() < 0.5
    sources, told = [], []
    for part, split in (("train", None), ("t10k", "test"))[: rng.randint(1, 2)]:
        rows = rng.randint(12, 60)
        images, labels = noise(rng, rows, *shape), classes(rng, rows, values)
        names = []
        for array, kind, rank in ((images, "images", 3), (labels, "labels", 1)):
            name = f"{part}-{kind}" + (f"{rng.choice('-.')}idx{rank}-ubyte" if usual else f" {kind} 50%")
            names.append(name + rng.choice(["", ".gz"]))
            sources.append(idx_file(made, folder / names[-1], array))
        stored = images[:, None] if len(shape) == 2 else images
        made.add(stored, labels, split)
        told.append([rows, *names])
    named = values != list(range(len(values)))
    made.told.append(f"{len(values)} classes: {'named by the labels' if named else 'the integers from 0 up'}")
    if len(sources) == 4:
        made.told.append("as the test split of the source")
    if usual and rng.random() < 0.7:
        sources = ["files"]
    else:  # a packed file that is named is unpacked first
        told = [[rows, *(name.removesuffix(".gz") for name in names)] for rows, *names in told]
    made.told += [f"{rows} rows of {images} with the labels of {labels}" for rows, images, labels in told]
    return ["idx", *sources]


def idx_file(made, path, array):
    rng = made.rng
    data = struct.pack(f">BBBB{array.ndim}I", 0, 0, 8, array.ndim, *array.shape) + array.tobytes()
    spoilt = rng.random()
    if spoilt < 0.02:
        data, made.refused = data[:-1], "a byte is missing"
    elif spoilt < 0.04:
        data, made.refused = data + b"x", "a byte too many"
    elif spoilt < 0.06:
        data, made.refused = data[:2] + b"\x0d" + data[3:], "another type"
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path.relative_to(folder_of(path))


def folder_of(path):
    return path.parent.parent


def cifar(made, folder):
    rng = made.rng
    ten = rng.random() < 0.5
    count = 10 if ten else 100
    usual = [("data_batch_1.bin", None), ("data_batch_3.bin", None), ("test_batch.bin", "test")]
    files = usual if ten else [("train.bin", None), ("test.bin", "test")]
    if rng.random() < 0.3:
        files = [("mine 50%.bin", None)]
    names_file = "batches.meta.txt" if ten else "fine_label_names.txt"
    made.class_names = []
    if rng.random() < 0.5:
        made.class_names = [f"{rng.choice(['né', 'a b', 'x,y'])} {n}" for n in range(count)]
        rng.shuffle(made.class_names)
        (folder / names_file).write_text(
            rng.choice(["\n", "\r\n"]).join(made.class_names) + rng.choice(["", "\n", "\n\n"]), newline=""
        )
    for name, split in files:
        rows = rng.randint(11, 24)
        pixels, labels = noise(rng, rows, 3, 32, 32), classes(rng, rows, [rng.randrange(count) for _ in range(5)])
        if rng.random() < 0.03 and ten:
            labels, made.refused = labels + 5, "a label is out of range" if labels.max() > 4 else made.refused
        coarse = b"" if ten else b"\x07"
        (folder / name).write_bytes(
            b"".join(coarse + bytes([label]) + row.tobytes() for label, row in zip(labels.tolist(), pixels))
        )
        made.add(pixels, labels, split)
        made.told.append(f"{rows} rows of {name}" + (", as the test split of the source" if split else ""))
    made.outputs = count
    told = f"with the names of {names_file}" if made.class_names else f"without names, since {names_file}"
    made.told += [f"the format is CIFAR-{count}", f"{count} classes, {told}"]
    if not ten:
        made.told.append("the label is the fine one")
    return ["cifar", *(["files"] if len(files) > 1 else [f"files/{name}" for name, _ in files])]


def tokens(made, folder):
    """Rows and labels of each file; no row spans two."""
    rng = made.rng
    context, arrays = rng.randint(1, 9), rng.random() < 0.6
    made.task, sources, dropped, largest, dtypes = "language", [], 0, 1, []
    for number in range(rng.randint(1, 3)):
        count = rng.randint(4 * context + 1, 12 * context + 40)
        if arrays:
            dtypes.append(rng.choice(["|u1", "|i1", "<i2", ">u2", "<i4", ">i8", "<u8"]))
            most = rng.choice([3, 127] if dtypes[-1][1:] in ("u1", "i1") else [3, 127, 300, 30000])
            ids = numpy.array([rng.randint(0, most) for _ in range(count)], dtype=dtypes[-1])
            sources.append(f"{rng.choice(['ids', 'é 50%'])}{number}.npy")
            numpy.save(folder / sources[-1], ids)
        else:
            ids = (
                noise(rng, count)
                if rng.random() < 0.5
                else numpy.frombuffer("Łódź né\r\n".encode() * count, numpy.uint8)[:count]
            )
            sources.append(f"{rng.choice(['book', 'é 50%'])}{number}{rng.choice(['.txt', '', '.npz', '.NPY'])}")
            (folder / sources[-1]).write_bytes(ids.tobytes())
        largest = max(largest, int(ids.max()))
        rows = (count - 1) // context
        dropped += count - 1 - rows * context
        made.add(ids[: rows * context].reshape(rows, context), ids[context::context][:rows], None)
    return [
        "tokens",
        *(f"files/{name}" for name in sources),
        "--context",
        context,
        *vocabulary(made, arrays, largest, dropped),
    ]


def vocabulary(made, arrays, largest, dropped):
    rng, rows = made.rng, sum(len(part.labels) for part in made.parts)
    made.outputs = max(2, largest + 1) if arrays else 256
    why, options = "the largest token + 1" if arrays else "every byte", []
    if rng.random() < 0.3:
        made.outputs, why = largest + rng.choice([0, 1, 1, 7]), "as --vocabulary says"
        options = ["--vocabulary", made.outputs]
        made.refused = "an id is too large" if made.outputs <= largest else None
    context = made.parts[0].features.shape[1]
    made.told += [f"vocabulary {made.outputs}: {why}", f"{rows} rows of {context} tokens"]
    made.told.append("the ids of npy files" if arrays else "tokens are the bytes of files")
    if dropped:
        made.told.append(f"{dropped} token{' is' if dropped == 1 else 's are'} left out")
    else:
        made.untold.append(" left out")
    made.class_names, made.categories = [], [made.outputs]
    return options
