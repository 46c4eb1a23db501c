// SPDX-License-Identifier: Apache-2.0
#include "data/import/csv/parquet_table.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <exception>
#include <fstream>
#include <iterator>
#include <limits>

#include "core/child_process.hpp"
#include "core/clock.hpp"
#include "core/error.hpp"
#include "core/json.hpp"
#include "data/import/csv/csv_cells.hpp"

namespace hopscotch {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t k_longest_line = 300;  // of what Python printed

std::string python_of(ParquetWishes const& wishes) {
    if (!wishes.python.empty()) return wishes.python;
    auto const* const chosen = std::getenv("HOPSCOTCH_PYTHON");
    return chosen != nullptr && *chosen != '\0' ? chosen : "python3";
}

std::string text_of(fs::path const& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

// The last line that a program printed: Python's reason.
std::string last_line(std::string text) {
    while (!text.empty() && text.back() == '\n') text.pop_back();
    return text.substr(text.rfind('\n') + 1).substr(0, k_longest_line);
}

std::string wishes_text(ParquetWishes const& wishes) {
    auto const words = missing_words();
    return Json::object({{"delimiter", std::string(1, wishes.delimiter)},
                         {"blanks", wishes.delimiter == '\t' ? " " : " \t"},
                         {"words", std::vector<std::string>(words.begin(), words.end())},
                         {"targets", wishes.targets}})
        .dump();
}

// Looks after the running program: it must go on writing, and the user may end the import.
class Watch {
public:
    Watch(fs::path out, ParquetWishes const& wishes) : out_(std::move(out)), wishes_(wishes) {}

    bool give_up() {
        try {
            if (wishes_.poll) wishes_.poll();
        } catch (...) {
            thrown_ = std::current_exception();
            return true;
        }
        std::error_code none;
        if (auto const size = fs::file_size(out_, none); !none && size != size_) {
            size_ = size;
            since_s_ = monotonic_s();
        }
        silent_ = monotonic_s() - since_s_ > wishes_.silent_s;
        return silent_;
    }
    bool silent() const { return silent_; }
    void rethrow() const {
        if (thrown_) std::rethrow_exception(thrown_);
    }

private:
    fs::path out_;
    ParquetWishes const& wishes_;
    std::uintmax_t size_ = 0;
    double since_s_ = monotonic_s();
    bool silent_ = false;
    std::exception_ptr thrown_;
};

ParquetKind kind_of(std::string const& name) {
    for (auto const& [known, kind] : {std::pair{"number", ParquetKind::number},
                                      {"category", ParquetKind::category},
                                      {"date", ParquetKind::date},
                                      {"index", ParquetKind::index},
                                      {"other_index", ParquetKind::other_index}})
        if (name == known) return kind;
    return ParquetKind::other;
}

ParquetTable table_of(Json const& told) {
    ParquetTable out;
    out.by = told.at("by").string();
    out.rows = told.at("rows").integer();
    for (auto const& each : told.at("columns").array())
        out.columns.push_back({each.at("name").string(), each.at("type").string(), kind_of(each.at("kind").string()),
                               each.at("empty").integer(), each.at("words").integer(), each.at("blanks").integer()});
    return out;
}

std::string refusal(fs::path const& source, std::string const& why, std::string const& cure) {
    return fmt::format("{}: is a Parquet file, and {}; {}", source.string(), why, cure);
}

// Contradictions in the program's answer, with the file or within itself; empty: none.
std::string problem_told(fs::path const& source, std::string const& python, Json const& told) {
    constexpr auto k_others = "set HOPSCOTCH_PYTHON to a Python that has it, or save the table as CSV text";
    if (told.find("none") != nullptr)
        return refusal(source, fmt::format("{} has no pyarrow (which reads it for Hopscotch)", python),
                       fmt::format("pip install pyarrow, {}", k_others));
    if (auto const* old = told.find("old"))
        return refusal(
            source, fmt::format("{} has {} (older than 14.0.1, which a file can make execute code)", python, old->string()),
            fmt::format("pip install --upgrade pyarrow, {}", k_others));
    if (auto const* const room = told.find("room"))
        return fmt::format("{}: is too large as CSV text for TMPDIR ({}); set TMPDIR to a larger disk", source.string(),
                           room->string());
    auto const* const problem = told.find("problem");
    if (problem == nullptr) return "";
    auto const* const full = told.find("full");
    return fmt::format("{}: {} ({}); {}", source.string(), problem->string(), told.at("by").string(),
                       full != nullptr && full->boolean() ? "check free space, or set TMPDIR"
                                                          : "is it damaged? write it again");
}

[[noreturn]] void fail(fs::path const& source, std::string const& python, std::string const& why) {
    throw DataError(refusal(source, fmt::format("{} with pyarrow must read it, and fails ({})", python, why),
                            "set HOPSCOTCH_PYTHON to another Python, or save the table as CSV text"));
}

// Of the program's answer.
ParquetTable answer_of(fs::path const& source, std::string const& python, std::string const& text) {
    ParquetTable out;
    std::string problem;
    try {
        auto const told = parse_json_or_throw(text, "its answer");
        problem = problem_told(source, python, told);
        if (problem.empty()) out = table_of(told);
    } catch (Error const& error) {
        fail(source, python, error.what());
    }
    if (!problem.empty()) throw DataError(problem);
    return out;
}

}  // namespace

ParquetTable parquet_to_csv(fs::path const& source, fs::path const& out, ParquetWishes const& wishes) {
    auto const python = python_of(wishes);
    fs::path const told_path = out.string() + ".json", log_path = out.string() + ".log";
    std::vector<std::string> environment;
    for (auto const* const* each = ::environ; *each != nullptr; ++each) environment.emplace_back(*each);
    Watch watch(out, wishes);
    // -I: neither the working directory nor PYTHON... variables lead to code.
    auto const problem = run_child({{python, "-I", "-c", k_parquet_script, fs::absolute(source).string(), out.string(),
                                     told_path.string(), wishes_text(wishes)},
                                    std::move(environment),
                                    std::numeric_limits<double>::infinity(),
                                    log_path.string()},
                                   [&] { return watch.give_up(); });
    watch.rethrow();
    if (watch.silent())
        throw DataError(refusal(source, fmt::format("{} wrote nothing for {:g} s (it was killed)", python, wishes.silent_s),
                                "try again, or save the table as CSV text"));
    auto const last = last_line(text_of(log_path));
    if (!problem.empty()) fail(source, python, problem + (last.empty() ? "" : ": ") + last);
    return answer_of(source, python, text_of(told_path));
}

}  // namespace hopscotch
