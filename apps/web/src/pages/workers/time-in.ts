/** A moment as the clock of a time zone shows it: `Sun, 29 Mar 2026, 03:00`. */
export function timeIn(time: string, timezone: string): string {
  const options = {
    weekday: 'short',
    day: 'numeric',
    month: 'short',
    year: 'numeric',
    hour: '2-digit',
    minute: '2-digit',
  }
  return new Intl.DateTimeFormat('en-GB', { ...options, timeZone: timezone } as Intl.DateTimeFormatOptions).format(
    new Date(time),
  )
}
