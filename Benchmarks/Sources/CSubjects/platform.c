// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "platform.h"

#include <malloc.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <time.h>

#include "subject.h"

struct bench_target bench_target;

void bench_on_call(bench_hook hook, void *state) {
  bench_target.hook = hook;
  bench_target.state = state;
}

static uint64_t read_clock(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

uint64_t bench_now(void) { return read_clock(CLOCK_MONOTONIC); }
uint64_t bench_cpu_time(void) { return read_clock(CLOCK_PROCESS_CPUTIME_ID); }

uint64_t bench_thread_cpu_time(void) { return read_clock(CLOCK_THREAD_CPUTIME_ID); }

uint64_t bench_sleeps(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return (uint64_t)usage.ru_nvcsw;
}

void bench_pin(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  sched_setaffinity(0, sizeof set, &set);
}

uint64_t bench_heap(void) {
  struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

void bench_ask_kernel(void) {
  static int epoll = -1;
  if (epoll < 0) epoll = epoll_create1(EPOLL_CLOEXEC);
  struct epoll_event event;
  epoll_wait(epoll, &event, 1, 0);
}

void bench_sleep(uint64_t nanoseconds) {
  struct timespec t = {(time_t)(nanoseconds / 1000000000), (long)(nanoseconds % 1000000000)};
  nanosleep(&t, NULL);
}
