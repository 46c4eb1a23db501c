// SPDX-License-Identifier: Apache-2.0
#include "data/import/array/npz_reader.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>

#include "core/error.hpp"

namespace hopscotch {
namespace {

constexpr std::uint64_t k_local_bytes = 30, k_best_ratio = 1032;  // deflate cannot do better

std::uint64_t uint16_at(std::string_view text, std::size_t at) {
    return static_cast<std::uint64_t>(static_cast<unsigned char>(text[at]) | static_cast<unsigned char>(text[at + 1]) << 8);
}

class MemberStream final : public ByteStream {
public:
    MemberStream(std::filesystem::path const& path, NpzMember member)
        : name_(path.string() + ":" + member.name),
          member_(std::move(member)),
          in_(path, std::ios::binary),
          input_(1 << 16) {
        std::string local(k_local_bytes, '\0');
        in_.seekg(static_cast<std::streamoff>(member_.header_at));
        if (!in_.read(local.data(), k_local_bytes) || !local.starts_with("PK\3\4")) damaged_zip(name_, "no local header");
        data_at_ = member_.header_at + k_local_bytes + uint16_at(local, 26) + uint16_at(local, 28);
        auto const file_bytes = std::filesystem::file_size(path);
        if (data_at_ > file_bytes || member_.packed > file_bytes - data_at_) damaged_zip(name_, "it is truncated");
        if (member_.method == k_zip_stored && member_.packed != member_.size) damaged_zip(name_, "its two sizes differ");
        if (member_.size / k_best_ratio > member_.packed) damaged_zip(name_, "its two sizes contradict each other");
        if (inflateInit2(&inflater_, -MAX_WBITS) != Z_OK) throw Error(name_ + ": zlib cannot start (no memory)");
        rewind();
    }
    ~MemberStream() override { inflateEnd(&inflater_); }
    MemberStream(MemberStream const&) = delete;
    MemberStream& operator=(MemberStream const&) = delete;

    std::string const& name() const override { return name_; }
    std::uint64_t size() const override { return member_.size; }

    void rewind() override {
        in_.clear();
        in_.seekg(static_cast<std::streamoff>(data_at_));
        inflateReset(&inflater_);
        inflater_.avail_in = 0;
        packed_left_ = member_.packed;
        left_ = member_.size;
        crc_ = 0;
    }

    std::size_t read(MutableBytes out) override {
        auto const wanted = out.first(std::min<std::uint64_t>(out.size(), left_));
        if (member_.method == k_zip_stored)
            fetch(wanted);
        else
            inflate_into(wanted);
        crc_ = crc32_z(crc_, reinterpret_cast<Bytef const*>(wanted.data()), wanted.size());
        left_ -= wanted.size();
        if (left_ == 0 && !wanted.empty() && crc_ != member_.crc) damaged_zip(name_, "its checksum is wrong");
        return wanted.size();
    }

private:
    void fetch(MutableBytes out) {
        if (!in_.read(reinterpret_cast<char*>(out.data()), static_cast<std::streamsize>(out.size())))
            damaged_zip(name_, "it cannot be read");
        packed_left_ -= out.size();
    }

    void refill() {
        auto const piece = MutableBytes(input_).first(std::min<std::uint64_t>(input_.size(), packed_left_));
        fetch(piece);
        inflater_.next_in = reinterpret_cast<Bytef*>(piece.data());
        inflater_.avail_in = static_cast<uInt>(piece.size());
    }

    void inflate_into(MutableBytes out) {
        while (!out.empty()) {
            if (inflater_.avail_in == 0) refill();
            auto const most = static_cast<uInt>(std::min<std::size_t>(out.size(), 1 << 30));
            inflater_.next_out = reinterpret_cast<Bytef*>(out.data());
            inflater_.avail_out = most;
            auto const code = inflate(&inflater_, Z_NO_FLUSH);
            out = out.subspan(most - inflater_.avail_out);
            if (code == Z_OK && (packed_left_ > 0 || inflater_.avail_in > 0 || inflater_.avail_out == 0)) continue;
            if (!out.empty()) damaged_zip(name_, code == Z_DATA_ERROR ? "its data is bad" : "its data ends early");
        }
    }

    std::string name_;
    NpzMember member_;
    std::ifstream in_;
    std::vector<std::byte> input_;
    std::uint64_t data_at_ = 0, packed_left_ = 0, left_ = 0;
    z_stream inflater_{};
    uLong crc_ = 0;
};

}  // namespace

std::unique_ptr<ByteStream> open_npz_member(std::filesystem::path const& path, NpzMember const& member) {
    return std::make_unique<MemberStream>(path, member);
}

}  // namespace hopscotch
