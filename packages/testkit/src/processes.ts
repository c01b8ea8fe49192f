import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { waitFor } from './wait-for.ts'

export interface Tracked extends AsyncDisposable {
  readonly child: ChildProcess
  readonly pid: number
  /** Everything it has written so far, both streams in the order of arrival. */
  output(): string
  /** Waits for output that matches, and answers the match. Fails at once when the process ends before. */
  line(pattern: RegExp, timeoutMs?: number): Promise<RegExpExecArray>
  /** Waits for its end. `code` is null when a signal ended it. */
  exit(): Promise<{ readonly code: number | null; readonly signal: NodeJS.Signals | null }>
  /** SIGTERM to its whole process group, SIGKILL after the deadline. Fine when it has ended already. */
  end(deadlineMs?: number): Promise<void>
}

const tracked = new Set<Tracked>()

// A test file that throws must not leave its processes to the machine. Only what is synchronous works here.
process.on('exit', () => {
  for (const { pid } of tracked) signalGroup(pid, 'SIGKILL')
})

/** Starts a program in a process group of its own, so that its children end with it. */
export function spawnTracked(
  argv: readonly [string, ...string[]],
  options: Pick<SpawnOptions, 'cwd' | 'env' | 'uid' | 'gid'> = {},
): Tracked {
  const [program, ...args] = argv
  const child = spawn(program, args, { ...options, detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
  let text = ''
  let failure: Error | undefined
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
  const closed = new Promise<void>((resolve) => {
    child.once('close', () => resolve())
    child.once('error', (error) => {
      failure = error
      resolve()
    })
  })
  const ended = () => failure !== undefined || child.exitCode !== null || child.signalCode !== null

  const self: Tracked = {
    child,
    pid: child.pid ?? -1,
    output: () => text,
    async line(pattern, timeoutMs = 10_000) {
      return waitFor(
        `${pattern} in the output of ${program}`,
        () => pattern.exec(text) ?? (ended() ? { over: true } : null),
        { timeoutMs },
      ).then((found) => {
        if ('over' in found)
          throw new Error(
            `${program} ended (${failure?.message ?? child.exitCode ?? child.signalCode}) without writing ${pattern}:\n${text}`,
          )
        return found
      })
    },
    async exit() {
      await closed
      if (failure !== undefined) throw failure
      return { code: child.exitCode, signal: child.signalCode }
    },
    async end(deadlineMs = 5000) {
      signalGroup(self.pid, 'SIGTERM')
      const late = sleep(deadlineMs, 'late', { ref: false })
      if ((await Promise.race([closed, late])) === 'late') signalGroup(self.pid, 'SIGKILL')
      await closed
      // The leader may be gone while a child of it goes on.
      signalGroup(self.pid, 'SIGKILL')
      tracked.delete(self)
    },
    [Symbol.asyncDispose]: () => self.end(),
  }
  if (self.pid !== -1) tracked.add(self)
  return self
}

/** Ends everything that `spawnTracked` started in this process. */
export async function endAll(): Promise<void> {
  await Promise.all([...tracked].map((each) => each.end()))
}

/** Whether a process runs; a zombie that was not waited for does not. */
export async function isAlive(pid: number): Promise<boolean> {
  try {
    process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
  const state = process.platform === 'linux' ? await stateFromProc(pid) : await stateFromPs(pid)
  return state !== '' && !state.startsWith('Z')
}

/** One letter, after the program's name, which may itself hold brackets. Empty when it is gone. */
async function stateFromProc(pid: number): Promise<string> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')
  return stat.slice(stat.lastIndexOf(')') + 1).trimStart()
}

async function stateFromPs(pid: number): Promise<string> {
  const probe = spawn('ps', ['-o', 'stat=', '-p', String(pid)], { stdio: ['ignore', 'pipe', 'ignore'] })
  let state = ''
  probe.stdout.setEncoding('utf8').on('data', (chunk: string) => (state += chunk))
  await once(probe, 'close')
  return state.trim()
}

function signalGroup(pid: number, signal: NodeJS.Signals): void {
  // -1 would be every process there is, and 0 our own group.
  if (pid <= 1) return
  try {
    process.kill(-pid, signal)
  } catch {
    // It has ended, which is what we want.
  }
}
