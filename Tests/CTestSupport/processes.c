// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE 1
#include "CTestSupport.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

pid_t test_spawn_shell(const char *script, int input) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, input, 0);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t all, none;
  sigfillset(&all);
  sigemptyset(&none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
  char *const arguments[] = {"sh", "-c", (char *)script, NULL};
  pid_t child = -1;
  int code = posix_spawn(&child, "/bin/sh", &actions, &attributes, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  return code ? -1 : child;
}

pid_t test_fork_shell(const char *script) {
  pid_t child = fork();
  if (child == 0) {
    execl("/bin/sh", "sh", "-c", script, NULL);
    _exit(127);
  }
  return child;
}

void test_halt(pid_t child) {
  siginfo_t info;
  kill(child, SIGSTOP);
  while (waitid(P_PID, (id_t)child, &info, WSTOPPED | WEXITED | WNOWAIT) < 0 && errno == EINTR) {
  }
}

void test_resume(pid_t child) { kill(child, SIGCONT); }

void test_until_ended(pid_t child) {
  siginfo_t info;
  while (waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT) < 0 && errno == EINTR) {
  }
}

int test_refuse_threads(void) {
  struct rlimit none = {0, 0};
  if (setrlimit(RLIMIT_NPROC, &none)) return -1;
  // The limit is none to root.
  return getuid() == 0 ? setuid(65534) : 0;
}

int test_disposition(int signal, void (*handler)(int)) {
  struct sigaction action;
  if (sigaction(signal, NULL, &action)) return -1;
  if (action.sa_handler == SIG_DFL) return 0;
  if (action.sa_handler == SIG_IGN) return 1;
  return action.sa_handler == handler ? 2 : 3;
}

int test_ignore(int number) { return signal(number, SIG_IGN) == SIG_ERR ? -1 : 0; }

void test_unblock(int signal) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, signal);
  pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

void test_raise(int signal) {
  test_unblock(signal);
  raise(signal);
}

int test_errno_after(int signal) {
  test_unblock(signal);
  errno = 123;
  raise(signal);
  return errno;
}

int test_read_byte(int descriptor) {
  char byte;
  ssize_t count = read(descriptor, &byte, 1);
  return count < 0 ? -errno : (int)count;
}

long test_stack_size(void) {
  pthread_attr_t attributes;
  size_t size = 0;
  if (pthread_getattr_np(pthread_self(), &attributes)) return -1;
  pthread_attr_getstacksize(&attributes, &size);
  pthread_attr_destroy(&attributes);
  return (long)size;
}
