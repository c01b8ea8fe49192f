import type { ProjectView } from '@stackquay/contract'
import { plainText } from './plain-text.ts'

/** `after 2h without use; awake mon-fri 08:00-19:00 (Europe/Berlin)` */
export function sleepText(sleep: ProjectView['sleep']): string {
  if (sleep === null) return 'never'
  const { after, hours, timezone } = sleep
  const awake = hours === null ? '' : `; awake ${plainText(hours)} (${plainText(timezone)})`
  return `after ${plainText(after ?? '15m')} without use${awake}`
}
