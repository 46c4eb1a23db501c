// SPDX-License-Identifier: Apache-2.0
#include "cli/train/predictions_csv.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <utility>

#include "cli/common/out_file.hpp"
#include "core/csv.hpp"
#include "core/error.hpp"

namespace hopscotch {
namespace {

constexpr std::int64_t k_most_probabilities = 1000;  // columns; beyond, only that of the prediction

}  // namespace

// As many digits as float32 has for a standardised target: 150, and not 150.000004.
std::string PredictionsCsv::number_text(double value, std::size_t i) const {
    if (trained_.targets.stddev.empty()) return fmt::format("{:.9g}", value);
    constexpr double k_known = 1e-6;  // of the deviation, for targets up to 8 deviations from the mean
    constexpr double k_most = 300;    // decimals
    auto const decimals = std::clamp(-std::floor(std::log10(trained_.targets.stddev[i] * k_known)) - 1, 0.0, k_most);
    auto text = fmt::format("{:.{}f}", value, static_cast<int>(decimals));
    if (text.find('.') == text.npos) return text;
    text.resize(text.find_last_not_of('0') + 1);
    if (text.back() == '.') text.pop_back();
    return text == "-0" ? "0" : text;
}

PredictionsCsv::PredictionsCsv(std::string path, Manifest const& trained, std::string const& place, RowAnswers answers)
    : path_(std::move(path)), trained_(trained) {
    check_out_file(path_, "CSV file");
    // Another user may have put a link there, which leads elsewhere, or a pipe, which would block for ever.
    ::unlink((path_ + ".tmp").c_str());
    file_ = std::fopen((path_ + ".tmp").c_str(), "wxe");
    if (file_ == nullptr)
        throw ConfigError(
            fmt::format("--out {}: cannot be written ({}); name a file in a folder that exists and can be written", path_,
                        std::strerror(errno)));
    probabilities_ = trained.task == Task::classification && trained.outputs <= k_most_probabilities;
    auto header = place;
    bool const known = answers == RowAnswers::known;
    if (has_labels(trained.task)) header += known ? ",label,prediction,probability" : ",prediction,probability";
    for (std::int64_t c = 0; probabilities_ && c < trained.outputs; ++c) header += "," + csv_field("p_" + name(c));
    for (std::int64_t c = 0; !has_labels(trained.task) && c < trained.outputs; ++c)
        header += (known ? "," + csv_field("target_" + name(c)) : "") + "," + csv_field("prediction_" + name(c));
    write(header);
}

PredictionsCsv::~PredictionsCsv() {
    if (file_ == nullptr) return;
    std::fclose(file_);
    std::remove((path_ + ".tmp").c_str());
}

std::string PredictionsCsv::class_text(std::span<float const> logits) const {
    auto const best = std::max_element(logits.begin(), logits.end());
    auto const power = [&](float x) { return std::exp(static_cast<double>(x) - static_cast<double>(*best)); };
    double sum = 0;
    for (auto const x : logits) sum += power(x);
    auto text = fmt::format(",{},{:.6g}", csv_field(name(best - logits.begin())), 1 / sum);
    for (std::size_t i = 0; probabilities_ && i < logits.size(); ++i) text += fmt::format(",{:.6g}", power(logits[i]) / sum);
    return text;
}

double PredictionsCsv::value(float output, std::size_t i) const {
    double const x = output;
    return trained_.task == Task::multilabel ? 1 / (1 + std::exp(-x)) : target_in_units(trained_, i, x);
}

void PredictionsCsv::add(std::string const& place, std::int64_t label, std::span<float const> outputs) {
    write(place + "," + csv_field(name(label)) + class_text(outputs));
}

void PredictionsCsv::add(std::string const& place, std::span<float const> targets, std::span<float const> outputs) {
    auto line = place;
    for (std::size_t i = 0; i < outputs.size(); ++i)
        line += fmt::format(",{},{}", number_text(target_in_units(trained_, i, targets[i]), i),
                            number_text(value(outputs[i], i), i));
    write(line);
}

void PredictionsCsv::add(std::string const& place, std::span<float const> outputs) {
    if (has_labels(trained_.task)) return write(place + class_text(outputs));
    auto line = place;
    for (std::size_t i = 0; i < outputs.size(); ++i) line += "," + number_text(value(outputs[i], i), i);
    write(line);
}

void PredictionsCsv::finish() {
    bool const written = std::fclose(std::exchange(file_, nullptr)) == 0;
    if (written && std::rename((path_ + ".tmp").c_str(), path_.c_str()) == 0) return;
    auto const why = std::strerror(errno);
    std::remove((path_ + ".tmp").c_str());
    throw DataError(fmt::format("{}: cannot be written ({})", path_, why));
}

std::string PredictionsCsv::name(std::int64_t output) const {
    return output_name(trained_, static_cast<std::size_t>(output));
}

void PredictionsCsv::write(std::string const& line) {
    if (std::fprintf(file_, "%s\n", line.c_str()) < 0)
        throw DataError(fmt::format("{}: cannot be written; check free space", path_));
}

}  // namespace hopscotch
