import type { ProjectFacts, WorkloadSpec } from '../../entry-types.ts'

/**
 * While it loads its data the server accepts connections, and to a client that has not logged in it says the same as
 * later: NOAUTH. Only a client with a right to PING learns the difference (LOADING or PONG), so there is a user who may do
 * that and nothing else. Its password is the project's id: no secret of weight, but nothing that a stranger on a published
 * port could use to be more than unknown.
 */
export function healthUser({ id }: ProjectFacts): string {
  return `user ${name} on >${id} -@all +ping`
}

export function health({ id }: ProjectFacts, timeoutSeconds: number): WorkloadSpec['health'] {
  return {
    kind: 'tcp',
    port: 'redis',
    timeoutSeconds,
    greeting: { send: btoa(`AUTH ${name} ${id}\r\nPING\r\n`), expect: btoa('+OK\r\n+PONG\r\n') },
  }
}

const name = 'stackquay-health'
