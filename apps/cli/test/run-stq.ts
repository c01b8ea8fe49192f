import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const stqFile = fileURLToPath(new URL('../bin/stq', import.meta.url))

export interface Run {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

export interface RunOptions {
  /** Set STACKQUAY_URL and a token. */
  readonly url?: string
  readonly env?: Readonly<Record<string, string>>
  readonly cwd?: string
  readonly input?: string | Uint8Array
  /** How its output is read; 'latin1' has one character a byte. */
  readonly encoding?: 'utf8' | 'latin1'
  /** Called once the process runs, for signals. */
  readonly meanwhile?: (child: ChildProcessWithoutNullStreams, seen: () => string) => void
  /** Instead of `node stq`. */
  readonly command?: readonly [string, ...string[]]
}

const cache = mkdtempSync(join(tmpdir(), 'stq-test-cache-'))
process.on('exit', () => rmSync(cache, { recursive: true, force: true }))

/** Runs the real program, as a script would: no terminal, a home of its own. */
export async function stq(args: readonly string[], options: RunOptions = {}): Promise<Run> {
  const [program, ...first] = options.command ?? [process.execPath, stqFile]
  const login = options.url === undefined ? {} : { STACKQUAY_URL: options.url, STACKQUAY_TOKEN: 'stq_test' }
  const child = spawn(program, [...first, ...args], {
    cwd: options.cwd ?? tmpdir(),
    env: { PATH: process.env.PATH, HOME: '/nonexistent', XDG_CACHE_HOME: cache, ...login, ...options.env },
  })
  let stdout = ''
  let stderr = ''
  child.stdout.setEncoding(options.encoding ?? 'utf8').on('data', (text: string) => {
    stdout += text
  })
  child.stderr.setEncoding(options.encoding ?? 'utf8').on('data', (text: string) => {
    stderr += text
  })
  child.stdin.on('error', () => {})
  child.stdin.end(options.input ?? '')
  options.meanwhile?.(child, () => stdout + stderr)
  const guard = setTimeout(() => child.kill('SIGKILL'), 30_000)
  const code = await new Promise<number | null>((resolve) => child.on('close', resolve))
  clearTimeout(guard)
  return { code, stdout, stderr }
}

/** A folder that is gone afterwards. */
export async function scratch(): Promise<AsyncDisposable & { readonly path: string }> {
  const path = await mkdtemp(join(tmpdir(), 'stq-test-'))
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) }
}
