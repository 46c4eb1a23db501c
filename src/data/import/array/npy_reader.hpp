// SPDX-License-Identifier: Apache-2.0
// Reads an npy array from a file or from a member of a npz, piece by piece.
#pragma once
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "data/import/array/array_source.hpp"
#include "data/import/array/npy_header.hpp"

namespace hopscotch {

// Bytes of known length, read in order.
class ByteStream {
public:
    virtual ~ByteStream() = default;
    virtual std::string const& name() const = 0;
    virtual std::uint64_t size() const = 0;
    virtual void rewind() = 0;
    // Returns fewer bytes than asked for only at the end. Throws DataError if the data are damaged.
    virtual std::size_t read(MutableBytes out) = 0;
};

class FileStream final : public ByteStream {
public:
    explicit FileStream(std::filesystem::path const& path);  // DataError if it cannot be opened
    std::string const& name() const override { return name_; }
    std::uint64_t size() const override { return size_; }
    void rewind() override;
    std::size_t read(MutableBytes out) override;

private:
    std::string name_;
    std::ifstream in_;
    std::uint64_t size_ = 0;
};

class NpyReader final : public ArraySource {
public:
    // Throws DataError as parse_npy_header does, and if the stream is not exactly as long as its header says.
    explicit NpyReader(std::unique_ptr<ByteStream> stream);
    std::string const& name() const override { return stream_->name(); }
    NumberType type() const override { return header_.type; }
    std::vector<std::int64_t> const& shape() const override { return header_.shape; }
    void rewind() override;
    void read(std::int64_t rows, MutableBytes out) override;
    void finish() override;

private:
    std::string read_header(std::size_t bytes);

    std::unique_ptr<ByteStream> stream_;
    NpyHeader header_;
};

}  // namespace hopscotch
