// SPDX-License-Identifier: Apache-2.0
// Each reader of foreign files over one file, to its end. What a bad file may do is throw DataError or ConfigError; both are
// swallowed here, and anything else is a bug. Used by the fuzz targets and by the test with random mutations.
#pragma once
#include <filesystem>

#include "core/error.hpp"
#include "data/import/array/idx_reader.hpp"
#include "data/import/array/npy_reader.hpp"
#include "data/import/array/npz_reader.hpp"
#include "data/import/csv/csv_scan.hpp"

namespace hopscotch {

enum class FileIs { good, refused };

template <class Read>
FileIs unless_refused(Read read) {
    try {
        read();
        return FileIs::good;
    } catch (DataError const&) {
        return FileIs::refused;
    } catch (ConfigError const&) {
        return FileIs::refused;
    }
}

inline void read_rows(ArraySource& source) {
    RowCursor cursor(source);
    for (std::int64_t row = 0; row < source.rows(); ++row) cursor.next();
    cursor.finish();
}

inline FileIs read_all_npy(std::filesystem::path const& path) {
    return unless_refused([&] {
        NpyReader reader(std::make_unique<FileStream>(path));
        read_rows(reader);
    });
}

inline FileIs read_all_npz(std::filesystem::path const& path) {
    return unless_refused([&] {
        for (auto const& member : read_npz_directory(path)) {
            NpyReader reader(open_npz_member(path, member));
            read_rows(reader);
        }
    });
}

inline FileIs read_all_csv(std::filesystem::path const& path) {
    return unless_refused([&] {
        ImportCsvOptions options;
        options.sources = {path};
        options.missing = MissingValues::mean;
        auto const table = scan_csv(options);
        RowsReader(options, table).read([](std::span<float const>, std::span<double const>) {});
    });
}

inline FileIs read_all_idx(std::filesystem::path const& path) {
    return unless_refused([&] {
        IdxReader reader(path);
        std::uint64_t left = 1;  // the sizes of a bad header may be anything: stop at 16 MiB
        for (auto n : reader.sizes()) left = std::min<std::uint64_t>(left * static_cast<std::uint64_t>(n), 16 << 20);
        for (std::uint8_t piece[4096]; left > 0;) {
            auto const count = std::min<std::uint64_t>(left, sizeof piece);
            reader.read(std::span(piece, count));
            left -= count;
        }
        reader.expect_end();
    });
}

}  // namespace hopscotch
