// SPDX-License-Identifier: Apache-2.0
// The program that Python runs: one Parquet table becomes CSV text, row group by row group, and a JSON file describes the
// columns, or the problem.
#include "data/import/csv/parquet_table.hpp"

namespace hopscotch {

char const* const k_parquet_script = R"py(
import errno
import json
import os
import sys

SOURCE, OUT, TOLD, WISHES = sys.argv[1:]
WISHES = json.loads(WISHES)
PARENT = os.getppid()
OLDEST = (14, 0, 1)  # before it, a file could name code (CVE-2023-47248)
FIRST_ROWS, MOST_ROWS, MOST_CELLS, BATCH_BYTES = 1 << 6, 1 << 16, 1 << 22, 1 << 24  # of a batch
LEAST_FREE, LEAST_SHARE = 256 << 20, 0.05  # of the disk: the smaller one of the two stays free


def tell(**told):
    with open(TOLD, "w", encoding="utf-8", errors="replace") as file:
        json.dump(told, file)
    sys.exit()


try:
    import pyarrow as pa
except ModuleNotFoundError:
    try:  # python3 -I leaves the user's own packages out
        import site

        sys.path.append(site.getusersitepackages())
        import pyarrow as pa
    except ModuleNotFoundError:
        tell(none=True)
BY = "pyarrow " + pa.__version__
if tuple(int("".join(c for c in part if c.isdigit()) or 0) for part in pa.__version__.split(".")[:3]) < OLDEST:
    tell(old=BY)

import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet

is_ = pa.types


def stored(kind):
    return stored(kind.storage_type) if isinstance(kind, pa.BaseExtensionType) else kind


def is_text(kind):
    return is_.is_string(kind) or is_.is_large_string(kind) or getattr(is_, "is_string_view", lambda _: False)(kind)


def kind_of(kind):
    kind = stored(kind)
    if is_.is_dictionary(kind):
        return "other" if kind_of(kind.value_type) == "other" else "category"
    if is_.is_boolean(kind) or is_text(kind) or is_.is_time(kind):
        return "category"
    if is_.is_integer(kind) or is_.is_floating(kind) or is_.is_decimal(kind) or is_.is_null(kind):
        return "number"
    return "date" if is_.is_timestamp(kind) or is_.is_date(kind) else "other"


class Column:
    def __init__(self, field, pandas, binary):
        indices, categories = pandas
        self.name, self.type = field.name, field.type
        self.is_index = field.name in indices
        self.kind = kind_of(field.type)
        if field.name in categories and self.kind == "number":
            self.kind = "category"
        self.binary = binary
        self.empty = self.words = self.blanks = 0

    def write(self, array):
        """As an array that the writer knows."""
        if self.kind == "other":
            return pa.nulls(len(array), pa.string())
        while isinstance(array.type, pa.BaseExtensionType) or is_.is_dictionary(array.type):
            array = array.dictionary_decode() if is_.is_dictionary(array.type) else array.storage
        kind = array.type
        if is_text(kind):
            array = array.cast(pa.large_string())
            self.look_at(array)
        elif is_.is_timestamp(kind) and kind.tz is not None:
            array = array.cast(pa.timestamp(kind.unit, "UTC"))
        elif is_.is_date64(kind):
            array = array.cast(pa.date32())
        elif is_.is_float16(kind):
            array = array.cast(pa.float32())
        elif is_.is_boolean(kind) and self.binary:
            array = array.cast(pa.int8())
        elif is_.is_decimal(kind):
            array = array.cast(pa.string())
        return array

    def look_at(self, texts):
        """Counts what a cell of a CSV text cannot say."""
        plain = pc.utf8_trim(texts, WISHES["blanks"])
        self.blanks += pc.sum(pc.not_equal(texts, plain)).as_py() or 0
        self.empty += pc.sum(pc.equal(plain, "")).as_py() or 0
        self.words += pc.sum(pc.is_in(plain, pa.array(WISHES["words"], pa.large_string()))).as_py() or 0

