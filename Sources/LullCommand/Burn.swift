// SPDX-License-Identifier: Apache-2.0

/// Keeps the processor busy, as the work of a frame, of an input event and of a made-up piece does.
///
/// The time is the thread's own, which stands still while others have the processor: on a machine
/// that is disturbed there is as much work as on one that is not, and it takes longer.
func burn(_ cost: Nanoseconds) -> Stretch {
  let start = monotonicNow()
  let begun = threadTime()
  while threadTime() - begun < cost {}
  return Stretch(start: start, end: monotonicNow())
}
