// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/error.hpp"
#include "data/import/array/array_import.hpp"
#include "data/import/array/token_source.hpp"
#include "data/import/dataset_writer.hpp"
#include "data/import/foreign_names.hpp"

namespace hopscotch {
namespace {

constexpr std::int64_t k_largest_vocabulary = 1 << 24;  // float32 holds every token below it

void check_token_options(ImportTokensOptions const& options) {
    check_import_options(options);
    if (options.context < 1 || options.context > 1 << 20)
        throw ConfigError(fmt::format("--context {}: must be between 1 and {} tokens", options.context, 1 << 20));
    if (options.vocabulary != 0 && (options.vocabulary < 2 || options.vocabulary > k_largest_vocabulary))
        throw ConfigError(
            fmt::format("--vocabulary {}: must be between 2 and 2^24 (0: found in the data)", options.vocabulary));
}

struct TokenFile {
    std::unique_ptr<ArraySource> tokens;
    std::int64_t rows = 0, dropped = 0;
};

// Rows do not overlap, but the label of a row is the first token of the next; a row never spans two files.
std::vector<TokenFile> open_files(ImportTokensOptions const& options) {
    std::vector<TokenFile> out;
    for (auto const& source : options.sources) {
        TokenFile file{open_tokens(source)};
        auto const tokens = file.tokens->rows();
        file.rows = (tokens - 1) / options.context;
        file.dropped = tokens - 1 - file.rows * options.context;
        if (file.rows == 0)
            throw DataError(
                fmt::format("{}: {} tokens (a row needs {}: --context and one more); choose a smaller "
                            "--context",
                            file.tokens->name(), tokens, options.context + 1));
        out.push_back(std::move(file));
    }
    return out;
}

[[noreturn]] void bad_token(ArraySource const& source, std::int64_t position, std::int64_t token, std::int64_t vocabulary) {
    auto const place = fmt::format("{}: token {} at position {}", source.name(), token, position);
    if (token < 0) throw DataError(place + " is negative; tokens are 0 and up");
    throw DataError(fmt::format("{} is not below {} ({}); {}", place, vocabulary,
                                vocabulary == k_largest_vocabulary ? "the largest vocabulary" : "--vocabulary",
                                "choose a larger --vocabulary, or correct the file"));
}

// All tokens of a file, the dropped tail too: a bad token anywhere is a sign of a bad file.
std::int64_t largest_token(ArraySource& source, std::int64_t vocabulary) {
    TokenReader reader(source);
    std::int64_t largest = 0;
    for (std::int64_t position = 0; position < source.rows(); ++position) {
        auto const token = reader.next();
        if (token < 0 || token >= vocabulary) bad_token(source, position, token, vocabulary);
        largest = std::max(largest, token);
    }
    source.finish();
    return largest;
}

std::int64_t find_vocabulary(ImportTokensOptions const& options, std::vector<TokenFile> const& files) {
    auto const most = options.vocabulary > 0 ? options.vocabulary : k_largest_vocabulary;
    std::int64_t largest = 0;
    for (auto const& file : files) largest = std::max(largest, largest_token(*file.tokens, most));
    if (options.vocabulary > 0) return options.vocabulary;
    auto const bytes = std::none_of(options.sources.begin(), options.sources.end(), is_npy);
    return bytes ? 256 : std::max<std::int64_t>(largest + 1, 2);
}

Manifest describe(ImportTokensOptions const& options, std::vector<TokenFile> const& files, std::int64_t vocabulary) {
    Json::Array sources, dropped;
    for (auto const& file : files) dropped.emplace_back(file.dropped);
    for (auto const& source : options.sources) sources.emplace_back(file_name(source));
    Manifest out;
    out.task = Task::language;
    out.shape = {options.context};
    out.type = vocabulary <= 256 ? FeatureType::uint8 : FeatureType::float32;
    out.outputs = vocabulary;
    out.categories = {vocabulary};
    out.origin.seed = options.seed;
    out.origin.provenance = Json::object({{"importer", "tokens"},
                                          {"sources", std::move(sources)},
                                          {"context", options.context},
                                          {"dropped_tokens", std::move(dropped)},
                                          {"valid", options.valid},
                                          {"test", options.test}});
    return out;
}

std::vector<std::string> decisions(ImportTokensOptions const& options, std::vector<TokenFile> const& files,
                                   std::int64_t vocabulary) {
    std::int64_t rows = 0, dropped = 0;
    std::string ids;
    bool bytes = false;
    for (std::size_t i = 0; i < files.size(); ++i) {
        rows += files[i].rows;
        dropped += files[i].dropped;
        auto const type = name_of(files[i].tokens->type());
        auto const is_array = is_npy(options.sources[i]);
        bytes = bytes || !is_array;
        if (is_array && ids.find(type) == ids.npos) ids += (ids.empty() ? "" : ", ") + type;
    }
    auto const arrays = ids.empty() ? "" : fmt::format("the ids of npy files ({})", ids);
    auto const both = bytes && !ids.empty() ? ", or " : "";
    auto const why = options.vocabulary > 0 ? "as --vocabulary says" : ids.empty() ? "every byte" : "the largest token + 1";
    std::vector<std::string> out{fmt::format("tokens are {}{}{}", bytes ? "the bytes of files" : "", both, arrays)};
    out.push_back(fmt::format("vocabulary {}: {}", vocabulary, why));
    out.push_back(fmt::format("{} rows of {} tokens, each with the token after it as label", rows, options.context));
    if (dropped > 0)
        out.push_back(fmt::format("{} left out: at the end of a file, fewer than --context fill no row",
                                  dropped == 1 ? "1 token is" : fmt::format("{} tokens are", dropped)));
    return out;
}

template <class Element>
void write_rows(ImportTokensOptions const& options, std::vector<TokenFile> const& files, DatasetWriter& writer) {
    std::vector<Element> row(static_cast<std::size_t>(options.context));
    for (auto const& file : files) {
        TokenReader reader(*file.tokens);
        auto next = reader.next();
        for (std::int64_t i = 0; i < file.rows; ++i) {
            for (auto& element : row) {
                element = static_cast<Element>(next);
                next = reader.next();
            }
            double const label = static_cast<double>(next);
            writer.add(std::span<Element const>(row), std::span(&label, 1));
        }
    }
}

}  // namespace

ImportReport import_token_files(ImportTokensOptions const& options) {
    check_token_options(options);
    auto const files = open_files(options);
    auto const vocabulary = find_vocabulary(options, files);
    std::int64_t rows = 0;
    for (auto const& file : files) rows += file.rows;
    auto placement = place_rows(std::vector<std::uint32_t>(static_cast<std::size_t>(rows), 0), 1,
                                {options.shards, options.valid, options.test, false, options.seed});
    auto const description = describe(options, files, vocabulary);
    DatasetWriter writer(options.out, description, std::move(placement), options.progress);
    writer.decide(decisions(options, files, vocabulary));
    if (description.type == FeatureType::uint8)
        write_rows<std::uint8_t>(options, files, writer);
    else
        write_rows<float>(options, files, writer);
    ImportReport report;
    report.manifest = writer.finish();
    return report;
}

}  // namespace hopscotch
