import type { ProjectPatch, ProjectView } from '@stackquay/contract'

/** What stands in the fields. */
export interface SleepInputs {
  readonly after: string
  readonly hours: string
  readonly timezone: string
}

export function inputsOfSleep(sleep: ProjectView['sleep'], timezoneHere: string): SleepInputs {
  return {
    after: sleep?.after ?? '',
    hours: sleep?.hours ?? '',
    timezone: sleep === null || sleep.hours === null ? timezoneHere : sleep.timezone,
  }
}

/** What is to be changed; undefined when nothing is. Null: it never sleeps by itself. */
export function sleepPatch(before: ProjectView['sleep'], inputs: SleepInputs): ProjectPatch['sleep'] {
  const [after, hours, timezone] = [inputs.after.trim(), inputs.hours.trim(), inputs.timezone.trim()]
  if (after === '' && hours === '') return before === null ? undefined : null
  const next = { after: after === '' ? null : after, hours: hours === '' ? null : hours }
  const isSame =
    before !== null &&
    before.after === next.after &&
    before.hours === next.hours &&
    (hours === '' || before.timezone === timezone)
  if (isSame) return undefined
  return hours === '' ? next : { ...next, timezone }
}
