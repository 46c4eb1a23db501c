/* SPDX-License-Identifier: Apache-2.0
   The answers of fake_nvml.c; structs as in nvml.h. */
#pragma once

enum { FAKE_NVML_SAMPLES = 3 };

struct FakeRates {
    unsigned gpu, memory;
};

struct FakeProcess {
    unsigned pid;
    unsigned long long unix_us;
    unsigned sm, memory, encoder, decoder;
};

struct FakeNvml {
    int init, mig_result, rates_result, processes_result; /* 0: success; 3: not supported */
    unsigned mig;                                         /* 1: on */
    struct FakeRates rates;
    struct FakeProcess processes[FAKE_NVML_SAMPLES]; /* unix_us: 0: none */
    char uuid[48];
    int begun, ended; /* calls */
};
