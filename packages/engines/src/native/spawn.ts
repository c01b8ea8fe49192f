import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { stat } from 'node:fs/promises'
import type { Socket } from 'node:net'
import { EngineError } from '@stackquay/engine-api'
import type { Account } from './account.ts'
import { errorCode, orNull } from './errors.ts'
import type { Leader } from './family.ts'
import { type Lack, lackOf } from './isolation/check-program.ts'
import type { Confined, Program } from './isolation/confine.ts'
import type { Machine } from './machine.ts'
import { may, unreachableAt } from './reach.ts'

/**
 * Waits for the program and writes its exit code to descriptor 3, so that it can be learnt even when the control plane
 * was down when it ended. A trapped signal (unlike an ignored one) is back to its default in the program. The shell's
 * own remarks ("Terminated") are kept out of the program's output.
 */
const KEEPER = 'trap : HUP INT QUIT TERM; exec 4>&2 2>/dev/null; "$@" 2>&4 4>&- 3>&-; echo $? >&3'

export interface Spawned {
  readonly child: ChildProcess
  readonly leader: Leader
}

/** Starts a program in a session of its own, with an exit keeper, confined to its project; it outlives this process. */
export async function spawnKept(
  machine: Pick<Machine, 'table'>,
  confined: Confined,
  program: Program,
  files: { readonly out: number; readonly err: number; readonly exit: number },
): Promise<Spawned> {
  const kept = { ...program, argv: ['/bin/sh', '-c', KEEPER, 'stackquay', ...program.argv] }
  return spawnDetached(machine, confined.program(kept), ['ignore', files.out, files.err, files.exit])
}

/** With the rights of this process: what belongs to a project comes as `Confined.program` made it. */
export async function spawnDetached(
  machine: Pick<Machine, 'table'>,
  program: Program,
  stdio: ('ignore' | 'pipe' | number | Socket)[],
): Promise<Spawned> {
  const [file = '', ...args] = program.argv
  let child: ChildProcess
  try {
    child = spawn(file, args, {
      cwd: program.cwd,
      env: program.env,
      stdio,
      detached: true,
      ...(program.user === undefined ? {} : { uid: program.user.uid, gid: program.user.gid }),
    })
  } catch (error) {
    throw cannotStart(file, error)
  }
  if (child.pid === undefined) {
    const [error] = (await once(child, 'error')) as [unknown]
    throw cannotStart(file, error)
  }
  child.on('error', () => {})
  const startTime = machine.table.find(child.pid)?.startTime ?? 'gone'
  return { child, leader: { pid: child.pid, startTime, bootId: machine.table.bootId() } }
}

/** Says what is wrong before the kernel does, in words that help. */
export async function checkProgram(program: Pick<Program, 'argv' | 'cwd'>, account: Account | null): Promise<void> {
  const [file = ''] = program.argv
  if (!file.startsWith('/'))
    throw notFound(
      `The program ${JSON.stringify(file)} is not given by an absolute path.`,
      'Name the program by its full path.',
    )
  const lack = account === null ? await ownLack(program.cwd, file) : await lackOf(account, program.cwd, file)
  switch (lack?.what) {
    case undefined:
      return
    case 'no_folder':
      throw new EngineError('io_failed', `The working directory ${program.cwd} does not exist.`, {
        hint: 'Check the path of the project.',
      })
    case 'wall':
      throw notFound(
        `${lack.path} is under ${lack.at}, which ${nameOf(account)} cannot enter.`,
        `Move it to a place that other users can reach, or allow them to enter: chmod a+x ${lack.at}`,
      )
    case 'no_program':
      throw notFound(`The program ${file} does not exist.`, 'Install it, or choose another version of the runtime.')
    case 'not_executable':
      throw notFound(
        `The file ${file} is not a program that ${nameOf(account)} may execute.`,
        `Make it executable: chmod a+rx ${file}`,
      )
    default:
      return lack satisfies never
  }
}

/** The same with the rights of this process, which programs have too. */
async function ownLack(cwd: string, file: string): Promise<Lack | null> {
  const directory = await orNull(stat(cwd))
  if (directory?.isDirectory() !== true) return { what: 'no_folder' }
  const closed = await unreachableAt(`${cwd}/.`, null)
  if (closed !== null) return { what: 'wall', path: cwd, at: closed }
  const found = await orNull(stat(file))
  if (found === null) return { what: 'no_program' }
  const wall = await unreachableAt(file, null)
  if (wall !== null) return { what: 'wall', path: file, at: wall }
  return found.isFile() && (await may(file, null, 1)) ? null : { what: 'not_executable' }
}

export function nameOf(account: Account | null): string {
  return account === null
    ? 'the user of the service'
    : `the project’s user${account.name === undefined ? '' : ` ${account.name}`} (uid ${account.uid})`
}

function notFound(message: string, hint: string): EngineError {
  return new EngineError('program_not_found', message, { hint })
}

export function cannotStart(file: string, error: unknown): EngineError {
  const code = errorCode(error)
  if (code === 'EAGAIN' || code === 'ENOMEM') {
    return new EngineError('io_failed', `The machine has no room for another process (${code}).`, {
      hint: 'Stop some projects, or raise the limit of processes.',
      retryable: true,
      cause: error,
    })
  }
  if (code === 'E2BIG') {
    return new EngineError('engine_cannot', 'The environment and arguments together are too long for a process.', {
      hint: 'Shorten environment variables: one may hold up to 128 KB.',
      cause: error,
    })
  }
  return new EngineError('program_not_found', `${file} could not be started (${code ?? error}).`, {
    hint: 'Check that it exists and may be executed.',
    cause: error,
  })
}
