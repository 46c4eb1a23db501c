// SPDX-License-Identifier: Apache-2.0
#include "data/import/image/image_new_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "core/error.hpp"
#include "data/import/foreign_names.hpp"
#include "data/import/image/image_decode.hpp"
#include "data/import/image/image_decoder.hpp"
#include "data/import/image/image_folder.hpp"

namespace hopscotch {
namespace {

constexpr std::size_t k_most_bad_listed = 20;

class NewImages : public NewRowSource {
public:
    NewImages(std::filesystem::path const& source, Manifest const& trained) {
        auto const& size = trained.origin.provenance.at("size");
        require(trained.shape.size() == 3 && (trained.shape[0] == 1 || trained.shape[0] == 3),
                "best/model.json: its shape is not that of images; it was changed");
        check_image_size(trained.shape[2], trained.shape[1]);
        format_ = {.channels = trained.shape[0],
                   .width = trained.shape[2],
                   .height = trained.shape[1],
                   .size = size.is_integer() ? size.integer() : 0,
                   .resize = trained.origin.provenance.at("resize").string() == "fit" ? Resize::fit : Resize::crop,
                   .upright = trained.origin.provenance.find("orientation") != nullptr};
        if (auto const* deep = trained.origin.provenance.find("images_16_bit")) format_.refuse_flat = deep->integer() == 0;
        if (auto const* scale = trained.origin.provenance.find("values_16_bit")) format_.scale = scale_of(*scale);
        list(source);
        if (all_.files.empty())
            throw ConfigError(fmt::format(
                "{}: has no image (a file that ends in .jpg, .jpeg or .png); name a folder of images", source.string()));
        std::ranges::sort(all_.files, {}, &ImageFile::name);
    }

    FeatureType type() const override { return FeatureType::uint8; }
    std::string id_name() const override { return "file"; }

    NewRows next(std::int64_t most) override {
        NewRows out;
        std::vector<std::byte> features;
        auto const end = bad_ > 0 ? all_.files.size() : std::min(all_.files.size(), at_ + static_cast<std::size_t>(most));
        ImageFolder part;
        part.folders = all_.folders;
        part.files.assign(all_.files.begin() + static_cast<std::ptrdiff_t>(at_),
                          all_.files.begin() + static_cast<std::ptrdiff_t>(end));
        at_ = end;
        auto const threads = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
        for_each_image(part, format_, threads, [&](std::size_t i, DecodedImage const& image) {
            if (!image.why.empty()) return add_bad(part.path(part.files[i]), image.why);
            auto const bytes = std::as_bytes(image.row);
            features.insert(features.end(), bytes.begin(), bytes.end());
            out.ids.push_back(part.files[i].name);
        });
        if (bad_ > 0 && at_ < all_.files.size()) return next(most);  // looks at the rest
        if (bad_ > 0)
            throw DataError(fmt::format("{}{} images cannot be decoded; replace or remove them", complaints_, bad_));
        out.shard.rows = std::ssize(out.ids);
        out.shard.features = RowBytes(std::move(features));
        return out;
    }

private:
    static ValueRange scale_of(Json const& recorded) {
        auto const& values = recorded.array();
        require(values.size() == 2, "best/model.json: values_16_bit are not two numbers; it was changed");
        auto const low = values[0].integer(), high = values[1].integer();
        require(low >= 0 && low < high && high < 65536, "best/model.json: values_16_bit is not a range; it was changed");
        return {static_cast<int>(low), static_cast<int>(high)};
    }

    void list(std::filesystem::path const& source) {
        bool const one = std::filesystem::is_regular_file(source);
        all_.folders.push_back({one ? source.parent_path() : source});
        if (one) return add(source.filename());
        for (auto const& entry : std::filesystem::recursive_directory_iterator(source))
            if (entry.is_regular_file()) add(entry.path().lexically_relative(source));
    }

    void add(std::filesystem::path const& file) {
        if (!is_image_name(file.filename().string())) return;
        require_utf8(file.generic_string(), all_.folders[0].path.string(), "the file name",
                     "rename the file or its folder, since the name stands beside its prediction");
        all_.files.push_back({file.generic_string()});
    }

    void add_bad(std::filesystem::path const& file, std::string const& why) {
        if (bad_++ < static_cast<std::int64_t>(k_most_bad_listed))
            complaints_ += fmt::format("{}: {}\n", file.string(), why);
    }

    RowFormat format_;
    ImageFolder all_;
    std::size_t at_ = 0;
    std::int64_t bad_ = 0;
    std::string complaints_;
};

}  // namespace

std::unique_ptr<NewRowSource> new_images(std::filesystem::path const& source, Manifest const& trained) {
    return std::make_unique<NewImages>(source, trained);
}

}  // namespace hopscotch
