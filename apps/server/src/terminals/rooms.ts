import type { Terminal } from '@stackquay/contract'
import type { CommandRef, Commands } from '@stackquay/engine-api'
import type { TerminalRow } from '@stackquay/store'
import type { FrameSocket } from '../http/handler.ts'
import { createRelay, type Relay } from '../streams/relay.ts'
import { type TerminalSource, terminalSource } from './output-source.ts'
import { refOf } from './terminal-view.ts'

/** Who looks at which terminal. */
export interface TerminalRooms {
  of(row: TerminalRow): Room
  /** Undefined while nobody looks, or ever did. */
  find(id: string): Room | undefined
  viewers(id: string): number
  /** Sends every viewer but one the status of the terminal. Waits for none of them. */
  tell(row: TerminalRow, view: (row: TerminalRow) => Promise<Terminal>, except?: FrameSocket): Promise<void>
  forget(id: string): void
  /** Forgets those without viewers whose terminals are not among these. */
  forgetOthers(rows: readonly TerminalRow[]): void
  close(): void
}

export function createRooms(commands: Commands): TerminalRooms {
  const rooms = new Map<string, Room>()
  const beingTold = new WeakSet<FrameSocket>()
  return {
    of: (row) => {
      const room = rooms.get(row.id) ?? createRoom(commands, refOf(row))
      rooms.set(row.id, room)
      return room
    },
    find: (id) => rooms.get(id),
    viewers: (id) => rooms.get(id)?.viewers.size ?? 0,
    tell: async (row, view, except) => {
      const others = [...(rooms.get(row.id)?.viewers ?? [])].filter((viewer) => viewer !== except)
      if (others.length === 0) return
      const terminal = await view(row)
      for (const viewer of others) {
        // A slow reader hears of it later, and nobody waits for that; it learns what changes meanwhile by the next status.
        if (beingTold.has(viewer)) continue
        beingTold.add(viewer)
        viewer
          .send({ type: 'status', seq: terminal.output.end, terminal })
          .catch(() => undefined)
          .finally(() => beingTold.delete(viewer))
      }
    },
    forget: (id) => rooms.delete(id),
    forgetOthers: (rows) => {
      for (const [id, room] of rooms)
        if (room.viewers.size === 0 && !rows.some((row) => row.id === id)) rooms.delete(id)
    },
    close: () => {
      for (const room of rooms.values()) room.close()
    },
  }
}

/** Who looks at one terminal. */
export interface Room {
  readonly viewers: Set<FrameSocket>
  readonly relay: Relay
  /** The terminal is about to be forgotten: whoever still reads it comes to its end. */
  leave(): void
  /** Resolves when nobody is left, or the signal aborts. */
  empty(signal: AbortSignal): Promise<void>
  /** A viewer went. */
  left(): void
  close(): void
}

function createRoom(commands: Commands, ref: CommandRef): Room {
  let isGone = false
  let emptied = Promise.withResolvers<void>()
  const viewers = new Set<FrameSocket>()
  const source: TerminalSource = terminalSource(commands, ref, () => isGone)
  return {
    viewers,
    relay: createRelay(source),
    leave: () => {
      isGone = true
    },
    empty: async (signal) => {
      if (viewers.size === 0) return
      const late = Promise.withResolvers<void>()
      signal.addEventListener('abort', () => late.resolve(), { once: true })
      await Promise.race([emptied.promise, late.promise])
    },
    left: () => {
      if (viewers.size > 0) return
      source.rest()
      emptied.resolve()
      emptied = Promise.withResolvers<void>()
    },
    close: source.rest,
  }
}
