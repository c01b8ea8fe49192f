/** Timers take no more than 24 days at once. */
export function after(milliseconds: number, act: () => void): void {
  const step = Math.min(milliseconds, 2 ** 31 - 1)
  setTimeout(() => (milliseconds > step ? after(milliseconds - step, act) : act()), step)
}

export function whenIdle(milliseconds: number, lastActivity: () => number, act: () => void): void {
  const left = lastActivity() + milliseconds - performance.now()
  if (left <= 0) act()
  else after(Math.max(left, 1), () => whenIdle(milliseconds, lastActivity, act))
}
