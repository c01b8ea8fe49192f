import type { Value } from '@stackquay/engine-api'
import type { ResolveFacts } from './resolve-facts.ts'

/** Looks up ports and secrets, and notes what is still missing. */
export interface Needs {
  /** The lease of a port; one without a lease counts as missing and gets a provisional number. */
  hostPort(workload: string, port: string): number
  secret(name: string, length: number, encode: 'url' | undefined): Value
  /** The archive of a database; one that is not begun counts as missing, and its database runs without it until it is. */
  archive(wanted: WantedArchive): string | null
  /** Grow with each look-up. */
  readonly missingLeases: readonly { readonly workload: string; readonly port: string }[]
  readonly missingSecrets: readonly { readonly name: string; readonly length: number }[]
  readonly missingArchives: readonly WantedArchive[]
}

export interface WantedArchive {
  readonly database: string
  readonly data: string
  readonly keepDays: number
}

export function createNeeds(facts: Pick<ResolveFacts, 'lease' | 'secret' | 'archive'>): Needs {
  const missingLeases: { workload: string; port: string }[] = []
  const missingSecrets: { name: string; length: number }[] = []
  const missingArchives: WantedArchive[] = []
  return {
    hostPort: (workload, port) => {
      const lease = facts.lease(workload, port)
      if (lease !== null) return lease
      if (!missingLeases.some((known) => known.workload === workload && known.port === port))
        missingLeases.push({ workload, port })
      return 1
    },
    secret: (name, length, encode) => {
      const handle = facts.secret(name, length)
      if (handle === null && !missingSecrets.some((known) => known.name === name)) missingSecrets.push({ name, length })
      const ref = handle ?? { secret: `pending:${name}`, version: 0 }
      return [encode === undefined ? ref : { ...ref, encode }]
    },
    archive: (wanted) => {
      const archive = facts.archive?.(wanted.data) ?? null
      if (archive !== null) return archive
      if (!missingArchives.some(({ data }) => data === wanted.data)) missingArchives.push(wanted)
      return null
    },
    missingLeases,
    missingSecrets,
    missingArchives,
  }
}
