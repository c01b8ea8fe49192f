/** Schedules that most people want, as cron; the texts name each by its place. */
export const usualTimes: readonly string[] = ['30 2 * * *', '0 */6 * * *', '30 2 * * MON']

export function timeZoneHere(): string {
  return Intl.DateTimeFormat().resolvedOptions().timeZone ?? 'UTC'
}
