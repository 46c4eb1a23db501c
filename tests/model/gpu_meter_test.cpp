// SPDX-License-Identifier: Apache-2.0
// The rules of the meter on a fake of NVML's calls, and its loader on small libraries that stand for the driver's.
#include "model/gpu/gpu_meter.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstring>

#include "model/gpu/device.hpp"
#include "model/nvml/fake_nvml.h"

namespace hopscotch {
namespace gpu_meter_test {

constexpr std::uint32_t k_self = 4711, k_other = 4712;
constexpr double k_start_s = 1e9;

std::uint64_t us(double seconds_after_start) { return static_cast<std::uint64_t>((k_start_s + seconds_after_start) * 1e6); }

struct Answers {
    std::optional<std::vector<NvmlCalls::ProcessUse>> processes = std::vector<NvmlCalls::ProcessUse>{};
    std::optional<std::uint32_t> percent = 50;
    std::vector<std::uint64_t> asked_since = {};
};

class FakeCalls final : public NvmlCalls {
public:
    explicit FakeCalls(Answers& answers) : answers_(answers) {}
    std::optional<std::vector<ProcessUse>> processes_since(std::uint64_t unix_us) override {
        answers_.asked_since.push_back(unix_us);
        return answers_.processes;
    }
    std::optional<std::uint32_t> device_percent() override { return answers_.percent; }

private:
    Answers& answers_;
};

class GpuMeterTest : public ::testing::Test {
protected:
    void expect(double at_s, double busy_s, double of_s) {
        auto const sample = meter.read(k_start_s + at_s);
        ASSERT_TRUE(sample) << at_s;
        EXPECT_NEAR(sample->busy_s, busy_s, 1e-6) << at_s;
        EXPECT_NEAR(sample->of_s, of_s, 1e-6) << at_s;
    }
    bool no_news(double at_s) { return !meter.read(k_start_s + at_s); }

    Answers answers;
    GpuMeter meter{std::make_unique<FakeCalls>(answers), k_self, k_start_s};
};

TEST_F(GpuMeterTest, TheOwnProcessCountsOnceTheDriverKnowsIt) {
    answers.processes = {{{k_other, us(0.1), 90}}};
    expect(0.2, 0.1, 0.2);  // of the whole GPU
    answers.processes = {{{k_other, us(0.3), 90}, {k_self, us(0.25), 20}, {k_self, us(0.3), 40}}};
    expect(0.4, 0.12, 0.3);
    EXPECT_TRUE(no_news(0.6)) << "the same sample again";
    EXPECT_EQ(answers.asked_since.back(), us(0.3));
    answers.processes = {{{k_self, us(1.3), 100}}};
    expect(1.4, 1, 1);
}

TEST_F(GpuMeterTest, BadSamplesOfTheDriverDoNotCount) {
    answers.processes = {{{k_self, us(0.1), 10}}};
    expect(0.2, 0.01, 0.1);
    answers.processes = {{{k_self, us(-5), 80}, {k_self, us(0.3), 4'000'000}, {0, 0, 0}}};
    EXPECT_TRUE(no_news(0.4));
}

// The driver has no sample of an idle process, and none for a second of a busy one.
TEST_F(GpuMeterTest, LongSilenceOfTheOwnProcessIsIdleTime) {
    answers.processes = {{{k_self, us(0.1), 10}}};
    expect(0.2, 0.01, 0.1);
    answers.processes = {{{k_other, us(1), 99}}};
    EXPECT_TRUE(no_news(2.1));
    expect(2.2, 0, 2);
    EXPECT_TRUE(no_news(2.4));
    expect(4.2, 0, 2);
    answers.processes = {{{k_self, us(4.7), 60}}};
    expect(4.8, 0.3, 0.5);
}

TEST_F(GpuMeterTest, AClockThatStepsCostsNoMoreThanASample) {
    answers.processes = {{{k_self, us(0.1), 10}}};
    expect(0.2, 0.01, 0.1);
    EXPECT_TRUE(no_news(-3600)) << "back: earlier than every sample so far";
    answers.processes = {{{k_self, us(-3599), 50}}};
    expect(-3598.8, 0.5, 1);
    answers.processes = {{{k_self, us(3600), 50}}};
    expect(3600.2, 1, 2);  // forward: no sample is about more than that
    answers.processes = {};
    answers.processes.emplace();
    expect(9000, 0, 2);
}

TEST_F(GpuMeterTest, WithoutACountByProcessTheWholeGpuCounts) {
    answers.processes = {};
    expect(0.2, 0.1, 0.2);
    answers.percent = 100;
    expect(0.5, 0.3, 0.3);
    expect(8, 1, 1);  // no sample is about more
    EXPECT_EQ(answers.asked_since.size(), 1U) << "asked once";
}

TEST_F(GpuMeterTest, ErrorsAreNoSamples) {
    answers.percent = {};
    EXPECT_TRUE(no_news(0.2));
    answers.percent = 100;
    expect(0.3, 0.1, 0.1);
    answers.processes = {{{k_self, us(0.4), 50}}};
    expect(0.5, 0.2, 0.4);
    answers.processes = {};
    EXPECT_TRUE(no_news(0.7)) << "the whole GPU does not stand in for a process that has been seen";
    answers.processes = {{{k_self, us(0.9), 50}}};
    expect(1, 0.25, 0.5);
}

// A library of tests/model/nvml, and its answers.
class Library {
public:
    explicit Library(char const* variant)
        : path(std::string(HOPSCOTCH_BINARY_DIR) + "/tests/nvml/" + variant + "/libnvidia-ml.so.1"),
          handle_(::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)),
          answers(static_cast<FakeNvml*>(handle_ ? ::dlsym(handle_, "fake_nvml") : nullptr)) {
        if (answers == nullptr) throw std::runtime_error("no " + path);
        std::memset(answers, 0, sizeof *answers);
        std::strcpy(answers->uuid, "GPU-1");
    }
    ~Library() { ::dlclose(handle_); }
    Library(Library const&) = delete;
    Library& operator=(Library const&) = delete;
    std::unique_ptr<NvmlCalls> open(char const* uuid = "GPU-1") const { return open_nvml(uuid, path); }

