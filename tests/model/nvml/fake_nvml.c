/* SPDX-License-Identifier: Apache-2.0
   Stands for the driver's libnvidia-ml.so.1, of which it has the functions that Hopscotch calls. A test sets the answers in
   `fake_nvml`. Without FAKE_NVML_PROCESSES: as an old driver; without FAKE_NVML_RATES: no library for Hopscotch. */
#include "fake_nvml.h"

#include <string.h>

struct FakeNvml fake_nvml;

static char device;

int nvmlInit_v2(void) {
    if (fake_nvml.init == 0) ++fake_nvml.begun;
    return fake_nvml.init;
}

int nvmlShutdown(void) {
    ++fake_nvml.ended;
    return 0;
}

int nvmlDeviceGetHandleByUUID(char const* uuid, void** out) {
    if (strcmp(uuid, fake_nvml.uuid) != 0) return 6;
    *out = &device;
    return 0;
}

#ifdef FAKE_NVML_RATES
int nvmlDeviceGetUtilizationRates(void* which, struct FakeRates* out) {
    if (which != &device) return 2;
    if (fake_nvml.rates_result == 0) *out = fake_nvml.rates;
    return fake_nvml.rates_result;
}
#endif

#ifdef FAKE_NVML_PROCESSES
int nvmlDeviceGetMigMode(void* which, unsigned* now, unsigned* after_reset) {
    if (which != &device) return 2;
    *now = *after_reset = fake_nvml.mig;
    return fake_nvml.mig_result;
}

/* As the driver: it asks for room for more samples than there are, and puts the newer ones of its memory there. */
int nvmlDeviceGetProcessUtilization(void* which, struct FakeProcess* out, unsigned* count, unsigned long long since) {
    unsigned i, found = 0;
    if (which != &device) return 2;
    if (fake_nvml.processes_result != 0) return fake_nvml.processes_result;
    for (i = 0; i < FAKE_NVML_SAMPLES; ++i) found += fake_nvml.processes[i].unix_us > since;
    if (found == 0) return 6;
    if (out == 0 || *count < FAKE_NVML_SAMPLES) {
        *count = FAKE_NVML_SAMPLES;
        return 7;
    }
    for (i = 0, found = 0; i < FAKE_NVML_SAMPLES; ++i)
        if (fake_nvml.processes[i].unix_us > since) out[found++] = fake_nvml.processes[i];
    *count = found;
    return 0;
}
#endif
