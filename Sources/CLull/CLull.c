// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE 1
#include "CLull.h"

#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

static uintptr_t main_thread;
static uint32_t fork_generation;

static void child_after_fork(void) { fork_generation++; }

__attribute__((constructor)) static void loaded(void) {
  if (lull_is_main_thread()) main_thread = lull_thread();
  pthread_atfork(NULL, NULL, child_after_fork);
}

uintptr_t lull_main_thread(void) { return main_thread; }
bool lull_is_main_thread(void) { return getpid() == (pid_t)syscall(SYS_gettid); }
uint32_t lull_fork_generation(void) { return fork_generation; }

long lull_preemptions(void) {
  struct rusage usage;
  return getrusage(RUSAGE_THREAD, &usage) == 0 ? usage.ru_nivcsw : 0;
}

static struct timespec span(int64_t nanoseconds) {
  return (struct timespec){nanoseconds / 1000000000, nanoseconds % 1000000000};
}

int lull_futex_wait(const void *word, uint32_t expected, int64_t nanoseconds) {
  struct timespec limit = span(nanoseconds < 0 ? 0 : nanoseconds);
  long result = syscall(
      SYS_futex, word, FUTEX_WAIT_PRIVATE, expected, nanoseconds < 0 ? NULL : &limit, NULL, 0);
  return result < 0 ? -errno : 0;
}

void lull_futex_wake(const void *word, int count) {
  syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, count, NULL, NULL, 0);
}

int lull_epoll_wait_ns(int epoll, struct epoll_event *events, int count, int64_t nanoseconds) {
  struct timespec limit = span(nanoseconds);
  int result = epoll_pwait2(epoll, events, count, &limit, NULL);
  return result < 0 ? -errno : result;
}

int lull_epoll_look(int epoll, struct epoll_event *events, int count) {
#ifdef SYS_epoll_wait
  // The older call looks at no signal mask, a tenth of the question.
  long result = syscall(SYS_epoll_wait, epoll, events, count, 0);
#else
  long result = syscall(SYS_epoll_pwait, epoll, events, count, 0, NULL, 0);
#endif
  return result < 0 ? -errno : (int)result;
}

int lull_poll_ns(struct pollfd *descriptors, int count, int64_t nanoseconds) {
  struct timespec limit = span(nanoseconds < 0 ? 0 : nanoseconds);
  int result = ppoll(descriptors, (nfds_t)count, nanoseconds < 0 ? NULL : &limit, NULL);
  return result < 0 ? -errno : result;
}

uint64_t lull_exchange_timer_slack(uint64_t nanoseconds) {
  int old = prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0);
  prctl(PR_SET_TIMERSLACK, nanoseconds, 0, 0, 0);
  return old < 0 ? 0 : (uint64_t)old;
}

void lull_name_thread(const char *name) { prctl(PR_SET_NAME, name, 0, 0, 0); }

// Private to libdispatch, and what CoreFoundation itself uses; weak, so that their absence is an
// answer and not a link error.
extern int _dispatch_get_main_queue_handle_4CF(void) __attribute__((weak));
extern void _dispatch_main_queue_callback_4CF(void *message) __attribute__((weak));

static atomic_bool main_queue_is_known;

static int main_queue_descriptor(void) {
  if (!_dispatch_get_main_queue_handle_4CF || !_dispatch_main_queue_callback_4CF) return -1;
  if (!atomic_load(&main_queue_is_known)) {
    // libdispatch makes it for the first who asks, and ends the process when it cannot.
    int trial = eventfd(0, EFD_CLOEXEC);
    if (trial < 0) return -1;
    close(trial);
  }
  int descriptor = _dispatch_get_main_queue_handle_4CF();
  atomic_store(&main_queue_is_known, true);
  return descriptor;
}

// libdispatch's queues do not survive a fork, and their descriptors stay the parent's.
int lull_main_queue_descriptor(void) { return fork_generation ? -1 : main_queue_descriptor(); }

bool lull_is_main_queue_descriptor(int descriptor) {
  return atomic_load(&main_queue_is_known) && descriptor == main_queue_descriptor();
}

void lull_drain_main_queue(void) { _dispatch_main_queue_callback_4CF(NULL); }
