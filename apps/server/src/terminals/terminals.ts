import { basename } from 'node:path'
import { ProblemError, type Terminal, TerminalInput } from '@stackquay/contract'
import {
  type CommandRef,
  type CommandSpec,
  type CommandState,
  type Commands,
  type Engine,
  EngineError,
  type SecretRef,
  type TerminalSize,
} from '@stackquay/engine-api'
import {
  byTheService,
  type NewAuditEntry,
  newId,
  type ProjectRow,
  type Store,
  type TerminalRow,
} from '@stackquay/store'
import type { z } from 'zod'
import type { FrameSocket, PeerMessage, RequestContext } from '../http/handler.ts'
import type { FilesOf } from '../projects/files-of.ts'
import { refuseUnready } from '../projects/refuse-unready.ts'
import type { Resolver } from '../projects/resolver.ts'
import { createRelay, type Relay } from '../streams/relay.ts'
import { containerOf, environmentFor, exitView } from './environment.ts'
import { type TerminalSource, terminalSource } from './output-source.ts'
import { withProgram } from './program.ts'
import { shellOf, terminalVariables } from './shell.ts'

/** Terminals of all projects. What runs in them is held by the engine, outside of this process; here is who looks at them. */
export interface Terminals {
  open(project: ProjectRow, wanted: TerminalWish, context: RequestContext): Promise<Terminal>
  of(project: ProjectRow): Promise<Terminal[]>
  find(project: ProjectRow, id: string): Promise<Terminal>
  /** Ends it with everything that runs in it, and forgets it. */
  end(project: ProjectRow, id: string, context: RequestContext): Promise<void>
  /** Shows it to a viewer from a byte offset on, and takes what the viewer types, until it ends or the viewer goes. */
  show(
    project: ProjectRow,
    id: string,
    from: { readonly after: number | undefined; readonly size: Partial<TerminalSize> },
    socket: FrameSocket,
    context: RequestContext,
  ): Promise<void>
  /** Writes down how those of a project ended, all of which were ended with it. */
  settleAll(project: string): Promise<void>
  /** At the start of the service: goes on with those that run, and learns how others ended meanwhile. */
  takeUp(): Promise<void>
  /** What runs goes on. */
  close(): Promise<void>
}

export interface TerminalWish extends TerminalSize {
  readonly workload: string | undefined
  readonly command: readonly string[] | undefined
}

export interface TerminalsDeps {
  readonly store: Store
  readonly engine: Engine
  readonly resolver: Resolver
  readonly filesOf: FilesOf
  readonly idleHours: number
  reveal(ref: SecretRef): Promise<string>
  onError(error: unknown, what: string): void
  readonly now: () => Date
}

