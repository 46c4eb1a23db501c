// SPDX-License-Identifier: Apache-2.0
#include "data/import/readable_sources.hpp"

#include <fmt/format.h>
#include <iconv.h>
#include <zlib.h>

#include <array>
#include <cerrno>
#include <fstream>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "core/error.hpp"

namespace hopscotch {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t k_piece = 1 << 18;
constexpr std::string_view k_parquet = "PAR1";

bool is_gzip(fs::path const& path) {
    std::ifstream in(path, std::ios::binary);
    std::array<char, 2> magic{};
    in.read(magic.data(), magic.size());
    return in && magic[0] == '\x1F' && magic[1] == '\x8B';
}

// The bytes of a file, a pipe or a device, unpacked if they are gzip.
class PlainBytes {
public:
    explicit PlainBytes(fs::path path) : path_(std::move(path)), file_(gzopen(path_.c_str(), "rb"), gzclose) {
        if (!file_) throw DataError(fmt::format("{}: cannot be read; check the path and its permissions", path_.string()));
    }

    // The next bytes, to the end of `out`'s room; none: the end.
    std::size_t read(std::span<char> out) {
        auto const count = gzread(file_.get(), out.data(), static_cast<unsigned>(out.size()));
        int code = Z_OK;
        auto const* const text = gzerror(file_.get(), &code);
        if (count < 0 || code == Z_BUF_ERROR)
            throw DataError(fmt::format("{}: cannot be unpacked ({}); is it damaged?", path_.string(),
                                        code == Z_BUF_ERROR ? "it ends too early" : text));
        return static_cast<std::size_t>(count);
    }

private:
    fs::path path_;
    std::unique_ptr<gzFile_s, int (*)(gzFile)> file_;
};

// Turns text of an encoding into UTF-8, piece by piece.
class TextDecoder {
public:
    explicit TextDecoder(std::string const& encoding)
        : handle_(iconv_open("UTF-8", encoding == "latin-1" ? "LATIN1" : encoding.c_str())) {
        if (handle_ == reinterpret_cast<iconv_t>(-1))
            throw ConfigError(
                fmt::format("--encoding {}: no such encoding; choose a name that 'iconv -l' lists, such as "
                            "latin-1, windows-1252 or UTF-16",
                            encoding));
    }
    ~TextDecoder() { iconv_close(handle_); }
    TextDecoder(TextDecoder const&) = delete;
    TextDecoder& operator=(TextDecoder const&) = delete;

    // Nothing: the bytes are not of this encoding. Bytes of a character that is not complete wait for the next piece.
    std::optional<std::string> decode(std::string_view bytes) {
        rest_ += bytes;
        std::string out(rest_.size() * 4, '\0');
        char* from = rest_.data();
        char* to = out.data();
        std::size_t left = rest_.size(), room = out.size();
        if (iconv(handle_, &from, &left, &to, &room) == static_cast<std::size_t>(-1) && errno != EINVAL) return std::nullopt;
        rest_.erase(0, rest_.size() - left);
        out.resize(out.size() - room);
        return out;
    }
    bool complete() const { return rest_.empty(); }

private:
    iconv_t handle_;
    std::string rest_;
};

}  // namespace

bool is_parquet(fs::path const& path) {
    std::error_code none;
    if (!fs::is_regular_file(path, none)) return false;
    std::ifstream in(path, std::ios::binary);
    std::array<char, k_parquet.size()> first{}, last{};
    in.read(first.data(), first.size());
    in.seekg(-static_cast<std::streamoff>(last.size()), std::ios::end);
    in.read(last.data(), last.size());
    return in && std::string_view(first.data(), first.size()) == k_parquet &&
           std::string_view(last.data(), last.size()) == k_parquet;
}

ReadableSources::ReadableSources(std::vector<fs::path> sources, std::string const& encoding,
                                 std::function<void()> const& poll)
    : sources_(std::move(sources)) {
    for (auto const& source : sources_) {
        std::error_code none;  // the importer reports a missing source
        bool const file = fs::is_regular_file(source, none);
        bool const as_it_is = !fs::exists(source, none) || fs::is_directory(source, none) ||
                              (file && (encoding.empty() ? !is_gzip(source) : is_parquet(source)));
        paths_.push_back(as_it_is ? source : copy(source, encoding, poll));
    }
}

fs::path ReadableSources::copy(fs::path const& source, std::string const& encoding, std::function<void()> const& poll) {
    std::optional<TextDecoder> decoder;
    if (!encoding.empty()) decoder.emplace(encoding);
    if (!folder_) folder_.emplace();
    auto name = source.filename().string();
    if (name.ends_with(".gz")) name.resize(name.size() - 3);
    auto const out_path = folder_->path() / fmt::format("{}", paths_.size()) / name;  // two sources may have the same name
    fs::create_directory(out_path.parent_path());
    PlainBytes in(source);
    std::ofstream out(out_path, std::ios::binary);
    std::vector<char> piece(k_piece);
    while (auto const count = in.read(piece)) {
        std::string_view const bytes(piece.data(), count);
        if (out.tellp() == 0 && bytes.starts_with(k_parquet)) decoder.reset();
        auto const text = decoder ? decoder->decode(bytes) : std::nullopt;
        if (decoder && !text)
            throw DataError(fmt::format("{}: is not {}; choose another --encoding", source.string(), encoding));
        out << (decoder ? std::string_view(*text) : bytes);
        if (poll) poll();
    }
    if (decoder && !decoder->complete())
        throw DataError(
            fmt::format("{}: is not {} (it ends within a character); choose another --encoding", source.string(), encoding));
    out.close();
    if (!out)
        throw DataError(fmt::format("{}: cannot be written (a copy of {}); check free space, or set TMPDIR",
                                    out_path.string(), source.string()));
    return out_path;
}

void ReadableSources::remove_files() {
    std::error_code ignored;
    if (folder_) fs::remove_all(folder_->path(), ignored);
}

std::string ReadableSources::by_source(std::string message) const {
    return with_names_of(sources_, paths_, std::move(message));
}

std::string with_names_of(std::vector<fs::path> const& sources, std::vector<fs::path> const& copies, std::string message) {
    for (std::size_t i = 0; i < copies.size(); ++i) {
        if (copies[i] == sources[i]) continue;
        auto const copy = copies[i].string();
        auto const source = sources[i].string();
        for (auto at = message.find(copy); at != message.npos; at = message.find(copy, at + source.size()))
            message.replace(at, copy.size(), source);
    }
    return message;
}

}  // namespace hopscotch
