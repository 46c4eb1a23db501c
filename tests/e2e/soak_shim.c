// SPDX-License-Identifier: Apache-2.0
// For soak.py, by LD_PRELOAD: steps the wall clock of a process, and fills its disk up for checkpoints, as a file says that
// the test writes (SOAK_SHIM): i64 seconds that the clock is ahead, i64 1 while the disk is full.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile int64_t const *told;

__attribute__((constructor)) static void open_file(void) {
    char const *path = getenv("SOAK_SHIM");
    int const file = path != NULL ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (file < 0) return;
    void *mapped = mmap(NULL, 16, PROT_READ, MAP_SHARED, file, 0);
    if (mapped != MAP_FAILED) told = mapped;
    close(file);
}

int clock_gettime(clockid_t clock, struct timespec *out) {
    int const code = (int)syscall(SYS_clock_gettime, clock, out);
    if (code == 0 && clock == CLOCK_REALTIME && told != NULL) out->tv_sec += told[0];
    return code;
}

int gettimeofday(struct timeval *restrict out, void *restrict zone) {
    (void)zone;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    out->tv_sec = now.tv_sec;
    out->tv_usec = now.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *out) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (out != NULL) *out = now.tv_sec;
    return now.tv_sec;
}

static int is_checkpoint(int file) {
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t const length = readlink(link, path, sizeof path - 1);
    if (length <= 0) return 0;
    path[length] = 0;
    return strstr(path, "/checkpoints/") != NULL;
}

ssize_t write(int file, void const *bytes, size_t count) {
    if (told != NULL && told[1] != 0 && is_checkpoint(file)) {
        errno = ENOSPC;
        return -1;
    }
    return syscall(SYS_write, file, bytes, count);
}
