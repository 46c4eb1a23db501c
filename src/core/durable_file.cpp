// SPDX-License-Identifier: Apache-2.0
#include "core/durable_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "core/clock.hpp"
#include "core/error.hpp"
#include "core/fault.hpp"
#include "core/hash.hpp"
#include "core/log.hpp"
#include "core/unique_handle.hpp"

namespace hopscotch {
namespace {

void check_io(bool ok, std::filesystem::path const& path, std::string_view what) {
    if (!ok) throw IoError(fmt::format("{}: cannot {} ({})", path.string(), what, std::strerror(errno)));
}

// "checkpoint.sync": the fault point (core/fault.hpp) of a step of writing this file.
std::string point_of(std::filesystem::path path, std::string_view step) {
    if (path.extension() == ".tmp") path.replace_extension();
    auto const extension = path.extension();
    return fmt::format("{}.{}",
                       extension == ".ckpt"        ? "checkpoint"
                       : extension == ".bin"       ? "units"
                       : extension == ".hopscotch" ? "events"
                                                   : path.stem().string(),
                       step);
}

// False, with errno set, if a fault is injected here.
bool survives(std::filesystem::path const& path, std::string_view step) {
    auto const fault = fault_at(point_of(path, step));
    if (fault == Fault::none) return true;
    int const error = error_of(fault);
    errno = error != 0 ? error : ENOSPC;
    return false;
}

}  // namespace

bool FileIdentity::is_current() const {
    struct stat there{};
    return ::stat(path.c_str(), &there) == 0 && there.st_ino == inode && there.st_dev == device;
}

AppendFile::AppendFile(std::filesystem::path path, Create create) : path_(std::move(path)) {
    int const exclusively = create == Create::exclusively ? O_EXCL : 0;
    constexpr int k_at_no_pipe = O_NONBLOCK;  // opening a pipe would wait for a reader
    fd_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | k_at_no_pipe | exclusively, 0644);
    check_io(fd_ >= 0, path_, "open");
}

AppendFile::~AppendFile() {
    if (fd_ < 0) return;
    if (dirty_) ::fdatasync(fd_);
    ::close(fd_);
}

void AppendFile::append(std::string_view bytes) {
    auto const fault = fault_at(point_of(path_, "append"));
    int const error = error_of(fault);
    bool const half = fault == Fault::tear || fault == Fault::partial;
    std::string changed;
    if (fault == Fault::flip && !bytes.empty()) {
        changed = bytes;
        changed[changed.size() / 2] = static_cast<char>(changed[changed.size() / 2] ^ 1);
        bytes = changed;
    }
    if (error == 0 || half) write(half ? bytes.substr(0, bytes.size() / 2) : bytes);
    if (fault == Fault::tear) std::raise(SIGKILL);
    if (half) take_back(bytes.size() / 2);
    errno = error;
    check_io(error == 0, path_, "write");
    dirty_ = true;
}

void AppendFile::write(std::string_view bytes) {
    if (torn_)
        throw IoError(
            fmt::format("{}: cannot write (an earlier write left half a line that could not be removed)", path_.string()));
    for (std::size_t done = 0; done < bytes.size();) {
        auto const written = ::write(fd_, bytes.data() + done, bytes.size() - done);
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) {
            int const error = errno;
            take_back(done);
            errno = error;
        }
        check_io(written >= 0, path_, "write");
        done += static_cast<std::size_t>(written);
    }
}

void AppendFile::take_back(std::size_t written) {
    if (written == 0) return;
    struct stat status{};
    bool const known = ::fstat(fd_, &status) == 0 && S_ISREG(status.st_mode);
    torn_ = !known || ::ftruncate(fd_, status.st_size - static_cast<off_t>(written)) != 0;
}

FileIdentity AppendFile::identity() const {
    struct stat mine{};
    if (::fstat(fd_, &mine) != 0) return {};
    return {path_, mine.st_dev, mine.st_ino};
}

void AppendFile::sync() {
    if (!dirty_) return;
    // EINVAL: a pipe or a file system without sync; there is nothing to wait for then.
    check_io(survives(path_, "sync") && (::fdatasync(fd_) == 0 || errno == EINVAL), path_, "sync");
    dirty_ = false;
    synced_at_s_ = monotonic_s();
}

bool AppendFile::sync_is_due() const { return dirty_ && monotonic_s() - synced_at_s_ >= k_sync_every_s; }

