import { setTimeout as sleep } from 'node:timers/promises'
import { ProblemError } from '@stackquay/contract'
import type { RightsWatch } from '../http/rights-watch.ts'
import type { Callers } from './caller.ts'
import type { SshChannel } from './channel.ts'
import { newConnectionId, type SshPeer } from './context.ts'
import type { Entered } from './entered.ts'
import { createLogIn, type LoggedIn, type LogInDeps } from './log-in.ts'
import type { FromProtocol } from './protocol/messages.ts'
import type { ConnectionWires } from './protocol/process.ts'
import { type OpenSession, serveSession } from './session.ts'

/** What every connection is served with. */
export interface ConnectionDeps extends LogInDeps {
  readonly callers: Callers
  readonly rights: RightsWatch
  /** What can be done in the project; `isLost` is the connection’s own. */
  enter(who: LoggedIn, peer: SshPeer, requestId: string, signal: AbortSignal): Omit<Entered, 'isLost'>
  /** Writes down that a connection was opened or closed, and where one was led on to. */
  note(
    entered: Pick<Entered, 'project' | 'context'>,
    action: 'ssh.open' | 'ssh.close' | 'ssh.forward',
    after: object,
  ): Promise<void>
  onError(error: unknown, what: string): void
}

/** One connection. What its client wants arrives as messages. */
export interface OpenConnection {
  /** Null until somebody came in. */
  project(): string | null
  isIn(): boolean
  take(message: Exclude<FromProtocol, { is: 'gone' }>): void
  /** The other side is not there any more. */
  gone(): void
}

const mostSessions = 32
const mostForwards = 256
/** How long a client has to say why a channel closed: the connection may be closing too. */
const afterChannelMs = 200

export function serveConnection(ip: string, wires: ConnectionWires, deps: ConnectionDeps): OpenConnection {
  const gone = new AbortController()
  const id = newConnectionId()
  let peer: SshPeer = { ip, software: '' }
  let who: LoggedIn | null = null
  let serving: EnteredConnection | null = null
  let saidGoodbye = false
  const { cut } = wires
  const isLost = async () => {
    await sleep(afterChannelMs)
    return gone.signal.aborted && !saidGoodbye
  }
  const logIn = createLogIn(deps, {
    id,
    peer: () => peer,
    signal: gone.signal,
    cut,
    cameIn: (loggedIn) => {
      who = loggedIn
    },
  })
  return {
    project: () => who?.project.id ?? null,
    isIn: () => who !== null,
    gone: () => gone.abort(),
    take: (message) => {
      switch (message.is) {
        case 'hello':
          peer = { ip, software: message.software }
          return
        case 'attempt':
          // Whoever is in does not come in a second time as somebody else.
          if (who !== null) return cut()
          return void logIn.attempt(message).then((accepted) => wires.decide(message.ask, accepted))
        case 'ready':
          if (who === null || serving !== null) return cut()
          serving = serveEntered({ ...deps.enter(who, peer, id, gone.signal), isLost }, who, {
            deps,
            wires,
            gone: gone.signal,
            software: peer.software,
          })
          return
        case 'goodbye':
          saidGoodbye = true
          return
        default:
          // Nothing is done for whoever is not in, whatever the other process says.
          if (serving === null) return cut()
          return serving.take(message)
      }
    },
  }
}

type OfEntered = Extract<FromProtocol, { is: 'start' | 'resize' | 'signal' | 'closed' | 'forward' | 'forwarded' }>

interface EnteredConnection {
  take(message: OfEntered): void
}

interface Serving {
  readonly deps: ConnectionDeps
  readonly wires: ConnectionWires
  readonly gone: AbortSignal
  readonly software: string
}

function serveEntered(entered: Entered, who: LoggedIn, { deps, wires, gone, software }: Serving): EnteredConnection {
  const { note, onError, rights, callers } = deps
  const { cut } = wires
  const begun = Date.now()
  const by = who.principal.kind === 'key' ? { key: who.principal.key.id } : { token: tokenIdOf(who) }
  const written = note(entered, 'ssh.open', { ...by, client: software })
  // Nothing is done that could not be written down.
  written.catch((error: unknown) => {
    onError(error, 'writing down a connection of SSH')
    cut()
  })
  const unwatch = rights.add({
    check: async () => ((await callers.stillMay(who.credential, who.project.id)) ? null : ended()),
    end: cut,
  })
  let [sessions, forwards, openForwards] = [0, 0, 0]
  const open = new Map<number, { readonly channel: SshChannel; readonly session: OpenSession }>()
  const end = () => {
    unwatch()
    for (const { channel } of [...open.values()]) channel.destroy()
    const seconds = Math.round((Date.now() - begun) / 1000)
    written
      .then(() => note(entered, 'ssh.close', { ...by, seconds, sessions, forwards }))
      .catch((error: unknown) => onError(error, 'writing down the end of a connection of SSH'))
  }
  if (gone.aborted) end()
  else gone.addEventListener('abort', end, { once: true })

  const forward = async (ask: number, host: string, port: number): Promise<boolean> => {
    const socket = await leadOn(entered, host, port)
    if ('refused' in socket) {
      wires.refuse(ask, socket.refused)
      return false
    }
    forwards += 1
    if (forwards === 1) await note(entered, 'ssh.forward', { host: host.slice(0, 255), port })
    wires.handForward(ask, socket)
    return true
  }

  return {
    take: (message) => {
      switch (message.is) {
        case 'start': {
          if (open.size >= mostSessions) return cut()
          sessions += 1
          const channel = wires.open(message.channel)
          channel.once('close', () => open.delete(message.channel))
          const give = (side: 'in' | 'out', pipe: Parameters<ConnectionWires['handFiles']>[2]) =>
            wires.handFiles(message.channel, side, pipe)
          open.set(message.channel, { channel, session: serveSession(entered, channel, message, give) })
          return
        }
        case 'resize':
          return open.get(message.channel)?.session.resize(message.cols, message.rows)
        case 'signal':
          return open.get(message.channel)?.session.signal(message.name)
        case 'closed':
          return wires.closed(message.channel)
        case 'forward':
          if (openForwards >= mostForwards) return wires.refuse(message.ask, 'Too many connections are forwarded.')
          openForwards += 1
          void forward(message.ask, message.host, message.port)
            .catch((error: unknown) => {
              onError(error, 'forwarding a connection of SSH')
              wires.refuse(message.ask, 'The connection could not be made.')
            })
            .then((done) => {
              openForwards -= done === true ? 0 : 1
            })
          return
        case 'forwarded':
          openForwards = Math.max(0, openForwards - 1)
          return
        default:
          return message satisfies never
      }
    },
  }
}

/** A connection to a port of the project, or why there is none. */
async function leadOn({ forwarding, project, projectNow, context }: Entered, host: string, port: number) {
  // Its programs are there when it does not sleep.
  await projectNow()
  const socket = await forwarding.to(project.id, host, port, context.signal)
  if ('refused' in socket) return socket
  socket.on('error', () => {})
  if (!context.signal.aborted) return socket
  socket.destroy()
  return { refused: 'The client went.' }
}

function ended(): ProblemError {
  return new ProblemError('unauthorized', 'The right ended.')
}

function tokenIdOf({ principal }: LoggedIn): string {
  return principal.kind === 'token' ? principal.token.id : ''
}
