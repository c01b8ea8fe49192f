import type { OfferedRuntime } from '@stackquay/contract'
import { plainText } from './plain-text.ts'

/** Those that can be used here; the star is at the one that is taken when none is named. */
export function offeredVersions({ versions }: Pick<OfferedRuntime, 'versions'>): string {
  const offered = versions
    .filter((version) => version.available)
    .map((version) => `${version.version}${version.default ? '*' : ''}`)
  return plainText(offered.join('  ') || '-')
}

/** Why something cannot be used here, and how to get it. */
export function missing(reason: string | null, install: string | null): string {
  const what = plainText(reason ?? 'not available')
  return install === null ? what : `${what.replace(/\.$/, '')}; install: ${plainText(install)}`
}