    std::string path;

private:
    void* handle_;

public:
    FakeNvml* answers;
};

TEST(NvmlLibrary, AnswersOfTheDriverComeThrough) {
    Library const library("whole");
    auto& answers = *library.answers;
    auto const calls = library.open();
    ASSERT_TRUE(calls);
    answers.rates.gpu = 73;
    answers.rates.memory = 11;
    EXPECT_EQ(calls->device_percent(), 73U);
    ASSERT_TRUE(calls->processes_since(0));
    EXPECT_TRUE(calls->processes_since(0)->empty()) << "NVML calls that an error";
    answers.processes[0] = {k_other, 90, 1, 2, 3, 4};
    answers.processes[2] = {k_self, 1'700'000'000'000'100, 42, 2, 3, 4};
    auto const found = calls->processes_since(100);
    ASSERT_TRUE(found);
    ASSERT_EQ(found->size(), 1U);
    EXPECT_EQ(found->front().pid, k_self);
    EXPECT_EQ(found->front().unix_us, 1'700'000'000'000'100U);
    EXPECT_EQ(found->front().percent, 42U);
    EXPECT_EQ(calls->processes_since(0)->size(), 2U);
}

TEST(NvmlLibrary, ErrorsAreNoAnswers) {
    Library const library("whole");
    auto& answers = *library.answers;
    auto const calls = library.open();
    ASSERT_TRUE(calls);
    for (int const error : {3, 4, 15, 999}) {
        answers.rates_result = answers.processes_result = error;
        EXPECT_FALSE(calls->device_percent());
        EXPECT_FALSE(calls->processes_since(0));
    }
    answers.rates_result = answers.processes_result = 0;
    EXPECT_TRUE(calls->device_percent());
    answers.rates.gpu = 4'000'000;
    EXPECT_FALSE(calls->device_percent()) << "more than 100 %";
}

TEST(NvmlLibrary, IsBegunAndEndedOnce) {
    Library const library("whole");
    auto calls = library.open();
    ASSERT_TRUE(calls);
    EXPECT_EQ(library.answers->ended, 0);
    calls.reset();
    EXPECT_EQ(library.answers->begun, 1);
    EXPECT_EQ(library.answers->ended, 1);
}

TEST(NvmlLibrary, NothingIsMeasuredWhereItCannotBe) {
    EXPECT_FALSE(open_nvml("GPU-1", "/no/such/libnvidia-ml.so.1"));
    Library const library("whole"), without_rates("without_rates");
    EXPECT_FALSE(without_rates.open()) << "a function is missing";
    EXPECT_EQ(without_rates.answers->begun, 0);
    EXPECT_FALSE(library.open("GPU-2")) << "unknown here, as the uuid of a part of a GPU";
    EXPECT_EQ(library.answers->ended, library.answers->begun);
    library.answers->mig = 1;
    EXPECT_FALSE(library.open()) << "MIG";
    library.answers->mig_result = 3;
    EXPECT_TRUE(library.open()) << "a GPU that cannot be divided";
    library.answers->init = 9;
    EXPECT_FALSE(library.open()) << "the driver is not loaded";
    EXPECT_EQ(library.answers->ended, library.answers->begun);
}

TEST(NvmlLibrary, OfAnOldDriverCountsTheWholeGpu) {
    Library const library("old");
    library.answers->rates.gpu = 30;
    auto calls = library.open();
    ASSERT_TRUE(calls);
    EXPECT_FALSE(calls->processes_since(0));
    GpuMeter meter(std::move(calls), k_self, k_start_s);
    auto const sample = meter.read(k_start_s + 0.5);
    ASSERT_TRUE(sample);
    EXPECT_NEAR(sample->busy_s, 0.15, 1e-6);
}

TEST(GpuMeter, OfACpuAndOfAnUnknownGpuIsNone) {
    EXPECT_FALSE(make_gpu_meter({"cpu", "", "", 0, ""}));
    EXPECT_FALSE(make_gpu_meter({"cuda:0", "A fake", "GPU-0", 1'000'000, "CUDA 0.0"}));
}

}  // namespace gpu_meter_test
}  // namespace hopscotch
