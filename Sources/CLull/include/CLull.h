// SPDX-License-Identifier: Apache-2.0
// What the Glibc module lacks: the kernel's event interfaces, thread identity without a call, and
// libdispatch's main queue.
#pragma once

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <time.h>

/// The calling thread, as a word that no two living threads share. One instruction.
static inline uintptr_t lull_thread(void) { return (uintptr_t)__builtin_thread_pointer(); }

/// Nanoseconds on one of the kernel's clocks.
static inline int64_t lull_clock(clockid_t clock) {
  struct timespec time;
  clock_gettime(clock, &time);
  return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

/// Tells the processor that the thread spins.
static inline void lull_pause(void) {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ __volatile__("yield");
#endif
}

/// Has the processor fetch a line of memory that is to be written. Any address will do.
static inline void lull_prefetch_for_writing(const void *address) {
#if defined(__x86_64__)
  __asm__ __volatile__("prefetchw %0" : : "m"(*(const char *)address));
#else
  __builtin_prefetch(address, 1);
#endif
}

/// Has the processor fetch a line of memory that is to be read. Any address will do.
static inline void lull_prefetch(const void *address) { __builtin_prefetch(address); }

/// The process's main thread, or 0 when this image was loaded on another one.
uintptr_t lull_main_thread(void);

/// Whether the caller is the process's main thread. A system call.
bool lull_is_main_thread(void);

/// Grows by one in a child made by fork: descriptors shared with the parent are then not its own.
uint32_t lull_fork_generation(void);

/// Sleeps while `*word == expected`, for at most `nanoseconds` (negative: no limit).
/// Returns 0, or a negative errno.
int lull_futex_wait(const void *word, uint32_t expected, int64_t nanoseconds);
void lull_futex_wake(const void *word, int count);

/// `epoll_pwait2`, or -ENOSYS where the kernel has none.
int lull_epoll_wait_ns(int epoll, struct epoll_event *events, int count, int64_t nanoseconds);

/// What is ready now: `epoll_wait` that does not wait, and so is no point of cancellation, which in
/// glibc costs as much as a tenth of the question. A count, or a negative errno.
int lull_epoll_look(int epoll, struct epoll_event *events, int count);

/// `ppoll` without limit if `nanoseconds` is negative. A count, or a negative errno.
int lull_poll_ns(struct pollfd *descriptors, int count, int64_t nanoseconds);

/// Sets the calling thread's timer slack and returns the one it had.
uint64_t lull_exchange_timer_slack(uint64_t nanoseconds);

/// How often the kernel took the processor from the calling thread while it could have gone on.
long lull_preemptions(void);

/// libdispatch's main queue: an eventfd that turns readable when the queue has work, or -1 where
/// this libdispatch has none, in a child made by fork, and while no descriptor is left for it; and
/// the call that runs what is queued
/// (main thread only).
int lull_main_queue_descriptor(void);
bool lull_is_main_queue_descriptor(int descriptor);
void lull_drain_main_queue(void);

/// Names the calling thread; the kernel keeps 15 bytes.
void lull_name_thread(const char *name);

/// Takes a signal for the process, until it is closed: each one adds 1 to the eventfd that is
/// returned. In a child made by fork the descriptor is the child's own, with nothing in it.
/// A negative errno when there is none: EINVAL when the signal cannot be taken.
int lull_signal_open(int signal);
void lull_signal_close(int signal, int descriptor);

/// A descriptor that turns readable when the process ends, or a negative errno.
int lull_process_open(int process);

/// Whether the process behind a descriptor has ended: 1, and how; 0 while it lives; a negative
/// errno, ECHILD when it is not for this process to know. It is reaped unless `peek`.
/// `*how` is CLD_EXITED, CLD_KILLED or CLD_DUMPED, `*status` the exit code or the signal.
int lull_process_ended(int descriptor, bool peek, int *how, int *status);
