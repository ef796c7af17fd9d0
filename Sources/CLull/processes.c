// SPDX-License-Identifier: Apache-2.0
// Children by pidfd: no SIGCHLD, and no number that another process may have by now.
#define _GNU_SOURCE 1
#include "CLull.h"

#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

int lull_process_open(int process) {
  long descriptor = syscall(SYS_pidfd_open, process, 0);
  return descriptor < 0 ? -errno : (int)descriptor;
}

int lull_process_ended(int descriptor, bool peek, int *how, int *status) {
  const idtype_t by_descriptor = (idtype_t)3;  // P_PIDFD, which older headers lack
  siginfo_t info = {0};
  int options = WEXITED | WNOHANG | __WALL | (peek ? WNOWAIT : 0);
  int result;
  do {
    result = waitid(by_descriptor, (id_t)descriptor, &info, options);
  } while (result < 0 && errno == EINTR);
  if (result < 0) return -errno;
  if (info.si_pid == 0) return 0;
  *how = info.si_code;
  *status = info.si_status;
  return 1;
}
