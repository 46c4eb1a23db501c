// SPDX-License-Identifier: Apache-2.0
#include "rundir/checkpoint.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "core/durable_file.hpp"
#include "core/error.hpp"
#include "core/hash.hpp"
#include "rundir/journal_codec.hpp"

namespace hopscotch {
namespace {

static_assert(std::endian::native == std::endian::little, "checkpoints are little-endian");

constexpr std::array<char, 16> k_magic{'H', 'O', 'P', 'S', 'C', 'O', 'T', 'C', 'H', 'C', 'K', 'P', 'T', '1', '\n', '\0'};
constexpr int k_format = 1;
constexpr std::uint64_t k_longest_header = 64 << 20;  // a lap of a million units; more is damage

struct Preamble {
    std::array<char, 16> magic = k_magic;
    std::uint64_t header_bytes = 0, state_bytes = 0, header_hash = 0, state_hash = 0;
};

ByteView bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

Json header_of(Checkpoint const& checkpoint) {
    auto out = Json::object({{"format", k_format},
                             {"run", checkpoint.run_id},
                             {"epoch", checkpoint.place.epoch},
                             {"step", checkpoint.place.step},
                             {"batch", checkpoint.place.batch},
                             {"rows", checkpoint.rows},
                             {"loss_sum", checkpoint.loss_sum},
                             {"layout", to_hex(checkpoint.layout_hash)},
                             {"state_hash", to_hex(checkpoint.state_hash)},
                             {"whole", checkpoint.whole},
                             {"parts_bytes", static_cast<std::int64_t>(checkpoint.parts.size())},
                             {"parts_hash", to_hex(xxh3(checkpoint.parts))},
                             {"record", to_json(checkpoint.record)}});
    if (checkpoint.shard.value >= 0) out["shard"] = checkpoint.shard.value;
    return out;
}

Checkpoint from_header(Json const& json) {
    require(json.at("format").integer() == k_format, "another format (written by another version of hopscotch?)");
    Checkpoint out;
    out.run_id = json.at("run").string();
    out.place = {count_in(json, "epoch"), count_in(json, "step"), integer_in(json, "batch", 0, INT64_MAX)};
    out.rows = integer_in(json, "rows", 0, INT64_MAX);
    auto const& loss = json.at("loss_sum");
    out.loss_sum = loss.is_null() ? std::numeric_limits<double>::quiet_NaN() : loss.number();
    out.layout_hash = from_hex(json.at("layout").string());
    if (auto const* hash = json.find("state_hash")) out.state_hash = from_hex(hash->string());
    out.whole = json.at("whole").boolean();
    if (json.find("shard") != nullptr) out.shard = ShardId(count_in(json, "shard"));
    out.record = lap_record_from_json(json.at("record"));
    return out;
}

// Reads exactly that much, or throws.
void read_at(int fd, std::filesystem::path const& path, MutableBytes into, std::size_t offset) {
    while (!into.empty()) {
        auto const got = ::pread(fd, into.data(), into.size(), static_cast<off_t>(offset));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) throw DataError(fmt::format("{}: cannot read ({})", path.string(), std::strerror(errno)));
        if (got == 0) throw DataError(fmt::format("{}: is torn (it ends at byte {})", path.string(), offset));
        into = into.subspan(static_cast<std::size_t>(got));
        offset += static_cast<std::size_t>(got);
    }
}

// Throws for a longer file: no more memory is taken.
std::uint64_t length_of(int fd, std::filesystem::path const& path, std::uint64_t most) {
    struct stat status{};
    if (::fstat(fd, &status) != 0) throw DataError(fmt::format("{}: cannot stat ({})", path.string(), std::strerror(errno)));
    auto const size = static_cast<std::uint64_t>(status.st_size);
    if (size > most) throw DataError(fmt::format("{}: is too long for a state of this run ({} bytes)", path.string(), size));
    return size;
}

}  // namespace

std::string checkpoint_name(Checkpoint const& checkpoint, int incarnation) {
    auto const& place = checkpoint.place;
    return fmt::format("checkpoints/trial-{:05}-e{:04}-s{:04}-b{:06}-i{}.ckpt", checkpoint.record.trial.value, place.epoch,
                       place.step, place.batch, incarnation);
}

bool is_checkpoint_name(std::string_view name, SavedState const& saved) {
    Checkpoint about;
    about.place = {saved.epoch, saved.step, saved.batch};
    about.record.trial = saved.trial;
    int incarnation = 0;
    auto const mark = name.rfind("-i");
    if (mark == name.npos) return false;
    std::from_chars(name.data() + mark + 2, name.data() + name.size(), incarnation);
    return name == checkpoint_name(about, incarnation);
}