void DispensableFile::append(std::string_view bytes) {
    waiting_ += bytes;
    try_again();
}

void DispensableFile::try_again() {
    if (waiting_.empty()) return;
    try {
        file_.append(waiting_);
        waiting_.clear();
    } catch (std::exception const& error) {
        if (!std::exchange(told_, true))
            log_warning(fmt::format("{} is not complete: {}; the run goes on, and tries again", path_.filename().string(),
                                    error.what()));
    }
}

namespace {

struct CloseFolder {
    static int null() { return -1; }
    void operator()(int fd) noexcept { ::close(fd); }
};
using Folder = UniqueHandle<int, CloseFolder>;

Folder open_folder(std::filesystem::path const& path) {
    Folder folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    check_io(static_cast<bool>(folder), path, "open");
    return folder;
}

// "c.ckpt.tmp"; of many writers "c.0123456789abcdef.ckpt.tmp".
std::filesystem::path temporary_name(std::filesystem::path const& path, Writers writers) {
    auto name = path;
    if (writers == Writers::many) {
        name.replace_extension("." + random_word() + path.extension().string());
    }
    return name += ".tmp";
}

}  // namespace

namespace {

enum class Sync { yes, no };

struct Manner {
    Sync sync = Sync::yes;
    Writers writers = Writers::one;
    FileIdentity const* owner = nullptr;
};

void replace(std::filesystem::path const& path, std::span<ByteView const> parts, Manner manner) {
    auto const [sync, writers, owner] = manner;
    auto const temporary = temporary_name(path, writers);
    std::error_code ignored;
    if (writers == Writers::one) std::filesystem::remove(temporary, ignored);  // a killed writer may have left one
    try {
        {
            AppendFile file(temporary, AppendFile::Create::exclusively);
            for (auto const part : parts) file.append({reinterpret_cast<char const*>(part.data()), part.size()});
            sync == Sync::yes ? file.sync() : file.do_not_sync();
        }
        if (owner && !owner->is_current()) {
            std::filesystem::remove(temporary, ignored);
            return;
        }
        // The rename itself must reach the disk. All steps that can fail come before it, except fsync. Some file systems
        // cannot sync a directory (EINVAL); there is nothing to wait for then.
        auto const parent = path.has_parent_path() ? path.parent_path() : ".";
        auto const folder = sync == Sync::yes ? open_folder(parent) : Folder();
        check_io(survives(temporary, "rename") && std::rename(temporary.c_str(), path.c_str()) == 0, path, "replace");
        if (folder) check_io(::fsync(folder.handle()) == 0 || errno == EINVAL, parent, "sync");
    } catch (...) {
        std::filesystem::remove(temporary, ignored);  // a full disk must not keep half a file
        throw;
    }
}

}  // namespace

void refuse_link(std::filesystem::path const& folder) {
    if (std::filesystem::is_symlink(folder))
        throw DataError(fmt::format("{}: is a link (it would lead elsewhere); put the real folder there", folder.string()));
}

std::filesystem::path make_folders(std::filesystem::path const& root, std::filesystem::path const& below) {
    std::filesystem::create_directories(root);
    auto folder = root;
    for (auto const& name : below) {
        folder /= name;
        bool const there = ::mkdir(folder.c_str(), 0777) == 0 || errno == EEXIST;
        check_io(there, folder, "create");
        refuse_link(folder);
        if (!std::filesystem::is_directory(folder))
            throw DataError(fmt::format("{}: is not a folder (something else has its name); remove it", folder.string()));
    }
    return folder;
}

std::string random_word() {
    std::uint64_t number = 0;
    if (::getrandom(&number, sizeof number, 0) != sizeof number)
        throw IoError(fmt::format("the system gives no random number ({})", std::strerror(errno)));
    return to_hex(number);
}

void write_atomically(std::filesystem::path const& path, std::span<ByteView const> parts, Writers writers) {
    replace(path, parts, {.writers = writers});
}

void replace_quickly(std::filesystem::path const& path, std::string_view bytes, FileIdentity const* owner) {
    std::array const parts{std::as_bytes(std::span(bytes))};
    replace(path, parts, {.sync = Sync::no, .owner = owner});
}

void write_atomically(std::filesystem::path const& path, std::string_view bytes, FileIdentity const* owner) {
    std::array const parts{std::as_bytes(std::span(bytes))};
    replace(path, parts, {.owner = owner});
}

}  // namespace hopscotch
