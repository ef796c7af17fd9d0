// SPDX-License-Identifier: Apache-2.0
#include <sys/epoll.h>
#include <sys/eventfd.h>

/// As little as a program with a loop can do.
int main(void) {
  int epoll = epoll_create1(EPOLL_CLOEXEC);
  int wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  struct epoll_event event = {.events = EPOLLIN | EPOLLET};
  epoll_ctl(epoll, EPOLL_CTL_ADD, wake, &event);
  eventfd_write(wake, 1);
  return epoll_wait(epoll, &event, 1, -1) == 1 ? 0 : 1;
}