    def told(self):
        kind = ("other_index" if self.kind == "other" else "index") if self.is_index else self.kind
        counts = {"empty": self.empty, "words": self.words, "blanks": self.blanks}
        return {"name": self.name, "type": str(self.type), "kind": kind, **counts}


def said_by_pandas(schema):
    """Names of columns: those of the index, and categories (of integers, say)."""
    try:
        told = json.loads((schema.metadata or {}).get(b"pandas", b"{}"))
        categories = [one["field_name"] for one in told.get("columns", []) if one["pandas_type"] == "categorical"]
        return list(told.get("index_columns", [])), categories
    except (AttributeError, KeyError, TypeError, ValueError):
        return [], []


def binary_columns(names):
    """Targets, whose true and false are 1 and 0."""
    return {names.index(wish) if wish in names else int(wish) if wish.isdigit() else -1 for wish in WISHES["targets"]}


def tables(file, converted):
    """All rows, some at a time: about BATCH_BYTES decoded, if the rows are as those before. The footer does not tell how
    long texts are that are stored once. Another number of rows needs another reader, which skips the rows that were had."""
    starts = [0]
    for n in range(file.num_row_groups):
        starts.append(starts[-1] + file.metadata.row_group(n).num_rows)
    most = max(1, min(MOST_ROWS, MOST_CELLS // len(file.schema_arrow)))
    had, size, shrunk, fits = 0, min(FIRST_ROWS, most), False, False
    while not fits:
        first = max(n for n, start in enumerate(starts) if start <= had)
        at, fits = starts[first], True
        for batch in file.iter_batches(batch_size=size, row_groups=range(first, file.num_row_groups)):
            at += len(batch)
            if at <= had:
                continue
            table = converted(batch.slice(len(batch) - (at - had)))
            had = at
            yield table
            good = max(1, min(most, BATCH_BYTES * len(table) // max(1, table.nbytes)))
            if good < size // 2 or (good >= 4 * size and not shrunk):
                shrunk |= good < size
                size, fits = min(good, 4 * size), False
                break


def check_room(written):
    disk = os.statvfs(OUT)
    free, least = disk.f_bavail * disk.f_frsize, min(LEAST_FREE, LEAST_SHARE * disk.f_blocks * disk.f_frsize)
    if written > BATCH_BYTES and free < least:
        tell(room=f"{written >> 20} MiB are written, and {free >> 20} MiB are free", by=BY)


def convert(file):
    schema = file.schema_arrow
    if not len(schema):
        tell(problem="has no columns", by=BY)
    pandas, targets = said_by_pandas(schema), binary_columns(schema.names)
    columns = [Column(field, pandas, n in targets) for n, field in enumerate(schema)]

    def converted(batch):
        arrays = [column.write(array) for column, array in zip(columns, batch.columns)]
        if len(arrays) == 1:  # no line may be blank
            arrays = [pc.fill_null(arrays[0].cast(pa.large_string()), "")]
        return pa.RecordBatch.from_arrays(arrays, names=schema.names)

    none = converted(pa.RecordBatch.from_arrays([pa.array([], field.type) for field in schema], names=schema.names))
    options = pyarrow.csv.WriteOptions(delimiter=WISHES["delimiter"], quoting_style="needed")
    rows = 0
    with open(OUT, "xb") as out, pyarrow.csv.CSVWriter(out, none.schema, write_options=options) as writer:
        for table in tables(file, converted):
            writer.write_batch(table)
            out.flush()
            check_room(out.tell())
            rows += len(table)
            if os.getppid() != PARENT:
                sys.exit(1)
    if rows != file.metadata.num_rows:
        tell(problem=f"has {rows} rows (its footer says {file.metadata.num_rows})", by=BY)
    tell(by=BY, rows=rows, columns=[column.told() for column in columns])


def source():
    try:
        SOURCE.encode()
        return SOURCE
    except UnicodeEncodeError:  # pyarrow opens only names that are UTF-8
        return open(SOURCE, "rb")


try:
    # buffer_size: a column of a large row group is not read as a whole.
    convert(pyarrow.parquet.ParquetFile(source(), buffer_size=1 << 20, coerce_int96_timestamp_unit="us"))
except Exception as error:
    lines = str(error).splitlines() or [type(error).__name__]
    tell(full=isinstance(error, OSError) and error.errno == errno.ENOSPC, problem="cannot be read: " + lines[0][:300], by=BY)
)py";

}  // namespace hopscotch
