import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Readable } from 'node:stream'
import { ProblemError } from '@stackquay/contract'
import type { Account } from '@stackquay/engines'
import { programInPath } from '../users/system-user.ts'

export interface GitCommand {
  /** Everything after `git`. Each user of the machine can read it. */
  readonly args: readonly string[]
  readonly cwd: string
  /** Null: the user of the service. */
  readonly account: Account | null
  readonly env: Readonly<Record<string, string>>
  readonly stdio?: StdioOptions
  /** It can start no other program, nor threads, whatever a repository names: the kernel refuses. */
  readonly alone?: boolean
  /** What it has begun it ends, also when the service is killed meanwhile. */
  readonly outlives?: boolean
}

/**
 * Starts git as the account, in a process group of its own. It ends with the service, also when the service is killed, and
 * gains no rights. `end` kills it with everything that it has started.
 */
export async function startGit(command: GitCommand): Promise<RunningGit> {
  const limits = command.alone === true ? await aloneHere() : []
  return startProgram({ ...command, argv: [...limits, 'git', ...command.args] })
}

/** The same for a program that works beside git. */
export async function startProgram(
  command: Omit<GitCommand, 'args' | 'alone'> & { readonly argv: readonly string[] },
): Promise<RunningGit> {
  const [program = 'git', ...args] = await confined(command.argv, command.outlives === true)
  return launch(program, args, command)
}

export interface RunningGit {
  readonly child: ChildProcess
  /** Its exit code, when its output was read to the end as well. Rejects when it could not be started. */
  readonly ended: Promise<number | null>
  end(): void
}

function launch(
  program: string,
  args: readonly string[],
  { cwd, account, env, stdio }: Omit<GitCommand, 'args'>,
): RunningGit {
  const child = spawn(program, args, {
    cwd,
    env,
    stdio: stdio ?? ['ignore', 'pipe', 'pipe'],
    detached: true,
    ...(account === null ? {} : { uid: account.uid, gid: account.gid }),
  })
  const failed = Promise.withResolvers<never>()
  child.once('error', (error: NodeJS.ErrnoException) => failed.reject(startFault(error)))
  const ended = Promise.race([once(child, 'close').then(([code]) => code as number | null), failed.promise])
  ended.catch(() => undefined)
  return {
    child,
    ended,
    end: () => {
      try {
        process.kill(-child.pid!, 'SIGKILL')
      } catch {
        // It has ended already.
      }
    },
  }
}

/**
 * argv with `setpriv` in front, where the machine has it: Linux has. When the service is killed, the shell hears of it and
 * kills the whole process group: a git that waits for a server would not notice by itself that nobody waits for it.
 */
async function confined(argv: readonly string[], outlives = false): Promise<readonly string[]> {
  if ((await programInPath(argv.includes('git') ? 'git' : argv[0]!)) === null) throw gitMissing(argv)
  const setpriv = await setprivHere()
  if (setpriv === null) return argv
  if (outlives) return [setpriv, '--no-new-privs', '--', ...argv]
  return [setpriv, '--pdeathsig', 'TERM', '--no-new-privs', '--', 'sh', '-c', endWithService, 'sh', ...argv]
}

/** A shell gives programs in the background an empty input: theirs is put aside before. */
const endWithService = `trap 'kill -KILL 0' TERM; exec 9<&0; "$@" <&9 9<&- & exec 9<&-; wait $!`

/**
 * The limit of processes counts all of a user, so one that may have a single one can make none: a filter, hook or watcher
 * that a repository names fails to start. The limit of memory ends a git that is fed an object which grows without end.
 */
async function aloneHere(): Promise<readonly string[]> {
  prlimitPath ??= process.platform === 'linux' ? programInPath('prlimit') : Promise.resolve(null)
  const prlimit = await prlimitPath
  return prlimit === null ? [] : [prlimit, '--nproc=1:1', `--data=${mostMemory}:${mostMemory}`, '--core=0:0', '--']
}

const mostMemory = 2 * 1024 ** 3

let prlimitPath: Promise<string | null> | null = null

let setprivPath: Promise<string | null> | null = null

function setprivHere(): Promise<string | null> {
  setprivPath ??= process.platform === 'linux' ? programInPath('setpriv') : Promise.resolve(null)
  return setprivPath
}

function startFault(error: NodeJS.ErrnoException): Error {
  return error.code === 'ENOENT' ? gitMissing() : error
}

function gitMissing(argv: readonly string[] = ['git']): ProblemError {
  const isGit = argv.includes('git')
  const name = isGit ? 'git' : argv[0]!
  return new ProblemError('unavailable_here', `${name} is not installed on the service’s machine.`, {
    hint: `Install it: apt-get install -y ${isGit ? 'git' : 'openssh-client'}`,
  })
}

/**
 * Calls back with each line, without its end; progress ends its lines with a carriage return. Whole lines, because a
 * secret that is cut in two by the end of a chunk would not be found in either.
 */
export function readLines(stream: Readable, onLine: (line: string) => void): void {
  let rest = ''
  stream.setEncoding('utf8').on('data', (text: string) => {
    const lines = (rest + text).split(/\r\n|\n|\r/)
    rest = lines.pop()!
    // Nobody writes lines that long but somebody who wants the memory.
    if (rest.length > maxLine) lines.push(rest.slice(0, maxLine))
    if (rest.length > maxLine) rest = ''
    for (const line of lines) onLine(line)
  })
  stream.on('end', () => {
    if (rest !== '') onLine(rest)
  })
}

const maxLine = 64 << 10
