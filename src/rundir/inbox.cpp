// SPDX-License-Identifier: Apache-2.0
#include "rundir/inbox.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "core/clock.hpp"
#include "core/durable_file.hpp"
#include "core/error.hpp"
#include "core/file.hpp"
#include "core/json_reader.hpp"
#include "experiment/reader.hpp"
#include "rundir/journal_codec.hpp"

namespace hopscotch {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t k_most_bytes = 1 << 20;  // of a request
constexpr double k_clocks_differ_s = 60;          // between hosts
constexpr int k_most_requests = 1'000'000;        // of a run; a file with a larger number is not one of ours
constexpr char const* k_request = ".json";
constexpr char const* k_answer = ".done.json";

bool is_request(std::string const& name) { return name.ends_with(k_request) && !name.ends_with(k_answer); }

Json parsed(std::string const& text) {
    Problems problems("");
    auto out = parse_json(text, problems);
    if (!problems.empty() || !out.is_object()) throw Error("is not a JSON object");
    return out;
}

Order::Kind kind_named(std::string const& name) {
    for (auto const kind : {Order::Kind::stop, Order::Kind::resume, Order::Kind::clone, Order::Kind::finish})
        if (name == name_of(kind)) return kind;
    throw Error(fmt::format("'kind' is \"{}\" (known: stop, resume, clone, finish)", name));
}

// The number keeps the requests of one sender in order. Senders on several hosts may choose the same number.
std::string next_name(fs::path const& folder) {
    int last = 0;
    for (auto const& entry : fs::directory_iterator(folder)) {
        auto const name = entry.path().filename().string();
        int number = 0;
        std::from_chars(name.data(), name.data() + name.size(), number);
        if (number <= k_most_requests) last = std::max(last, number);
    }
    return fmt::format("{:04}-{}", last + 1, random_word());
}

}  // namespace

LiveRequest request_from_text(std::string const& text) {
    auto const json = parsed(text);
    LiveRequest out;
    out.kind = kind_named(json.at("kind").string());
    if (out.kind != Order::Kind::finish) out.trial = TrialId(count_in(json, "trial"));
    if (auto const* changes = json.find("changes")) out.changes = assignment_from_json(*changes);
    out.until_unix_s = json.at("until_unix_s").number();
    return out;
}

std::vector<Inbox::Letter> Inbox::take() const {
    std::vector<Letter> out;
    std::error_code none;
    if (fs::is_symlink(folder_, none)) return out;  // a link: its files do not belong to the run
    std::vector<fs::path> files;
    for (fs::directory_iterator entry(folder_, none), end; !none && entry != end; entry.increment(none))
        if (is_request(entry->path().filename().string())) files.push_back(entry->path());
    std::ranges::sort(files);
    for (auto const& file : files) {
        Letter letter;
        letter.name = file.stem().string();
        try {
            if (!fs::is_regular_file(file, none)) throw Error("is not a file (a folder, a pipe or a link to one)");
            if (fs::file_size(file) > k_most_bytes) throw Error("is too large");
            letter.request = request_from_text(read_whole(file));
        } catch (std::exception const& error) {
            letter.problem = error.what();
        }
        if (!fs::remove(file, none)) continue;  // otherwise it would come again and again
        bool const late = letter.problem.empty() && unix_s() > letter.request.until_unix_s + k_clocks_differ_s;
        if (!late) out.push_back(std::move(letter));
    }
    return out;
}

void Inbox::answer(Letter const& letter, Answer const& answer) const {
    refuse_link(folder_);
    write_atomically(folder_ / (letter.name + k_answer),
                     Json::object({{"ok", answer.ok}, {"text", answer.text}}).dump() + "\n");
}

std::string post(fs::path const& run_dir, LiveRequest const& request) {
    auto const folder = make_folders(run_dir, "inbox");
    auto const name = next_name(folder);
    auto json = Json::object({{"kind", name_of(request.kind)}});
    if (request.kind != Order::Kind::finish) json["trial"] = request.trial.value;
    if (!request.changes.empty()) json["changes"] = to_json(request.changes);
    json["until_unix_s"] = request.until_unix_s;
    write_atomically(folder / (name + k_request), json.dump() + "\n");
    return name;
}

std::optional<Answer> take_answer(fs::path const& run_dir, std::string const& name) {
    auto const file = run_dir / "inbox" / (name + k_answer);
    if (!fs::exists(file)) return std::nullopt;
    auto const json = parsed(read_whole(file));
    fs::remove(file);
    return Answer{json.at("ok").boolean(), json.at("text").string()};
}

void take_back(fs::path const& run_dir, std::string const& name) {
    std::error_code none;
    fs::remove(run_dir / "inbox" / (name + k_request), none);
}

}  // namespace hopscotch
