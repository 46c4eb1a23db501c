// SPDX-License-Identifier: Apache-2.0
// The parts of a report that compute: text from outside, tables, numbers, times, importance.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "analysis/results/run_clock.hpp"
#include "report/html_table.hpp"
#include "report/importance.hpp"
#include "report/live_report.hpp"
#include "report/page_text.hpp"
#include "report/report_data.hpp"
#include "report/sections.hpp"

namespace hopscotch {
namespace report_test {

TEST(LiveReport, TakesAHundredthOfACore) {
    EXPECT_EQ(pause_between_pages(60, 0.4), 60);
    EXPECT_EQ(pause_between_pages(60, 6), 600);
    EXPECT_EQ(pause_between_pages(0.05, 0.01), 1);
}

TEST(ReportText, IsEscaped) {
    EXPECT_EQ(escaped("<script>alert('x')</script> & \"y\""),
              "&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt; &amp; &quot;y&quot;");
    EXPECT_EQ(escaped("\xc3\xa9t\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80\n"),
              "\xc3\xa9t\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80\n");
    std::string const none = "\xEF\xBF\xBD";
    EXPECT_EQ(escaped(std::string("a\0b", 3)), "a" + none + "b");
    EXPECT_EQ(escaped("\x1b[31m"), none + "[31m");
    EXPECT_EQ(escaped("\xff\xc3"), none + none);
    EXPECT_EQ(escaped("\xc0\xbcscript"), none + none + "script");  // an overlong "<"
    EXPECT_EQ(escaped("\xed\xa0\x80"), none + none + none);        // half of a pair
}

TEST(ReportText, IsCutBetweenCharacters) {
    EXPECT_EQ(cut_text("short", 5), "short");
    EXPECT_EQ(cut_text("0123456789", 8), "01234...");
    EXPECT_EQ(cut_text("ab\xe2\x82\xac 34567", 7), "ab...");
}

TEST(ReportText, SaysTimesInUnits) {
    EXPECT_EQ(seconds_text(0.4234), "0.42 s");
    EXPECT_EQ(seconds_text(12.34), "12.3 s");
    EXPECT_EQ(seconds_text(245), "4 min 05 s");
    EXPECT_EQ(seconds_text(7500), "2 h 05 min");
    EXPECT_EQ(seconds_text(NAN), "-");
}

// Columns of a device stand there only if its use is known of some trial.
TEST(Leaderboard, ShowsTheUseOfDevices) {
    RunResults data;
    for (int id : {0, 1}) {
        TrialResults trial;
        trial.id = TrialId(id);
        trial.train_s = 10;
        data.trials.push_back(trial);
        GroupResults group;
        group.trials = {data.groups.size()};
        group.value = NAN;
        data.groups.push_back(group);
    }
    EXPECT_EQ(ranking_section(data).find(" use"), std::string::npos);
    data.trials[0].gpu.add({3, 4});
    auto const section = ranking_section(data);
    EXPECT_NE(section.find(">GPU (s)</th><th scope=\"col\" class=\"n\">GPU use</th>"), section.npos) << section;
    EXPECT_NE(section.find("<td class=\"n\">7.5</td><td class=\"n\" data-v=\"0.75\">75 %</td>"), section.npos) << section;
    EXPECT_NE(section.find("<td class=\"n\">-</td><td class=\"n\">-</td>"), section.npos) << section;
    EXPECT_EQ(section.find("CPU use"), section.npos);
}

TEST(HtmlTable, EscapesTextsAndSortsByNumbers) {
    using enum HtmlTable::Kind;
    HtmlTable table({{"<a>"}, {"b", numbers}});
    table.begin_row_of_group(TrialId(3), "more");
    table.words("</td><script>");
    table.number(0.75, "75 %");
    table.begin_row();
    table.words("x", "\"tip\"");
    table.number(0.5, "0.5");  // the text says it
    table.begin_row_of(TrialId(4));
    table.status("failed", "why");
    table.number(NAN, "-");
    EXPECT_EQ(
        std::move(table).take(),
        "<div class=\"scroll\"><table class=\"sortable\"><thead><tr><th scope=\"col\">&lt;a&gt;</th><th scope=\"col\" "
        "class=\"n\">b</th></tr></thead><tbody><tr data-g data-t=\"3\" class=\"more\"><td>&lt;/td&gt;&lt;script&gt;</td><td "
        "class=\"n\" data-v=\"0.75\">75 %</td></tr>\n<tr><td title=\"&quot;tip&quot;\">x</td><td "
        "class=\"n\">0.5</td></tr>\n<tr data-t=\"4\"><td title=\"why\"><span class=\"st bad\">failed</span></td><td "
        "class=\"n\">-</td></tr></tbody></table></div>");
}

TEST(ReportData, HasNumbersOfFourDigits) {
    EXPECT_EQ(rounded_json(0.972222).dump(), "0.9722");
    EXPECT_EQ(rounded_json(3).dump(), "3");
    EXPECT_EQ(rounded_json(1234567, 6).dump(), "1234570");
    EXPECT_EQ(rounded_json(NAN).dump(), "null");
    EXPECT_EQ(rounded_json(INFINITY).dump(), "null");
}

TEST(RunClock, LeavesOutTheTimeBetweenJobs) {
    RunClock const clock(1000, {{1010, 1110}, {1120, 2000}});
    EXPECT_EQ(clock.at(1005), 5);
    EXPECT_EQ(clock.at(1010), 10);
    EXPECT_EQ(clock.at(1060), 10);
    EXPECT_EQ(clock.at(1115), 15);
    EXPECT_EQ(clock.at(2001), 21);
    EXPECT_EQ(clock.at(900), 0);
    EXPECT_EQ(clock.at(NAN), 0);
}

TEST(Thinned, KeepsTheFirstAndSomeOfTheOthers) {
    EXPECT_EQ(thinned(3, 10, 5), (std::vector<std::size_t>{0, 1, 2}));
    EXPECT_EQ(thinned(10, 4, 2), (std::vector<std::size_t>{0, 1, 2, 6}));
    EXPECT_EQ(thinned(10, 10, 2).size(), 10u);
    EXPECT_EQ(thinned(1'000'000, 400, 5).size(), 400u);
}

// The same trials as a study of Optuna 5.0.0: its PedAnovaImportanceEvaluator(target_quantile=0.1), normalised, gave the
// expected numbers. when: Conditional also has m, which is active for one category, and w, integers on a log scale.
enum class Keys { plain, conditional };

double part_of(double value) { return value - std::floor(value); }

struct Study {
    std::vector<KeyColumn> keys;
    std::vector<double> values;
};

KeyColumn range(double low, double high) {
    KeyColumn out;
    out.numeric = true;
    out.low = low;
    out.high = high;
    return out;
}

Study study_of(int trials, Keys which) {
    auto x = range(0, 1), lr = range(1e-4, 1), k = range(1, 16), m = range(0, 0.99), w = range(2, 256);
    lr.log = k.whole = w.log = w.whole = true;
    KeyColumn c;
    c.categories = {"a", "b", "c"};
    Study out;
    for (int i = 0; i < trials; ++i) {
        x.values.push_back(part_of(i * 0.6180339887));
        lr.values.push_back(std::pow(10, -4 + 4 * part_of(i * 0.41421356)));
        k.values.push_back(1 + std::floor(16 * part_of(i * 0.7320508)));
        c.values.push_back(i % 3);
        double const power = std::floor(1 + 8 * part_of(i * 0.1415926)), momentum = part_of(i * 0.2360679);
        m.values.push_back(i % 3 == 1 ? std::optional(momentum) : std::nullopt);
        w.values.push_back(std::pow(2, power));
        double value = std::pow(*x.values.back() - 0.3, 2) + 0.1 * std::abs(std::log10(*lr.values.back()) + 2) +
                       0.01 * *k.values.back() + (i % 3 == 1 ? 0.05 : 0);
        if (which == Keys::conditional) value += (i % 3 == 1 ? -0.1 + 0.2 * momentum : 0) + 0.02 * power;
        out.values.push_back(value);
    }
    out.keys = {x, lr, k, c};
    if (which == Keys::conditional) out.keys.insert(out.keys.end(), {m, w});
    return out;
}

std::vector<int> ranks_of(std::vector<double> const& values) {
    std::vector<int> out;
    for (double const value : values)
        out.push_back(static_cast<int>(std::ranges::count_if(values, [&](double other) { return other < value; })));
    return out;
}

void expect_importance(Study const& study, std::vector<double> const& expected) {
    auto const found = importance_of(study.keys, ranks_of(study.values));
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-8) << i;
}

TEST(Importance, IsThatOfOptuna) {
    expect_importance(study_of(60, Keys::plain), {0.2490694553, 0.4907879364, 0.239148749, 0.0209938592});
    expect_importance(study_of(200, Keys::plain), {0.2723788409, 0.406691758, 0.2890470961, 0.031882305});
    expect_importance(study_of(200, Keys::conditional),
                      {0.2379136258, 0.2534102102, 0.121601932, 0.0042567722, 0.0749777269, 0.3078397329});
}

TEST(Importance, IsEqualWhereNothingTellsTheBest) {
    auto const study = study_of(60, Keys::plain);
    EXPECT_EQ(importance_of(study.keys, std::vector<int>(60, 0)), std::vector<double>(4, 0.25));
    EXPECT_TRUE(importance_of(study.keys, std::vector<int>(60, -1)).empty());
    EXPECT_TRUE(importance_of({}, std::vector<int>(60, 0)).empty());
}

}  // namespace report_test
}  // namespace hopscotch
