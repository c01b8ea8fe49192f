import { ProblemError, type Terminal } from '@stackquay/contract'
import type { Engine, SecretRef, TerminalSize } from '@stackquay/engine-api'
import type { ProjectRow, Store, TerminalRow } from '@stackquay/store'
import type { FrameSocket, RequestContext } from '../http/handler.ts'
import type { FilesOf } from '../projects/files-of.ts'
import type { Resolver } from '../projects/resolver.ts'
import { openTerminal } from './open-terminal.ts'
import { createRooms, type TerminalRooms } from './rooms.ts'
import { createSettling, type Settling } from './settle.ts'
import { type ShowFrom, showTerminal } from './show-terminal.ts'
import { changed, closedBy, endingMs, refOf, terminalView } from './terminal-view.ts'

/** Terminals of all projects. What runs in them is held by the engine, outside of this process; here is who looks at them. */
export interface Terminals {
  open(project: ProjectRow, wanted: TerminalWish, context: RequestContext): Promise<Terminal>
  of(project: ProjectRow): Promise<Terminal[]>
  find(project: ProjectRow, id: string): Promise<Terminal>
  /** Ends it with everything that runs in it, and forgets it. */
  end(project: ProjectRow, id: string, context: RequestContext): Promise<void>
  /** Shows it to a viewer from a byte offset on, and takes what the viewer types, until it ends or the viewer goes. */
  show(project: ProjectRow, id: string, from: ShowFrom, socket: FrameSocket, context: RequestContext): Promise<void>
  /** Writes down how those of a project ended, all of which were ended with it. */
  settleAll(project: string): Promise<void>
  /** At the start of the service: goes on with those that run, and learns how others ended meanwhile. */
  resume(): Promise<void>
  /** What runs goes on. */
  close(): Promise<void>
}

export interface TerminalWish extends TerminalSize {
  readonly workload: string | undefined
  readonly command: readonly string[] | undefined
  /** Variables of who opens it, in the place of those that a terminal has by itself. */
  readonly env?: Readonly<Record<string, string>>
}

export interface TerminalsDeps {
  readonly store: Store
  readonly engine: Engine
  readonly resolver: Resolver
  readonly filesOf: FilesOf
  readonly idleHours: () => number
  reveal(ref: SecretRef): Promise<string>
  onError(error: unknown, what: string): void
  readonly now: () => Date
}

export function createTerminals(deps: TerminalsDeps): Terminals {
  const { store, now } = deps
  const { commands } = deps.engine
  const rooms = createRooms(commands)
  const settling = createSettling(store, commands, now)
  const watch = createWatch({ deps, rooms, settling })

  const view = async (row: TerminalRow): Promise<Terminal> =>
    terminalView(row, await commands.find(refOf(row)), {
      viewers: rooms.viewers(row.id),
      isStarting: settling.isStarting(row.id),
    })

  return {
    open: (project, wanted, context) => openTerminal(deps, settling, project, wanted, context, view),
    of: async (project) => Promise.all((await store.terminals.of(project.id)).map(view)),
    find: async (project, id) => view(await rowOf(store, project, id)),
    end: async (project, id, context) => {
      const row = await rowOf(store, project, id)
      await settling.whileEnding(id, () => endTerminal({ deps, rooms, settling }, row, project, context))
    },
    show: async (project, id, from, socket, context) => {
      const row = await rowOf(store, project, id)
      await showTerminal({ commands, rooms, view, settle: settling.settle }, row, from, socket, () =>
        settling.closedBy(id, () => closedBy(context, row, project)),
      )
    },
    settleAll: async (project) => {
      for (const row of await store.terminals.of(project)) if (row.endedAt === null) await settling.settle(row)
    },
    resume: watch.look,
    close: async () => {
      await watch.close()
      await settling.close()
      rooms.close()
    },
  }
}

interface Parts {
  readonly deps: TerminalsDeps
  readonly rooms: TerminalRooms
  readonly settling: Settling
}

async function rowOf(store: Store, project: ProjectRow, id: string): Promise<TerminalRow> {
  const row = await store.terminals.find(id)
  if (row !== null && row.project === project.id) return row
  throw new ProblemError('not_found', `There is no terminal "${id}" in this project.`, {
    hint: 'It ended, and was forgotten an hour later: open another.',
  })
}

async function endTerminal(
  { deps: { store, engine }, rooms, settling }: Parts,
  row: TerminalRow,
  project: ProjectRow,
  context: RequestContext,
): Promise<void> {
  const { id } = row
  rooms.find(id)?.leave()
  await engine.commands.end(refOf(row), AbortSignal.timeout(endingMs))
  // What it printed last, and how it ended, reaches those who look at it before all of that is forgotten.
  await rooms.find(id)?.empty(AbortSignal.timeout(lastWordsMs))
  await settling.settled(id)
  await engine.commands.remove(refOf(row))
  await store.transaction(async (tx) => {
    await tx.terminals.delete(id)
    await tx.audit.append(closedBy(context, row, project))
    if (row.endedAt === null) await tx.events.append(changed(row, 'ended'))
  })
  rooms.forget(id)
}

/** Looks every two seconds which terminals ended, and forgets those that ended an hour ago. */
function createWatch({ deps: { store, engine, now, onError }, rooms, settling }: Parts) {
  const closing = new AbortController()
  const forget = async (row: TerminalRow) => {
    await engine.commands.remove(refOf(row))
    await store.transaction((tx) => tx.terminals.delete(row.id))
    rooms.forget(row.id)
  }
  const look = async () => {
    const longAgo = new Date(now().getTime() - endedForMs).toISOString()
    const rows = await store.terminals.all()
    // Those of projects that were deleted.
    rooms.forgetOthers(rows)
    for (const row of rows) {
      if (closing.signal.aborted) return
      if (row.endedAt === null) await settling.settle(row)
      else if (row.endedAt < longAgo) await forget(row)
    }
  }
  let looking: Promise<void> | null = null
  const timer = setInterval(() => {
    looking ??= look()
      .catch((error: unknown) => onError(error, 'looking after terminals'))
      .finally(() => {
        looking = null
      })
  }, lookEveryMs)
  timer.unref()
  return {
    look,
    close: async () => {
      closing.abort()
      clearInterval(timer)
      await looking
    },
  }
}

const lastWordsMs = 2_000
const lookEveryMs = 2_000
/** How long one that ended is still listed, with its output. */
const endedForMs = 60 * 60 * 1000
