import type { Socket } from 'node:net'
import type { AuthContext, Connection, ServerChannel } from 'ssh2'
import type { Link } from './link.ts'
import type { Attempt, FromProtocol, ToProtocol } from './messages.ts'
import { serveSession } from './sessions.ts'
import { onGoodbye, refusalsOf } from './ssh2-parts.ts'

/** What is told of one channel. */
export interface ChannelEar {
  told(message: Extract<ToProtocol, { is: 'exit' | 'close' }>): void
  given(end: 'in' | 'out', handle: Socket): void
}

export interface ClientWires {
  send(message: FromProtocol): void
  readonly open: Link['open']
  readonly forget: Link['forget']
  readonly asks: Map<number, (answer: Answer | null, handle: Socket | null) => void>
  readonly channels: Map<number, ChannelEar>
  nextAsk(): number
  nextChannel(): number
}

type Answer = Extract<ToProtocol, { is: 'decided' | 'refused' }>

export interface Client {
  /** The socket was closed. */
  end(): void
}

const methods = ['publickey', 'password'] as const
const mostSessions = 32
const mostForwards = 256

/** One connection: whatever its client asks for is asked of the service. */
export function serveClient(connection: Connection, id: number, wires: ClientWires, destroy: () => void): Client {
  const { send } = wires
  const open = { sessions: 0, forwards: 0 }
  /** Asked and not answered: nobody listens any more once the client is gone. */
  const own = new Set<number>()
  const ask = (answered: (answer: Answer | null, handle: Socket | null) => void): number => {
    const number = wires.nextAsk()
    own.add(number)
    wires.asks.set(number, (answer, handle) => {
      own.delete(number)
      answered(answer, handle)
    })
    return number
  }
  onGoodbye(connection, () => send({ is: 'goodbye', connection: id }))
  connection.on('error', destroy)
  connection.on('authentication', (attempt) => {
    if (attempt.method === 'none') return attempt.reject([...methods])
    const number = ask((answer) =>
      answer?.is === 'decided' && answer.accepted ? attempt.accept() : attempt.reject([...methods]),
    )
    send({
      is: 'attempt',
      connection: id,
      ask: number,
      user: attempt.username.slice(0, 1000),
      by: readAttempt(attempt),
    })
  })
  connection.on('ready', () => send({ is: 'ready', connection: id }))
  connection.on('session', (accept, reject) => {
    if (open.sessions >= mostSessions) return reject()
    open.sessions += 1
    const session = accept()
    session.once('close', () => {
      open.sessions -= 1
    })
    serveSession(session, id, wires)
  })
  const refusals = refusalsOf(connection)
  connection.on('tcpip', (accept, reject, { destIP, destPort }) => {
    const refuse = (why: string) => {
      refusals.because(why)
      reject()
    }
    if (open.forwards >= mostForwards) return refuse('Too many connections are forwarded.')
    open.forwards += 1
    const number = ask((answer, socket) => {
      const done = () => {
        open.forwards -= 1
        send({ is: 'forwarded', connection: id, ask: number })
      }
      if (socket !== null) return join(accept(), socket, done)
      open.forwards -= 1
      refuse(answer?.is === 'refused' ? answer.why : 'The connection could not be made.')
    })
    send({ is: 'forward', connection: id, ask: number, host: destIP.slice(0, 1000), port: destPort & 0xffff })
  })
  // Nothing of this machine is listened on for somebody else: a share shows a project to others.
  connection.on('request', (_accept, reject) => reject?.())
  return {
    end: () => {
      for (const number of own) wires.asks.set(number, (_answer, handle) => void handle?.destroy())
      own.clear()
    },
  }
}

/** Bytes go to and fro until one side has closed. */
function join(channel: ServerChannel, socket: Socket, done: () => void): void {
  socket.setNoDelay(true)
  const end = () => {
    socket.destroy()
    channel.destroy()
  }
  socket.once('error', end)
  socket.once('close', () => {
    channel.end()
    done()
  })
  channel.on('error', end)
  channel.once('close', end)
  channel.pipe(socket)
  socket.pipe(channel)
}

function readAttempt(attempt: AuthContext): Attempt['by'] {
  switch (attempt.method) {
    case 'publickey': {
      const { key, blob, signature } = attempt
      // Of RSA the hash that the client names; the types do not know of it.
      const { hashAlgo } = attempt as { readonly hashAlgo?: string }
      return {
        kind: 'key',
        algorithm: key.algo.slice(0, 100),
        key: key.data.toString('base64'),
        hash: hashAlgo ?? null,
        proof:
          signature === undefined || blob === undefined
            ? null
            : { signed: blob.toString('base64'), signature: signature.toString('base64') },
      }
    }
    case 'password':
      return { kind: 'password', password: attempt.password.slice(0, 4096) }
    default:
      return { kind: 'other' }
  }
}
