import { createHash } from 'node:crypto'
import { chmod, mkdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { type CommandRef, EngineError, type WorkloadRef } from '@stackquay/engine-api'
import { type Account, chownTo } from './account.ts'

/** Where everything of this engine lies. Every path below `root` is made here and nowhere else. */
export interface Home {
  readonly root: string
  /** Tells this installation's processes from those of another one on the same machine. */
  readonly instance: string
  readonly run: string
  readonly data: string
  readonly logs: string
  /** What is known of each command, and what it printed. */
  readonly commands: string
  readonly toolchains: string
  /** One `HOME` for each project's processes. */
  readonly homes: string
}

/**
 * Makes the directories. `root` becomes enterable (not listable) for the workload user, because its data lies below;
 * what must stay private has its own mode.
 */
export async function openHome(root: string, account: Account | null): Promise<Home> {
  const home: Home = {
    root,
    instance: createHash('sha256').update(root).digest('hex').slice(0, 12),
    run: join(root, 'run'),
    data: join(root, 'data'),
    logs: join(root, 'logs'),
    commands: join(root, 'commands'),
    toolchains: join(root, 'toolchains'),
    homes: join(root, 'run-home'),
  }
  await mkdir(root, { recursive: true, mode: 0o711 })
  const { mode } = await stat(root)
  if (account !== null && (mode & 0o011) !== 0o011) await chmod(root, (mode & 0o7777) | 0o011)
  await directory(home.run, 0o700)
  await directory(home.logs, 0o700)
  await directory(home.commands, 0o700)
  await directory(home.data, 0o711)
  await directory(home.homes, 0o711)
  await directory(home.toolchains, 0o755)
  return home
}

export const recordFile = (home: Home, ref: WorkloadRef): string =>
  join(runDir(home, ref.project), `${safe(ref.workload)}.json`)
export const lockFile = (home: Home, ref: WorkloadRef): string =>
  join(runDir(home, ref.project), `${safe(ref.workload)}.lock`)
/** Holds the exit code of one run; written by the run's own shell, so that it is there even when nobody watched. */
export const exitFile = (home: Home, ref: WorkloadRef, run: string): string =>
  join(runDir(home, ref.project), `${safe(ref.workload)}.${safe(run)}.exit`)
export const jobsDir = (home: Home, ref: WorkloadRef): string =>
  join(runDir(home, ref.project), `${safe(ref.workload)}.jobs`)
export const jobStamp = (home: Home, ref: WorkloadRef, job: string): string =>
  join(jobsDir(home, ref), `${safe(job)}.json`)
export const runDir = (home: Home, project: string): string => join(home.run, safe(project))
export const commandsDir = (home: Home, project: string): string => join(home.commands, safe(project))
export const commandDir = (home: Home, ref: CommandRef): string => join(commandsDir(home, ref.project), safe(ref.id))
export const commandLock = (home: Home, ref: CommandRef): string => `${commandDir(home, ref)}.lock`
/** What Node compiled of the program that holds commands. */
export const holderCache = (home: Home): string => join(home.commands, '.compiled')
/** Named pipes while they are being opened. */
export const execPipesDir = (home: Home): string => join(home.commands, '.pipes')
export const logsDir = (home: Home, ref: WorkloadRef): string => join(home.logs, safe(ref.project), safe(ref.workload))
export const dataDir = (home: Home, project: string, name: string): string => join(home.data, safe(project), safe(name))
export const homeDir = (home: Home, project: string): string => join(home.homes, safe(project))

const NAME = /^[A-Za-z0-9_-]{1,120}$/

export const isName = (text: string): boolean => NAME.test(text)

/** A name that becomes a file name. Whatever could leave its directory is refused here, whoever asked. */
export function safe(name: string): string {
  if (NAME.test(name)) return name
  throw new EngineError('engine_cannot', `The name ${JSON.stringify(name)} cannot be used as a file name.`, {
    hint: 'Use 1 to 120 letters, digits, "-" and "_".',
  })
}

/** A data directory that the workload user owns; its parent belongs to the engine, so that nobody else renames it. */
export async function makeDataDir(home: Home, account: Account | null, project: string, name: string): Promise<string> {
  const path = dataDir(home, project, name)
  await directory(join(home.data, safe(project)), 0o711)
  await ownDirectory(path, account)
  return path
}

/** `HOME` and `TMPDIR` of a project's processes. */
export async function makeHomeDir(
  home: Home,
  account: Account | null,
  project: string,
): Promise<{ home: string; tmp: string }> {
  const path = homeDir(home, project)
  await ownDirectory(path, account)
  await ownDirectory(join(path, 'tmp'), account)
  return { home: path, tmp: join(path, 'tmp') }
}

async function ownDirectory(path: string, account: Account | null): Promise<void> {
  await directory(path, 0o700)
  if (account !== null) await chownTo(path, account)
}

async function directory(path: string, mode: number): Promise<void> {
  const created = await mkdir(path, { recursive: true, mode })
  if (created !== undefined) await chmod(path, mode)
}
