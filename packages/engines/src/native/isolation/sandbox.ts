import { execFile } from 'node:child_process'
import { dirname } from 'node:path'
import { promisify } from 'node:util'
import type { FolderMount } from '@stackquay/engine-api'

/** Namespaces of its own for each program, by bubblewrap: mounts, process numbers, IPC. */
export interface Sandbox {
  /** Absolute path of `bwrap`. */
  readonly program: string
}

/** The view of a sandboxed program. */
export interface SandboxView {
  /** Everything of this service; hidden but for what follows. */
  readonly hidden: readonly string[]
  readonly folders: readonly FolderMount[]
  /** Stands for /tmp. */
  readonly tmp: string
}

/** Every signal that a group is sent to end it. The outermost process of a sandbox ignores them, so that the program decides. */
export const STOP_SIGNALS = ['HUP', 'INT', 'QUIT', 'TERM'] as const

/** The system is there to be read, a private /tmp, its own folders, and only its own processes. */
export function sandboxArgv({ program }: Sandbox, view: SandboxView): string[] {
  return [
    program,
    '--unshare-pid',
    '--unshare-ipc',
    '--ro-bind',
    '/',
    '/',
    '--dev',
    '/dev',
    '--perms',
    '1777',
    '--tmpfs',
    '/dev/shm',
    '--proc',
    '/proc',
    '--bind',
    view.tmp,
    '/tmp',
    '--bind-try',
    view.tmp,
    '/var/tmp',
    ...view.hidden.flatMap((path) => ['--tmpfs', path]),
    // Those that bwrap makes by itself on the way to a folder are closed to all but root.
    ...foldersAbove(view).flatMap((path) => ['--dir', path]),
    ...view.folders.flatMap(({ path, readOnly }) => [readOnly ? '--ro-bind-try' : '--bind-try', path, path]),
    ...view.hidden.flatMap((path) => ['--remount-ro', path]),
    '--',
  ]
}

/** From the outermost in, those on the way from what is hidden, or stands for another folder, to what is shown. */
function foldersAbove({ hidden, folders }: SandboxView): readonly string[] {
  const above = new Set<string>()
  for (const root of [...hidden, '/tmp', '/var/tmp']) {
    for (const { path } of folders) {
      for (let at = dirname(path); at.startsWith(`${root}/`); at = dirname(at)) above.add(at)
    }
  }
  return [...above].sort()
}

const TRY_MS = 5000

/** Tried by running it: one that is there may be forbidden by the kernel. Null with the reason in `why` when it cannot be used. */
export async function findSandbox(
  path = '/usr/local/bin:/usr/bin:/bin',
): Promise<{ readonly sandbox: Sandbox; readonly why: null } | { readonly sandbox: null; readonly why: string }> {
  const run = promisify(execFile)
  for (const directory of path.split(':')) {
    const program = `${directory}/bwrap`
    const argv = sandboxArgv({ program }, { hidden: [], folders: [], tmp: '/tmp' })
    try {
      await run(program, [...argv.slice(1), '/bin/true'], { timeout: TRY_MS, env: {} })
      return { sandbox: { program }, why: null }
    } catch (error) {
      const { code, stderr } = error as { code?: string | number; stderr?: string }
      if (code === 'ENOENT') continue
      return { sandbox: null, why: `${program} is there, but does not work here: ${stderr?.trim() || String(code)}.` }
    }
  }
  return { sandbox: null, why: 'bubblewrap is not installed (Debian and Ubuntu: apt-get install -y bubblewrap).' }
}