export function createTerminals(deps: TerminalsDeps): Terminals {
  const { store, engine, resolver, onError, now } = deps
  const { commands } = engine
  const rooms = new Map<string, Room>()
  const settling = new Map<string, Promise<void>>()
  /** Of terminals that a person is ending: what the audit log is to say. Null when it says so itself. */
  const closers = new Map<string, NewAuditEntry | null>()
  /** Stored, and not started yet. */
  const starting = new Set<string>()
  const beingTold = new WeakSet<FrameSocket>()
  const closing = new AbortController()

  const roomOf = (row: TerminalRow): Room => {
    const known = rooms.get(row.id)
    if (known !== undefined) return known
    const room = createRoom(commands, refOf(row))
    rooms.set(row.id, room)
    return room
  }
  const view = async (row: TerminalRow): Promise<Terminal> =>
    terminalView(row, await commands.find(refOf(row)), {
      viewers: rooms.get(row.id)?.viewers.size ?? 0,
      isStarting: starting.has(row.id),
    })
  const rowOf = async (project: ProjectRow, id: string): Promise<TerminalRow> => {
    const row = await store.terminals.find(id)
    if (row === null || row.project !== project.id)
      throw new ProblemError('not_found', `There is no terminal "${id}" in this project.`, {
        hint: 'It ended, and was forgotten an hour later: open another.',
      })
    return row
  }

  const tellViewers = async (row: TerminalRow, except?: FrameSocket) => {
    const others = [...(rooms.get(row.id)?.viewers ?? [])].filter((viewer) => viewer !== except)
    if (others.length === 0) return
    const terminal = await view(row)
    for (const viewer of others) {
      // One that reads slowly hears of it later, and nobody waits for that; of what changes meanwhile it learns by the next.
      if (beingTold.has(viewer)) continue
      beingTold.add(viewer)
      viewer
        .send({ type: 'status', seq: terminal.output.end, terminal })
        .catch(() => undefined)
        .finally(() => beingTold.delete(viewer))
    }
  }

  /** Learns how a terminal ended that is known as open; does nothing while it runs. */
  const settle = (row: TerminalRow): Promise<void> => {
    const known = settling.get(row.id)
    if (known !== undefined) return known
    const mine = settleOnce(row).finally(() => settling.delete(row.id))
    settling.set(row.id, mine)
    return mine
  }
  const settleOnce = async ({ id }: TerminalRow) => {
    const row = await store.terminals.find(id)
    if (row === null || row.endedAt !== null || closers.get(id) === null || starting.has(id)) return
    const state = await commands.find(refOf(row))
    if (state?.state === 'running') return
    const end = {
      exitCode: state?.exit?.code ?? null,
      signal: state?.exit?.signal ?? null,
      cause: state?.cause ?? ('lost' as const),
      at: state?.endedAt ?? now().toISOString(),
    }
    const slug = (await store.projects.find(row.project))?.slug ?? row.project
    await store.transaction(async (tx) => {
      await tx.terminals.ended(id, end)
      await tx.audit.append(closers.get(id) ?? closedByItself(row, slug, end.cause))
      await tx.events.append(changed(row, 'ended'))
    })
    closers.delete(id)
  }

  const forget = async (row: TerminalRow) => {
    await commands.remove(refOf(row))
    await store.transaction((tx) => tx.terminals.delete(row.id))
    rooms.delete(row.id)
  }

  const look = async () => {
    const longAgo = new Date(now().getTime() - endedForMs).toISOString()
    const rows = await store.terminals.all()
    // Those of projects that were deleted.
    for (const [id, room] of rooms) if (room.viewers.size === 0 && !rows.some((row) => row.id === id)) rooms.delete(id)
    for (const row of rows) {
      if (closing.signal.aborted) return
      if (row.endedAt === null) await settle(row)
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

  const open: Terminals['open'] = async (project, wanted, context) => {
    refuseUnready(project)
    const environment = environmentFor(await resolver.commands(project), wanted.workload)
    const shell = wanted.command === undefined ? await shellOf(environment) : null
    const argv = shell?.argv ?? (await withProgram(wanted.command!, environment, () => deps.filesOf(project)))
    const id = newId('term')
    starting.add(id)
    try {
      // Remembered before it is started: whatever runs is known, and in the audit log.
      const row = await store.transaction(async (tx) => {
        refuseUnready(await store.projects.find(project.id))
        refuseMore((await store.terminals.of(project.id)).filter((known) => known.endedAt === null).length)
        const workload = environment.name === 'project' ? null : environment.name
        const title = shell?.name ?? basename(argv[0])
        const inserted = await tx.terminals.insert({
          id,
          project: project.id,
          workload,
          title,
          actor: context.actor,
          owner: ownerOf(context),
        })
        const changes = { after: { id, workload, title } }
        await tx.audit.append(
          context.audit({ action: 'terminal.open', target: project.slug, project: project.id, changes }),
        )
        await tx.events.append(changed(inserted, 'running'))
        return inserted
      })
      const spec: CommandSpec = {
        ref: refOf(row),
        argv,
        cwd: environment.cwd,
        env: terminalVariables(project.slug, shell, environment.env),
        data: [],
        ...containerOf(environment),
        terminal: { cols: wanted.cols, rows: wanted.rows },
        timeoutSeconds: null,
        idleSeconds: Math.max(1, Math.round(deps.idleHours * 3600)),
        stop: { signal: 'SIGHUP', deadlineSeconds: 3 },
        keepBytes: scrollbackBytes,
      }
      const signal = AbortSignal.any([context.signal, AbortSignal.timeout(startingMs)])
      await commands
        .start(spec, { signal, reveal: deps.reveal })
        // A deletion that began meanwhile did not see it.
        .then(async () => refuseUnready(await store.projects.find(project.id)))
        .catch((error: unknown) => undo(row, project, error, context))
      return await view(row)
    } finally {
      starting.delete(id)
    }
  }
  const undo = async (
    row: TerminalRow,
    project: ProjectRow,
    reason: unknown,
    context: RequestContext,
  ): Promise<never> => {
    await endCommand(commands, refOf(row)).catch((error: unknown) => onError(error, 'ending a terminal'))
    await store.transaction(async (tx) => {
      await tx.terminals.delete(row.id)
      await tx.audit.append({ ...closedBy(context, row, project), outcome: 'failure' })
      await tx.events.append(changed(row, 'ended'))
    })
    throw reason
  }

  const end: Terminals['end'] = async (project, id, context) => {
    const row = await rowOf(project, id)
    closers.set(id, null)
    try {
      await endAndForget(row, project, context)
    } finally {
      closers.delete(id)
    }
  }
  const endAndForget = async (row: TerminalRow, project: ProjectRow, context: RequestContext) => {
    const { id } = row
    rooms.get(id)?.leave()
    await commands.end(refOf(row), AbortSignal.timeout(endingMs))
    // What it printed last, and how it ended, reaches those who look at it before all of that is forgotten.
    await rooms.get(id)?.empty(AbortSignal.timeout(lastWordsMs))
    await settling.get(id)
    await commands.remove(refOf(row))
    await store.transaction(async (tx) => {
      await tx.terminals.delete(id)
      await tx.audit.append(closedBy(context, row, project))
      if (row.endedAt === null) await tx.events.append(changed(row, 'ended'))
    })
    rooms.delete(id)
  }

  const show: Terminals['show'] = async (project, id, { after, size }, socket, context) => {
    const row = await rowOf(project, id)
    const ref = refOf(row)
    const room = roomOf(row)
    const resize = async (wanted: TerminalSize) => {
      await commands.resize(ref, wanted)
      await tellViewers(row, socket)
    }
    const take = async (message: PeerMessage) => {
      if (message.kind === 'binary') return ignoreEnded(commands.write(ref, message.bytes))
      const input = readInput(message.text)
      if (input.type === 'resize') return ignoreEnded(resize({ cols: input.cols, rows: input.rows }))
      if (!closers.has(id)) closers.set(id, closedBy(context, row, project))
      return commands.end(ref, AbortSignal.timeout(endingMs))
    }
    room.viewers.add(socket)
    try {
      const { cols, rows } = size
      if (row.endedAt === null && (cols !== undefined || rows !== undefined)) {
        const now = (await commands.find(ref))?.size
        await ignoreEnded(resize({ cols: cols ?? now?.cols ?? 80, rows: rows ?? now?.rows ?? 24 }))
      }
      const terminal = await view(row)
      const from = after ?? terminal.output.first
      if (from > terminal.output.end)
        throw new ProblemError(
          'too_old',
          `The terminal has no output at ${from}: its output ends at ${terminal.output.end}.`,
        )
      await socket.send({ type: 'start', seq: from, terminal })
      socket.receive(take)
      const reached = await room.relay.send(socket, from)
      if (socket.signal.aborted) return
      const last = await commands.find(ref)
      if (last?.state === 'running')
        throw new ProblemError('unavailable', 'The terminal goes on, and cannot be read now.')
      await settle(row)
      const exit = exitView(last?.exit ?? { code: null, signal: null })
      await socket.send({ type: 'exit', seq: reached, ...exit })
    } finally {
      room.viewers.delete(socket)
      room.left()
    }
  }

  return {
    open,
    end,
    show,
    of: async (project) => Promise.all((await store.terminals.of(project.id)).map(view)),
    find: async (project, id) => view(await rowOf(project, id)),
    settleAll: async (project) => {
      for (const row of await store.terminals.of(project)) if (row.endedAt === null) await settle(row)
    },
    takeUp: look,
    close: async () => {
      closing.abort()
      clearInterval(timer)
      await looking
      await Promise.allSettled(settling.values())
      for (const room of rooms.values()) room.close()
    },
  }
}

/** Who looks at one terminal. */
interface Room {
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

async function endCommand(commands: Commands, ref: CommandRef): Promise<void> {
  await commands.end(ref, AbortSignal.timeout(endingMs))
  await commands.remove(ref)
}

/** Keystrokes for a program that has just ended are nobody's: the stream itself tells of the end. */
async function ignoreEnded(work: Promise<void>): Promise<void> {
  try {
    await work
  } catch (error) {
    if (!(error instanceof EngineError) || error.code !== 'engine_cannot') throw error
  }
}

function readInput(text: string): z.infer<typeof TerminalInput> {
  const parsed = TerminalInput.safeParse(parsedJson(text))
  if (parsed.success) return parsed.data
  throw new ProblemError(
    'invalid_request',
    'A terminal takes {"type":"resize","cols":…,"rows":…} and {"type":"cancel"} as text.',
    {
      hint: 'Send keystrokes as binary frames.',
    },
  )
}

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

function refOf({ id, project }: TerminalRow): CommandRef {
  return { project, id }
}

function refuseMore(open: number): void {
  if (open < mostOpen) return
  throw new ProblemError(
    'conflict',
    `${open} terminals of this project are open, and no more than ${mostOpen} can be.`,
    {
      hint: 'End one that nobody needs any more.',
    },
  )
}

function ownerOf({ principal }: RequestContext): string {
  if (principal.kind === 'anonymous') throw new ProblemError('unauthorized', 'Terminals have an owner.')
  return principal.user.id
}

function changed({ id, project }: TerminalRow, state: Terminal['state']) {
  return { type: 'terminal.changed', project, data: { id, project, state } } as const
}

function closedBy(context: RequestContext, { id, workload, title }: TerminalRow, project: ProjectRow): NewAuditEntry {
  const changes = { before: { id, workload, title } }
  return context.audit({ action: 'terminal.close', target: project.slug, project: project.id, changes })
}

/** Nobody closed it: it ended, was idle for long, or was lost with the machine. */
function closedByItself(row: TerminalRow, slug: string, cause: Terminal['cause']): NewAuditEntry {
  return byTheService({
    action: 'terminal.close',
    target: slug,
    project: row.project,
    changes: { before: { id: row.id, workload: row.workload, title: row.title }, after: { cause } },
  })
}

function terminalView(
  row: TerminalRow,
  state: CommandState | null,
  now: { readonly viewers: number; readonly isStarting: boolean },
): Terminal {
  const isOpen = row.endedAt === null && (state?.state === 'running' || now.isStarting)
  return {
    id: row.id,
    project: row.project,
    workload: row.workload,
    title: row.title,
    state: isOpen ? 'running' : 'ended',
    cols: state?.size?.cols ?? 80,
    rows: state?.size?.rows ?? 24,
    viewers: now.viewers,
    exitCode: row.exitCode ?? state?.exit?.code ?? null,
    signal: row.signal ?? state?.exit?.signal ?? null,
    cause: row.cause ?? state?.cause ?? (isOpen ? null : 'lost'),
    actor: row.actor,
    createdAt: row.createdAt,
    endedAt: row.endedAt ?? state?.endedAt ?? null,
    output: state?.output ?? { first: 0, end: 0 },
  }
}

const mostOpen = 16
const scrollbackBytes = 1 << 20
const startingMs = 30_000
const endingMs = 15_000
const lastWordsMs = 2_000
const lookEveryMs = 2_000
/** How long one that ended is still listed, with its output. */
const endedForMs = 60 * 60 * 1000
