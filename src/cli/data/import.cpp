// SPDX-License-Identifier: Apache-2.0
#include "cli/data/import.hpp"

#include <fmt/format.h>

#include <memory>

#include "cli/data/import_watch.hpp"
#include "cli/data/report.hpp"
#include "core/error.hpp"
#include "data/import/array/array_import.hpp"
#include "data/import/csv/csv_delimiter.hpp"
#include "data/import/csv/csv_import.hpp"
#include "data/import/image/image_import.hpp"
#include "data/import/readable_sources.hpp"

namespace hopscotch {
namespace {

constexpr std::int64_t k_not_given = INT64_MIN;

// The options of all importers. `sources` describes the positional arguments.
void add_common(Command command, ImportOptions& options, std::string const& type, std::string const& sources) {
    command.add_option("sources", options.sources, sources).required().type_name(type);
    command.add_option("--out", options.out, "The dataset directory to make").required().type_name("DIR");
    options.shards = k_not_given;
    command.add_option("--shards", options.shards, "Number of training shards; best a multiple of the number of trainers")
        .type_name("S");
    command
        .add_option("--trainers", options.trainers,
                    "Trainers of the runs to come: at least 4 shards for each, so that slow ones can hold fewer")
        .between(1, 24999)
        .type_name("N");
    command.add_option("--valid", options.valid, "Fraction of the rows kept for validation; 0: none").shows_default();
    command.add_option("--test", options.test, "Fraction of the rows kept for one test at the end; 0: none").shows_default();
    command.add_option("--seed", options.seed, "Seed of the split and the shuffle").shows_default();
}

void add_stratify(Command command, ImportOptions& options) {
    command.add_flag("--stratify,!--no-stratify", options.stratify,
                     "Validation and test get the same share of every class (default), or rows drawn from all");
}

void add_targets(Command command, Task& task, ImportOptions& options) {
    auto const regression =
        command.add_action("--regression", [&] { task = Task::regression; }, "Labels are numbers to predict, not classes");
    command.add_action(
               "--multilabel", [&] { task = Task::multilabel; }, "Labels are 0 or 1, any number of them 1")
        .excludes(regression);
    command.add_flag("--standardise,!--no-standardise", options.standardise,
                     "With --regression: store targets in deviations from their mean (default), or as they are");
}

void add_shape(Command command, std::string& shape) {
    command.add_option("--shape", shape, "Shape of a row if it is an image: 1x8x8 (channels x height x width)")
        .type_name("CxHxW");
}

ColumnChoice column_choice(std::string const& text) {
    auto const equals = text.rfind('=');
    auto const type = equals == text.npos ? "" : text.substr(equals + 1);
    for (auto const& [name, value] :
         {std::pair{"number", ColumnType::number}, {"category", ColumnType::category}, {"date", ColumnType::date}})
        if (type == name) return {"type", text.substr(0, equals), value};
    throw ConfigError(
        fmt::format("--type {}: is not COLUMN=TYPE; write COLUMN=number, COLUMN=category or COLUMN=date", text));
}

// The kinds of columns, one option a kind; each may be repeated.
void add_column_options(Command command, ImportCsvOptions& options) {
    auto const add = [&](std::string const& option, ColumnType type, std::string const& help) {
        command
            .add_values(
                "--" + option,
                [&options, option, type](std::vector<std::string> const& columns) {
                    for (auto const& column : columns) options.columns.push_back({option, column, type});
                },
                help)
            .repeatable()
            .type_name("COLUMN");
    };
    add("drop", ColumnType::dropped, "A column that is not a feature, such as an id (repeatable)");
    command
        .add_value(
            "--id",
            [&](std::string const& column) {
                options.columns.push_back({std::string(k_id_option), column, ColumnType::dropped});
            },
            "The column that names the rows: no feature, and copied into predictions")
        .type_name("COLUMN");
    add("categorical", ColumnType::category, "A column of numbers that is a category (repeatable)");
    add("date", ColumnType::date, "A column of dates such as 2024-05-31T12:30: days since 1970 (repeatable)");
    command
        .add_values(
            "--type",
            [&](std::vector<std::string> const& texts) {
                for (auto const& text : texts) options.columns.push_back(column_choice(text));
            },
            "COLUMN=number, COLUMN=category or COLUMN=date (repeatable); a label may be a category: its text is its class")
        .repeatable()
        .type_name("COLUMN=TYPE");
}

void add_csv(Command command, ImportCsvOptions& options) {
    add_common(command, options, "FILE",
               "One or several CSV files with the same columns; or Parquet, read through python3 with pyarrow");
    add_stratify(command, options);
    command
        .add_option("--label", options.label,
                    "Label column, by name or by index from 0 (default: the last); repeatable: several targets")
        .repeatable()
        .type_name("COLUMN");
    add_targets(command, options.task, options);
    add_shape(command, options.shape);
    command.add_choice<CsvHeader>(
        "--header", {{"auto", CsvHeader::automatic}, {"yes", CsvHeader::present}, {"no", CsvHeader::absent}}, options.header,
        "Does the first line hold column names? (default: auto, which asks where the file does not tell)");
    command.add_choice<MissingValues>(
        "--missing", {{"error", MissingValues::error}, {"mean", MissingValues::mean}, {"drop", MissingValues::drop}},
        options.missing,
        "Empty, ?, NA, N/A, NaN or NULL cells: stop, fill in the training rows' mean, or drop the row (default: error)");
    command
        .add_option("--hash-buckets", options.hash_buckets,
                    "A category becomes one feature, its hash below N, instead of a 0/1 feature a value")
        .type_name("N");
    add_column_options(command, options);
    command
        .add_value(
            "--delimiter", [&](std::string const& text) { options.delimiter = parse_delimiter(text); },
            "Character between two cells: , ; | or the word tab (default: ,)")
        .type_name("CHARACTER");
    command
        .add_option("--encoding", options.encoding,
                    "Encoding of the files, such as latin-1, windows-1252 or UTF-16 (default: UTF-8)")
        .type_name("NAME");
    command.footer(
        "A column with any text is a category: one 0/1 feature a value. Text labels become classes in alphabetical order.\n"
        "Example: hopscotch data import csv data/digits.csv --out data/digits --shards 12 --label label --shape 1x8x8");
}

void add_images(Command command, ImportImagesOptions& options) {
    add_common(command, options, "DIR", "The directory above the class folders, or above train, val and test");
    add_stratify(command, options);
    command.add_option("--size", options.size, "Side of the square results (default: as stored, all images the same)")
        .type_name("PIXELS");
    command.add_choice<Resize>("--resize", {{"crop", Resize::crop}, {"fit", Resize::fit}}, options.resize,
                               "With --size: cut the middle out, or keep all with black bars (default: crop)");
    command.add_choice<Colour>("--colour", {{"auto", Colour::automatic}, {"grey", Colour::grey}, {"rgb", Colour::rgb}},
                               options.colour, "Channels of the results; auto: grey if every image is (default: auto)");
    command.add_flag("--skip-bad", options.skip_bad,
                     "Leave out files that cannot be decoded, and report them; decodes everything twice");
    command
        .add_option("--threads", options.threads,
                    "Threads that decode (default: one per core); the result does not depend on it")
        .type_name("N");
    command.footer(
        "JPEG and PNG, a folder a class; train/, val/ (or valid/) and test/ above them keep their splits.\n"
        "Example: hopscotch data import images photos --out data/photos --shards 8 --size 64 --test 0.1");
}

void add_idx(Command command, ImportOptions& options) {
    add_common(
        command, options, "FILE",
        "Images and labels in turn (a second pair is the test split), .gz or not; or the directory with MNIST's names");
    add_stratify(command, options);
    command.footer("Example: hopscotch data import idx mnist --out data/mnist --shards 8 --valid 0.1");
}

void add_cifar(Command command, ImportOptions& options) {
    add_common(command, options, "FILE",
               "The binary version's batches (test_batch.bin and test.bin: the test split), or the directory that has them");
    add_stratify(command, options);
    command.footer("Example: hopscotch data import cifar cifar-10-batches-bin --out data/cifar10 --shards 8 --valid 0.1");
}

void add_arrays(Command command, ImportArraysOptions& options, std::string const& sources, std::string const& example) {
    add_common(command, options, "FILE", sources);
    add_stratify(command, options);
    command.add_option("--features", options.features, "Name of the features (default: found: features, x, images, data)")
        .type_name("NAME");
    command.add_option("--labels", options.labels, "Name of the labels (default: found: labels, y, ...)").type_name("NAME");
    add_targets(command, options.task, options);
    command.add_choice<Channels>("--channels",
                                 {{"auto", Channels::automatic}, {"first", Channels::first}, {"last", Channels::last}},
                                 options.channels,
                                 "Where images have their channels (default: auto: last if there are 1, 3 or 4)");
    command.add_option("--vocabulary", options.vocabulary, "Features are token ids below N (for lstm), not numbers")
        .type_name("N");
    add_shape(command, options.shape);
    command.footer("Example: hopscotch data import " + example);
}

void add_npy(Command command, ImportArraysOptions& options) {
    add_arrays(command, options, "features.npy and labels.npy, or one .npz", "npy x.npy y.npy --out data/xy --shards 8");
}

void add_h5(Command command, ImportArraysOptions& options) {
    add_arrays(command, options, "One or several files with the same datasets",
               "h5 all.h5 --features images --labels y --out data/all --shards 8");
}

void add_tokens(Command command, ImportTokensOptions& options) {
    add_common(command, options, "FILE",
               "One-dimensional npy arrays of integers; or any other files, whose bytes are the tokens");
    command.add_option("--context", options.context, "Number of tokens per row").shows_default();
    command
        .add_option("--vocabulary", options.vocabulary,
                    "Number of different tokens (default: 256 for bytes, else the largest + 1)")
        .type_name("N");
    command.footer("Example: hopscotch data import tokens book.txt --out data/book --shards 8 --context 128");
}

// Messages name the sources, and not the copies that were made of some of them.
template <class Options>
ImportReport import_readable(Options options, ImportReport (*import)(Options const&)) {
    check_import_options(options);
    ReadableSources const sources(options.sources, options.encoding, [&] { options.progress(0, 0); });
    options.sources = sources.paths();
    try {
        return import(options);
    } catch (ConfigError const& error) {
        throw ConfigError(sources.by_source(error.what()));
    } catch (DataError const& error) {
        throw DataError(sources.by_source(error.what()));
    }
}

template <class Options>
int import_and_report(Options options, ImportReport (*import)(Options const&)) {
    if (options.shards == k_not_given && options.trainers == 0)
        throw ConfigError("--shards is required (or --trainers N: at least 4 shards for each of N trainers)");
    if (options.shards == k_not_given) options.shards = 1;
    if (auto const why = fit_shards_to_trainers(options); !why.empty()) fmt::print("{}\n", why);
    ImportReport report;
    double seconds = 0;
    {
        ImportWatch watch;
        options.progress = [&](std::int64_t done, std::int64_t all) { watch.see(done, all); };
        report = import_readable(options, import);
        seconds = watch.seconds();
    }  // wipes the progress before anything is printed
    return report_import(options.out, report, seconds);
}

template <class Options>
SubCommand importer(std::string const& name, std::string const& summary, void (*add)(Command, Options&),
                    ImportReport (*import)(Options const&)) {
    return {name, summary, [=](Command command) {
                auto const options = std::make_shared<Options>();
                add(command, *options);
                return on_first_rank([=] { return import_and_report(*options, import); });
            }};
}

}  // namespace

Work add_import(Command command) {
    return command.add_sub_commands(
        {importer("csv", "Rows of numbers and categories from CSV files", add_csv, import_csv_files),
         importer("images", "JPEG and PNG files in class folders", add_images, import_image_folder),
         importer("idx", "MNIST and datasets in its format", add_idx, import_idx_files),
         importer("cifar", "CIFAR-10 and CIFAR-100, binary version", add_cifar, import_cifar_files),
         importer("npy", "NumPy arrays: .npy or .npz", add_npy, import_npy_files),
         importer("h5", "HDF5 files of other programs", add_h5, import_h5_files),
         importer("tokens", "Texts or token ids, to predict the next token", add_tokens, import_token_files)});
}

}  // namespace hopscotch
