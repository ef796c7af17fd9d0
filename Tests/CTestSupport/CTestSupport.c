// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE 1
#include "CTestSupport.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

/// Whether a thread of this process but the calling one is running, or about to.
static bool others_run(void) {
  DIR *threads = opendir("/proc/self/task");
  bool found = false;
  for (struct dirent *entry; threads && !found && (entry = readdir(threads));) {
    if (entry->d_name[0] == '.' || atoi(entry->d_name) == (int)syscall(SYS_gettid)) continue;
    char path[300], line[300] = "";
    snprintf(path, sizeof path, "/proc/self/task/%s/stat", entry->d_name);
    FILE *file = fopen(path, "r");
    if (!file) continue;
    // The state follows the name, which is in parentheses and may have some in it.
    const char *name_end = fgets(line, sizeof line, file) ? strrchr(line, ')') : NULL;
    found = name_end && name_end[2] != 'S';
    fclose(file);
  }
  if (threads) closedir(threads);
  return found;
}

bool test_wait_until_others_sleep(void) {
  int quiet = 0;
  for (int tries = 0; quiet < 3 && tries < 100000; tries++) {
    quiet = others_run() ? 0 : quiet + 1;
    if (quiet == 0) sched_yield();
  }
  return quiet == 3;
}

pid_t test_fork(void) {
  test_wait_until_others_sleep();
  return fork();
}

void test_exit(int code) { _exit(code); }

int test_wait_for(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return -1;
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int test_limit_descriptors(int count) {
  struct rlimit limit;
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = (rlim_t)count;
  return setrlimit(RLIMIT_NOFILE, &limit);
}

int test_open_descriptors(void) {
  int count = 0;
  for (int number = 0; number < 8192; number++) {
    if (fcntl(number, F_GETFD) >= 0) count++;
  }
  return count;
}

long test_resident_kilobytes(void) {
  long size = 0, resident = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  if (!file) return -1;
  if (fscanf(file, "%ld %ld", &size, &resident) != 2) resident = -1;
  fclose(file);
  return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

int test_alarm_every(int microseconds) {
  struct itimerval value = {{0, microseconds}, {0, microseconds}};
  return setitimer(ITIMER_REAL, &value, NULL);
}

int test_storm(int microseconds) {
  static _Thread_local timer_t timer;
  if (microseconds == 0) return timer_delete(timer);
  struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGALRM};
  event._sigev_un._tid = (pid_t)syscall(SYS_gettid);
  if (timer_create(CLOCK_MONOTONIC, &event, &timer)) return -1;
  struct itimerspec value = {{0, microseconds * 1000l}, {0, microseconds * 1000l}};
  return timer_settime(timer, 0, &value, NULL);
}

int test_handle(int signal, void (*handler)(int)) {
  struct sigaction action = {.sa_handler = handler};
  sigemptyset(&action.sa_mask);
  return sigaction(signal, &action, NULL);
}

int test_open_terminal(int *controller, int *terminal) {
  *controller = posix_openpt(O_RDWR | O_NOCTTY);
  if (*controller < 0 || grantpt(*controller) || unlockpt(*controller)) return -1;
  *terminal = open(ptsname(*controller), O_RDWR | O_NOCTTY);
  if (*terminal < 0) return -1;
  struct termios settings;
  if (tcgetattr(*terminal, &settings)) return -1;
  cfmakeraw(&settings);
  return tcsetattr(*terminal, TCSANOW, &settings);
}

static int number_of(const char *call) {
  static const struct {
    const char *name;
    int number;
  } calls[] = {
      {"epoll_pwait2", SYS_epoll_pwait2},   {"epoll_create1", SYS_epoll_create1},
      {"eventfd2", SYS_eventfd2},           {"epoll_ctl", SYS_epoll_ctl},
      {"timerfd_create", SYS_timerfd_create}, {"pidfd_open", SYS_pidfd_open},
  };
  for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
    if (strcmp(calls[i].name, call) == 0) return calls[i].number;
  }
  return -1;
}

int test_refuse(const char *call, int error) {
  int number = number_of(call);
  if (number < 0) return -1;
  struct sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)number, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)error),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog program = {sizeof code / sizeof *code, code};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) return -1;
  return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

long test_timer_slack(void) { return prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0); }

void test_pin_to_one_processor(void) {
  cpu_set_t allowed, one;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) abort();
  int first = 0;
  while (!CPU_ISSET(first, &allowed)) first++;
  CPU_ZERO(&one);
  CPU_SET(first, &one);
  if (sched_setaffinity(0, sizeof one, &one) != 0) abort();
}
