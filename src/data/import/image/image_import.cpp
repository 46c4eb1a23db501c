// SPDX-License-Identifier: Apache-2.0
#include "data/import/image/image_import.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <thread>

#include "core/error.hpp"
#include "data/import/dataset_writer.hpp"
#include "data/import/foreign_names.hpp"
#include "data/import/image/image_account.hpp"
#include "data/import/image/image_decode.hpp"
#include "data/import/image/image_decoder.hpp"
#include "data/import/image/image_depth.hpp"

namespace hopscotch {
namespace {

constexpr std::int64_t k_largest_size = 8192;
constexpr std::size_t k_listed = 20;      // corrupt files in an error
constexpr std::size_t k_reported = 1000;  // and in a report

void check_options(ImportImagesOptions const& options) {
    check_import_options(options);
    if (options.sources.size() != 1 || !std::filesystem::is_directory(options.sources[0]))
        throw ConfigError(fmt::format("{}: images are imported from one directory; name the one above the class folders",
                                      options.sources.back().string()));
    if (options.size < 0 || options.size > k_largest_size)
        throw ConfigError(fmt::format("--size {}: must be between 1 and {} pixels", options.size, k_largest_size));
    if (options.threads < 0 || options.threads > 1024)
        throw ConfigError(fmt::format("--threads {}: must be between 1 and 1024", options.threads));
}

int thread_count(ImportImagesOptions const& options) {
    return options.threads > 0 ? options.threads : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

// Facts from the headers of the files, as far as they can be read; reading ends once nothing more can be learnt.
class HeaderScan {
public:
    HeaderScan(ImageFolder const& folder, ImportImagesOptions const& options) : folder_(folder) {
        std::vector<std::byte> bytes;
        for (auto const& file : folder.files) {
            try {
                read_whole_file(folder.path(file), bytes);
                see(image_info(bytes));
            } catch (DataError const&) {
                continue;  // decoding will report it
            }
            if (options.colour != Colour::automatic || colour_) break;
        }
    }

    RowFormat format(ImportImagesOptions const& options) const {
        if (first_.width == 0)
            throw DataError(fmt::format("{}: none of its {} images can be read; are they JPEG or PNG?",
                                        options.sources[0].string(), folder_.files.size()));
        auto const rgb = options.colour == Colour::rgb || (options.colour == Colour::automatic && colour_);
        auto const fixed = options.size > 0;
        return {.channels = rgb ? 3 : 1,
                .width = fixed ? options.size : first_.width,
                .height = fixed ? options.size : first_.height,
                .size = options.size,
                .resize = options.resize};
    }

private:
    void see(ImageInfo info) {
        if (info.orientation >= 5) std::swap(info.width, info.height);  // stored by columns
        if (first_.width == 0) first_ = info;
        colour_ = colour_ || info.colour;
    }

    ImageFolder const& folder_;
    ImageInfo first_;
    bool colour_ = false;
};

// The corrupt files so far.
class BadFiles {
public:
    explicit BadFiles(ImageFolder const& folder) : folder_(folder) {}

    void add(std::size_t file, std::string const& why) {
        if (count_++ < static_cast<std::int64_t>(k_reported))
            listed_.push_back(fmt::format("{}: {}", readable_name(folder_.path(folder_.files[file]).string()), why));
    }

    std::int64_t count() const { return count_; }
    std::vector<std::string> const& listed() const { return listed_; }

    // Throws if there are any.
    void refuse() const {
        if (count_ == 0) return;
        auto const shown = std::min(listed_.size(), k_listed);
        auto const more = count_ - static_cast<std::int64_t>(shown);
        throw DataError(
            fmt::format("{}\n{}{} of {} images cannot be decoded; replace them, or leave them out with --skip-bad",
                        fmt::join(listed_.begin(), listed_.begin() + static_cast<std::ptrdiff_t>(shown), "\n"),
                        more > 0 ? fmt::format("... and {} more\n", more) : "", count_, folder_.files.size()));
    }

private:
    ImageFolder const& folder_;
    std::vector<std::string> listed_;
    std::int64_t count_ = 0;
};

void tell(ImportOptions const& options, std::size_t done, std::size_t all) {
    if (options.progress && done % 256 == 0)
        options.progress(static_cast<std::int64_t>(done), static_cast<std::int64_t>(all));
}

// The folder without the files that cannot be decoded, at the cost of decoding everything once more: the place of a row
// depends on the number of rows.
ImageFolder without_bad(ImageFolder folder, RowFormat const& format, ImportImagesOptions const& options, BadFiles& bad) {
    std::vector<ImageFile> good;
    for_each_image(folder, format, thread_count(options), [&](std::size_t i, DecodedImage const& image) {
        tell(options, i, 0);
        if (image.why.empty())
            good.push_back(folder.files[i]);
        else
            bad.add(i, image.why);
    });
    std::vector<std::int64_t> left(folder.folders.size());
    for (auto const& file : good) ++left[file.folder];
    for (std::size_t i = 0; i < left.size(); ++i)
        if (left[i] == 0)
            throw DataError(
                fmt::format("{}: no image of this class folder can be decoded; replace them, or remove the folder",
                            folder.folders[i].path.string()));
    folder.files = std::move(good);
    return folder;
}

Json provenance(ImportImagesOptions const& options, ImageFolder const& folder, RowFormat const& format,
                BadFiles const& bad) {
    auto const source = std::filesystem::absolute(options.sources[0]).lexically_normal();
    auto const name = source.filename().empty() ? source.parent_path().filename() : source.filename();
    auto out = Json::object({{"importer", "images"},
                             {"source", readable_name(name.string())},
                             {"size", options.size > 0 ? Json(options.size) : Json("as stored")},
                             {"resize", options.resize == Resize::crop ? "crop" : "fit"},
                             {"colour", format.channels == 3 ? "rgb" : "grey"},
                             {"orientation", "applied"},
                             {"images", static_cast<std::int64_t>(folder.files.size())},
                             {"skipped_files", bad.count()},
                             {"ignored_files", folder.ignored},
                             {"own_splits", folder.has_splits},
                             {"valid", options.valid},
                             {"test", options.test},
                             {"stratify", options.stratify}});
    if (format.scale != ValueRange{}) out["values_16_bit"] = Json::Array{format.scale.low, format.scale.high};
    return out;
}

Manifest describe(ImportImagesOptions const& options, ImageFolder const& folder, RowFormat const& format,
                  BadFiles const& bad) {
    Manifest out;
    out.shape = {format.channels, format.height, format.width};
    out.type = FeatureType::uint8;
    out.outputs = static_cast<std::int64_t>(folder.classes.size());
    out.class_names = folder.classes;
    out.origin.seed = options.seed;
    out.origin.provenance = provenance(options, folder, format, bad);
    return out;
}

// By folder: the text before the names of its files, from the root down, such as "train/cat/".
std::vector<std::string> readable_folders(ImageFolder const& folder, std::filesystem::path const& root) {
    std::vector<std::string> out;
    for (auto const& each : folder.folders)
        out.push_back(readable_name(each.path.lexically_relative(root).generic_string()) + "/");
    return out;
}

Placement place(ImportImagesOptions const& options, ImageFolder const& folder) {
    std::vector<std::uint32_t> classes;
    std::vector<Split> splits;
    for (auto const& file : folder.files) {
        classes.push_back(folder.folders[file.folder].label);
        if (folder.has_splits) splits.push_back(folder.folders[file.folder].split);
    }
    SplitOptions const split{options.shards, options.valid, options.test, options.stratify, options.seed};
    return place_rows(classes, folder.classes.size(), split, splits);
}

}  // namespace

ImportReport import_image_folder(ImportImagesOptions const& options) {
    check_options(options);
    auto folder = list_image_folder(options.sources[0]);
    auto format = HeaderScan(folder, options).format(options);
    auto depths = scan_depths(folder, thread_count(options), options);
    format.scale = depths.scale;
    format.see_values = depths.values.empty();
    ImportReport report;
    BadFiles skipped(folder);
    auto const kept = options.skip_bad ? without_bad(folder, format, options, skipped) : folder;
    auto description = describe(options, kept, format, skipped);
    DatasetWriter writer(options.out, std::move(description), place(options, kept), options.progress);
    BadFiles bad(kept);
    ImageAccount account;
    auto const below = readable_folders(kept, options.sources[0]);
    for_each_image(kept, format, thread_count(options), [&](std::size_t i, DecodedImage const& image) {
        if (!image.why.empty()) return bad.add(i, image.why);
        account.see(image);
        depths.see(image, kept.folders[kept.files[i].folder].split == Split::train);
        std::array const label{static_cast<double>(kept.folders[kept.files[i].folder].label)};
        if (bad.count() == 0) {
            writer.add(image.row, label);
            writer.came_from(static_cast<std::int64_t>(i), below[kept.files[i].folder] + readable_name(kept.files[i].name));
        }
        if (bad.count() > 0) tell(options, i, kept.files.size());
    });
    bad.refuse();
    writer.decide(account.decisions(options, kept, format, skipped.count()));
    if (auto const depth = depths.decision(); !depth.empty()) writer.decide({depth});
    writer.record("images_16_bit", depths.deep);
    report.manifest = writer.finish();
    report.skipped = skipped.listed();
    report.skipped_files = skipped.count();
    return report;
}

}  // namespace hopscotch
