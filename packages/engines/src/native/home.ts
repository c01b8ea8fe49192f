import { createHash } from 'node:crypto'
import { chmod, mkdir, readdir, stat } from 'node:fs/promises'
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
  /** The state of each command, and its output. */
  readonly commands: string
  readonly toolchains: string
  /** One `HOME` for each project's processes. */
  readonly homes: string
  /** One `TMPDIR` for each. Not below `HOME`: what lies in a folder that a project writes is never made by this engine. */
  readonly tmps: string
}

/** Names this installation wherever the machine keeps names: in markers of processes, in control groups. */
export function instanceOf(root: string): string {
  return createHash('sha256').update(root).digest('hex').slice(0, 12)
}

/**
 * Makes the directories. Where projects have users of their own, `root` is enterable for them (not listable), because their data
 * lies below; what must stay private has its own mode.
 */
export async function openHome(root: string, { enterable }: { readonly enterable: boolean }): Promise<Home> {
  const home: Home = {
    root,
    instance: instanceOf(root),
    run: join(root, 'run'),
    data: join(root, 'data'),
    logs: join(root, 'logs'),
    commands: join(root, 'commands'),
    toolchains: join(root, 'toolchains'),
    homes: join(root, 'run-home'),
    tmps: join(root, 'run-tmp'),
  }
  await mkdir(root, { recursive: true, mode: 0o711 })
  const { mode } = await stat(root)
  if (enterable && (mode & 0o011) !== 0o011) await chmod(root, (mode & 0o7777) | 0o011)
  await directory(home.run, 0o700)
  await directory(home.logs, 0o700)
  await directory(home.commands, 0o700)
  await directory(home.data, 0o711)
  await directory(home.homes, 0o711)
  await directory(home.tmps, 0o711)
  await directory(home.toolchains, 0o755)
  return home
}

export const recordFile = (home: Home, ref: WorkloadRef): string =>
  join(runDir(home, ref.project), `${safe(ref.workload)}.json`)
export const lockFile = (home: Home, ref: WorkloadRef): string =>
  join(runDir(home, ref.project), `${safe(ref.workload)}.lock`)
/** Holds the exit code of one run; written by the run's own shell, so that it is there even when no instance watched. */
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
/** Node's compile cache of the shim. */
export const shimCache = (home: Home): string => join(home.commands, '.compiled')
/** Named pipes while they are being opened. */
export const execPipesDir = (home: Home): string => join(home.commands, '.pipes')
export const logsDir = (home: Home, ref: WorkloadRef): string => join(home.logs, safe(ref.project), safe(ref.workload))
export const dataDir = (home: Home, project: string, name: string): string => join(home.data, safe(project), safe(name))
export const homeDir = (home: Home, project: string): string => join(home.homes, safe(project))
export const tmpDir = (home: Home, project: string): string => join(home.tmps, safe(project))

/** Folders of a project's kept data. */
export async function dataNamesIn(home: Home, project: string): Promise<string[]> {
  const directory = join(home.data, safe(project))
  const names = await readdir(directory).catch(() => [])
  return names.filter(isName).map((name) => join(directory, name))
}

const NAME = /^[A-Za-z0-9_-]{1,120}$/

export const isName = (text: string): boolean => NAME.test(text)

/** A name that becomes a file name. A name that could leave its directory is refused here. */
export function safe(name: string): string {
  if (NAME.test(name)) return name
  throw new EngineError('engine_cannot', `The name ${JSON.stringify(name)} cannot be used as a file name.`, {
    hint: 'Use 1 to 120 letters, digits, "-" and "_".',
  })
}

/** A data directory that the workload user owns; its parent belongs to the engine, so that no other user renames it. */
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
  const places = { home: homeDir(home, project), tmp: tmpDir(home, project) }
  for (const path of Object.values(places)) await ownDirectory(path, account)
  return places
}

async function ownDirectory(path: string, account: Account | null): Promise<void> {
  await directory(path, 0o700)
  if (account !== null) await chownTo(path, account)
}

async function directory(path: string, mode: number): Promise<void> {
  const created = await mkdir(path, { recursive: true, mode })
  if (created !== undefined) await chmod(path, mode)
}
