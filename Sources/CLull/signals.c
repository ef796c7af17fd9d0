// SPDX-License-Identifier: Apache-2.0
// Signals by sigaction, each handed on to any number of eventfds.
//
// Not by signalfd: that needs the signal blocked in every thread, and children inherit the mask.
#define _GNU_SOURCE 1
#include "CLull.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

enum { signal_count = 65 };  // Linux numbers them from 1 to 64.

/// Who wants to hear of a signal. Taps are never freed, since a handler may be walking them at any
/// moment on any thread; those whose taker has gone are taken again.
struct tap {
  /// -1 while nobody has it.
  atomic_int descriptor;
  /// How many handlers may be about to write to it.
  atomic_int busy;
  struct tap *next;
};

static struct {
  _Atomic(struct tap *) taps;
  // Guarded by `lock`.
  int takers;
  struct sigaction previous;
} signals[signal_count];

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

// Only atomics and write(2) here: it interrupts anything, at any line, on any thread.
static void on_signal(int number) {
  int saved = errno;
  for (struct tap *tap = atomic_load(&signals[number].taps); tap; tap = tap->next) {
    atomic_fetch_add(&tap->busy, 1);
    int descriptor = atomic_load(&tap->descriptor);
    if (descriptor >= 0) {
      uint64_t one = 1;
      ssize_t written = write(descriptor, &one, sizeof one);
      (void)written;  // It can only be full, at 2^64 - 2.
    }
    atomic_fetch_sub(&tap->busy, 1);
  }
  errno = saved;
}

static struct tap *find(int number, int descriptor) {
  struct tap *tap = atomic_load(&signals[number].taps);
  while (tap && atomic_load(&tap->descriptor) != descriptor) tap = tap->next;
  return tap;
}

static int take(int number) {
  if (signals[number].takers == 0) {
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART | SA_ONSTACK};
    sigfillset(&action.sa_mask);
    struct sigaction found;
    if (sigaction(number, &action, &found)) return -errno;
    // Ours is there when somebody took the signal over it and gave it back after we had left. What
    // there was before us is then what we know already.
    if (found.sa_handler != on_signal) signals[number].previous = found;
  }
  signals[number].takers++;
  return 0;
}

static void release(int number) {
  if (--signals[number].takers > 0) return;
  // Somebody may have put a handler of their own over ours since: then it is theirs.
  struct sigaction current;
  if (sigaction(number, NULL, &current) == 0 && current.sa_handler == on_signal) {
    sigaction(number, &signals[number].previous, NULL);
  }
}

int lull_signal_open(int number) {
  if (number < 1 || number >= signal_count) return -EINVAL;
  int descriptor = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (descriptor < 0) return -errno;

  pthread_mutex_lock(&lock);
  struct tap *tap = find(number, -1);
  if (!tap && (tap = calloc(1, sizeof *tap))) {
    atomic_init(&tap->descriptor, -1);
    tap->next = atomic_load(&signals[number].taps);
    atomic_store(&signals[number].taps, tap);
  }
  int result = tap ? 0 : -ENOMEM;
  if (tap) {
    // Before the handler is there, lest the first signal find nobody.
    atomic_store(&tap->descriptor, descriptor);
    result = take(number);
    if (result < 0) atomic_store(&tap->descriptor, -1);
  }
  pthread_mutex_unlock(&lock);

  if (result == 0) return descriptor;
  close(descriptor);
  return result;
}

void lull_signal_close(int number, int descriptor) {
  pthread_mutex_lock(&lock);
  struct tap *tap = find(number, descriptor);
  if (tap) {
    release(number);
    atomic_store(&tap->descriptor, -1);
  }
  pthread_mutex_unlock(&lock);
  if (!tap) return;
  // A handler that has read the number may still write to it, and it must not be a stranger's file
  // by then. Handlers are a few instructions long, and none can be beneath us on this thread.
  while (atomic_load(&tap->busy) > 0) sched_yield();
  close(descriptor);
}

// MARK: fork

// The child has our handlers and shares our eventfds: what it wrote there would be heard by the
// parent. It gets eventfds of its own under the same numbers, before any signal can come.

static sigset_t mask_before_fork;

static void before_fork(void) {
  sigset_t all, mask;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &mask);
  pthread_mutex_lock(&lock);
  mask_before_fork = mask;
}

static void after_fork(void) {
  sigset_t mask = mask_before_fork;
  pthread_mutex_unlock(&lock);
  pthread_sigmask(SIG_SETMASK, &mask, NULL);
}

static void renew(struct tap *tap) {
  // Whoever raised it is a thread that the child does not have.
  atomic_store(&tap->busy, 0);
  int descriptor = atomic_load(&tap->descriptor);
  if (descriptor < 0) return;
  close(descriptor);
  int own = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (own >= 0 && own != descriptor) {
    dup3(own, descriptor, O_CLOEXEC);
    close(own);
  }
}

static void in_child(void) {
  for (int number = 1; number < signal_count; number++) {
    for (struct tap *tap = atomic_load(&signals[number].taps); tap; tap = tap->next) renew(tap);
  }
  after_fork();
}

__attribute__((constructor)) static void loaded(void) {
  pthread_atfork(before_fork, after_fork, in_child);
}
