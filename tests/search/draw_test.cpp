// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <random>

#include "core/rng.hpp"
#include "search/draw.hpp"
#include "search_experiment.hpp"

namespace hopscotch {
namespace draw_test {

// NumPy's RandomState(seed).random_sample().
Uniform numpy_stream(unsigned seed) {
    return [engine = std::mt19937(seed)]() mutable {
        double const high = static_cast<double>(engine() >> 5);
        return (high * 67108864.0 + static_cast<double>(engine() >> 6)) / 9007199254740992.0;
    };
}

Parameter range(Parameter::Type type, double low, double high) {
    Parameter out;
    out.type = type;
    out.low = low;
    out.high = high;
    return out;
}

Space space_of(std::vector<Parameter> parameters) {
    Space out;
    out.parameters = std::move(parameters);
    for (std::size_t i = 0; i < out.parameters.size(); ++i) {
        out.parameters[i].path = std::string(1, static_cast<char>('a' + i));
        out.order.push_back(i);
    }
    return out;
}

TEST(Draw, NumpyStream) {
    auto next = numpy_stream(42);
    EXPECT_EQ(next(), 0.37454011884736249);
    EXPECT_EQ(next(), 0.95071430640991617);
    EXPECT_EQ(next(), 0.73199394181140509);
}

// RandomSampler(seed=42) of Optuna 3.1 and later: lr float log [1e-5, 1e-1], k int [1, 8], o {sgd, adam}.
TEST(Draw, GivesOptunasValues) {
    auto lr = range(Parameter::Type::real, 1e-5, 1e-1);
    lr.log = true;
    auto choice = range(Parameter::Type::choice, 0, 0);
    choice.values = {"sgd", "adam"};
    auto const space = space_of({lr, range(Parameter::Type::integer, 1, 8), choice});
    auto const stream = numpy_stream(42);
    struct Row {
        double lr;
        int k;
        char const* name;
    };
    for (auto const& row : {Row{0.00031489116479568613, 8, "sgd"}, Row{4.207988669606632e-05, 2, "adam"},
                            Row{0.002537815508265664, 6, "adam"}}) {
        auto const drawn = draw(space, stream);
        EXPECT_DOUBLE_EQ(drawn[0].second.number(), row.lr);
        EXPECT_EQ(drawn[1].second.integer(), row.k);
        EXPECT_EQ(drawn[2].second.string(), row.name);
    }
}

TEST(Draw, StaysInsideAndReachesTheEnds) {
    auto stepped = range(Parameter::Type::real, 0.1, 0.35);
    stepped.step = 0.1;
    auto skipping = range(Parameter::Type::integer, 1, 8);
    skipping.step = 3;
    auto log_whole = range(Parameter::Type::integer, 1, 4);
    log_whole.log = true;
    auto const space = space_of(
        {range(Parameter::Type::real, -2, 3), stepped, range(Parameter::Type::integer, -1, 1), skipping, log_whole});
    Rng rng(4);
    std::array<int, 3> whole{};
    std::array<int, 3> steps{};
    std::array<int, 3> skips{};
    std::array<int, 4> logs{};
    for (int i = 0; i < 6000; ++i) {
        auto const drawn = draw(space, [&] { return rng.uniform(); });
        double const x = drawn[0].second.number();
        ASSERT_TRUE(x >= -2 && x <= 3);
        ++steps.at(static_cast<std::size_t>(std::lround(drawn[1].second.number() * 10) - 1));
        ++whole.at(static_cast<std::size_t>(drawn[2].second.integer() + 1));
        ++skips.at(static_cast<std::size_t>((drawn[3].second.integer() - 1) / 3));
        ++logs.at(static_cast<std::size_t>(drawn[4].second.integer() - 1));
    }
    for (auto const& counts : {whole, steps, skips})
        for (int count : counts) EXPECT_NEAR(count, 2000, 200);
    EXPECT_GT(logs[0], logs[1]);
    EXPECT_GT(logs[2], logs[3]);
    auto top = range(Parameter::Type::real, 0, 1);
    EXPECT_LE(draw(top, [] { return 1 - 0x1p-53; }).number(), 1);
    EXPECT_EQ(draw(range(Parameter::Type::integer, 1, 8), [] { return 1 - 0x1p-53; }).integer(), 8);
    EXPECT_EQ(draw(range(Parameter::Type::integer, 1, 8), [] { return 0.0; }).integer(), 1);
    EXPECT_EQ(draw(range(Parameter::Type::real, 2, 2), [] { return 0.7; }).number(), 2);
}

TEST(Draw, DimensionsAreIndependent) {
    auto log = range(Parameter::Type::real, 1e-4, 1e-1);
    log.log = true;
    auto const space = space_of({log, range(Parameter::Type::real, 0, 1)});
    double sum = 0;
    double below = 0;
    constexpr int n = 4000;
    for (std::int64_t trial = 0; trial < n; ++trial) {
        Rng rng(stream_key(1, Purpose::search, {trial}));
        auto const drawn = draw(space, [&] { return rng.uniform(); });
        double const x = (std::log10(drawn[0].second.number()) + 2.5) / 1.5;  // [-1, 1]
        sum += x * (drawn[1].second.number() - 0.5);
        below += drawn[0].second.number() < std::pow(10.0, -2.5) ? 1 : 0;
    }
    EXPECT_NEAR(below / n, 0.5, 0.03);
    EXPECT_NEAR(sum / n, 0, 0.01);
}

TEST(Draw, StepsAreDecimalsOrTheSumsOfEarlierVersions) {
    auto parameter =
        space_from(R"({"model.dropout": {"type": "float", "low": 0.1, "high": 0.7, "step": 0.1}})").parameters[0];
    auto const drawn = [&](double place) { return value_at(parameter, place).number(); };
    EXPECT_EQ(drawn(0.4), 0.3);
    EXPECT_EQ(drawn(0.99), 0.7);
    parameter.step_values = StepValues::binary;
    EXPECT_EQ(drawn(0.4), 0.30000000000000004);
    EXPECT_EQ(drawn(0.99), 0.7000000000000001) << "beyond high, as it was drawn";
}

}  // namespace draw_test
}  // namespace hopscotch
