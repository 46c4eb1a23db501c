// SPDX-License-Identifier: Apache-2.0
// The only file that includes libpng's header. libpng leaves errors by longjmp: between setjmp and the last call that can
// fail, no function here owns anything with a destructor.
#include <png.h>

#include <bit>
#include <cstdio>
#include <cstring>

#include "core/error.hpp"
#include "data/import/image/exif_orientation.hpp"
#include "data/import/image/image_decode.hpp"

namespace hopscotch {
namespace {

struct PngFailure {
    char text[256];
};

[[noreturn]] void leave(png_structp png, png_const_charp text) {
    auto* failure = static_cast<PngFailure*>(png_get_error_ptr(png));
    std::snprintf(failure->text, sizeof failure->text, "%s", text);
    png_longjmp(png, 1);
}

void ignore(png_structp, png_const_charp) {}  // warnings are about profiles and texts, not about pixels

enum class Bits { eight, sixteen };

// A decoder on the bytes of one file.
class PngDecoder {
public:
    explicit PngDecoder(ByteView file)
        : left_(file), png_(png_create_read_struct(PNG_LIBPNG_VER_STRING, &failure_, leave, ignore)) {
        if (png_ != nullptr) info_ = png_create_info_struct(png_);
        if (info_ == nullptr) png_destroy_read_struct(&png_, nullptr, nullptr);
        require(info_ != nullptr, "libpng cannot start (no memory, or another version of it)");
    }
    ~PngDecoder() { png_destroy_read_struct(&png_, &info_, nullptr); }
    PngDecoder(PngDecoder const&) = delete;
    PngDecoder& operator=(PngDecoder const&) = delete;

    ImageInfo read_header() {
        if (!try_header()) fail();
        check_image_size(png_get_image_width(png_, info_), png_get_image_height(png_, info_));
        return {png_get_image_width(png_, info_), png_get_image_height(png_, info_),
                (png_get_color_type(png_, info_) & PNG_COLOR_MASK_COLOR) != 0, 1};
    }

    // After read_header: height x width x components, where components are 1 (grey), 2 (and alpha), 3 or 4. Of 8 bits, or of
    // 16 in this machine's byte order.
    std::vector<std::uint8_t> read_pixels(Bits bits) {
        if (!try_transforms(bits)) fail();
        auto const stride = png_get_rowbytes(png_, info_);
        auto const height = png_get_image_height(png_, info_);
        std::vector<std::uint8_t> pixels(stride * height);
        std::vector<png_bytep> rows(height);
        for (std::size_t row = 0; row < height; ++row) rows[row] = pixels.data() + row * stride;
        if (!try_pixels(rows.data())) fail();
        return pixels;
    }

    std::size_t components() const { return png_get_channels(png_, info_); }

private:
    [[noreturn]] void fail() const { throw DataError(std::string("damaged PNG: ") + failure_.text); }

    static void read(png_structp png, png_bytep out, std::size_t count) {
        auto& left = static_cast<PngDecoder*>(png_get_io_ptr(png))->left_;
        if (count > left.size()) png_error(png, "the file ends too early");
        std::memcpy(out, left.data(), count);
        left = left.subspan(count);
    }

    bool try_header() {
        if (setjmp(png_jmpbuf(png_)) != 0) return false;
        png_set_read_fn(png_, this, read);
        png_set_user_limits(png_, 0x7fffffff, 0x7fffffff);  // check_image_size decides
        png_read_info(png_, info_);
        return true;
    }

    bool try_transforms(Bits bits) {
        if (setjmp(png_jmpbuf(png_)) != 0) return false;
        png_set_expand(png_);  // palettes to RGB, fewer bits to 8, transparent colours to alpha
        if (bits == Bits::eight)
            png_set_scale_16(png_);
        else if (std::endian::native == std::endian::little)
            png_set_swap(png_);
        png_set_interlace_handling(png_);
        png_read_update_info(png_, info_);
        return true;
    }

