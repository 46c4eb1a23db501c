// SPDX-License-Identifier: Apache-2.0
#include "report/report_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>

#include "core/counted.hpp"
#include "report/sections.hpp"

namespace hopscotch {
namespace {

struct Section {
    char const *id, *title;
    std::string (*content)(RunResults const&);
};

// In the order of the page.
constexpr Section k_sections[] = {{"answer", "", answer_section},
                                  {"history", "Optimization history", history_section},
                                  {"curves", "Learning curves", curves_section},
                                  {"leaderboard", "Leaderboard", ranking_section},
                                  {"trial", "One trial", trial_section},
                                  {"metrics", "Other metrics", metrics_section},
                                  {"errors", "Where the best model errs", errors_section},
                                  {"parallel", "Parallel coordinates", parallel_section},
                                  {"importance", "Importance of the keys", importance_section},
                                  {"slices", "One key at a time", slices_section},
                                  {"pareto", "Pareto front", pareto_section},
                                  {"rungs", "Rungs", rungs_section},
                                  {"family", "Family tree", family_section},
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

struct Parts {
    std::string links, body;
};

// prefix: of the ids, so that the reports of several runs differ.
Parts parts_of_run(RunResults const& data, std::string const& prefix) {
    Parts out;
    for (auto const& section : k_sections) {
        auto const content = section.content(data);
        if (content.empty()) continue;
        auto const id = prefix + section.id;
        auto const head = *section.title == '\0' ? "" : fmt::format("<h2>{}</h2>", section.title);
        if (!head.empty()) out.links += fmt::format("<a href=\"#{}\">{}</a>", id, section.title);
        out.body += fmt::format("<section id=\"{}\">{}{}</section>\n", id, head, content);
    }
    return out;
}

// level: of the heading: "h1" once a page.
std::string header_of(RunResults const& data, std::string_view level) {
    return fmt::format(
        "<{0}>{1} <span class=\"badge {2}\">{3}</span></{0}><p class=\"sub\">{4}, {5}, {6}, {7}. Started {8}.</p>", level,
        escaped(cut_text(data.run.facts.name, 200)), data.run.status() == "finished" ? "good" : "open",
        escaped(cut_text(data.run.status(), 30)), escaped(data.run.experiment.search.procedure), escaped(data.label),
        counted(data.run.facts.trainers(), "trainer"), counted(data.run.facts.shards(), "shard"),
        date_text(data.run.facts.start_unix_s));
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

std::string document_of(std::string_view title, std::string_view body, double renewed_every_s = 0) {
    auto const renewal = renewal_of(renewed_every_s);
    return fmt::format(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">"
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
        "script-src 'unsafe-inline'\"><meta name=\"color-scheme\" content=\"light dark\"><title>{}</title>\n"
        "{}<style>{}</style></head>\n<body{}><main>\n{}</main>\n<script>{}</script></body></html>\n",
        escaped(title), renewal.head, k_page_style, renewal.attribute, body, k_page_script);
}

std::string footer_of(RunResults const& data) {
    return fmt::format(
        "<footer>Written by hopscotch report on {}. Epochs, trials and trainers count from 0. Times leave out the "
        "time between jobs.</footer>",
        date_text(data.now.read_unix_s));
}

std::string page_of_run(RunResults const& data) {
    auto const parts = parts_of_run(data, "");
    return document_of(data.run.facts.name + " - hopscotch",
                       fmt::format("<header>{}</header><nav>{}</nav>\n{}{}", header_of(data, "h1"), parts.links, parts.body,
                                   footer_of(data)),
                       data.now.renewed_every_s);
}

}  // namespace

std::string report_page(std::vector<RunResults> const& runs) {
    if (runs.size() == 1) return page_of_run(runs.front());
    auto body = fmt::format("<header><h1>{}</h1></header>\n<section id=\"comparison\">{}</section>\n",
                            counted(std::ssize(runs), "run"), comparison_section(runs));
    for (std::size_t r = 0; r < runs.size(); ++r) {
        auto const parts = parts_of_run(runs[r], fmt::format("run{}-", r));
        body += fmt::format(
            "<details class=\"run\"><summary>{}</summary><div class=\"of-run\"><header>{}</header><nav>{}</nav>\n{}"
            "</div></details>\n",
            escaped(cut_text(runs[r].run.directory.string(), 200)), header_of(runs[r], "h2"), parts.links, parts.body);
    }
    return document_of("Comparison of runs - hopscotch", body + footer_of(runs.front()));
}

}  // namespace hopscotch
