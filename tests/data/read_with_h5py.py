# SPDX-License-Identifier: Apache-2.0
"""Reads an imported classification dataset with h5py and compares it, as a multiset of rows, with its CSV source.

usage: read_with_h5py.py DATASET_DIR SOURCE.csv   (header, label in the last column, numbers only)
"""

import collections
import csv
import json
import pathlib
import sys

import h5py
import numpy as np

directory, source = pathlib.Path(sys.argv[1]), sys.argv[2]
manifest = json.loads((directory / "dataset.json").read_text())
rows = collections.Counter()
training = []
for split in ("train", "valid", "test"):
    for shard in manifest[split]:
        with h5py.File(directory / shard["file"], "r") as file:
            features, labels = file["features"], file["labels"]
            assert features.chunks is None and labels.chunks is None, "not contiguous"
            assert features.shape == (shard["rows"], *manifest["shape"]), features.shape
            assert features.dtype == manifest["type"] and labels.dtype == np.int64 and labels.shape == (shard["rows"],)
            flat = features[()].reshape(shard["rows"], -1)
            rows.update((*map(float, x), int(y)) for x, y in zip(flat, labels[()]))
            if split == "train":
                training.append(flat.astype(np.float64))

with open(source, newline="") as file:
    expected = collections.Counter((*map(float, row[:-1]), int(row[-1])) for row in list(csv.reader(file))[1:])
assert rows == expected, "the rows differ from the source"
channels = manifest["shape"][0] if len(manifest["shape"]) == 3 else len(manifest["mean"])
values = np.concatenate(training).reshape(-1, channels, training[0].shape[1] // channels)
assert np.allclose(values.mean(axis=(0, 2)), manifest["mean"], rtol=1e-12), "mean"
stddev = values.std(axis=(0, 2))
assert np.allclose(np.where(stddev == 0, 1, stddev), manifest["stddev"], rtol=1e-12), "stddev"
print(f"ok: {sum(rows.values())} rows read with h5py {h5py.__version__}")
