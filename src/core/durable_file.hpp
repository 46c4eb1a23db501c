// SPDX-License-Identifier: Apache-2.0
// Files of a run directory are written in one of two ways: line by line and at once, or whole and atomically.
#pragma once
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "core/byte_view.hpp"

namespace hopscotch {

// The file that a name stood for. Later the same name may stand for the file of a later job.
struct FileIdentity {
    std::filesystem::path path;
    std::uint64_t device = 0, inode = 0;
    bool is_current() const;  // not deleted, and not replaced
};

// A file of lines that a crash may cut off at the end but nowhere else. Every append is one write(2): another process
// sees it at once. Reaching the disk costs milliseconds, so it is done in groups. Throws IoError with errno's text.
// An append that fails leaves nothing behind: the part that was written is cut off. If that fails too, every later append
// fails. A file has one writer at a time. A link in the place of the file is refused: it would lead elsewhere.
class AppendFile {
public:
    enum class Create { if_absent, exclusively };  // exclusively: a file of that name is an error
    explicit AppendFile(std::filesystem::path path, Create create = Create::if_absent);
    ~AppendFile();  // syncs, if something is new
    AppendFile(AppendFile const&) = delete;
    AppendFile& operator=(AppendFile const&) = delete;

    void append(std::string_view bytes);
    void sync();                            // everything appended so far survives a power cut
    void do_not_sync() { dirty_ = false; }  // the lines appended so far need not survive a power cut
    FileIdentity identity() const;
    bool sync_is_due() const;  // something is new, and the last sync was k_sync_every_s ago or earlier
    void sync_if_due() {
        if (sync_is_due()) sync();
    }

    static constexpr double k_sync_every_s = 0.1;

private:
    void write(std::string_view bytes);
    void take_back(std::size_t written);

    std::filesystem::path path_;
    int fd_ = -1;
    bool dirty_ = false, torn_ = false;
    double synced_at_s_ = 0;
};

// A file of lines that a run can do without: trace.json and metrics.jsonl, which follow from the journal. If the disk is
// full, the bytes wait in memory, the log says so once, and the next append tries again.
class DispensableFile {
public:
    explicit DispensableFile(std::filesystem::path const& path) : path_(path), file_(path) {}
    void append(std::string_view bytes);
    void try_again();  // writes the waiting bytes. Call it at the end of the run: no append follows

private:
    std::filesystem::path path_;
    AppendFile file_;
    std::string waiting_;
    bool told_ = false;
};

// Throws DataError if a folder of a run has become a link: files would be written elsewhere.
void refuse_link(std::filesystem::path const& folder);

// Creates root and the folders of `below` in it, if they are missing, and returns root / below. Throws DataError if one of
// `below` is a link or not a folder; IoError if it cannot be created.
std::filesystem::path make_folders(std::filesystem::path const& root, std::filesystem::path const& below);

// 16 random digits, different for every process on every host: process ids repeat between hosts and containers. Throws
// IoError.
std::string random_word();

// Temporary name, rename: readers see the old file or the new one, never a part. A power cut may empty or undo it. For files
// that are written again soon. owner: as of write_atomically. Throws Error.
void replace_quickly(std::filesystem::path const& path, std::string_view bytes, FileIdentity const* owner = nullptr);

// Temporary name, fsync, rename, fsync of the directory: readers see the old file or the new one, never a part. On
// return the new file survives a power cut. Throws Error; then the old file is unchanged, unless the last step failed, the
// fsync of the directory: then readers see the new file, and a power cut may undo it. The temporary name ends in ".tmp".
// Writers::many: processes may write the file at the same time, each under a temporary name of its own. A killed writer
// leaves that file; another process has to remove it.
// owner: the path is left alone if this file is no longer current once the temporary file is there. A later owner that
// removes the temporary file then never meets bytes of an earlier one, however long that one stood still.
enum class Writers { one, many };
void write_atomically(std::filesystem::path const& path, std::string_view bytes, FileIdentity const* owner = nullptr);
void write_atomically(std::filesystem::path const& path, std::span<ByteView const> parts, Writers writers = Writers::one);

}  // namespace hopscotch
