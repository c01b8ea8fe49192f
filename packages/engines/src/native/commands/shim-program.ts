import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, write as writeFd } from 'node:fs'
import { Socket } from 'node:net'
import { constants } from 'node:os'
import { ReadStream } from 'node:tty'
import type { StopPolicy } from '@stackquay/engine-api'
import type { TerminalSize } from '@stackquay/engine-api/commands'
import type { Exit } from '@stackquay/engine-api/observed'
import type { OutputStream } from './output-log-format.ts'
import { DESCRIPTORS, type ShimSpec } from './shim-spec.ts'

/** The program of a command, as its shim has it: with pipes, or with a terminal. */
export interface ShimProgram {
  /** Null where it is no process of this machine. */
  readonly pid: number | null
  readonly exited: Promise<Omit<Exit, 'at'>>
  /** After all that it wrote was read; waits a moment only for those who keep its output open. */
  drained(): Promise<void>
  /** Resolves when it took them. */
  write(bytes: Buffer): Promise<void>
  resize(size: TerminalSize): void
  /** Sends what the closing of a terminal sends to programs. */
  hangUp(): void
  /** Resolves when nothing of it lives. Where it is left out, the program is a process of this machine, and ended as such. */
  end?(policy: StopPolicy): Promise<void>
  /** Called last: what is left of it elsewhere. */
  remove?(): Promise<void>
}

/** Starts a program that is no process of this machine; throws what an answer `failed` is made of. */
export type StartProgram = (spec: ShimSpec, keep: Keep) => Promise<ShimProgram>

export type Keep = (stream: OutputStream, bytes: Buffer) => void

/** Nothing of the command lives any more when this is waited for: what is still in the pipe comes at once. */
const DRAIN_MS = 5000

/**
 * The pipes come from the engine: those that Node makes are sockets, on which `/dev/stdout` cannot be opened.
 */
export async function startPiped(spec: ShimSpec, keep: Keep): Promise<ShimProgram> {
  const [file = '', ...args] = spec.argv
  const child = spawn(file, args, {
    cwd: spec.cwd,
    env: spec.env,
    stdio: ['ignore', DESCRIPTORS.input.stdout, DESCRIPTORS.input.stderr],
    detached: true,
  })
  if (child.pid === undefined) throw (await once(child, 'error'))[0]
  const exited = once(child, 'exit') as Promise<[number | null, NodeJS.Signals | null]>
  closeSync(DESCRIPTORS.input.stdout)
  closeSync(DESCRIPTORS.input.stderr)
  const closed = (['stdout', 'stderr'] as const).map((stream) => {
    const pipe = new Socket({ fd: DESCRIPTORS.output[stream], readable: true, writable: false })
    pipe.on('error', () => {})
    pipe.on('data', (bytes: Buffer) => keep(stream, bytes))
    return new Promise<void>((resolve) => pipe.once('close', () => resolve()))
  })
  return {
    pid: child.pid,
    exited: exited.then(([code, signal]) => ({ code, signal })),
    drained: () => atMost(Promise.all(closed), DRAIN_MS),
    write: async () => {},
    resize() {},
    hangUp() {},
  }
}

/** The part of node-pty that is written in C. Its JavaScript gives up reading 200 ms after the exit: output would be lost on a busy machine. */
export interface PtyBinding {
  fork(
    file: string,
    args: readonly string[],
    env: readonly string[],
    cwd: string,
    cols: number,
    rows: number,
    uid: number,
    gid: number,
    utf8: boolean,
    helper: string,
    onExit: (code: number, signal: number) => void,
  ): { readonly fd: number; readonly pid: number }
  resize(fd: number, cols: number, rows: number): void
}

export function openTerminal(
  spec: ShimSpec,
  { cols, rows }: TerminalSize,
  pty: PtyBinding,
  helper: string,
  keep: Keep,
): ShimProgram {
  for (const unused of [...Object.values(DESCRIPTORS.input), ...Object.values(DESCRIPTORS.output)]) closeSync(unused)
  const [file = '', ...args] = spec.argv
  const env = Object.entries(spec.env).map(([name, value]) => `${name}=${value}`)
  const exited = Promise.withResolvers<{ code: number | null; signal: string | null }>()
  const { fd, pid } = pty.fork(file, args, env, spec.cwd, cols, rows, -1, -1, true, helper, (code, signal) =>
    exited.resolve(signal === 0 ? { code, signal: null } : { code: null, signal: nameOfSignal(signal) }),
  )
  const terminal = new ReadStream(fd)
  let open = true
  const closed = new Promise<void>((resolve) => {
    terminal.once('close', () => {
      open = false
      resolve()
    })
  })
  // The kernel says EIO when no program has the terminal open any more.
  terminal.on('error', () => terminal.destroy())
  terminal.on('data', (bytes) => keep('terminal', bytes as unknown as Buffer))
  return {
    pid,
    exited: exited.promise,
    drained: () => atMost(closed, DRAIN_MS),
    write: (bytes) => writeAll(fd, bytes, () => open),
    resize(size) {
      if (open) pty.resize(fd, size.cols, size.rows)
    },
    hangUp() {
      for (const signal of ['SIGHUP', 'SIGCONT'] as const) {
        try {
          process.kill(-pid, signal)
        } catch {}
      }
    },
  }
}

/** The terminal never blocks; while its program does not read, it is asked again every few milliseconds. */
async function writeAll(fd: number, bytes: Buffer, isOpen: () => boolean): Promise<void> {
  for (let at = 0; at < bytes.length && isOpen(); ) {
    const written = await new Promise<number>((resolve) => {
      writeFd(fd, bytes, at, bytes.length - at, null, (error, length) => {
        if (error === null) resolve(length)
        else resolve(error.code === 'EAGAIN' ? 0 : bytes.length)
      })
    })
    at += written
    if (written === 0) await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

export async function atMost(done: Promise<unknown>, milliseconds: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, milliseconds)
  })
  await Promise.race([done, late])
  clearTimeout(timer)
}

export function nameOfSignal(number: number): string {
  return Object.entries(constants.signals).find(([, value]) => value === number)?.[0] ?? `SIG${number}`
}
