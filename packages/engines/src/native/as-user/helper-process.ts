import { type ChildProcess, spawn } from 'node:child_process'
import type { Socket } from 'node:net'
import { fileURLToPath } from 'node:url'
import type { Account } from '../account.ts'
import { FilesError } from './files-error.ts'
import { createFrameReader, encodeFrame } from './frames.ts'
import { type Answer, type Call, createHelperCalls } from './helper-calls.ts'
import { givingUpRights, systemPath } from './restricted.ts'

/** One process that acts as a user. Whatever it answers is checked: a program of that user may have killed it. */
export interface HelperProcess {
  readonly pid: number
  /** Throws `broken` when the process ended, `timeout` when it did not answer in time. */
  call(call: Call): Promise<Answer>
  /** Calls that wait for their answer. */
  waiting(): number
  alive(): boolean
  end(): void
  /** Resolves when the process is gone. */
  readonly gone: Promise<void>
}

const program = fileURLToPath(new URL('./helper.ts', import.meta.url))
const mostComplaint = 2_000

export async function startHelper(account: Account, compiled: string | null): Promise<HelperProcess> {
  const ids = [String(account.uid), String(account.gid)]
  return supervise(startProgram(program, ids, await givingUpRights(), compiled))
}

/** Starts a program of ours that gives up its rights itself. The caller listens to its errors. */
export function startProgram(
  path: string,
  args: readonly string[],
  front: readonly string[],
  compiled: string | null = null,
): ChildProcess {
  const limits = ['--max-old-space-size=64', '--max-semi-space-size=2', '--no-warnings']
  const [file = '', ...rest] = [...front, process.execPath, ...limits, path, ...args]
  return spawn(file, rest, {
    cwd: '/',
    env: {
      PATH: systemPath,
      LANG: 'C.UTF-8',
      // Work that io_uring does in the kernel keeps the rights of who set it up.
      UV_USE_IO_URING: '0',
      ...(compiled === null ? {} : { NODE_COMPILE_CACHE: compiled }),
    },
    stdio: ['pipe', 'pipe', 'pipe'],
    // A Ctrl+C at the terminal of the service is none of its business.
    detached: true,
  })
}

function supervise(child: ChildProcess): HelperProcess {
  let alive = true
  let complaint = ''
  const calls = createHelperCalls(
    (request, body = Buffer.alloc(0)) => void child.stdin?.write(encodeFrame(request, body)),
    (why) => broken(why),
  )
  const broken = (why: string) => {
    if (!alive) return
    alive = false
    child.kill('SIGKILL')
    calls.fail(new FilesError('broken', undefined, { cause: new Error(why) }))
  }
  const read = createFrameReader(calls.limits, ({ json, bytes }) => {
    const fault = calls.take(json, bytes)
    if (fault !== null) broken(fault)
  })
  child.stdout?.on('data', (chunk: Buffer) => {
    try {
      if (alive) read(chunk)
    } catch (error) {
      broken(String(error))
    }
  })
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    if (complaint.length < mostComplaint) complaint += text
  })
  child.stdin?.on('error', () => {})
  child.on('error', (error) => broken(String(error)))
  // Waiting calls have a timer; an idle process keeps nothing alive.
  child.unref()
  for (const pipe of [child.stdin, child.stdout, child.stderr]) (pipe as Socket | null)?.unref()
  const gone = new Promise<void>((resolve) => {
    child.once('error', () => resolve())
    child.once('close', (code, signal) => {
      broken(`it ended (${signal ?? code}): ${complaint.trim()}`)
      resolve()
    })
  })

  return {
    pid: child.pid ?? 0,
    gone,
    alive: () => alive,
    waiting: () => calls.size,
    end: () => broken('it was ended'),
    call: async (call) => {
      if (!alive) throw new FilesError('broken')
      return calls.begin(call)
    },
  }
}
