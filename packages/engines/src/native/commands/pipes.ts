import { execFile } from 'node:child_process'
import { closeSync, constants, openSync } from 'node:fs'
import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { execPipesDir, type Home } from '../home.ts'
import { newRunId } from '../marker.ts'
import { DEFAULT_PATH } from '../path.ts'

const { O_RDONLY, O_WRONLY, O_NONBLOCK } = constants

/**
 * Named pipes. Those that programs get may be opened again by them, as `/dev/stdout`: any user may open them, but only through a
 * descriptor, because no user can reach their path.
 */
export async function makePipes(own: readonly string[], ofPrograms: readonly string[]): Promise<void> {
  const run = promisify(execFile)
  const env = { PATH: DEFAULT_PATH, LC_ALL: 'C' }
  const make = (mode: string, paths: readonly string[]) =>
    paths.length === 0 ? undefined : run('mkfifo', ['-m', mode, '--', ...paths], { env })
  await Promise.all([make('600', own), make('666', ofPrograms)])
}

/** Descriptors of the two ends. */
export interface Pipe {
  readonly readEnd: number
  readonly writeEnd: number
}

export interface ProgramPipes {
  readonly stdout: Pipe
  readonly stderr: Pipe
}

/**
 * Pipes for what a program prints to one caller; of their names nothing is left. The pipes that Node makes are sockets, on which
 * `/dev/stdout` cannot be opened. For stdin such a socket does: who opens a named pipe by its name, as `/dev/stdin`, waits for
 * a writer, and that may be gone already.
 */
export async function openProgramPipes(home: Home): Promise<ProgramPipes> {
  const directory = join(execPipesDir(home), newRunId())
  const [stdout, stderr] = [join(directory, 'stdout'), join(directory, 'stderr')]
  try {
    await mkdir(directory, { recursive: true, mode: 0o700 })
    await makePipes([], [stdout, stderr])
    return openAll((open) => ({
      stdout: { readEnd: open(stdout, O_RDONLY | O_NONBLOCK), writeEnd: open(stdout, O_WRONLY) },
      stderr: { readEnd: open(stderr, O_RDONLY | O_NONBLOCK), writeEnd: open(stderr, O_WRONLY) },
    }))
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
}

/** All or none. */
function openAll<T>(act: (open: (path: string, flags: number) => number) => T): T {
  const opened: number[] = []
  try {
    return act((path, flags) => {
      const descriptor = openSync(path, flags)
      opened.push(descriptor)
      return descriptor
    })
  } catch (error) {
    opened.forEach(closeSync)
    throw error
  }
}
