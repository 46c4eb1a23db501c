// SPDX-License-Identifier: Apache-2.0
#include "report/report_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <map>

#include "core/characters.hpp"
#include "core/counted.hpp"
#include "experiment/auto_procedure.hpp"
#include "report/page_files.hpp"
#include "report/page_text.hpp"
#include "report/report_data.hpp"
#include "report/sections.hpp"

namespace hopscotch {
namespace {

struct Section {
    char const *id, *title;
    std::string (*content)(RunResults const&);
};

// In the order of the page. The script adds the sections that have pictures alone (report/page/page.js).
constexpr Section k_sections[] = {{"answer", "", answer_section},
                                  {"leaderboard", "Leaderboard", ranking_section},
                                  {"errors", "Where the best model errs", errors_section},
                                  {"rungs", "Rungs", rungs_section},
                                  {"timeline", "Trainers over time", timeline_section},
                                  {"idle", "Where the time went", idle_section},
                                  {"bytes", "Bytes", bytes_section},
                                  {"memory", "Memory", memory_section},
                                  {"failures", "Failures", failures_section},
                                  {"reproduce", "Reproduce it", reproduce_section}};

std::string date_text(double unix_s) {
    if (!(unix_s > 0) || unix_s > 4e9) return "-";
    auto const seconds = static_cast<std::time_t>(unix_s);
    std::tm utc{};
    ::gmtime_r(&seconds, &utc);
    char text[32];
    return std::string(text, std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", &utc));
}

// level: of the heading: "h1" once a page.
std::string header_of(RunResults const& data, std::string_view level) {
    auto const chosen = text_of_choice(data.run.experiment);
    return fmt::format(
        "<{0}>{1} <span class=\"badge {2}\">{3}</span></{0}><p class=\"sub\">{4}, {5}, {6}, {7}. Started {8}.</p>", level,
        escaped(cut_text(data.run.facts.name, 200)), data.run.status() == "finished" ? "good" : "open",
        escaped(cut_text(data.run.status(), 30)), escaped(chosen.empty() ? data.run.experiment.search.procedure : chosen),
        escaped(data.label), counted(data.run.facts.trainers(), "trainer"), counted(data.run.facts.shards(), "shard"),
        date_text(data.run.facts.start_unix_s));
}

// The report of one run, which the script takes as a whole. prefix: of the ids, so that those of several runs differ.
std::string report_of(RunResults const& data, std::string const& prefix, std::string_view level) {
    std::string links, sections;
    for (auto const& section : k_sections) {
        auto const content = section.content(data);
        if (content.empty()) continue;
        auto const id = prefix + section.id;
        auto const head = *section.title == '\0' ? "" : fmt::format("<h2>{}</h2>", section.title);
        if (!head.empty()) links += fmt::format("<a href=\"#{}\">{}</a>", id, section.title);
        sections += fmt::format("<section id=\"{}\">{}{}</section>\n", id, head, content);
    }
    return fmt::format("<div class=\"of-run\"><header>{}</header><nav>{}</nav>\n{}</div>\n", header_of(data, level), links,
                       sections);
}

// A page that the job renews is loaded again by the script, and without scripts by the browser.
struct Renewal {
    std::string head, attribute;
};
Renewal renewal_of(double every_s) {
    if (!(every_s > 0)) return {};
    auto const seconds = std::max(1.0, std::ceil(every_s));
    return {fmt::format("<noscript><meta http-equiv=\"refresh\" content=\"{:.0f}\"></noscript>\n", seconds),
            fmt::format(" data-renewed-s=\"{:.0f}\"", seconds)};
}

// JSON within a script element: no "<" may begin a tag, and what escaped() replaces is replaced here, too.
std::string script_text(std::string_view json) {
    std::string out;
    while (!json.empty()) {
        bool const escape = json[0] == '\\';
        auto const size = escape ? (json.starts_with("\\u") ? 6 : 2) : std::max<std::size_t>(1, shown_bytes(json));
        auto const part = json.substr(0, size);
        bool const control = part.starts_with("\\u00") || part == "\\b" || part == "\\f" || part == "\\r";
        if (part == "<")
            out += "\\u003c";
        else if (control || (!escape && shown_bytes(json) == 0))
            out += "\\ufffd";
        else
            out += part;
        json.remove_prefix(part.size());
    }
    return out;
}

// The template with "@NAME@" replaced by the texts, each of which stays as it is.
std::string filled(std::string_view page, std::map<std::string_view, std::string> const& texts) {
    std::string out;
    while (true) {
        auto const at = page.find('@'), end = page.find('@', at + 1);
        out += page.substr(0, at);
        if (at == page.npos || end == page.npos) return out;
        out += texts.at(page.substr(at + 1, end - at - 1));
        page.remove_prefix(end + 1);
    }
}

std::string document_of(std::string_view title, std::string body, Json data, double renewed_every_s = 0) {
    auto renewal = renewal_of(renewed_every_s);
    return filled(k_page_template, {{"TITLE", escaped(title)},
                                    {"RENEWAL", std::move(renewal.head)},
                                    {"RENEWED", std::move(renewal.attribute)},
                                    {"STYLE", std::string(k_page_style)},
                                    {"BODY", std::move(body)},
                                    {"DATA", script_text(data.dump())},
                                    {"SCRIPT", std::string(k_page_script)}});
}

std::string footer_of(RunResults const& data) {
    return fmt::format(
        "<footer>Written by hopscotch report on {}. Epochs, trials and trainers count from 0. Times leave out the "
        "time between jobs.</footer>",
        date_text(data.now.read_unix_s));
}

}  // namespace

std::string report_page(std::span<RunResults const> runs) {
    Json::Array of_runs;
    auto const prefix = [&](std::size_t r) { return runs.size() == 1 ? std::string() : fmt::format("run{}-", r); };
    for (std::size_t r = 0; r < runs.size(); ++r) of_runs.push_back(report_data(runs[r], prefix(r)));
    auto data = Json::object({{"runs", std::move(of_runs)}});
    auto const& first = runs.front();
    if (runs.size() == 1)
        return document_of(first.run.facts.name + " - hopscotch", report_of(first, "", "h1") + footer_of(first),
                           std::move(data), first.now.renewed_every_s);
    auto body = fmt::format("<header><h1>{}</h1></header>\n<section id=\"comparison\">{}</section>\n",
                            counted(std::ssize(runs), "run"), comparison_section(runs));
    for (std::size_t r = 0; r < runs.size(); ++r)
        body += fmt::format("<details class=\"run\"><summary>{}</summary>{}</details>\n",
                            escaped(cut_text(runs[r].run.directory.string(), 200)), report_of(runs[r], prefix(r), "h2"));
    return document_of("Comparison of runs - hopscotch", body + footer_of(first), std::move(data));
}

}  // namespace hopscotch
