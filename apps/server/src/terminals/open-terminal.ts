import { basename } from 'node:path'
import { ProblemError, type Terminal } from '@stackquay/contract'
import { type NamedEnvironment, sshUserOf } from '@stackquay/domain'
import type { CommandRef, CommandSpec, Commands } from '@stackquay/engine-api'
import { newId, type ProjectRow, type TerminalRow } from '@stackquay/store'
import type { RequestContext } from '../http/handler.ts'
import { refuseUnready } from '../projects/refuse-unready.ts'
import { containerOf, environmentFor, placesOf, refuseStopped } from './environment.ts'
import { withProgram } from './program.ts'
import type { Settling } from './settle.ts'
import { type Shell, shellOf, terminalVariables } from './shell.ts'
import { changed, closedBy, endingMs, refOf } from './terminal-view.ts'
import type { TerminalsDeps, TerminalWish } from './terminals.ts'

/** What runs in a new terminal. */
interface Program {
  readonly environment: NamedEnvironment
  readonly shell: Shell | null
  readonly argv: CommandSpec['argv']
}

/** Writes a terminal down, then starts it. One that does not start is ended and forgotten. */
export async function openTerminal(
  deps: TerminalsDeps,
  settling: Settling,
  project: ProjectRow,
  wanted: TerminalWish,
  context: RequestContext,
  view: (row: TerminalRow) => Promise<Terminal>,
): Promise<Terminal> {
  refuseUnready(project)
  const program = await programOf(deps, project, wanted, context.signal)
  const id = newId('term')
  return settling.whileStarting(id, async () => {
    // Before it starts: whatever runs is known, and in the audit log.
    const row = await insert(deps, id, project, program, context)
    const signal = AbortSignal.any([context.signal, AbortSignal.timeout(startingMs)])
    try {
      await deps.engine.commands.start(specOf(deps, row, project, program, wanted), { signal, reveal: deps.reveal })
      // A deletion that began meanwhile did not see it.
      refuseUnready(await deps.store.projects.find(project.id))
    } catch (error) {
      await undo(deps, row, project, context)
      throw error
    }
    return view(row)
  })
}

async function programOf(
  deps: TerminalsDeps,
  project: ProjectRow,
  { workload, command }: TerminalWish,
  signal: AbortSignal,
): Promise<Program> {
  const environment = environmentFor(placesOf(await deps.resolver.commands(project)), workload)
  await refuseStopped(environment, project.id, deps.engine, signal)
  if (command !== undefined)
    return { environment, shell: null, argv: await withProgram(command, environment, () => deps.filesOf(project)) }
  const shell = await shellOf(environment)
  return { environment, shell, argv: shell.argv }
}

function insert(
  { store }: TerminalsDeps,
  id: string,
  project: ProjectRow,
  { environment, shell, argv }: Program,
  context: RequestContext,
): Promise<TerminalRow> {
  return store.transaction(async (tx) => {
    refuseUnready(await store.projects.find(project.id))
    refuseMore((await store.terminals.of(project.id)).filter((known) => known.endedAt === null).length)
    const workload = environment.name === 'project' ? null : environment.name
    const title = shell?.name ?? basename(argv[0])
    const { actor } = context
    const row = { id, project: project.id, workload, title, actor, owner: ownerOf(context) }
    const inserted = await tx.terminals.insert(row)
    const changes = { after: { id, workload, title } }
    await tx.audit.append(
      context.audit({ action: 'terminal.open', target: project.slug, project: project.id, changes }),
    )
    await tx.events.append(changed(inserted, 'running'))
    return inserted
  })
}

function specOf(
  { idleHours }: TerminalsDeps,
  row: TerminalRow,
  project: ProjectRow,
  { environment, shell, argv }: Program,
  { cols, rows, env }: TerminalWish,
): CommandSpec {
  return {
    ref: refOf(row),
    argv,
    cwd: environment.cwd,
    env: { ...terminalVariables(placeName(project, environment), shell, environment.env), ...env },
    data: [],
    ...containerOf(environment),
    terminal: { cols, rows },
    timeoutSeconds: null,
    idleSeconds: Math.max(1, Math.round(idleHours() * 3600)),
    stop: { signal: 'SIGHUP', deadlineSeconds: 3 },
    keepBytes: scrollbackBytes,
  }
}

/** For the prompt: two terminals side by side are told apart. */
function placeName({ slug }: ProjectRow, { name, needsUp }: NamedEnvironment): string {
  return sshUserOf(slug, needsUp === true ? name : null)
}

async function undo(
  { store, engine, onError }: TerminalsDeps,
  row: TerminalRow,
  project: ProjectRow,
  context: RequestContext,
): Promise<void> {
  await endCommand(engine.commands, refOf(row)).catch((error: unknown) => onError(error, 'ending a terminal'))
  await store.transaction(async (tx) => {
    await tx.terminals.delete(row.id)
    await tx.audit.append({ ...closedBy(context, row, project), outcome: 'failure' })
    await tx.events.append(changed(row, 'ended'))
  })
}

async function endCommand(commands: Commands, ref: CommandRef): Promise<void> {
  await commands.end(ref, AbortSignal.timeout(endingMs))
  await commands.remove(ref)
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

const mostOpen = 16
const scrollbackBytes = 1 << 20
const startingMs = 30_000
