// SPDX-License-Identifier: Apache-2.0
// Stands in for the C library's wall clock in the test program, to step it back under some threads.
#define _GNU_SOURCE 1
#include "CTestSupport.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/time.h>
#include <time.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif

#ifdef SANITIZED

void test_turn_wall_clock_back(bool turns) { (void)turns; }
long test_wall_clock_reads(void) { return -1; }

#else

static _Thread_local bool is_turning;
static _Thread_local time_t turned;
static atomic_long reads;

void test_turn_wall_clock_back(bool turns) { is_turning = turns; }
long test_wall_clock_reads(void) { return atomic_load(&reads); }

static bool is_wall(clockid_t clock) {
  return clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE || clock == CLOCK_TAI;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
  typedef int (*function)(clockid_t, struct timespec *);
  static _Atomic(function) real;
  function read = atomic_load(&real);
  if (!read) {
    read = (function)dlsym(RTLD_NEXT, "clock_gettime");
    atomic_store(&real, read);
  }
  int result = read(clock, now);
  if (is_turning && is_wall(clock)) {
    atomic_fetch_add(&reads, 1);
    turned += 3600;
    now->tv_sec -= turned;
  }
  return result;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
  (void)zone;
  struct timespec precise;
  clock_gettime(CLOCK_REALTIME, &precise);
  now->tv_sec = precise.tv_sec;
  now->tv_usec = precise.tv_nsec / 1000;
  return 0;
}

time_t time(time_t *now) {
  struct timespec precise;
  clock_gettime(CLOCK_REALTIME, &precise);
  if (now) *now = precise.tv_sec;
  return precise.tv_sec;
}

#endif