    bool try_pixels(png_bytepp rows) {
        if (setjmp(png_jmpbuf(png_)) != 0) return false;
        png_read_image(png_, rows);
        png_read_end(png_, nullptr);
        return true;
    }

    ByteView left_;
    PngFailure failure_{};
    png_structp png_ = nullptr;
    png_infop info_ = nullptr;
};

std::uint8_t on_black(std::uint32_t value, std::uint32_t alpha) {
    return static_cast<std::uint8_t>((value * alpha + 127) / 255);
}

// One pixel of 1 to 4 components as 1 or 3 channels.
void convert(std::uint8_t const* from, std::size_t components, std::int64_t channels, std::uint8_t* to) {
    auto const alpha = components % 2 == 0 ? from[components - 1] : std::uint8_t{255};
    std::uint8_t rgb[3];
    for (std::size_t c = 0; c < 3; ++c) rgb[c] = on_black(from[components < 3 ? 0 : c], alpha);
    if (channels == 3)
        std::memcpy(to, rgb, 3);
    else
        *to = components < 3 ? rgb[0] : luma(rgb[0], rgb[1], rgb[2]);
}

// Calls visit(value) for every grey or colour value of pixels of 16 bits, which are laid onto black.
template <class Visit>
void for_each_deep_value(std::vector<std::uint8_t> const& pixels, std::size_t components, Visit visit) {
    auto const value_at = [&](std::size_t i) {
        std::uint16_t value;
        std::memcpy(&value, pixels.data() + i * sizeof value, sizeof value);
        return std::uint32_t{value};
    };
    auto const colours = components < 3 ? 1U : 3U;
    for (std::size_t i = 0; i < pixels.size() / sizeof(std::uint16_t); i += components) {
        auto const alpha = components % 2 == 0 ? value_at(i + components - 1) : 65535U;
        for (std::size_t c = 0; c < colours; ++c) visit(static_cast<int>((value_at(i + c) * alpha + 32767) / 65535));
    }
}

std::vector<std::uint8_t> to_eight_bits(std::vector<std::uint8_t> const& pixels, std::size_t components, ValueRange scale) {
    std::vector<std::uint8_t> out;
    out.reserve(pixels.size() / 2);
    for_each_deep_value(pixels, components, [&](int value) {
        auto const above = std::clamp(value, scale.low, scale.high) - scale.low;
        out.push_back(static_cast<std::uint8_t>((above * 255 + scale.spread() / 2) / scale.spread()));
    });
    return out;
}

}  // namespace

ImageInfo png_info(ByteView file) {
    auto out = PngDecoder(file).read_header();
    out.orientation = png_orientation(file);
    return out;
}

ValueRange png_values(ByteView file) {
    PngDecoder decoder(file);
    decoder.read_header();
    auto const pixels = decoder.read_pixels(Bits::sixteen);
    ValueRange out{1, 0};
    for_each_deep_value(pixels, decoder.components(), [&](int value) { out.see({value, value}); });
    return out;
}

void decode_png(ByteView file, std::int64_t channels, Image& out, ValueRange scale) {
    PngDecoder decoder(file);
    auto const info = decoder.read_header();
    bool const scaled = scale != ValueRange{};
    auto pixels = decoder.read_pixels(scaled ? Bits::sixteen : Bits::eight);
    out.width = info.width;
    out.height = info.height;
    out.channels = channels;
    out.orientation = png_orientation(file);
    auto components = decoder.components();
    if (scaled) pixels = to_eight_bits(pixels, components, scale);
    if (scaled) components = components < 3 ? 1 : 3;
    if (static_cast<std::int64_t>(components) == channels) return void(out.pixels = std::move(pixels));
    auto const count = static_cast<std::size_t>(info.width * info.height);
    out.pixels.resize(count * static_cast<std::size_t>(channels));
    for (std::size_t i = 0; i < count; ++i)
        convert(pixels.data() + i * components, components, channels,
                out.pixels.data() + i * static_cast<std::size_t>(channels));
}

}  // namespace hopscotch
