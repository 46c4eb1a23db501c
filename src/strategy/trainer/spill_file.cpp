// SPDX-License-Identifier: Apache-2.0
#include "strategy/trainer/spill_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "core/error.hpp"
#include "core/fault.hpp"
#include "core/hash.hpp"

namespace hopscotch {

void SpillFile::CloseFile::operator()(int fd) noexcept { ::close(fd); }

void SpillFile::open() {
    auto name = (directory_ / "states-XXXXXX").string();
    file_ = UniqueHandle<int, CloseFile>(::mkostemp(name.data(), O_CLOEXEC));
    if (!file_) throw IoError(fmt::format("{}: cannot make a file ({})", directory_.string(), std::strerror(errno)));
    ::unlink(name.c_str());
}

std::uint64_t SpillFile::place_for(std::uint64_t bytes) {
    std::lock_guard const lock(mutex_);
    if (auto const found = free_.find(bytes); found != free_.end()) {  // the states of a trial are all of one size
        auto const offset = found->second;
        free_.erase(found);
        return offset;
    }
    auto const offset = end_;
    end_ += bytes;
    return offset;
}

SpillFile::Slot SpillFile::write(ByteView state) {
    if (!file_) open();
    Slot const slot{place_for(state.size()), state.size(), xxh3(state)};
    auto const fail = [&](int error) {
        free(slot);
        throw IoError(fmt::format("{}: cannot write ({})", directory_.string(), std::strerror(error)));
    };
    if (int const error = error_of(fault_at("spill.write")); error != 0) fail(error);
    for (std::size_t done = 0; done < state.size();) {
        auto const wrote =
            ::pwrite(file_.handle(), state.data() + done, state.size() - done, static_cast<off_t>(slot.offset + done));
        if (wrote < 0 && errno == EINTR) continue;
        if (wrote <= 0) fail(wrote < 0 ? errno : EIO);
        done += static_cast<std::size_t>(wrote);
    }
    return slot;
}

void SpillFile::read(Slot const& slot, MutableBytes into) const {
    try {
        return read_once(slot, into);
    } catch (Error const&) {  // the data on the disk may still be sound
        read_once(slot, into);
    }
}

void SpillFile::read_once(Slot const& slot, MutableBytes into) const {
    for (std::size_t done = 0; done < slot.bytes;) {
        auto const got =
            ::pread(file_.handle(), into.data() + done, slot.bytes - done, static_cast<off_t>(slot.offset + done));
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0)
            throw DataError(fmt::format("{}: a waiting state cannot be read ({})", directory_.string(),
                                        got < 0 ? std::strerror(errno) : "the file has become shorter"));
        done += static_cast<std::size_t>(got);
    }
    if (fault_at("spill.read") == Fault::flip) into.front() ^= std::byte{1};
    if (xxh3(into.first(slot.bytes)) != slot.hash)
        throw DataError(
            fmt::format("{}: a waiting state has been damaged (hashes differ); check the disk, or choose another run.spill",
                        directory_.string()));
}

void SpillFile::free(Slot const& slot) {
    if (slot.bytes == 0) return;
    std::lock_guard const lock(mutex_);
    free_.emplace(slot.bytes, slot.offset);
}

}  // namespace hopscotch
