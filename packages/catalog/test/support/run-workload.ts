import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import type { WorkloadSpec } from '@stackquay/catalog'
import type { Job, Value } from '@stackquay/engine-api'
import { revealValue } from '@stackquay/engine-api'

/** Carries out a spec as the native engine would, without its supervision: jobs in order, then the program. */
export interface Machine {
  /** Directory of each kept data, by name. */
  readonly data: Readonly<Record<string, string>>
  readonly secrets: Readonly<Record<string, string>>
  /** Who runs it; root must not. */
  readonly uid?: number
}

export interface Running {
  readonly child: ChildProcess
  output(): string
  /** Ends the process group as its spec says; answers how it ended. */
  stop(signal?: NodeJS.Signals): Promise<{ code: number | null; signal: string | null }>
}

export async function runJob(job: Job, machine: Machine): Promise<{ code: number | null; output: string }> {
  const running = await spawned(job.argv, job.cwd, job.env, machine, job.stdin)
  const [code] = (await once(running.child, 'close')) as [number | null]
  return { code, output: running.output() }
}

export async function start(spec: WorkloadSpec, machine: Machine): Promise<Running> {
  const running = await spawned(spec.run.argv, spec.run.cwd, spec.env, machine)
  const ended = once(running.child, 'close') as Promise<[number | null, string | null]>
  ended.catch(() => {})
  return {
    ...running,
    stop: async (signal = spec.stop.signal) => {
      kill(running.child, signal)
      const deadline = setTimeout(() => kill(running.child, 'SIGKILL'), spec.stop.deadlineSeconds * 1000)
      const [code, by] = await ended
      clearTimeout(deadline)
      kill(running.child, 'SIGKILL')
      return { code, signal: by }
    },
  }
}

/** Waits until something listens; throws with the program's output when it ended or took too long. */
export async function listening(running: Running, port: number, seconds = 120): Promise<void> {
  const deadline = Date.now() + seconds * 1000
  while (!(await accepts(port))) {
    const ended = running.child.exitCode !== null || running.child.signalCode !== null
    if (ended || Date.now() > deadline) throw new Error(`Nothing listens on ${port}:\n${running.output()}`)
    await new Promise((resolve) => setTimeout(resolve, 25))
  }
}

/** Below the ports that systems give to outgoing connections: one of those may be taken before it is used again. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = 10_000 + Math.floor(Math.random() * 11_000)
    const server = createServer().listen(port, '127.0.0.1')
    const isFree = await once(server, 'listening').then(
      () => true,
      () => false,
    )
    if (!isFree) continue
    server.close()
    await once(server, 'close')
    return port
  }
}

async function spawned(
  argv: readonly string[],
  cwd: string,
  env: Readonly<Record<string, Value>>,
  machine: Machine,
  stdin?: Value,
): Promise<Omit<Running, 'stop'>> {
  const text = async (value: Value) =>
    (await revealValue(value, async (ref) => machine.secrets[ref.secret] ?? '')).replace(
      /\{data:([^}]+)\}/g,
      (_all, name: string) => machine.data[name] ?? '',
    )
  const [program = '', ...args] = await Promise.all(argv.map(text))
  const entries = await Promise.all(
    Object.entries(env).map(async ([name, value]) => [name, await text(value)] as const),
  )
  const directory = await text(cwd)
  const child = spawn(program, args, {
    cwd: existsSync(directory) ? directory : '/',
    env: { PATH: '/usr/local/bin:/usr/bin:/bin', ...Object.fromEntries(entries) },
    stdio: [stdin === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
    detached: true,
    ...(machine.uid === undefined ? {} : { uid: machine.uid, gid: machine.uid }),
  })
  const chunks: Buffer[] = []
  child.stdout?.on('data', (chunk: Buffer) => chunks.push(chunk))
  child.stderr?.on('data', (chunk: Buffer) => chunks.push(chunk))
  if (stdin !== undefined) child.stdin?.end(await text(stdin))
  return { child, output: () => Buffer.concat(chunks).toString() }
}

function kill(child: ChildProcess, signal: NodeJS.Signals): void {
  try {
    process.kill(-child.pid!, signal)
  } catch {
    // Its group is gone already.
  }
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
    socket.once('connect', () => socket.destroy())
  })
}
