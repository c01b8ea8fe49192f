import type { Http2Session, ServerHttp2Session, ServerHttp2Stream, ServerOptions } from 'node:http2'
import type { TLSSocket } from 'node:tls'
import type { Limits } from '../limits.ts'
import type { ProxyState } from '../state.ts'
import { serveStream } from './h2-serve.ts'

const http2 = process.getBuiltinModule('node:http2')

/** HTTP/2 over connections that TLS has made secure. */
export interface Http2 {
  accept(socket: TLSSocket): void
  /** Tells all clients to come back by another connection; what is under way goes on. */
  stop(): void
  closeIdle(): void
  closeAll(): void
}

interface Open {
  /** The session's own `socket` is another object, which may not be asked everything. */
  readonly socket: TLSSocket
  readonly session: ServerHttp2Session
  streams: number
  idleSince: number
}

/**
 * Node's HTTP/2 (nghttp2), without its imitation of HTTP/1.1. What one connection can take is bounded here: streams, headers, memory,
 * frames that only cost work; nghttp2 itself ends connections that reset streams by the hundred or send endless headers.
 */
export function createHttp2(state: ProxyState): Http2 {
  const { limits } = state
  const sessions = new Map<Http2Session, Open>()
  let isStopped = false
  let accepting: TLSSocket | null = null
  const server = http2.createServer(serverOptions(limits))
  server.on('session', (session) => {
    const open: Open = { session, socket: accepting!, streams: 0, idleSince: Date.now() }
    sessions.set(session, open)
    session.setLocalWindowSize(connectionWindow)
    session.on('error', () => session.destroy())
    session.once('close', () => sessions.delete(session))
    watch()
    if (isStopped) session.close()
  })
  server.on('stream', (stream: ServerHttp2Stream, headers, _flags, rawHeaders) => {
    const open = sessions.get(stream.session!)
    if (open === undefined) {
      stream.destroy()
      return
    }
    open.streams += 1
    stream.once('close', () => {
      open.streams -= 1
      if (open.streams > 0) return
      open.idleSince = Date.now()
      if (isStopped) open.session.close()
    })
    serveStream(state, open.socket, stream, headers, rawHeaders as unknown as readonly string[])
  })
  server.on('sessionError', () => {})

  let timer: NodeJS.Timeout | undefined
  /** One timer for all connections, while there are any. */
  const watch = () => {
    timer ??= setInterval(
      () => {
        const before = Date.now() - limits.keepAlive
        for (const { session, streams, idleSince } of sessions.values())
          if (streams === 0 && idleSince < before) end(session, limits.linger)
        if (sessions.size > 0) return
        clearInterval(timer)
        timer = undefined
      },
      Math.min(5_000, limits.keepAlive / 4),
    ).unref()
  }

  return {
    accept(socket) {
      accepting = socket
      // It emits the session before it returns.
      server.emit('connection', socket)
      accepting = null
    },
    stop() {
      isStopped = true
      for (const { session } of sessions.values()) session.close()
    },
    closeIdle() {
      for (const { session, streams } of sessions.values()) if (streams === 0) session.destroy()
    },
    closeAll() {
      clearInterval(timer)
      for (const session of sessions.keys()) session.destroy()
    },
  }
}

function serverOptions(limits: Limits): ServerOptions {
  return {
    settings: {
      maxConcurrentStreams: limits.streams,
      initialWindowSize: streamWindow,
      maxHeaderListSize: limits.headerBytes,
    },
    maxSendHeaderBlockLength: 2 * limits.answerHeadBytes,
    maxHeaderListPairs: mostHeaders,
    maxSessionMemory: sessionMegabytes,
    maxSessionInvalidFrames: 32,
    maxSessionRejectedStreams: 32,
    maxSettings: 16,
    maxOutstandingPings: 8,
    streamResetBurst: 200,
    streamResetRate: 20,
    unknownProtocolTimeout: limits.headersWithin,
    // Programs say some of them twice, and clients of HTTP/1.1 get them so.
    strictSingleValueFields: false,
  }
}

/** One that does not hang up itself is hung up on. */
function end(session: ServerHttp2Session, linger: number): void {
  session.close()
  setTimeout(() => session.destroy(), linger).unref()
}

/** What a client may send ahead for one request, and for all of a connection. */
const streamWindow = 128 * 1024
const connectionWindow = 1024 * 1024
const sessionMegabytes = 4
const mostHeaders = 256
