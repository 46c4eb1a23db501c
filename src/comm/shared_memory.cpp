// SPDX-License-Identifier: Apache-2.0
#include "comm/shared_memory.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <functional>
#include <mutex>
#include <set>
#include <string>

#include "comm/world.hpp"

namespace hopscotch {
namespace {

constexpr std::uint64_t k_first_piece = std::uint64_t{2} << 20;  // after the magic number, on a huge page of its own
constexpr std::uint64_t k_magic = 0x686f7073636f7463;
using Header = std::array<std::uint64_t, 2>;

bool begins_with(int file, std::uint64_t number) {
    Header header{};
    return ::pread(file, header.data(), sizeof header, 0) == sizeof header && header == Header{k_magic, number};
}

// "node12"
int node_named(std::string_view name) {
    int node = k_any_node;
    auto const digits = name.starts_with("node") ? name.substr(4) : std::string_view();
    auto const [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), node);
    return error == std::errc() && end == digits.data() + digits.size() ? node : k_any_node;
}

std::uint64_t host() {
    static auto const hash = std::hash<std::string>{}(host_name());
    return hash;
}

}  // namespace

void SharedMemory::CloseFile::operator()(int fd) noexcept { ::close(fd); }

bool SharedMemory::make_file() {
    std::uint64_t number = 0;
    if (::getrandom(&number, sizeof number, 0) != sizeof number) return false;
    File file(::memfd_create("hopscotch", MFD_CLOEXEC));
    Header const header{k_magic, number};
    if (!file || ::pwrite(file.handle(), header.data(), sizeof header, 0) != sizeof header) return false;
    own_ = number;
    end_ = k_first_piece;
    files_.emplace(number, kept(number, std::make_shared<File>(std::move(file))));
    return true;
}

// The descriptor of this process for that file: `file`, if there is none yet. All pools of the process share it, one pool
// for each trainer that is a thread: without sharing, the number of descriptors would grow with the square.
std::shared_ptr<SharedMemory::File> SharedMemory::kept(std::uint64_t number, std::shared_ptr<File> file) {
    static std::mutex mutex;
    static std::map<std::uint64_t, std::weak_ptr<File>> open;
    std::lock_guard const lock(mutex);
    std::erase_if(open, [](auto const& entry) { return entry.second.expired(); });
    if (auto const found = open.find(number); found != open.end())
        if (auto known = found->second.lock()) return known;
    if (file) open[number] = file;
    return file;
}

std::optional<SharedMemory::Place> SharedMemory::reserve(std::size_t bytes) {
    if (own_ == 0 && !make_file()) return std::nullopt;
    SharedPiece const piece{own_, end_, bytes};
    end_ += (bytes + k_first_piece - 1) / k_first_piece * k_first_piece;
    return Place{files_.at(own_), piece};
}

std::optional<SharedMapping> SharedMemory::make(Place const& place) {
    auto const [offset, bytes] = std::pair(static_cast<off_t>(place.piece.offset), static_cast<off_t>(place.piece.bytes));
    auto const file = place.file->handle();
    // Takes the memory now: if there is too little, this call fails. Otherwise a later write would kill the process.
    if (::fallocate(file, 0, offset, bytes) != 0) return std::nullopt;
    auto out = map(place);
    if (!out) ::fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset, bytes);
    return out;
}

PieceOffer SharedMemory::offer(SharedPiece const& piece, int node) const {
    return {piece, host(), ::getpid(), files_.at(piece.file)->handle(), node};
}

// A number that fits proves that this is the file, on this host.
std::shared_ptr<SharedMemory::File> SharedMemory::file_of(PieceOffer const& offer) {
    auto const known = files_.find(offer.piece.file);
    if (known != files_.end()) return known->second;
    if (offer.host != host()) return nullptr;
    if (auto file = kept(offer.piece.file, nullptr)) return files_.emplace(offer.piece.file, std::move(file)).first->second;
    File file(::open(fmt::format("/proc/{}/fd/{}", offer.process, offer.descriptor).c_str(),
                     O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    if (!file || !begins_with(file.handle(), offer.piece.file)) return nullptr;
    return files_.emplace(offer.piece.file, kept(offer.piece.file, std::make_shared<File>(std::move(file)))).first->second;
}

std::optional<SharedMemory::Place> SharedMemory::find(PieceOffer const& offer) {
    auto file = file_of(offer);
    return file ? std::optional(Place{std::move(file), offer.piece}) : std::nullopt;
}

std::optional<SharedMapping> SharedMemory::map(Place const& place) {
    auto const& piece = place.piece;
    auto* const data = ::mmap(nullptr, piece.bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, place.file->handle(),
                              static_cast<off_t>(piece.offset));
    if (data == MAP_FAILED) return std::nullopt;
    return SharedMapping{static_cast<std::byte*>(data), piece};
}

void SharedMemory::discard(SharedPiece const& piece) noexcept {
    auto const file = files_.find(piece.file);
    if (file != files_.end())
        ::fallocate(file->second->handle(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(piece.offset),
                    static_cast<off_t>(piece.bytes));
}

// Each core's folder has a link to the folder of its node.
int home_node(std::filesystem::path const& root) {
    cpu_set_t cores;
    CPU_ZERO(&cores);
    if (::sched_getaffinity(0, sizeof cores, &cores) != 0) return k_any_node;
    std::set<int> nodes;
    for (int core = 0; core < CPU_SETSIZE; ++core) {
        if (!CPU_ISSET(core, &cores)) continue;
        std::error_code none;
        auto const folder = root / "sys/devices/system/cpu" / fmt::format("cpu{}", core);
        for (std::filesystem::directory_iterator entry(folder, none), end; !none && entry != end; entry.increment(none))
            if (auto const node = node_named(entry->path().filename().string()); node != k_any_node) nodes.insert(node);
    }
    return nodes.size() == 1 ? *nodes.begin() : k_any_node;
}

}  // namespace hopscotch
