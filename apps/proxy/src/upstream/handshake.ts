import { connect, type Socket } from 'node:net'
import { AnswerParser, type AnswerSink, type OnSwitch } from './answer-parser.ts'
import type { UpstreamFailure } from './exchange.ts'
import type { UpstreamLimits } from './limits.ts'
import { lastRead, received } from './received.ts'

export interface HandshakeTarget {
  readonly host: string
  readonly port: number
}

/** Hears what a project says to the offer of another protocol. Exactly one of `onSwitch`, `onEnd` and `onFailure` is last. */
export interface HandshakeSink extends AnswerSink {
  /** From now on the connection is the listener's. `early` is there for the length of this call only. */
  onUpgrade(head: Parameters<OnSwitch>[0], early: Buffer, upstream: TunnelEnd): void
  onFailure(failure: UpstreamFailure): void
}

/** A connection to a project that speaks another protocol now. It has no `data` events. */
export interface TunnelEnd {
  readonly socket: Socket
  /** Who gets what comes from now on. The bytes are there for the length of the call only. */
  listen(onBytes: (bytes: Buffer) => void): void
}

export interface Handshake {
  readonly socket: Socket
  /** Ends it; nothing is heard any more. */
  abort(): void
}

/** A connection of its own, because it becomes the tunnel. It is never used for another request. */
export function shakeHands(
  target: HandshakeTarget,
  head: string,
  limits: UpstreamLimits,
  sink: HandshakeSink,
): Handshake {
  let onBytes = (bytes: Buffer) => onAnswer(bytes)
  const socket = connectTo(target, (bytes) => onBytes(bytes))
  const parser = new AnswerParser(limits)
  let isConnected = false
  let isSwitched = false
  let timer = setTimeout(() => fail('refused'), limits.connectWithin)

  const leave = () => {
    clearTimeout(timer)
    parser.drop()
    onBytes = () => {}
    socket.off('end', onEnd).off('close', onClose)
  }
  const fail = (failure: UpstreamFailure) => {
    leave()
    socket.destroy()
    sink.onFailure(failure)
  }
  const onAnswer = (bytes: Buffer) => {
    try {
      parser.feed(bytes)
    } catch {
      fail('broken')
      return
    }
    if (isSwitched) return
    // Bytes behind a complete refusal belong to no answer.
    if (parser.isDone) {
      leave()
      socket.destroy()
    } else if (parser.hasHead) clearTimeout(timer)
  }
  const onEnd = () => {
    try {
      parser.end()
      leave()
      socket.destroy()
    } catch {
      fail('broken')
    }
  }
  const onClose = () => fail(isConnected ? 'broken' : 'refused')

  parser.expect(sink, 'GET', (answer, early) => {
    isSwitched = true
    leave()
    sink.onUpgrade(answer, early, {
      socket,
      listen(listener) {
        onBytes = listener
      },
    })
  })
  socket.on('error', () => {})
  socket.on('end', onEnd).on('close', onClose)
  socket.once('connect', () => {
    isConnected = true
    clearTimeout(timer)
    timer = setTimeout(() => fail('timeout'), limits.answerWithin)
    socket.write(head, 'latin1')
  })
  return {
    socket,
    abort() {
      if (isSwitched) return
      leave()
      socket.destroy()
    },
  }
}

function connectTo({ host, port }: HandshakeTarget, onBytes: (bytes: Buffer) => void): Socket {
  const callback = (size: number) => {
    onBytes(lastRead(size))
    return true
  }
  return connect({ host, port, noDelay: true, allowHalfOpen: true, onread: { buffer: received, callback } })
}
