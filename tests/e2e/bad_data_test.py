# SPDX-License-Identifier: Apache-2.0
"""Source files that are damaged or no such thing: `data import` says which and where, and leaves nothing behind."""

import shutil
import struct

from harness import SOURCE, Case


def csv_text(*more):
    return "a,b,y\n" + "".join(f"{i},{i},{i % 2}\n" for i in range(20)) + "".join(line + "\n" for line in more)


def npy(dtype, shape, data, order="False"):
    header = f"{{'descr': '{dtype}', 'fortran_order': {order}, 'shape': {shape}, }}".ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + data


def idx_images(count, bytes_missing=0):
    return struct.pack(">4B3I", 0, 0, 8, 3, count, 2, 2) + bytes(4 * count - bytes_missing)


def idx_labels(count, bytes_missing=0):
    return struct.pack(">4BI", 0, 0, 8, 1, count) + bytes(i % 2 for i in range(count - bytes_missing))


class BadData(Case):
    def refused(self, message, importer, *sources):
        self.refuse(message, "data", "import", importer, *sources, "--out", "out", "--shards", "1")

    def files(self, **contents):
        for name, content in contents.items():
            path = self.cwd / name.replace("__", ".")
            path.write_bytes(content if isinstance(content, bytes) else content.encode())

    def photos(self):
        for name in ("cat", "dog"):
            shutil.copytree(SOURCE / "tests/data/cifar" / name, self.cwd / "photos" / name)

    def test_damaged_images(self):
        self.photos()
        cut = self.cwd / "photos/cat/0003.jpg"
        cut.write_bytes(cut.read_bytes()[:400])
        (self.cwd / "photos/dog/0005.jpg").write_text("no picture")
        self.refused(
            "photos/cat/0003.jpg: damaged JPEG: Premature end of JPEG file\n"
            "photos/dog/0005.jpg: neither JPEG nor PNG (by its first bytes)\n"
            "2 of 48 images cannot be decoded; replace them, or leave them out with --skip-bad",
            "images",
            "photos",
        )

    def test_empty_class_folder(self):
        self.photos()
        (self.cwd / "photos/zebra").mkdir()
        self.refused(
            "photos/zebra: the class folder has no .jpg, .jpeg or .png file; add some, or remove it", "images", "photos"
        )

    def test_no_class_folders(self):
        self.photos()
        (self.cwd / "photos/dog/0000.jpg").rename(self.cwd / "photos/0000.jpg")
        self.refused(
            "photos/0000.jpg: an image outside of the class folders (1 in all); move it into a class folder",
            "images",
            "photos",
        )

    def test_ragged_row(self):
        self.files(r__csv=csv_text("1,2", "1,2,3"))
        self.refused("r.csv:22: 2 cells (the first record of r.csv has 3); add or remove cells", "csv", "r.csv")

    def test_quote_that_is_never_closed(self):
        self.files(q__csv=csv_text('1,"2,1', *(f"{i},{i},{i % 2}" for i in range(20))))
        self.refused(
            'q.csv:22: a quote (") that opens in this record is never closed; close it, or double it inside a cell',
            "csv",
            "q.csv",
        )

    def test_no_number(self):
        self.files(n__csv=csv_text("1,inf,0"))
        self.refused("n.csv:22: 'inf' in column 'b' is not a finite float32 number; correct it", "csv", "n.csv")

    def test_missing_value(self):
        self.files(m__csv=csv_text("1,,0", "1,NA,0"))
        self.refused(
            "m.csv:22: column 'b' has no value here (2 missing in all); fill it in, or choose --missing mean or --missing "
            "drop",
            "csv",
            "m.csv",
        )

    def test_a_million_columns(self):
        columns = 10**6
        header = ",".join(map(str, range(columns))) + ",y\n"
        self.files(wide__csv=header + ("1," * columns + "0\n") * 2 + "1," * (columns - 1) + "0\n")
        self.refused(
            f"wide.csv:4: {columns} cells (the first record of wide.csv has {columns + 1}); add or remove cells",
            "csv",
            "wide.csv",
        )

    def test_arrays_of_other_types(self):
        labels = npy("<i8", "(6,)", struct.pack("<6q", 0, 1, 0, 1, 0, 1))
        for name, content, message in (
            (
                "objects",
                npy("|O", "(6, 2)", bytes(96)),
                "holds Python objects (dtype '|O'); save numbers, for example array.astype(numpy.float32)",
            ),
            (
                "complex",
                npy("<c8", "(6, 2)", bytes(96)),
                "holds complex numbers (dtype '<c8'); save numbers, for example array.astype(numpy.float32)",
            ),
            (
                "fortran",
                npy("<f4", "(6, 2)", bytes(48), "True"),
                "is in Fortran order (columns first); save numpy.ascontiguousarray(array) instead",
            ),
            (
                "short",
                npy("<f4", "(6, 2)", bytes(40)),
                "truncated (40 bytes of data, its header says 48); copy or save it again",
            ),
            (
                "nan",
                npy("<f4", "(6, 2)", struct.pack("<12f", *[1] * 7, float("nan"), *[1] * 4)),
                "row 3, element 1: nan is not a finite float32 number; correct it",
            ),
            ("text", b"a,b\n1,2\n", "not a npy file (it does not begin with \\x93NUMPY); save it again with numpy.save"),
        ):
            with self.subTest(name):
                self.files(x_features__npy=content, labels__npy=labels)
                self.refused(f"x_features.npy: {message}", "npy", "x_features.npy", "labels.npy")

    def test_arrays_of_other_lengths(self):
        self.files(
            features__npy=npy("<f4", "(6, 2)", bytes(48)), labels__npy=npy("<i8", "(4,)", struct.pack("<4q", 0, 1, 0, 1))
        )
        self.refused(
            "features.npy has 6 rows and labels.npy has 4 (each row needs its label); choose arrays of one length",
            "npy",
            "features.npy",
            "labels.npy",
        )

    def test_idx_with_wrong_counts(self):
        self.files(images=idx_images(40), labels=idx_labels(39))
        self.refused("labels: 39 labels (images has 40 images); are they a pair?", "idx", "images", "labels")
        self.files(images=idx_images(40, bytes_missing=1), labels=idx_labels(40))
        self.refused("images: truncated (its header says 40 items); copy it again", "idx", "images", "labels")
        self.files(images=idx_images(40), labels=idx_labels(40, bytes_missing=5))
        self.refused("labels: truncated (its header says 40 items); copy it again", "idx", "images", "labels")
        self.files(images=idx_images(40) + b"x", labels=idx_labels(40))
        self.refused("images: has bytes behind the 40 items of its header; is it damaged?", "idx", "images", "labels")

    def test_idx_of_something_else(self):
        self.files(images=b"hello world, hello world", labels=idx_labels(40))
        self.refused(
            "images: not an idx file (it starts with the bytes 104 101, not 0 0); is the file of another format?",
            "idx",
            "images",
            "labels",
        )

    def test_damaged_hdf5(self):
        self.files(h__h5=(self.cwd / "digits/train-00000.h5").read_bytes()[:3000])
        self.refused(
            "h.h5: cannot be read as HDF5 (truncated file: eof = 3000, sblock->base_addr = 0, stored_eof = 10688); "
            "check the file and the disk",
            "h5",
            "h.h5",
        )
        self.files(h__h5=b"no HDF5")
        self.refused("h.h5: cannot be read as HDF5 (file signature not found); check the file and the disk", "h5", "h.h5")

    def test_tokens_that_are_none(self):
        self.files(t__npy=npy("<f4", "(600,)", bytes(2400)), short__txt="abc", empty__txt="")
        self.refused("t.npy: holds float32; tokens are integers", "tokens", "t.npy")
        self.refused(
            "short.txt: 3 tokens (a row needs 129: --context and one more); choose a smaller --context",
            "tokens",
            "short.txt",
        )
        self.refused("empty.txt: the file is empty", "tokens", "empty.txt")

    def test_records_of_cifar(self):
        self.files(data_batch_1__bin=bytes(3073 * 3 - 1))
        self.refused(
            "data_batch_1.bin: 9218 bytes, no whole number of records (3073 bytes each for CIFAR-10); is the file "
            "truncated?",
            "cifar",
            "data_batch_1.bin",
        )
        self.files(data_batch_1__bin=bytes(3073 * 2) + b"\x0a" + bytes(3072))
        self.refused(
            "data_batch_1.bin: record 2: label 10 is out of range (CIFAR-10 has 10 classes); is the file of another format?",
            "cifar",
            "data_batch_1.bin",
        )

    def test_no_such_file(self):
        for importer in ("csv", "images", "idx", "cifar", "npy", "h5", "tokens"):
            self.refused("nothing: no such file or directory", importer, "nothing")

    def test_a_dataset_that_exists(self):
        self.files(t__csv=csv_text())
        (self.cwd / "out").mkdir()
        (self.cwd / "out/mine").write_text("mine")
        self.refused("out: exists already (an import never overwrites); remove it or choose another --out", "csv", "t.csv")
