// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <stdint.h>

/// Virtual time for code that was not written for it.
///
/// An executable that links this target defines the clock and wait functions of the C library
/// itself, so the shared libraries it loads call ours. A thread started by `vt_run` lives in
/// virtual time from then on; on every other thread the functions do what they always did.
/// State is per thread: what one thread does never moves another's clock.

/// Seconds of the Unix epoch at which virtual time starts. It is 4096 s after the epoch of
/// CFAbsoluteTime: a power of two, so that dates are exact doubles, and not zero, which means "no
/// date" there.
#define VT_START (978307200ll + 4096ll)

/// Runs `body` on a new thread in virtual time and waits until that thread has died.
///
/// `stuck` is called, on that thread, when it would sleep for ever; it should do what another
/// thread would to wake it. When the thread would still sleep for ever afterwards, it aborts.
void vt_run(void (*body)(void *context), void (*stuck)(void *context), void *context);

/// Nanoseconds since the start, on this thread.
int64_t vt_now(void);

/// Lets time pass on this thread, as work in a callback does; descriptors of timers that are due
/// turn readable.
void vt_advance(int64_t nanoseconds);

/// Between these two calls the monotonic clock counts up by one at each reading, so that things
/// stamped by it can be told apart although no virtual time passes.
void vt_stamp_begin(void);
void vt_stamp_end(void);
