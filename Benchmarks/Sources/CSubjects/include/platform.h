// SPDX-License-Identifier: Apache-2.0
//
// What measuring needs of the system and Swift's Glibc module does not have.
#pragma once

#include <stdint.h>

#pragma clang assume_nonnull begin

/// Nanoseconds of the monotonic clock.
uint64_t bench_now(void);
/// Nanoseconds that all threads of the process have computed.
uint64_t bench_cpu_time(void);
/// Nanoseconds that the calling thread has computed.
uint64_t bench_thread_cpu_time(void);
/// How often threads of the process went to sleep.
uint64_t bench_sleeps(void);
/// Puts the calling thread, and those it starts, on one CPU.
void bench_pin(int cpu);
/// Bytes in use on the heap.
uint64_t bench_heap(void);
/// One question to the kernel, as cheap as a loop can ask it.
void bench_ask_kernel(void);
/// Nanoseconds for which the calling thread waits.
void bench_sleep(uint64_t nanoseconds);

#pragma clang assume_nonnull end
