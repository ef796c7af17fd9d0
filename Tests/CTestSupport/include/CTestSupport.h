// SPDX-License-Identifier: Apache-2.0
// What tests on the real kernel need and Swift does not import.
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/// Returns at a moment when the other threads of the process sleep; false if in a hundred thousand
/// looks they never did.
bool test_wait_until_others_sleep(void);

/// `fork`, which Swift marks unavailable, at a moment when the other threads sleep: a lock that one
/// of them holds in Swift's runtime would be held in the child for ever.
pid_t test_fork(void);

/// `_exit`, since a forked child must not run the parent's exit handlers.
void test_exit(int code);

/// Waits for a child and returns its exit code, or 128 and the signal that ended it.
int test_wait_for(pid_t child);

/// Allows no descriptor numbers from `count` on.
int test_limit_descriptors(int count);

/// How many descriptors are open.
int test_open_descriptors(void);

/// The size of the process in memory, in kilobytes.
long test_resident_kilobytes(void);

/// Sends the process a SIGALRM every so many microseconds; 0 ends that.
int test_alarm_every(int microseconds);

/// Sends the calling thread, and it alone, a SIGALRM every so many microseconds; 0 ends that.
int test_storm(int microseconds);

/// Handles a signal without SA_RESTART.
int test_handle(int signal, void (*handler)(int));

/// A pseudo-terminal in raw mode: what is written to one side comes out of the other.
int test_open_terminal(int *controller, int *terminal);

/// Lets no such system call through, as sandboxes do, from here on in this thread and those it
/// makes: it fails with `error`. Not all calls have names here.
int test_refuse(const char *call, int error);

/// Starts a shell that does as `script` says, with `input` as its standard input and all signals at
/// their defaults; its number, or -1.
pid_t test_spawn_shell(const char *script, int input);

/// The same by fork and exec, with signals as the caller has them.
pid_t test_fork_shell(const char *script);

/// Stops a child and waits until it stands still; lets it go on.
void test_halt(pid_t child);
void test_resume(pid_t child);

/// Waits until a child has ended, and leaves it to be reaped.
void test_until_ended(pid_t child);

/// Lets the system have no thread left for this process, if need be by giving up being root.
int test_refuse_threads(void);

/// What becomes of a signal: 0 the default, 1 nothing, 2 `handler`, 3 another handler.
int test_disposition(int signal, void (*handler)(int));

/// Ignores a signal.
int test_ignore(int signal);

/// Lets a signal through to the calling thread; those of a pool, and theirs, block all.
void test_unblock(int signal);

/// Sends the calling thread a signal, which comes before this returns.
void test_raise(int signal);

/// The same, and returns what errno is after; before it is 123.
int test_errno_after(int signal);

/// Reads a byte; 1 if one came, or a negative errno.
int test_read_byte(int descriptor);

/// How large the calling thread's stack is, in bytes.
long test_stack_size(void);

/// Puts the wall clock back by an hour whenever the calling thread looks at it, until this says
/// false.
void test_turn_wall_clock_back(bool turns);

/// How often threads looked at it meanwhile; -1 where a sanitizer has the clocks.
long test_wall_clock_reads(void);

/// The calling thread's timer slack, in nanoseconds.
long test_timer_slack(void);

/// Leaves the calling thread the first of the processors that it may run on.
void test_pin_to_one_processor(void);
