import { randomBytes } from 'node:crypto'
import type { ProxyCertificates } from './certificates.ts'
import type { Commands } from './control-socket.ts'
import type { GivenCertificates } from './tls/front.ts'
import type { Serving } from './workers/serving.ts'
import type { WorkerPool } from './workers/worker-pool.ts'

export interface CertificateSwitch extends Pick<Commands, 'replaceCertificates'> {
  /** Those in use; null: none were given yet. */
  current(): GivenCertificates | null
  stop(): void
}

/** Tickets of clients are good in all processes, and not for longer than twice this: a key that leaks opens hours, not years. */
const rotateEveryMs = 8 * 3_600_000

/** One after the other: the last certificates asked for are those in use. */
export function certificateSwitch(
  serving: Serving,
  pool: () => WorkerPool,
  port: () => number | null,
): CertificateSwitch {
  let current: GivenCertificates | null = null
  let ticketKeys = randomBytes(48)
  let last: Promise<unknown> = Promise.resolve()
  const use = (certificates: () => ProxyCertificates): Promise<void> => {
    const next = last.then(async () => {
      const given = { certificates: certificates(), ticketKeys, port: port() }
      // Here first: what this process cannot use is given to nobody, and a worker that starts now gets it from here.
      await serving.useCertificates(given)
      current = given
      await pool().useCertificates(given)
    })
    last = next.catch(() => {})
    return next
  }
  const timer = setInterval(() => {
    ticketKeys = randomBytes(48)
    // What is used at its turn: others may come before.
    if (current !== null) void use(() => current!.certificates).catch(() => {})
  }, rotateEveryMs).unref()
  return {
    replaceCertificates: (certificates) => use(() => certificates),
    current: () => current,
    stop: () => clearInterval(timer),
  }
}
