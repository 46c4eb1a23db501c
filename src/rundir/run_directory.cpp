// SPDX-License-Identifier: Apache-2.0
#include "rundir/run_directory.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "core/durable_file.hpp"
#include "core/error.hpp"
#include "core/file.hpp"
#include "core/json_reader.hpp"
#include "rundir/unit_file.hpp"

namespace hopscotch {
namespace {

namespace fs = std::filesystem;

constexpr char const* k_checkpoints = "checkpoints";
constexpr std::array<std::string_view, 3> k_marks{"experiment.json", "journal.jsonl", "summary.json"};
constexpr std::array<std::string_view, 13> k_others{
    "start_from.json", "inbox", "metrics.jsonl", "trials.csv", "trace.json", "best",      "server_log.jsonl",
    "checkpoints",     "tb",    "report.html",   "live.json",  "study.log",  "epochs.csv"};
constexpr std::array<std::string_view, 5> k_folders{"inbox", "best", "checkpoints", "checkpoints.tmp", "tb"};

template <class Names>
bool among(Names const& names, std::string_view word) {
    return std::find(names.begin(), names.end(), word) != names.end();
}

std::vector<std::string> entries_of(fs::path const& path) {
    std::vector<std::string> names;
    std::error_code error;
    for (fs::directory_iterator it(path, error), end; !error && it != end; it.increment(error))
        names.push_back(it->path().filename());
    if (error)
        throw ConfigError(fmt::format("{}: cannot be listed ({}); use another run.dir", path.string(), error.message()));
    std::sort(names.begin(), names.end());
    return names;
}

bool written_by_a_run(std::string name) {
    if (name.ends_with(".tmp")) name.resize(name.size() - 4);
    return among(k_marks, name) || among(k_others, name) || is_unit_file_name(name);
}

// The file that marks a run directory. Other programs may write a file experiment.json too, so its content is read.
bool is_mark(fs::path const& directory, std::string_view name) {
    if (name != "experiment.json") return among(k_marks, name);
    return read_whole(directory / name).find("\"hopscotch\"") != std::string::npos;
}

void check_removable(fs::path const& path, std::vector<std::string> const& names) {
    for (auto const& name : names)
        if (!written_by_a_run(name))
            throw ConfigError(
                fmt::format("{}: holds {} (no run wrote that, and --overwrite removes only runs); use another run.dir",
                            path.string(), name));
    if (std::none_of(names.begin(), names.end(), [&](auto const& name) { return is_mark(path, name); }))
        throw ConfigError(
            fmt::format("{}: is not a run directory (--overwrite removes only runs); use another run.dir", path.string()));
}

// A run writes no links; writing through a link would change files elsewhere. Below the top, files are replaced and never
// written through. The deepest folders of a run are those of trials ("tb/trial-3").
bool leads_elsewhere(fs::directory_entry const& entry, int depth) {
    std::error_code dangling;
    return entry.is_symlink() && (depth == 0 || (depth == 1 && entry.is_directory(dangling)));
}

// A run would wait at a pipe for ever, and cannot replace a folder. Below the top, pipes are replaced and never opened.
bool is_in_the_way(fs::directory_entry const& entry, int depth) {
    std::error_code ignored;
    auto const name = entry.path().filename().string();
    bool const of_best = name.starts_with("model.") || name.starts_with("validation.");
    if (depth > 0) return of_best && !entry.is_symlink() && entry.is_directory(ignored);
    return written_by_a_run(name) && !among(k_folders, name) && !entry.is_regular_file(ignored);
}

void refuse_what_no_run_wrote(fs::path const& path) {
    constexpr int k_deepest = 2;
    std::error_code error;
    for (fs::recursive_directory_iterator it(path, error), end; !error && it != end; it.increment(error)) {
        if (leads_elsewhere(*it, it.depth()))
            throw ConfigError(fmt::format("{}: is a link (a run writes only in its own directory); put the real file there",
                                          it->path().string()));
        if (is_in_the_way(*it, it.depth()))
            throw ConfigError(
                fmt::format("{}: is not a file (a run writes a file of that name); remove it", it->path().string()));
        if (it.depth() == k_deepest) it.disable_recursion_pending();
    }
    if (error)
        throw ConfigError(fmt::format("{}: cannot be listed ({}); use another run.dir", path.string(), error.message()));
}

// The only reliable test of write permission: permissions, read-only mounts and quotas all count. Removed at once.
void check_writable(fs::path const& path) {
    fs::path existing = fs::absolute(path).lexically_normal();
    std::error_code error;
    while (!fs::exists(fs::symlink_status(existing, error)) && existing.has_relative_path())
        existing = existing.parent_path();
    std::string probe = (existing / ".hopscotch-XXXXXX").string();
    if (::mkdtemp(probe.data()) == nullptr)
        throw ConfigError(fmt::format("{}: cannot be created (no writing in {}: {}); use another run.dir", path.string(),
                                      existing.string(), std::strerror(errno)));
    ::rmdir(probe.c_str());
}

void clear(fs::path const& path) {
    for (auto const& name : entries_of(path)) fs::remove_all(path / name);
}

std::vector<fs::path> paths_in(fs::path const& folder) {
    std::error_code ignored;
    std::vector<fs::path> out;
    for (fs::directory_iterator it(folder, ignored), end; !ignored && it != end; it.increment(ignored))
        out.push_back(it->path());
    return out;
}

// Checkpoints, best models and answers that killed ranks have not finished. A request is ctl's, which may write it now.
void remove_unfinished(fs::path const& run_dir) {
    std::vector folders{run_dir / k_checkpoints, run_dir / "best"};
    for (auto const& path : paths_in(run_dir / "best"))
        if (path.filename().string().starts_with("trial-")) folders.push_back(path);
    std::error_code ignored;
    for (auto const& folder : folders)
        for (auto const& path : paths_in(folder))
            if (path.extension() == ".tmp") fs::remove(path, ignored);
    for (auto const& path : paths_in(run_dir / "inbox"))
        if (path.string().ends_with(".done.json.tmp")) fs::remove(path, ignored);
}

void renew(fs::path const& path, std::uintmax_t known_bytes) {
    auto const journal = path / "journal.jsonl";
    write_atomically(journal, read_beginning(journal, known_bytes));  // the rest is a torn line, or zeros
    auto const log = path / "server_log.jsonl";  // is continued too; a different name may be a file of the user
    if (fs::exists(log)) write_atomically(log, read_whole_lines(log));
    for (auto const* name : {"metrics.jsonl", "trace.json", "summary.json", "trials.csv"}) fs::remove(path / name);
    remove_unfinished(path);
}

// The rest of a job that died before it had recorded anything: the next job begins anew.
bool holds_only_a_beginning(fs::path const& path, std::vector<std::string> const& names) {
    return std::ranges::all_of(names, [&](std::string const& name) {
        bool const after_it =
            (name.starts_with("start_from.json") || name == k_checkpoints) && among(names, "experiment.json");
        return name == "experiment.json.tmp" || after_it || (name == "experiment.json" && is_mark(path, name));
    });
}

}  // namespace

void check_run_dir(fs::path const& path, RunDirUse use) {
    if (path.empty())
        throw ConfigError("run.dir: is missing (a run writes its results there); write for example \"dir\": \"runs/first\"");
    std::error_code error;
    auto const status = fs::status(path, error);
    if (fs::exists(status) && !fs::is_directory(status))
        throw ConfigError(fmt::format("{}: exists already (and is not a directory); use another run.dir", path.string()));
    auto const names = fs::exists(status) ? entries_of(path) : std::vector<std::string>();
    if (use == RunDirUse::fresh && holds_run(path) && status_of(path) != "finished")
        throw ConfigError(fmt::format(
            "{}: holds a run that has not finished; use --resume to continue it, --overwrite to replace it, or another "
            "run.dir",
            path.string()));
    if (!names.empty() && use == RunDirUse::fresh)
        throw ConfigError(fmt::format(
            "{}: exists already (runs never share a directory); use --overwrite, or another run.dir", path.string()));
    if (!names.empty() && use == RunDirUse::overwrite) check_removable(path, names);
    if (!names.empty() && use == RunDirUse::resume && !holds_run(path) && !holds_only_a_beginning(path, names))
        throw ConfigError(
            fmt::format("{}: holds no run that could be resumed (journal.jsonl or experiment.json is missing); use "
                        "another run.dir",
                        path.string()));
    if (use == RunDirUse::resume && !names.empty()) refuse_what_no_run_wrote(path);
    check_writable(path);
}

std::string status_of(fs::path const& run_dir) {
    auto const file = run_dir / "summary.json";  // a job that continues the run removes it
    if (std::error_code error; !fs::is_regular_file(file, error)) return "";
    Problems ignored("");
    auto const summary = parse_json(read_whole(file), ignored);
    auto const* status = summary.find("status");
    return status != nullptr && status->is_string() ? status->string() : "";
}

bool holds_run(fs::path const& path) {
    std::error_code error;
    return fs::exists(path / "experiment.json", error) && fs::exists(path / "journal.jsonl", error);
}

RunDirectory::RunDirectory(fs::path path, RunDirUse use, RunFacts const& facts, std::uintmax_t known_journal_bytes)
    : path_(std::move(path)) {
    check_run_dir(path_, use);
    fs::create_directories(path_);
    if (use == RunDirUse::resume && holds_run(path_))
        renew(path_, known_journal_bytes);
    else
        clear(path_);
    write_atomically(file("experiment.json"), to_json(facts).dump(2) + "\n");
    // Before the journal, whose presence means that the run can continue.
    if (!facts.past.is_null()) write_atomically(file("start_from.json"), facts.past.dump() + "\n");
    // Only here: a trainer that outlives its job would bring the folder back after another job has finished the run.
    make_folders(path_, k_checkpoints);
}

void remove_checkpoints(fs::path const& run_dir) {
    auto const folder = run_dir / k_checkpoints;
    auto gone = folder;
    gone += ".tmp";
    std::error_code ignored;
    fs::remove_all(gone, ignored);
    fs::rename(folder, gone, ignored);  // from now on late writers do not find it
    fs::remove_all(gone, ignored);
}

}  // namespace hopscotch
