/** Time that is left, as a clock that runs down: `2 d 03:00:00`, `1:02:03`, `4:59`. */
export function formatCountdown(seconds: number): string {
  const whole = Math.max(0, Math.ceil(seconds))
  const days = Math.floor(whole / 86_400)
  const hours = Math.floor((whole % 86_400) / 3600)
  const minutes = Math.floor((whole % 3600) / 60)
  const two = (value: number) => String(value).padStart(2, '0')
  const end = `${two(minutes)}:${two(whole % 60)}`
  if (days > 0) return `${days} d ${two(hours)}:${end}`
  return hours > 0 ? `${hours}:${end}` : `${minutes}:${two(whole % 60)}`
}