void write_checkpoint(std::filesystem::path const& path, Checkpoint const& checkpoint, ByteView state) {
    auto const header = header_of(checkpoint).dump();
    Preamble preamble;
    preamble.header_bytes = header.size();
    preamble.state_bytes = state.size();
    preamble.header_hash = xxh3(bytes_of(header));
    preamble.state_hash = xxh3(state);
    std::array const parts{std::as_bytes(std::span(&preamble, 1)), bytes_of(header), state, ByteView(checkpoint.parts)};
    refuse_link(path.parent_path());
    // Two trainers may save one place: one may still write it in the background when the other already has the state.
    write_atomically(path, parts, Writers::many);
}

std::uint64_t most_checkpoint_bytes(std::uint64_t state_bytes, int trainers) {
    constexpr std::uint64_t own = 16 << 20, sums = std::uint64_t{4} << 30;  // places of trainers; scores of validation rows
    return k_longest_header + sums + (state_bytes + own) * (static_cast<std::uint64_t>(trainers) + 1);
}

CheckpointFile::CheckpointFile(std::filesystem::path path, std::uint64_t most_bytes) : path_(std::move(path)) {
    fd_ =
        ::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);  // a link leads elsewhere, a pipe has no end
    if (fd_ < 0) throw DataError(fmt::format("{}: cannot open ({})", path_.string(), std::strerror(errno)));
    try {
        Preamble preamble;
        read_at(fd_, path_, std::as_writable_bytes(std::span(&preamble, 1)), 0);
        if (preamble.magic != k_magic) throw DataError(fmt::format("{}: is not a checkpoint", path_.string()));
        auto const size = length_of(fd_, path_, most_bytes);
        bool const sane = preamble.header_bytes <= k_longest_header && preamble.state_bytes <= size;
        auto const before_parts = sizeof preamble + preamble.header_bytes + preamble.state_bytes;
        auto const wrong_length = fmt::format("{}: is torn or damaged (its length differs from its header)", path_.string());
        if (!sane || before_parts > size) throw DataError(wrong_length);
        std::string header(preamble.header_bytes, '\0');
        read_at(fd_, path_, std::as_writable_bytes(std::span(header)), sizeof preamble);
        if (xxh3(bytes_of(header)) != preamble.header_hash)
            throw DataError(fmt::format("{}: is damaged (the hash of its header differs)", path_.string()));
        auto const json = parse_json_or_throw(header, path_.string());
        about_ = from_header(json);
        if (json.at("parts_bytes").integer() != static_cast<std::int64_t>(size - before_parts))
            throw DataError(wrong_length);
        about_.parts.resize(size - before_parts);
        read_at(fd_, path_, about_.parts, before_parts);
        if (to_hex(xxh3(about_.parts)) != json.at("parts_hash").string())
            throw DataError(fmt::format("{}: is damaged (the hash of its parts differs)", path_.string()));
        state_offset_ = sizeof preamble + header.size();
        state_bytes_ = preamble.state_bytes;
        state_hash_ = preamble.state_hash;
    } catch (DataError const&) {
        ::close(fd_);
        throw;
    } catch (Error const& error) {  // adds the file's name
        ::close(fd_);
        throw DataError(fmt::format("{}: {}", path_.string(), error.what()));
    }
}

CheckpointFile::~CheckpointFile() { ::close(fd_); }

void CheckpointFile::read_state(MutableBytes into) const {
    require(into.size() == state_bytes_, "the size of a buffer is not that of the checkpoint's state");
    read_at(fd_, path_, into, state_offset_);
    check_hash(xxh3(into));
}

void CheckpointFile::verify() const {
    std::vector<std::byte> piece(std::min<std::size_t>(state_bytes_, 1 << 20));
    Xxh3Stream hash;
    for (std::size_t done = 0; done < state_bytes_;) {
        auto const part = MutableBytes(piece).first(std::min(piece.size(), state_bytes_ - done));
        read_at(fd_, path_, part, state_offset_ + done);
        hash.update(part);
        done += part.size();
    }
    check_hash(hash.digest());
}

void CheckpointFile::check_hash(std::uint64_t found) const {
    if (found != state_hash_) throw DataError(fmt::format("{}: is damaged (the hash of its state differs)", path_.string()));
}

}  // namespace hopscotch
