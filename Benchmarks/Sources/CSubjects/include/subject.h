// SPDX-License-Identifier: Apache-2.0
//
// What the workloads ask of a loop library. Each subject answers in a file of its own, by the calls
// that its users would write.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#pragma clang assume_nonnull begin

/// Members that may be null stand for what a library cannot do. Nothing is ever freed, but timers:
/// a measurement is a process.
typedef struct subject {
  /// The loop of the calling thread. It runs until it is stopped, also with nothing in it.
  void *_Nonnull (*_Nonnull make)(void);
  void (*run)(void *loop);
  /// Ends the run. Only from a callback.
  void (*stop)(void *loop);
  /// One pass that asks the kernel and does not wait.
  void (*_Nullable pass)(void *loop);

  // Posts, from any thread; each calls `bench_call`.
  /// A job without a context.
  void (*post)(void *loop);
  /// A job with a context of its own, allocated for it.
  void (*post_owning)(void *loop, uint64_t value);
  /// What words are sent to; null where that is the loop itself.
  void *_Nonnull (*_Nullable make_inbox)(void *loop);
  /// A word, in the cheapest way there is to send one.
  void (*send_word)(void *inbox, uint64_t value);

  /// Something made once and then signalled any number of times, from any thread. Signals that
  /// come before the last was served are one.
  void *_Nonnull (*_Nullable make_signal)(void *loop);
  void (*_Nullable send_signal)(void *signal);

  // Timers, on the loop's thread and many at a time, since a call a timer would count for as much
  // as the fastest of them. Timer `i` calls `bench_call(i)`. Delays are nanoseconds from the call.
  void *_Nonnull (*_Nonnull make_timers)(void *loop, size_t count);
  void (*add_timers)(void *timers, const uint32_t *which, const uint64_t *delays, size_t count);
  /// Sets timers that wait to another date.
  void (*set_timers)(void *timers, const uint32_t *which, const uint64_t *delays, size_t count);
  void (*cancel_timers)(void *timers, const uint32_t *which, size_t count);
  void (*free_timers)(void *timers);
  /// How many timers can be measured within seconds; 0 for any number.
  size_t most_timers;

  /// Calls `bench_call(0)` every so often.
  void (*tick)(void *loop, uint64_t nanoseconds);
  /// The same within microseconds: awake early, and spinning for the rest.
  void (*_Nullable precise_tick)(void *loop, uint64_t nanoseconds);

  /// Chooses to hear of posts sooner, at the price of CPU time, where the loop leaves the choice.
  void (*_Nullable be_eager)(void *loop);

  /// Calls `bench_call(value)` while the descriptor is readable.
  void (*_Nullable watch)(void *loop, int descriptor, uint64_t value);

  /// Adds six observers that call `bench_call(0)`, one for each point of a pass.
  void (*_Nullable observe)(void *loop);
  /// In a callback: one pass, which does not wait, in a mode that shares nothing with the usual
  /// one.
  void (*_Nullable nest)(void *loop);
} subject;

subject raw_subject(void);
subject uv_subject(void);
subject ev_subject(void);
subject event_subject(void);
subject glib_subject(void);

/// What callbacks do, set by a workload before it begins: one thing at a time in a process.
typedef void (*bench_hook)(void *state, uint64_t value);
extern struct bench_target {
  bench_hook hook;
  void *state;
} bench_target;
void bench_on_call(bench_hook hook, void *state);

static inline void bench_call(uint64_t value) { bench_target.hook(bench_target.state, value); }

#pragma clang assume_nonnull end
