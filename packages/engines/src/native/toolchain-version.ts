import { once } from 'node:events'
import { mkdir } from 'node:fs/promises'
import { delimiter, dirname, join } from 'node:path'
import type { ToolchainQuery } from '@stackquay/engine-api'
import { chownTo } from './account.ts'
import { anyProject } from './accounts.ts'
import { becomeArgv } from './isolation/launch.ts'
import type { Machine } from './machine.ts'
import { DEFAULT_PATH } from './path.ts'
import { may, unreachableAt } from './reach.ts'
import { nameOf, spawnDetached } from './spawn.ts'

const ANSWER_MS = 5000
const LONGEST_ANSWER = 64 * 1024

/** With a reason the version is only what its path says, or empty. */
export type VersionAnswer = { readonly version: string } | { readonly reason: string; readonly version: string }

/** Starts the program once, as the workload user, and reads its version. Never runs it as another user. */
export async function askVersion(
  machine: Machine,
  query: ToolchainQuery,
  program: string,
  { helpers, mayEnter }: { readonly helpers: readonly string[]; mayEnter(directory: string): Promise<boolean> },
  signal: AbortSignal,
): Promise<VersionAnswer> {
  const account = anyProject(machine.accounts)
  const wall = await unreachableAt(program, account, mayEnter)
  if (wall !== null) {
    const version = /\/v?(\d+(?:\.\d+)+)\//.exec(program)?.[1] ?? ''
    const where = `${program} is under ${wall}, which ${nameOf(account)} cannot enter.`
    return { version, reason: `${where} Install it for all users, for example below /usr/local or /opt.` }
  }
  if (!(await may(program, account, 1))) {
    return unusable(`${nameOf(account)} may not execute ${program}. Allow it: chmod a+rx ${program}`)
  }
  const home = join(machine.home.toolchains, '.home')
  await mkdir(home, { recursive: true, mode: 0o700 })
  if (account !== null) await chownTo(home, account)
  const path = [dirname(program), DEFAULT_PATH, ...helpers].join(delimiter)
  const env = { PATH: path, HOME: home, TMPDIR: home, LANG: 'C.UTF-8' }
  return run(machine, query, program, env, home, signal)
}

async function run(
  machine: Machine,
  query: ToolchainQuery,
  program: string,
  env: Record<string, string>,
  cwd: string,
  signal: AbortSignal,
): Promise<VersionAnswer> {
  try {
    const account = anyProject(machine.accounts)
    const argv = [...(account === null ? [] : becomeArgv(account)), program, ...query.versionArgs]
    const { child, leader } = await spawnDetached(machine, { argv, cwd, env }, ['ignore', 'pipe', 'pipe'])
    const texts = { stdout: '', stderr: '' }
    for (const stream of ['stdout', 'stderr'] as const) {
      child[stream]?.setEncoding('utf8').on('data', (text: string) => {
        if (texts[stream].length < LONGEST_ANSWER) texts[stream] += text
      })
    }
    const deadline = AbortSignal.any([signal, AbortSignal.timeout(ANSWER_MS)])
    const end = () => {
      try {
        process.kill(-leader.pid, 'SIGKILL')
      } catch {}
      child.stdout?.destroy()
      child.stderr?.destroy()
    }
    deadline.addEventListener('abort', end, { once: true })
    if (deadline.aborted) end()
    const [code] = (await once(child, 'close')) as [number | null]
    deadline.removeEventListener('abort', end)

    const pattern = new RegExp(query.versionPattern, 'm')
    const version = (pattern.exec(texts.stdout) ?? pattern.exec(texts.stderr))?.[1]
    if (version !== undefined) return { version }
    if (deadline.aborted)
      return unusable(
        `${program} did not print its version within ${ANSWER_MS / 1000} seconds. Try it by hand: ${program} ${query.versionArgs.join(' ')}`,
      )
    const said = (texts.stderr || texts.stdout).trim().split('\n')[0] ?? ''
    if (code === 0 && said !== '') return unusable(`${program} is another program: it says "${said.slice(0, 200)}".`)
    return unusable(
      `${program} did not print its version (exit code ${code}${said === '' ? '' : `: ${said.slice(0, 200)}`}). Try it by hand as ${nameOf(anyProject(machine.accounts))}.`,
    )
  } catch (error) {
    return unusable(error instanceof Error ? error.message : String(error))
  }
}

function unusable(reason: string): VersionAnswer {
  return { version: '', reason: reason.charAt(0).toUpperCase() + reason.slice(1) }
}
