# SPDX-License-Identifier: Apache-2.0
"""Writes arrays with NumPy and h5py for foreign_files_test.cpp. usage: write_foreign_files.py DIR

Features of row r are (5 r + 3 i) % 100, those of bool % 2; labels are r % 3.
"""

import pathlib
import sys
import zipfile

import h5py
import numpy as np

directory = pathlib.Path(sys.argv[1])
directory.mkdir(parents=True, exist_ok=True)
for old in directory.iterdir():
    old.unlink()
ROWS, COLUMNS = 60, 6
x = (5 * np.arange(ROWS)[:, None] + 3 * np.arange(COLUMNS)[None, :]) % 100
y = np.arange(ROWS) % 3

for dtype in (
    "u1",
    "i1",
    "<u2",
    ">u2",
    "<i2",
    ">i2",
    "<u4",
    ">u4",
    "<i4",
    ">i4",
    "<u8",
    ">u8",
    "<i8",
    ">i8",
    "<f2",
    ">f2",
    "<f4",
    ">f4",
    "<f8",
    ">f8",
):
    np.save(directory / f"npy {dtype.replace('<', 'le-').replace('>', 'be-')} features.npy", x.astype(dtype))
np.save(directory / "npy labels.npy", y)
for version in ((1, 0), (2, 0), (3, 0)):
    with open(directory / f"npy version {version[0]} features.npy", "wb") as file:
        np.lib.format.write_array(file, x.astype("f4"), version=version)
np.save(directory / "fortran.npy", np.asfortranarray(x))
np.save(directory / "objects.npy", np.array([{}, None], dtype=object), allow_pickle=True)

np.savez(directory / "stored.npz", x=x.astype("u1"), y=y)
np.savez_compressed(directory / "deflated.npz", x=x.astype("f8"), y=y)
zipfile.ZIP64_LIMIT = 10
np.savez_compressed(directory / "zip64.npz", x=x, y=y.astype("f4"))


def h5(name, features, labels=y, paths=("x", "y"), **storage):
    features_name, labels_name = paths
    with h5py.File(directory / f"{name}.h5", "w") as file:
        file.create_dataset(features_name, data=features, **storage)
        file.create_dataset(labels_name, data=labels)


h5("contiguous", x.astype("u1"))
h5("gzip", x.astype("f4"), chunks=(7, 4), compression="gzip", shuffle=True, fletcher32=True)
h5("big_endian", x.astype(">i4"), paths=("train/features", "train/labels"))
h5("float16", x.astype("f2"))
h5("float64", x.astype("f8"), chunks=(60, 2), scaleoffset=3)
h5("int64", x.astype("i8"), maxshape=(None, COLUMNS))
many = np.arange(10_000)  # more than is read at once
h5(
    "many",
    ((5 * many[:, None] + 3 * np.arange(COLUMNS)[None, :]) % 100).astype("f4"),
    labels=many % 3,
    chunks=(300, 4),
    compression="gzip",
)
h5("lzf", x.astype("f4"), chunks=(7, 4), compression="lzf")
h5("bool", (x % 2).astype(bool))
names = np.array(["ant", "bee", "cat"])
h5("texts", x.astype("f4"), labels=[str(names[i]) for i in y])
h5("fixed_texts", x.astype("f4"), labels=names[y].astype("S5"))
h5("compound", np.zeros(ROWS, dtype=[("a", "f4"), ("b", "i4")]))
h5("lengths", x.astype("f4"), labels=y[:-1])
h5("unnamed", x, paths=("a", "b"))
if (
    h5py.h5z.filter_avail(h5py.h5z.FILTER_SZIP)
    and h5py.h5z.get_filter_info(h5py.h5z.FILTER_SZIP) & h5py.h5z.FILTER_CONFIG_ENCODE_ENABLED
):
    h5("szip", x.astype("i4"), chunks=(20, 6), compression="szip")
for part in range(2):
    h5(f"part{part}", x[part * 30 : (part + 1) * 30].astype("u1"), labels=y[part * 30 : (part + 1) * 30])
layout = h5py.VirtualLayout(shape=(ROWS, COLUMNS), dtype="u1")
for part in range(2):
    layout[part * 30 : (part + 1) * 30] = h5py.VirtualSource(f"part{part}.h5", "x", shape=(30, COLUMNS))
gone = h5py.VirtualLayout(shape=(ROWS, COLUMNS), dtype="u1")
gone[:] = h5py.VirtualSource("gone.h5", "x", shape=(ROWS, COLUMNS))
for name, virtual in (("virtual", layout), ("virtual_gone", gone)):
    with h5py.File(directory / f"{name}.h5", "w") as file:
        file.create_virtual_dataset("x", virtual)
        file.create_dataset("y", data=y)
