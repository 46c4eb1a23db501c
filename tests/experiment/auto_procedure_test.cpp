// SPDX-License-Identifier: Apache-2.0
#include "experiment/auto_procedure.hpp"

#include <gtest/gtest.h>

#include "experiment/documents.hpp"

namespace hopscotch {
namespace auto_procedure_test {

std::string const k_space = R"("space": {"train.optimizer.lr": {"type": "float", "low": 1e-4, "high": 1, "log": true}})";

Experiment read(std::string const& search, std::string const& more = k_space, std::vector<std::string> const& sets = {}) {
    Problems problems("e.json");
    auto out = read_experiment(document(more + R"(, "search": {"procedure": "auto")" + search + "}"), sets, problems);
    EXPECT_EQ(problems.text(), "");
    return out;
}

std::string chosen(std::string const& search, std::string const& more = k_space) {
    auto const text = text_of_choice(read(search, more));
    EXPECT_EQ(text.find("procedure: "), 0U);
    return text.substr(0, text.find(" (")).substr(11);
}

TEST(Auto, ByTheNumberOfTrials) {
    std::string const short_ones = k_space + R"(, "train": {"epochs": 5})";
    EXPECT_EQ(chosen(R"(, "trials": 14)", short_ones), "sobol");
    EXPECT_EQ(chosen(R"(, "trials": 15)", short_ones), "gp");
    EXPECT_EQ(chosen(R"(, "trials": 500)", short_ones), "gp");
    EXPECT_EQ(chosen(R"(, "trials": 501)", short_ones), "tpe");
    EXPECT_EQ(chosen(R"(, "trials": 501, "budget": {"trials": 20})", short_ones), "gp");
    EXPECT_EQ(chosen(R"(, "budget": {"epochs": 74})", short_ones), "sobol") << "14 trainings";
    EXPECT_EQ(chosen(R"(, "budget": {"epochs": 75})", short_ones), "gp");
}

TEST(Auto, LongTrainingsEndEarly) {
    EXPECT_EQ(chosen(R"(, "trials": 9)"), "asha with gp") << "of 10 epochs by default";
    EXPECT_EQ(chosen(R"(, "trials": 8)"), "sobol");
    EXPECT_EQ(chosen(R"(, "trials": 900)"), "asha with tpe");
    EXPECT_EQ(chosen(R"(, "trials": 40, "objectives": ["val_accuracy", "parameters"])"), "asha with tpe");
    EXPECT_EQ(chosen(R"(, "trials": 40, "max_epochs": 6)"), "asha with gp");
    EXPECT_EQ(chosen(R"(, "trials": 40)", k_space + R"(, "train": {"epochs": 6})"), "asha with gp");
    EXPECT_EQ(chosen(R"(, "trials": 40, "sampler": "nsga2")"), "asha with nsga2") << "the user's own";
    auto const lengths = R"("space": {"train.epochs": {"type": "int", "low": 2, "high": 90}})";
    EXPECT_EQ(chosen(R"(, "trials": 40)",
                     R"("space": {"train.epochs": [9], "model.a": {"type": "float", "low": 0, "high": 1}})"),
              "asha with gp");
    EXPECT_EQ(chosen(R"(, "trials": 40)", lengths), "gp") << "a rule cannot compare trials of different lengths";
}

TEST(Auto, SmallSpacesAreTriedAsAWhole) {
    std::string const few = R"("space": {"train.batch_size": [16, 32, 64], "model.dropout": [0, 0.1, 0.2, 0.3]})";
    EXPECT_EQ(chosen("", few), "grid");
    EXPECT_EQ(chosen(R"(, "trials": 12)", few), "grid");
    EXPECT_EQ(chosen(R"(, "trials": 11)", few), "asha with gp");
    EXPECT_EQ(chosen(R"(, "trials": 200)", R"("space": {"train.batch_size": {"type": "int", "low": 1, "high": 200}})"),
              "grid");
}

TEST(Auto, TooManyKeysForSobol) {
    std::string space = "\"space\": {";
    for (int i = 0; i < 22; ++i)
        space += (i == 0 ? "\"model.k" : ", \"model.k") + std::to_string(i) + R"(": {"type": "float", "low": 0, "high": 1})";
    EXPECT_EQ(chosen(R"(, "trials": 5)", space + "}"), "random");
}

TEST(Auto, IsWrittenIntoTheDocument) {
    auto const experiment = read(R"(, "trials": 40)");
    auto const& search = *experiment.document.find("search");
    EXPECT_EQ(*search.find("procedure"), Json("asha"));
    EXPECT_EQ(*search.find("sampler"), Json("gp"));
    EXPECT_EQ(*search.find("chosen_because"),
              Json("asha with gp: of 40 trials of 10 epochs most can end early, and gp learns most from each result"));
    EXPECT_EQ(
        text_of_choice(experiment),
        "procedure: asha with gp (chosen by auto: of 40 trials of 10 epochs most can end early, and gp learns most from "
        "each result)");
    Problems problems("e.json");
    auto const again = read_experiment(experiment.document.dump(), {}, problems);
    EXPECT_EQ(problems.text(), "");
    EXPECT_EQ(again.document.dump(), experiment.document.dump());
    EXPECT_EQ(text_of_choice(read_experiment(document(), {}, problems)), "");
}

TEST(Auto, ARunKeepsItsChoice) {
    std::string const few = R"("space": {"train.batch_size": [16, 32, 64], "model.dropout": [0, 0.1, 0.2, 0.3]})";
    auto const before = read(R"(, "trials": 9, "eta": 2)", few).document;
    auto const text = document(few + R"(, "search": {"procedure": "auto", "trials": 12, "eta": 2})");
    EXPECT_NE(complaints(text).find("eta belongs to"), std::string::npos) << "it would be a grid";
    Problems problems("e.json");
    std::string asked;
    auto const now = read_experiment(text, {}, problems, [&](std::string const& run_dir) {
        asked = run_dir;
        return before;
    });
    EXPECT_EQ(problems.text(), "");
    EXPECT_EQ(asked, "r");
    EXPECT_EQ(now.search.procedure, "asha");
    EXPECT_EQ(now.search.sampler, "gp");
    EXPECT_EQ(*now.search.trials, 12);
    EXPECT_NE(text_of_choice(now).find("of 9 trials"), std::string::npos);
    auto const named = read_experiment(document(), {}, problems, [&](std::string const&) { return before; });
    EXPECT_EQ(named.search.procedure, "grid") << "only auto asks";
}

TEST(Auto, PriorsAreNotIgnored) {
    std::string const few = R"("space": {"model.dropout": {"type": "choice", "values": [0, 0.1], "prior": [1, 2]}})";
    EXPECT_EQ(chosen(R"(, "trials": 2)", few), "sobol");
}

TEST(Auto, TheReasonIsThatOfTheSearch) {
    auto const reason = text_of_choice(read(R"(, "trials": 40, "sampler": "nsga2")"));
    EXPECT_EQ(reason.find("gp"), std::string::npos) << reason;
    auto const experiment = read(R"(, "trials": 40)");
    auto copied = experiment.document;
    copied.set("search.procedure", "median");
    Problems problems("e.json");
    EXPECT_EQ(text_of_choice(read_experiment(copied.dump(), {}, problems)), "") << "of another search";
    EXPECT_EQ(problems.text(), "");
}

TEST(Auto, AListOfConfigurations) {
    Problems problems("e.json");
    auto const search = R"("search": {"procedure": "auto", "configurations": [{"train.optimizer.lr": 0.1}]})";
    auto const read = read_experiment(document(search), {}, problems);
    EXPECT_EQ(problems.text(), "");
    EXPECT_EQ(text_of_choice(read), "procedure: manual (chosen by auto: the search lists its configurations)");
}

TEST(Auto, MistakesAreStillTold) {
    auto const said = [](std::string const& search) {
        return complaints(document(k_space + R"(, "search": {"procedure": "auto")" + search + "}"));
    };
    EXPECT_EQ(said(""),
              "e.json:2:100: /search/trials: missing (required); say how many configurations the search should "
              "draw, for example 16");
    EXPECT_NE(said(R"(, "trials": 3, "eta": 3)").find("(the procedure that auto chose here is \"sobol\")"),
              std::string::npos);
    EXPECT_NE(said(R"(, "trials": "many")").find("/search/trials: expected an integer"), std::string::npos);
    EXPECT_NE(said(R"(, "trials": 40, "eta": 3, "keep": 2)").find("keep belongs to"), std::string::npos);
    EXPECT_NE(said(R"(, "trials": 40, "configurations": [])").find("configurations belongs to manual"), std::string::npos);
    EXPECT_EQ(complaints(document(R"("space": 3, "search": {"procedure": "auto", "trials": 3})")),
              "e.json:2:10: /space: expected an object (got an integer)");
}

}  // namespace auto_procedure_test
}  // namespace hopscotch
