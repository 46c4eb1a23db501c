// SPDX-License-Identifier: Apache-2.0
#include "data/import/array/token_source.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/error.hpp"
#include "data/import/array/npy_reader.hpp"

namespace hopscotch {
namespace {

constexpr std::int64_t k_piece_tokens = 1 << 16;

class ByteTokens final : public ArraySource {
public:
    explicit ByteTokens(std::filesystem::path const& path) : file_(path), shape_{static_cast<std::int64_t>(file_.size())} {
        if (file_.size() == 0) throw DataError(file_.name() + ": the file is empty");
    }
    std::string const& name() const override { return file_.name(); }
    NumberType type() const override { return {NumberKind::unsigned_integer, 1}; }
    std::vector<std::int64_t> const& shape() const override { return shape_; }
    void rewind() override { file_.rewind(); }
    void read(std::int64_t, MutableBytes out) override {
        if (file_.read(out) != out.size())
            throw DataError(name() + ": truncated (it became shorter while it was read); try again");
    }

private:
    FileStream file_;
    std::vector<std::int64_t> shape_;
};

}  // namespace

std::unique_ptr<ArraySource> open_tokens(std::filesystem::path const& path) {
    if (!is_npy(path)) return std::make_unique<ByteTokens>(path);
    auto out = std::make_unique<NpyReader>(std::make_unique<FileStream>(path));
    if (!out->type().is_integer())
        throw DataError(fmt::format("{}: holds {}; tokens are integers", out->name(), name_of(out->type())));
    if (out->shape().size() != 1)
        throw DataError(fmt::format("{}: its shape is {} (tokens are one row of integers); save array.ravel()", out->name(),
                                    fmt::join(out->shape(), "x")));
    return out;
}

bool is_npy(std::filesystem::path const& path) { return path.extension() == ".npy"; }

TokenReader::TokenReader(ArraySource& source) : source_(source), left_(source.rows()) { source_.rewind(); }

void TokenReader::refill() {
    require(left_ > 0, "no token is left");
    auto const count = std::min(left_, k_piece_tokens);
    left_ -= count;
    at_ = 0;
    piece_.resize(static_cast<std::size_t>(count));
    bytes_.resize(piece_.size() * source_.type().bytes);
    source_.read(count, bytes_);
    visit_type(source_.type(), [&](auto element) {
        for (std::size_t i = 0; i < piece_.size(); ++i) {
            auto const token = element_at<decltype(element)>(bytes_, i);
            if constexpr (std::is_same_v<decltype(element), std::uint64_t>)
                piece_[i] = static_cast<std::int64_t>(std::min(token, static_cast<std::uint64_t>(INT64_MAX)));
            else
                piece_[i] = static_cast<std::int64_t>(token);
        }
    });
}

std::int64_t TokenReader::next() {
    if (at_ == piece_.size()) refill();
    return piece_[at_++];
}

}  // namespace hopscotch
