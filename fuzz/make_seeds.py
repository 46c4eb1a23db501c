# SPDX-License-Identifier: Apache-2.0
"""Writes a few small valid files for each fuzz target, with Python alone. usage: make_seeds.py DIR"""

import gzip
import io
import json
import pathlib
import struct
import sys
import zipfile

root = pathlib.Path(sys.argv[1])


def put(target, name, content):
    (root / target).mkdir(parents=True, exist_ok=True)
    (root / target / name).write_bytes(content)


def npy(descr, shape, data, version=1, order=False):
    header = f"{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY" + bytes([version, 0]) + struct.pack("<H" if version == 1 else "<I", len(header)) + header + data


ARRAYS = {
    "u1": npy("|u1", (3, 2), bytes(6)),
    "f4": npy("<f4", (2, 2), bytes(16), 2),
    "i8": npy(">i8", (2,), bytes(16), 3),
    "f2": npy("<f2", (4,), bytes(8)),
    "fortran": npy("<f4", (2, 2), bytes(16), order=True),
    "text": npy("<U2", (1,), bytes(8)),
}
for name, content in ARRAYS.items():
    put("npy", name, content)


def npz(compression, limit):
    zipfile.ZIP64_LIMIT = limit
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", compression) as archive:
        for array in ("u1", "i8"):
            archive.writestr(array + ".npy", ARRAYS[array] + b"")
    return out.getvalue()


for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2):
    for limit in ((1 << 31) - 1, 50):
        put("npz", f"{method}-{limit}", npz(method, limit))

for i, text in enumerate(
    ("a,b\n1,0\n2,1\n", '"a, b","c ""d"""\r\n1,x\r\n?,y\r\n', "1,2,3\r4,5,6\r", "\ufeffa,b\nNA,0\n+1e3,1\n")
):
    put("csv", str(i), text.encode())

idx = struct.pack(">IIII", 0x803, 2, 2, 2) + bytes(range(8))
put("idx", "images", idx)
put("idx", "labels", struct.pack(">II", 0x801, 3) + bytes(3))
put("idx", "images.gz", gzip.compress(idx))

tensors = json.dumps(
    {
        "a": {"dtype": "F32", "shape": [2, 2], "data_offsets": [0, 16]},
        "__metadata__": {"k": "v"},
        "b": {"dtype": "I64", "shape": [], "data_offsets": [16, 24]},
    }
).encode()
put("safetensors", "two", struct.pack("<Q", len(tensors)) + tensors + bytes(24))
