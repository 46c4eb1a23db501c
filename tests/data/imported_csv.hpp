// SPDX-License-Identifier: Apache-2.0
// A CSV file in a directory of its own, ready to be imported.
#pragma once
#include "data/dataset_rows.hpp"
#include "data/import/csv/csv_import.hpp"
#include "data/support.hpp"

namespace hopscotch {

struct Imported {
    TemporaryDirectory dir;
    ImportCsvOptions options;

    explicit Imported(std::string const& text) {
        write_text(dir / "a.csv", text);
        options.sources = {dir / "a.csv"};
        options.out = dir / "out";
        options.valid = 0.5;
    }
    ImportReport run() const { return import_csv_files(options); }
    template <class Exception>
    std::string error() const {
        auto const text = thrown<Exception>([&] { run(); }, dir.path());
        EXPECT_EQ(std::distance(std::filesystem::directory_iterator(dir.path()), {}),
                  static_cast<std::ptrdiff_t>(options.sources.size()))
            << "something was left on disk";
        return text;
    }
};

}  // namespace hopscotch
