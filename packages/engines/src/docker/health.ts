import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import type { HealthCheck } from '@stackquay/engine-api'
import type { ContainerInspectInfo } from 'dockerode'
import { answerFault, greets, statusOf } from '../native/health.ts'
import { listenersIn } from '../native/process-table-linux.ts'
import { ownAddress } from './address.ts'
import type { Daemon } from './daemon.ts'
import type { Description } from './record.ts'

export type CheckResult = { readonly ok: true } | { readonly ok: false; readonly reason: string }

/** Docker's proxy accepts a connection before it knows whether something listens inside, and closes it when nothing does. */
const HOLDS_MS = 200
const CONNECT_MS = 1000

/**
 * One health check, against the container's own address where it is reached from here: on the published port something
 * always answers. A port that is looked for and not served is found in the kernel's list, without connecting.
 */
export function healthChecker(
  daemon: Daemon,
  info: ContainerInspectInfo,
  description: Pick<Description, 'ports'>,
  check: Exclude<HealthCheck, { kind: 'none' }>,
): (signal: AbortSignal) => Promise<CheckResult> {
  const binding = description.ports.find((port) => port.name === check.port)
  let isGreeted = false

  return async function checkOnce(signal) {
    if (binding === undefined)
      return failed(`The health check names the port "${check.port}", which the workload does not have.`)
    const { port } = binding
    const inside = listeningInside(daemon, info)
    if (inside !== null) {
      const addresses = inside.filter((socket) => socket.port === port).map((socket) => socket.address)
      if (addresses.length === 0) return failed(`Nothing listens on port ${port} inside the container.`)
      if (addresses.every(isLoopback))
        return failed(`Port ${port} is open inside the container alone: the program listens on ${addresses[0]}.`)
    }
    const own = ownAddress(daemon, info)
    const target = own === null ? { host: daemon.host, port: binding.hostPort } : { host: own, port }
    if (check.kind === 'tcp') {
      if (inside === null && !(await holds(target.host, target.port, signal)))
        return failed(`Nothing listens on port ${port} inside the container.`)
      if (check.greeting !== undefined && !isGreeted) {
        isGreeted = await greets(target.host, target.port, check.greeting, signal)
        if (!isGreeted) return failed(`Port ${port} is open, but not ready yet.`)
      }
      return { ok: true }
    }
    const answer = await statusOf(target.host, target.port, check.path, signal)
    const reason = answerFault(check, port, answer)
    return reason === null ? { ok: true } : failed(reason)
  }
}

/** Sockets that listen in the container's network; null where its processes are not seen from here. */
export function listeningInside(daemon: Daemon, { Id, State }: ContainerInspectInfo) {
  if (!daemon.isLocal || !seesProcess(State.Pid, Id)) return null
  return [...listenersIn(`/proc/${State.Pid}/net/tcp`), ...listenersIn(`/proc/${State.Pid}/net/tcp6`)].filter(
    // Docker's own name server.
    ({ address }) => address !== '127.0.0.11',
  )
}

export function isLoopback(address: string): boolean {
  return address === '::1' || address.startsWith('127.')
}

/** Where this process lives in a container itself, the number means another process, or none. */
export function seesProcess(pid: number, container: string): boolean {
  try {
    return pid > 0 && readFileSync(`/proc/${pid}/cgroup`, 'utf8').includes(container)
  } catch {
    return false
  }
}

function failed(reason: string): CheckResult {
  return { ok: false, reason }
}

/** Whether a connection is accepted and not closed again at once. */
function holds(host: string, port: number, signal: AbortSignal): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, signal: AbortSignal.any([signal, AbortSignal.timeout(CONNECT_MS)]) })
    const done = (isOpen: boolean) => {
      clearTimeout(timer)
      socket.destroy()
      resolve(isOpen)
    }
    let timer: NodeJS.Timeout | undefined
    socket.once('connect', () => {
      timer = setTimeout(() => done(true), HOLDS_MS)
    })
    socket.once('data', () => done(true))
    socket.once('error', () => done(false))
    socket.once('close', () => done(false))
  })
}
