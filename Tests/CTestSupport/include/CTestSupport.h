// SPDX-License-Identifier: Apache-2.0
// What tests on the real kernel need and Swift does not import.
#pragma once

#include <sys/types.h>

/// `fork`, which Swift marks unavailable.
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

/// Handles a signal without SA_RESTART.
int test_handle(int signal, void (*handler)(int));

/// A pseudo-terminal in raw mode: what is written to one side comes out of the other.
int test_open_terminal(int *controller, int *terminal);

/// Lets no epoll_pwait2 through, as old container runtimes do, from here on in this thread and
/// those it makes: the call fails with `error`.
int test_refuse_epoll_pwait2(int error);
