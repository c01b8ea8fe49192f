import { setTimeout as sleep } from 'node:timers/promises'
import { ProblemError } from '@stackquay/contract'
import type { AcceptConnection, Connection, ServerChannel, TcpipRequestInfo } from 'ssh2'
import type { RightsWatch } from '../http/rights-watch.ts'
import type { Callers } from './caller.ts'
import { newConnectionId, type SshPeer } from './context.ts'
import type { Entered } from './entered.ts'
import { type LoggedIn, type LogInDeps, logIn } from './log-in.ts'
import { serveSession } from './session.ts'
import { onGoodbye, refusalsOf } from './ssh2-parts.ts'

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

/** What is served over one socket. */
export interface OpenConnection {
  readonly socketGone: AbortController
  /** Null until somebody came in. */
  project(): string | null
  isIn(): boolean
}

const mostSessions = 32
const mostForwards = 256
/** How long a client has to say why a channel closed: the connection may be closing too. */
const afterChannelMs = 200

export function serveConnection(
  connection: Connection,
  peer: SshPeer,
  cut: () => void,
  deps: ConnectionDeps,
): OpenConnection {
  const gone = new AbortController()
  const id = newConnectionId()
  let who: LoggedIn | null = null
  let saidGoodbye = false
  onGoodbye(connection, () => {
    saidGoodbye = true
  })
  connection.on('error', () => cut())
  connection.on('close', () => gone.abort())
  connection.on('end', () => gone.abort())
  const isLost = async () => {
    await sleep(afterChannelMs)
    return gone.signal.aborted && !saidGoodbye
  }
  logIn(connection, peer, id, gone.signal, deps, (loggedIn) => {
    who = loggedIn
  })
  connection.on('ready', () => {
    if (who === null) return cut()
    serveEntered(connection, { ...deps.enter(who, peer, id, gone.signal), isLost }, who, {
      deps,
      cut,
      gone: gone.signal,
      peer,
    })
  })
  return { socketGone: gone, project: () => who?.project.id ?? null, isIn: () => who !== null }
}

interface Serving {
  readonly deps: ConnectionDeps
  readonly cut: () => void
  readonly gone: AbortSignal
  readonly peer: SshPeer
}

function serveEntered(
  connection: Connection,
  entered: Entered,
  who: LoggedIn,
  { deps, cut, gone, peer }: Serving,
): void {
  const { note, onError, rights, callers } = deps
  const begun = Date.now()
  const by = who.principal.kind === 'key' ? { key: who.principal.key.id } : { token: tokenIdOf(who) }
  const written = note(entered, 'ssh.open', { ...by, client: peer.software })
  // Nothing is done that could not be written down.
  written.catch((error: unknown) => {
    onError(error, 'writing down a connection of SSH')
    cut()
  })
  const unwatch = rights.add({
    check: async () =>
      (await callers.stillMay(who.credential, who.project.id))
        ? null
        : new ProblemError('unauthorized', 'The right ended.'),
    end: cut,
  })
  let [sessions, forwards] = [0, 0]
  const end = () => {
    unwatch()
    const seconds = Math.round((Date.now() - begun) / 1000)
    written
      .then(() => note(entered, 'ssh.close', { ...by, seconds, sessions, forwards }))
      .catch((error: unknown) => onError(error, 'writing down the end of a connection of SSH'))
  }
  if (gone.aborted) end()
  else gone.addEventListener('abort', end, { once: true })

  let [openSessions, openForwards] = [0, 0]
  connection.on('session', (accept, reject) => {
    if (openSessions >= mostSessions) return reject()
    openSessions += 1
    sessions += 1
    const session = accept()
    session.once('close', () => {
      openSessions -= 1
    })
    serveSession(session, entered)
  })
  const refusals = refusalsOf(connection)
  connection.on('tcpip', (accept, reject, info) => {
    const refuse = (why: string) => {
      refusals.because(why)
      reject()
    }
    if (openForwards >= mostForwards) return refuse('Too many connections are forwarded.')
    openForwards += 1
    void forward(entered, info, { accept, refuse }, note, forwards === 0)
      .then((done) => {
        if (done) forwards += 1
      })
      .catch((error: unknown) => {
        onError(error, 'forwarding a connection of SSH')
        refuse('The connection could not be made.')
      })
      .finally(() => {
        openForwards -= 1
      })
  })
  // Nothing of this machine is listened on for somebody else: a share shows a project to others.
  connection.on('request', (_accept, reject) => reject?.())
}

/** Resolves when the forwarded connection is closed; whether there was one. */
async function forward(
  entered: Entered,
  { destIP, destPort }: TcpipRequestInfo,
  answer: { readonly accept: AcceptConnection<ServerChannel>; refuse(why: string): void },
  note: ConnectionDeps['note'],
  isFirst: boolean,
): Promise<boolean> {
  const { forwarding, project, projectNow, context } = entered
  // Its programs are there when it does not sleep.
  await projectNow()
  const socket = await forwarding.to(project.id, destIP, destPort, context.signal)
  if ('refused' in socket) {
    answer.refuse(socket.refused)
    return false
  }
  if (isFirst) await note(entered, 'ssh.forward', { host: destIP.slice(0, 255), port: destPort })
  const channel = answer.accept()
  const { promise, resolve } = Promise.withResolvers<boolean>()
  const end = () => {
    socket.destroy()
    channel.destroy()
    resolve(true)
  }
  socket.on('error', end)
  socket.once('close', () => {
    channel.end()
    resolve(true)
  })
  channel.on('error', end)
  channel.once('close', end)
  context.signal.addEventListener('abort', end, { once: true })
  channel.pipe(socket)
  socket.pipe(channel)
  return promise.finally(() => context.signal.removeEventListener('abort', end))
}

function tokenIdOf({ principal }: LoggedIn): string {
  return principal.kind === 'token' ? principal.token.id : ''
}
