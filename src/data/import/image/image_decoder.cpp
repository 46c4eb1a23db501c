// SPDX-License-Identifier: Apache-2.0
#include "data/import/image/image_decoder.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "core/error.hpp"
#include "core/unique_handle.hpp"
#include "data/import/foreign_names.hpp"
#include "data/import/image/exif_orientation.hpp"
#include "data/import/image/image_resize.hpp"
#include "data/import/image/image_workers.hpp"

namespace hopscotch {
namespace {

constexpr std::size_t k_chunk_bytes = 1 << 18, k_chunk_files = 64;  // files that a thread takes at a time

struct CloseDescriptor {
    static int null() { return -1; }
    void operator()(int descriptor) noexcept { close(descriptor); }
};

// Some files in order: a row each, or the reason why there is none.
struct Chunk {
    std::vector<std::uint8_t> rows;
    std::vector<DecodedImage> images;  // whose rows are not set yet
};

// Decodes on one thread, with memory that is used again.
class Decoder {
public:
    Decoder(ImageFolder const& folder, RowFormat const& format) : folder_(folder), format_(format) {}

    Chunk decode(std::size_t first, std::size_t count) {
        Chunk out;
        out.rows.resize(count * format_.bytes());
        out.images.resize(count);
        for (std::size_t i = 0; i < count; ++i) {
            auto const path = folder_.path(folder_.files[first + i]);
            try {
                read_whole_file(path, bytes_);
                if (format_.refuse_flat) check_values();
                decode_image(bytes_, format_.channels, image_, format_.scale);
                out.images[i].deep = is_deep_png(bytes_);
                if (out.images[i].deep && format_.see_values) out.images[i].values = png_values(bytes_);
            } catch (DataError const& error) {
                out.images[i].why = error.what();
                continue;
            }
            out.images[i].turned = format_.upright && image_.orientation > 1;
            if (format_.upright) turn_upright(image_);
            check_size(path);
            out.images[i].resized = image_.width != format_.width || image_.height != format_.height;
            image_to_row(image_, format_.size, format_.resize,
                         std::span(out.rows).subspan(i * format_.bytes(), format_.bytes()));
        }
        return out;
    }

private:
    void check_values() const {
        if (!is_deep_png(bytes_)) return;
        auto const values = png_values(bytes_);
        if (values.empty() || values.spread() == 0 || values.low / 257 != values.high / 257) return;
        throw DataError(
            fmt::format("16 bits a value, of which {} to {} are used (the model was trained on images of fewer "
                        "bits, beside which all its pixels are equal); scale it to 0 to 65535",
                        values.low, values.high));
    }

    void check_size(std::filesystem::path const& path) const {
        if (format_.size > 0 || (image_.width == format_.width && image_.height == format_.height)) return;
        throw DataError(fmt::format("{}: {}x{} pixels (the first image has {}x{}); choose a --size for all",
                                    readable_name(path.string()), image_.width, image_.height, format_.width,
                                    format_.height));
    }

    ImageFolder const& folder_;
    RowFormat const& format_;
    std::vector<std::byte> bytes_;
    Image image_;
};

}  // namespace

void read_whole_file(std::filesystem::path const& path, std::vector<std::byte>& out) {
    auto const refused = [] { return DataError(fmt::format("cannot be read ({})", std::strerror(errno))); };
    UniqueHandle<int, CloseDescriptor> const file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    struct stat status{};
    if (!file || fstat(file.handle(), &status) != 0) throw refused();
    out.resize(static_cast<std::size_t>(status.st_size));
    for (std::size_t done = 0; done < out.size();) {
        auto const count = read(file.handle(), out.data() + done, out.size() - done);
        if (count < 0) throw refused();
        if (count == 0) throw DataError("became shorter while it was read");
        done += static_cast<std::size_t>(count);
    }
}

void for_each_image(ImageFolder const& folder, RowFormat const& format, int threads,
                    std::function<void(std::size_t, DecodedImage const&)> const& visit) {
    auto const files = folder.files.size();
    auto const each = std::clamp<std::size_t>(k_chunk_bytes / std::max<std::size_t>(format.bytes(), 1), 1, k_chunk_files);
    auto const chunks = static_cast<std::int64_t>((files + each - 1) / each);
    auto const size_of = [=](std::int64_t chunk) { return std::min(each, files - static_cast<std::size_t>(chunk) * each); };
    InOrder<Chunk> decoded(chunks, threads, 4 * threads, [&, size_of, decoder = Decoder(folder, format)](auto i) mutable {
        return decoder.decode(static_cast<std::size_t>(i) * each, size_of(i));
    });
    for (std::int64_t chunk = 0; chunk < chunks; ++chunk) {
        auto done = decoded.next();
        for (std::size_t i = 0; i < size_of(chunk); ++i) {
            done.images[i].row = std::span(done.rows).subspan(i * format.bytes(), format.bytes());
            visit(static_cast<std::size_t>(chunk) * each + i, done.images[i]);
        }
    }
}

}  // namespace hopscotch
