import { request as httpRequest, type IncomingMessage } from 'node:http'
import { connect, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { rawAnswer } from './answer.ts'
import { readArrival } from './arrival.ts'
import { responseHeaders } from './headers.ts'
import { brokenNotice, type Notice, pageNotice, unreachableNotice } from './notices.ts'
import type { ProxyState } from './state.ts'

/**
 * WebSockets and every other upgrade. Node's client does the handshake, because a project may also say no: then its
 * answer is passed on and the connection ends. Only after a real 101 do bytes flow unread; a tunnel opened earlier would
 * let a client send further requests past the proxy.
 */
export function upgrade(state: ProxyState, request: IncomingMessage, client: Duplex, head: Buffer): void {
  state.requests += 1
  client.on('error', () => client.destroy())

  const arrival = readArrival(state, request)
  if (!('route' in arrival)) return void refuse(request, client, arrival)
  const { project, target } = arrival.route
  if (target.kind === 'page') return void refuse(request, client, pageNotice({ ...arrival.route, target }))

  const handshake = httpRequest({
    method: request.method,
    path: arrival.path,
    headers: [...arrival.headers, 'connection', 'Upgrade', 'upgrade', request.headers.upgrade ?? ''],
    setHost: false,
    createConnection: () => connect({ host: target.host, port: target.port, noDelay: true, allowHalfOpen: true }),
    timeout: state.limits.answerWithin,
  })
  handshake.on('upgrade', (answer, upstream, early) => {
    const headers = responseHeaders(answer.rawHeaders, 101)
    client.write(
      headBytes(101, answer.statusMessage, [
        ...headers,
        'connection',
        'Upgrade',
        'upgrade',
        answer.headers.upgrade ?? '',
      ]),
      'latin1',
    )
    if (early.length > 0) client.write(early)
    if (head.length > 0) upstream.write(head)
    client.off('close', giveUp)
    tunnel(state, client as Socket, upstream as Socket)
  })
  handshake.on('response', (answer) => {
    const headers = responseHeaders(answer.rawHeaders, answer.statusCode!)
    client.write(headBytes(answer.statusCode!, answer.statusMessage, [...headers, 'connection', 'close']), 'latin1')
    // Without a length the end of the connection is the end of the answer: a broken one must not end the same way.
    answer.on('error', () => (client as Socket).resetAndDestroy())
    answer.pipe(client)
  })
  handshake.on('timeout', () => handshake.destroy())
  handshake.on('error', (error: NodeJS.ErrnoException) => {
    const refused = error.code === 'ECONNREFUSED' || error.code === 'ENOTFOUND' || error.code === 'EHOSTUNREACH'
    void refuse(request, client, refused ? unreachableNotice(project, target) : brokenNotice(project))
  })
  const giveUp = () => handshake.destroy()
  client.on('close', giveUp)
  handshake.end()
}

/** Bytes both ways until both sides have ended; the end of one side reaches the other, an error ends both. */
function tunnel(state: ProxyState, client: Socket, upstream: Socket): void {
  state.tunnels.add(client)
  for (const [socket, other] of [
    [client, upstream],
    [upstream, client],
  ] as const) {
    socket.setTimeout(0)
    socket.setNoDelay(true)
    // A peer that vanished without a word is found out, so that a silent tunnel may stay for days.
    socket.setKeepAlive(true, 60_000)
    socket.on('error', () => other.destroy())
    socket.on('close', () => (socket.readableEnded ? other.end() : other.destroy()))
    socket.pipe(other)
  }
  client.once('close', () => state.tunnels.delete(client))
}

async function refuse(request: IncomingMessage, client: Duplex, notice: Notice): Promise<void> {
  if (client.writableEnded || client.destroyed) return
  client.end(await rawAnswer(request.headers.accept ?? 'application/problem+json', notice))
}

function headBytes(status: number, reason: string | undefined, headers: readonly string[]): string {
  let text = `HTTP/1.1 ${status} ${reason ?? ''}\r\n`
  for (let index = 0; index < headers.length; index += 2) text += `${headers[index]}: ${headers[index + 1]}\r\n`
  return `${text}\r\n`
}
