import { createHash } from 'node:crypto'
import type { Workload } from './workload.ts'

/**
 * Hash of everything that makes a workload what it is, independent of key order. Titles and hints do not count, nor does what it
 * waits for: that matters only while it starts.
 */
export function fingerprintOf(workload: Omit<Workload, 'fingerprint'>): string {
  const { title: _title, requires: _requires, dependsOn: _dependsOn, ...rest } = workload
  const setup = rest.setup.map(({ title: _jobTitle, ...job }) => job)
  return createHash('sha256')
    .update(stableJson({ ...rest, setup }))
    .digest('hex')
    .slice(0, 32)
}

function stableJson(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) =>
    inner !== null && typeof inner === 'object' && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  )
}
