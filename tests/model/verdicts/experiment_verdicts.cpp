// SPDX-License-Identifier: Apache-2.0
// Reads experiments, one in each line of standard input, and prints for each a JSON array of what the reader refuses.
#include <iostream>

#include "data/dataset/data_schema.hpp"
#include "experiment/reader.hpp"
#include "model/zoo/zoo.hpp"

int main() {
    using namespace hopscotch;
    std::string line;
    while (std::getline(std::cin, line)) {
        Problems problems("e.json");
        auto const experiment = read_experiment(line, {}, problems);
        // The arguments of the model: what does not fit the data is said of its name.
        Problems of_model("e.json");
        bool const own = experiment.model.name == "plugin" || experiment.model.name == "torchscript";
        DataSchema const images{Task::classification, {3, 32, 32}, 10, 100, {}};
        if (problems.empty() && !own) check_model(experiment.model, images, of_model);
        Json::Array out;
        for (auto const& each : problems.entries()) out.emplace_back(each.path + ": " + each.problem);
        for (auto const& each : of_model.entries())
            if (each.problem.find("needs a dataset") == std::string::npos && each.problem.find("fit") == std::string::npos)
                out.emplace_back(each.path + ": " + each.problem);
        std::cout << Json(std::move(out)).dump() << '\n';
    }
}
