// SPDX-License-Identifier: Apache-2.0
// The only file that includes libjpeg's headers. libjpeg leaves errors by longjmp: between setjmp and the last call that can
// fail, no function here owns anything with a destructor.
#include <csetjmp>
#include <cstdio>

#include <jpeglib.h>

#include <jerror.h>

#include <string>
#include <string_view>

#include "core/error.hpp"
#include "data/import/image/exif_orientation.hpp"
#include "data/import/image/image_decode.hpp"

namespace hopscotch {
namespace {

struct JpegFailure {
    jpeg_error_mgr manager;  // first: libjpeg knows only this member
    std::jmp_buf back;
    char text[JMSG_LENGTH_MAX];
};

[[noreturn]] void leave(j_common_ptr jpeg) {
    auto* failure = reinterpret_cast<JpegFailure*>(jpeg->err);
    (*jpeg->err->format_message)(jpeg, failure->text);
    std::longjmp(failure->back, 1);
}

// A warning is corrupt data that libjpeg would paper over with grey; negative levels are warnings, the others chatter.
void leave_at_warning(j_common_ptr jpeg, int level) {
    if (level < 0) leave(jpeg);
}

enum class Depth { header, pixels };

// A decoder on the bytes of one file. decode() returns false after an error, whose text is in failure.
class JpegDecoder {
public:
    explicit JpegDecoder(ByteView file) : file_(file) {
        jpeg_.err = jpeg_std_error(&failure_.manager);
        failure_.manager.error_exit = leave;
        failure_.manager.emit_message = leave_at_warning;
    }
    ~JpegDecoder() { jpeg_destroy_decompress(&jpeg_); }
    JpegDecoder(JpegDecoder const&) = delete;
    JpegDecoder& operator=(JpegDecoder const&) = delete;

    jpeg_decompress_struct const& read_header() {
        if (!try_header()) throw DataError(std::string("damaged JPEG: ") + failure_.text);
        check_image_size(jpeg_.image_width, jpeg_.image_height);
        return jpeg_;
    }

    // After read_header.
    int orientation() const {
        for (auto const* marker = jpeg_.marker_list; marker != nullptr; marker = marker->next) {
            ByteView const data(reinterpret_cast<std::byte const*>(marker->data), marker->data_length);
            std::string_view const text(reinterpret_cast<char const*>(marker->data), marker->data_length);
            if (text.starts_with(std::string_view("Exif\0\0", 6))) return exif_orientation(data);  // others are XMP
        }
        return 1;
    }

    // After read_header. pixels: height x width x components of `space`.
    void read_pixels(J_COLOR_SPACE space, std::uint8_t* pixels) {
        if (!try_pixels(space, pixels)) throw DataError(std::string("damaged JPEG: ") + failure_.text);
    }

private:
    bool try_header() {
        if (setjmp(failure_.back) != 0) return false;
        jpeg_create_decompress(&jpeg_);
        jpeg_mem_src(&jpeg_, reinterpret_cast<unsigned char const*>(file_.data()), file_.size());
        jpeg_save_markers(&jpeg_, JPEG_APP0 + 1, 0xffff);
        jpeg_read_header(&jpeg_, TRUE);
        return true;
    }

    bool try_pixels(J_COLOR_SPACE space, std::uint8_t* pixels) {
        if (setjmp(failure_.back) != 0) return false;
        jpeg_.out_color_space = space;
        jpeg_.dct_method = JDCT_ISLOW;
        jpeg_start_decompress(&jpeg_);
        auto const stride = static_cast<std::size_t>(jpeg_.output_width) * static_cast<std::size_t>(jpeg_.output_components);
        while (jpeg_.output_scanline < jpeg_.output_height) {
            JSAMPROW rows[8];
            for (std::size_t i = 0; i < 8; ++i) rows[i] = pixels + (jpeg_.output_scanline + i) * stride;
            auto const left = jpeg_.output_height - jpeg_.output_scanline;
            jpeg_read_scanlines(&jpeg_, rows, left < 8 ? left : 8);
        }
        jpeg_finish_decompress(&jpeg_);
        return true;
    }

    ByteView file_;
    jpeg_decompress_struct jpeg_{};
    JpegFailure failure_{};
};

// Print colours without a profile, as every viewer shows them. Adobe writes them inverted.
void cmyk_to(std::vector<std::uint8_t> const& cmyk, bool inverted, Image& out) {
    auto const count = cmyk.size() / 4;
    auto* to = out.pixels.data();
    for (std::size_t i = 0; i < count; ++i) {
        std::uint32_t colour[4];
        for (std::size_t c = 0; c < 4; ++c) {
            auto const value = cmyk[4 * i + c];
            colour[c] = inverted ? value : 255U - value;
        }
        for (std::size_t c = 0; c < 3; ++c) colour[c] = (colour[c] * colour[3] + 127) / 255;
        if (out.channels == 1)
            *to++ = luma(colour[0], colour[1], colour[2]);
        else
            for (std::size_t c = 0; c < 3; ++c) *to++ = static_cast<std::uint8_t>(colour[c]);
    }
}

}  // namespace

ImageInfo jpeg_info(ByteView file) {
    JpegDecoder decoder(file);
    auto const& header = decoder.read_header();
    return {header.image_width, header.image_height, header.num_components != 1, decoder.orientation()};
}

void decode_jpeg(ByteView file, std::int64_t channels, Image& out) {
    JpegDecoder decoder(file);
    auto const& header = decoder.read_header();
    out.width = header.image_width;
    out.height = header.image_height;
    out.channels = channels;
    out.orientation = decoder.orientation();
    auto const count = static_cast<std::size_t>(out.width * out.height);
    out.pixels.resize(count * static_cast<std::size_t>(channels));
    if (header.num_components == 4) {
        std::vector<std::uint8_t> cmyk(4 * count);
        auto const inverted = header.saw_Adobe_marker != 0;
        decoder.read_pixels(JCS_CMYK, cmyk.data());
        return cmyk_to(cmyk, inverted, out);
    }
    decoder.read_pixels(channels == 1 ? JCS_GRAYSCALE : JCS_RGB, out.pixels.data());
}

}  // namespace hopscotch
