import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { HealthCheck, PortBinding, PortOwner } from '@stackquay/engine-api'
import { family, type Leader } from './family.ts'
import { answeringHost } from './listening.ts'
import type { Machine } from './machine.ts'
import { conflicts, holdingAmong, portOwner, reachableHost } from './ports.ts'
import type { Holding, Listener } from './process-table.ts'

/** An `import` of it would load fetch and HTTP/2 too: 16 MB for life. */
const { request } = process.getBuiltinModule('node:http')

export type CheckResult =
  /** `host`: where it is reached. */
  | { readonly ok: true; readonly host: string }
  /** `foreign`: another program answers on the port. */
  | { readonly ok: false; readonly reason: string; readonly foreign: PortOwner | null }

export interface HealthChecker {
  (signal: AbortSignal): Promise<CheckResult>
  /** Cheap: whether the socket that was found is gone since. */
  isLost(): boolean
}

/** A server that compiles on the first request may take its time for the answer. */
const ANSWER_MS = 10_000
const GREETING_MS = 2_000

export type Greeting = NonNullable<Extract<HealthCheck, { kind: 'tcp' }>['greeting']>

/**
 * One health check. What listens must be a process of this run. Once found, its socket is watched through the process
 * table, without connecting: some servers write a line for every connection that says nothing.
 */
export function healthChecker(
  machine: Machine,
  leader: Leader,
  ports: readonly PortBinding[],
  check: Exclude<HealthCheck, { kind: 'none' }>,
): HealthChecker {
  const binding = ports.find((port) => port.name === check.port)
  let listening: { readonly holding: Holding; readonly host: string; greeted: boolean } | null = null

  const isLost = () => listening !== null && !machine.table.stillHolds(listening.holding)
  const checkOnce = async (signal: AbortSignal): Promise<CheckResult> => {
    if (binding === undefined)
      return failed(`The health check names the port "${check.port}", which the workload does not have.`)
    const port = binding.hostPort
    if (listening === null || !machine.table.stillHolds(listening.holding)) {
      listening = null
      const answered = await answeringHost(port)
      if (answered === null) return failed(`Nothing listens on port ${port}.`)
      const sockets = conflicts(machine, binding)
      const holding = holdingAmong(machine, family(machine.table, leader), sockets)
      if (holding === null) return heldByOther(machine, binding, sockets, '')
      const processes = family(machine.table, leader)
      const host = reachableHost(sockets, (socket) => holdingAmong(machine, processes, [socket]) !== null, answered)
      if (host === null) return heldByOther(machine, binding, sockets, ', too')
      listening = { holding, host, greeted: false }
    }
    const { host } = listening
    if (check.kind === 'tcp') {
      if (check.greeting !== undefined && !listening.greeted) {
        if (!(await greets(host, port, check.greeting, signal)))
          return failed(`Port ${port} is open, but not ready yet.`)
        listening.greeted = true
      }
      return { ok: true, host }
    }
    const answer = await statusOf(host, port, check.path, signal)
    const reason = answerFault(check, port, answer)
    return reason === null ? { ok: true, host } : failed(reason)
  }
  return Object.assign(checkOnce, { isLost })
}

/**
 * A program that ended between the two looks, at the sockets and at who holds them, is nobody else: what no process is seen to hold is looked
 * for once more.
 */
async function heldByOther(
  machine: Machine,
  binding: PortBinding,
  sockets: readonly Listener[],
  also: '' | ', too',
): Promise<CheckResult> {
  const port = binding.hostPort
  const owner = portOwner(machine, sockets)
  if (owner?.pid == null) {
    await sleep(endingMs)
    const seen = new Set(sockets.map(({ inode }) => inode))
    const isThere = conflicts(machine, binding).some(({ inode }) => seen.has(inode))
    if (!isThere) return failed(`Nothing listens on port ${port} any more.`)
  }
  return failed(`Port ${port} is held by another program${also}.`, owner)
}

/** So long the kernel may take to close what an ended process held. */
const endingMs = 100

function failed(reason: string, foreign: PortOwner | null = null): CheckResult {
  return { ok: false, reason, foreign }
}

/** Whether the answer to a first message begins as it should. */
export function greets(host: string, port: number, greeting: Greeting, signal: AbortSignal): Promise<boolean> {
  const expected = Buffer.from(greeting.expect, 'base64')
  return new Promise((resolve) => {
    let answer = Buffer.alloc(0)
    const deadline = AbortSignal.any([signal, AbortSignal.timeout(GREETING_MS)])
    const socket = connect({ host, port, signal: deadline })
    socket.on('connect', () => socket.write(Buffer.from(greeting.send, 'base64')))
    socket.on('data', (chunk: Buffer) => {
      answer = Buffer.concat([answer, chunk])
      if (answer.length >= expected.length) socket.destroy()
    })
    socket.on('error', () => undefined)
    socket.on('close', () => resolve(answer.subarray(0, expected.length).equals(expected)))
  })
}

/** Why an answer is not as it should be; null when it is. */
export function answerFault(
  check: Extract<HealthCheck, { kind: 'http' }>,
  port: number,
  answer: number | string,
): string | null {
  if (typeof answer === 'string') return `GET ${check.path} on port ${port} failed: ${answer}.`
  const ranges = [check.status, ...(check.moreStatuses ?? [])]
  if (ranges.some(([lowest, highest]) => answer >= lowest && answer <= highest)) return null
  const expected = ranges.map(([lowest, highest]) => (lowest === highest ? `${lowest}` : `${lowest}-${highest}`))
  return `GET ${check.path} on port ${port} answered ${answer}, expected ${expected.join(', ')}.`
}

/** The status, or why there was none. */
export function statusOf(host: string, port: number, path: string, signal: AbortSignal): Promise<number | string> {
  return new Promise((resolve) => {
    const deadline = AbortSignal.any([signal, AbortSignal.timeout(ANSWER_MS)])
    const headers = { 'user-agent': 'stackquay-health' }
    const call = request({ host, port, path, agent: false, signal: deadline, headers })
    call.on('response', (response) => {
      resolve(response.statusCode ?? 0)
      response.resume()
      response.on('end', () => call.destroy())
      setTimeout(() => call.destroy(), 100).unref()
    })
    call.on('error', (error) =>
      resolve(deadline.aborted ? `no answer within ${ANSWER_MS / 1000} seconds` : error.message),
    )
    call.end()
  })
}
