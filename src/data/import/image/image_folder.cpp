// SPDX-License-Identifier: Apache-2.0
#include "data/import/image/image_folder.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <optional>

#include "core/error.hpp"
#include "data/import/foreign_names.hpp"

namespace hopscotch {
namespace {

namespace fs = std::filesystem;

std::string lower(std::string text) {
    for (auto& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return text;
}

std::optional<Split> split_called(std::string const& name) {
    auto const text = lower(name);
    if (text == "train") return Split::train;
    if (text == "val" || text == "valid") return Split::valid;
    if (text == "test") return Split::test;
    return std::nullopt;
}

struct Entries {
    std::vector<std::string> folders, images;  // sorted
    std::int64_t ignored = 0, hidden = 0;
};

Entries list(fs::path const& directory) {
    Entries out;
    std::error_code refused;
    fs::directory_iterator at(directory, refused);
    if (refused)
        throw DataError(fmt::format("{}: cannot be listed ({}); name a directory of class folders", directory.string(),
                                    refused.message()));
    for (auto const& entry : at) {
        auto name = entry.path().filename().string();
        auto const hidden = name.starts_with(".");
        if (entry.is_directory() && hidden) {
            ++out.hidden;
        } else if (entry.is_directory()) {
            require_utf8(name, directory.string(), "the folder name", "rename the folder, since folders name the classes");
            out.folders.push_back(std::move(name));
        } else if (!hidden && is_image_name(name)) {
            out.images.push_back(std::move(name));
        } else {
            ++out.ignored;
        }
    }
    std::sort(out.folders.begin(), out.folders.end());
    std::sort(out.images.begin(), out.images.end());
    return out;
}

class Lister {
public:
    ImageFolder read(fs::path const& root) {
        auto const top = list(root);
        auto const named = std::count_if(top.folders.begin(), top.folders.end(),
                                         [](auto const& name) { return split_called(name).has_value(); });
        out_.has_splits = std::any_of(top.folders.begin(), top.folders.end(),
                                      [](auto const& name) { return split_called(name) == Split::train; });
        if (!out_.has_splits) {
            if (named > 0 && named == static_cast<std::ptrdiff_t>(top.folders.size()))
                throw DataError(fmt::format("{}: {} but no train folder; add it, or name a directory of class folders",
                                            root.string(), fmt::join(top.folders, ", ")));
            read_split(root, Split::train);
        } else {
            read_splits(root, top);
        }
        return std::move(out_);
    }

private:
    void ignore(Entries const& entries) {
        out_.ignored += entries.ignored;
        out_.hidden += entries.hidden;
    }

    void read_splits(fs::path const& root, Entries const& top) {
        refuse_images(root, top, "the train, val or test folder");
        ignore(top);
        std::vector<Split> seen;
        std::vector<std::string> names = top.folders;  // train first: it fixes the classes
        std::stable_sort(names.begin(), names.end(), [](auto const& a, auto const& b) {
            return (split_called(a) == Split::train) > (split_called(b) == Split::train);
        });
        for (auto const& name : names) {
            auto const split = split_called(name);
            if (!split)
                throw DataError(
                    fmt::format("{}: stands beside train (with train, only train, val and test may stand here); "
                                "move it elsewhere",
                                (root / name).string()));
            if (std::find(seen.begin(), seen.end(), *split) != seen.end())
                throw DataError(fmt::format("{}: another folder is this split already; merge them", (root / name).string()));
            seen.push_back(*split);
            read_split(root / name, *split);
        }
    }

    void read_split(fs::path const& root, Split split) {
        auto const entries = list(root);
        refuse_images(root, entries, "a class folder");
        ignore(entries);
        if (entries.folders.empty())
            throw DataError(fmt::format("{}: has no class folders; make a folder for each class", root.string()));
        if (split == Split::train) out_.classes = entries.folders;
        if (out_.classes.size() < 2)
            throw DataError(
                fmt::format("{}: only one class folder, {}; a classification needs two", root.string(), out_.classes[0]));
        for (auto const& name : entries.folders) read_class(root / name, split);
    }

    void read_class(fs::path const& path, Split split) {
        auto const name = path.filename().string();
        auto const label = std::lower_bound(out_.classes.begin(), out_.classes.end(), name);
        if (label == out_.classes.end() || *label != name)
            throw DataError(fmt::format("{}: there is no such class in the train folder; add it there, or remove it here",
                                        path.string()));
        auto const entries = list(path);
        ignore(entries);
        if (!entries.folders.empty())
            throw DataError(
                fmt::format("{}: a folder within a class folder; move its images up", (path / entries.folders[0]).string()));
        if (entries.images.empty())
            throw DataError(
                fmt::format("{}: the class folder has no .jpg, .jpeg or .png file; add some, or remove it", path.string()));
        auto const folder = static_cast<std::uint32_t>(out_.folders.size());
        out_.folders.push_back({path, static_cast<std::uint32_t>(label - out_.classes.begin()), split});
        for (auto const& image : entries.images) out_.files.push_back({image, folder});
    }

    static void refuse_images(fs::path const& root, Entries const& entries, std::string_view where) {
        if (!entries.images.empty())
            throw DataError(fmt::format("{}: an image outside of the class folders ({} in all); move it into {}",
                                        (root / entries.images[0]).string(), entries.images.size(), where));
    }

    ImageFolder out_;
};

}  // namespace

bool is_image_name(std::string const& name) {
    auto const extension = lower(fs::path(name).extension().string());
    return extension == ".jpg" || extension == ".jpeg" || extension == ".png";
}

ImageFolder list_image_folder(fs::path const& root) { return Lister().read(root); }

}  // namespace hopscotch
