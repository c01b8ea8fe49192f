import type { Value } from '@stackquay/engine-api'
import type { ResolveFacts } from './resolve-facts.ts'

/** Looks up ports and secrets, and notes what is still missing. */
export interface Needs {
  /** The lease of a port; one without a lease counts as missing and gets a provisional number. */
  hostPort(workload: string, port: string): number
  secret(name: string, length: number, encode: 'url' | undefined): Value
  /** Grow with each look-up. */
  readonly missingLeases: readonly { readonly workload: string; readonly port: string }[]
  readonly missingSecrets: readonly { readonly name: string; readonly length: number }[]
}

export function createNeeds(facts: Pick<ResolveFacts, 'lease' | 'secret'>): Needs {
  const missingLeases: { workload: string; port: string }[] = []
  const missingSecrets: { name: string; length: number }[] = []
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
    missingLeases,
    missingSecrets,
  }
}
