import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

interface Turns {
  isTaken: boolean
  /** Nothing more is accepted on this connection. */
  isFull: boolean
  readonly waiting: { readonly response: ServerResponse; readonly begin: () => void }[]
}

const turnsOf = new WeakMap<Socket, Turns>()

/**
 * Requests that a client sends ahead (RFC 9112, 9.3.2) begin one after the other: each when the answer before it is out.
 * Nothing is done for a request whose connection ended before its turn, and one client cannot be many. When more than
 * `most` wait, the last of them ends the connection: the client knows then that the others were not done.
 */
export function takeTurn(socket: Socket, response: ServerResponse, most: number, begin: () => void): void {
  const turns = turnsOf.get(socket) ?? newTurns(socket)
  if (turns.isTaken) {
    if (turns.isFull) return
    turns.waiting.push({ response, begin })
    if (turns.waiting.length < most) return
    turns.isFull = true
    response.shouldKeepAlive = false
    return
  }
  turns.isTaken = true
  // It comes once; `once` would make and take away a listener of its own for each request.
  response.on('close', () => pass(socket, turns))
  begin()
}

/** Whether answers are still owed on this connection. */
export function owesAnswers(socket: Socket): boolean {
  return turnsOf.get(socket)?.isTaken ?? false
}

function newTurns(socket: Socket): Turns {
  const turns: Turns = { isTaken: false, isFull: false, waiting: [] }
  turnsOf.set(socket, turns)
  return turns
}

function pass(socket: Socket, turns: Turns): void {
  turns.isTaken = false
  if (turns.waiting.length === 0) return
  if (socket.destroyed || !socket.writable) {
    turns.waiting.length = 0
    turns.isFull = true
    return
  }
  const { response, begin } = turns.waiting.shift()!
  turns.isTaken = true
  response.once('close', () => pass(socket, turns))
  begin()
}
