import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { mkdir, mkdtemp, open, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setInterval } from 'node:timers'
import { promisify } from 'node:util'
import { publishRepository, serveGit } from '../e2e/support/git-server.ts'
import type { Service } from '../e2e/support/service.ts'
import { residentMemory } from './instance.ts'

const execute = promisify(execFile)
const env = { PATH: process.env.PATH, GIT_CONFIG_NOSYSTEM: '1', GIT_CONFIG_GLOBAL: '/dev/null', HOME: '/nonexistent' }
const ada = ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.com', '-c', 'safe.directory=*']
const megabyte = 1_000_000

/** A repository on a server, and a clone of somebody else’s. */
export interface GitWorld extends AsyncDisposable {
  readonly url: string
  /** Of the repository on the server. */
  readonly bare: string
  /** git(1) in a folder, as the user of the benchmark. */
  git(cwd: string, ...args: string[]): Promise<string>
  /** Another commit on the server, with a new file of so many megabytes. */
  publish(file: string, megabytes: number): Promise<string>
}

/** Nothing in it can be compressed: the pack is as large. A fifth are small files, the rest is four large ones. */
export async function openGitWorld(megabytes: number): Promise<GitWorld> {
  const work = await mkdtemp(join(tmpdir(), 'stackquay-bench-git-'))
  const [source, bare, clone] = ['source', 'large.git', 'clone'].map((name) => join(work, name)) as [
    string,
    string,
    string,
  ]
  const git = async (cwd: string, ...args: string[]) =>
    (await execute('git', [...ada, ...args], { cwd, env, maxBuffer: 1 << 26 })).stdout.trim()
  await mkdir(join(source, 'small'), { recursive: true })
  await writeFile(join(source, 'index.html'), 'version 0\n')
  const each = 100_000
  for (let at = 0; at < (megabytes * megabyte) / 5 / each; at += 1)
    await writeFile(join(source, 'small', `${at}.bin`), randomBytes(each))
  for (let at = 0; at < 4; at += 1) await writeNoise(join(source, `large-${at}.bin`), megabytes / 5)
  await publishRepository(source, bare)
  await rm(source, { recursive: true })
  await git(bare, 'config', 'http.receivepack', 'true')
  // A forge has its packs ready, and compares no large files for each that asks.
  await git(bare, 'config', 'core.bigFileThreshold', '16m')
  await git(work, 'clone', '--quiet', bare, clone)
  const server = await serveGit(work, { username: 'grace', password: 'unused' })
  let version = 0
  return {
    url: server.url('large.git'),
    bare,
    git,
    publish: async (file, more) => {
      await git(clone, 'pull', '--quiet')
      await writeFile(join(clone, 'index.html'), `version ${++version}\n`)
      await writeNoise(join(clone, file), more)
      await git(clone, 'add', '--all')
      await git(clone, 'commit', '--quiet', '--message', file)
      await git(clone, 'push', '--quiet')
      return git(clone, 'rev-parse', 'HEAD')
    },
    [Symbol.asyncDispose]: async () => {
      await server.close()
      await rm(work, { recursive: true, force: true })
    },
  }
}

export async function writeNoise(file: string, megabytes: number): Promise<void> {
  await using handle = await open(file, 'w')
  for (let rest = Math.ceil(megabytes * megabyte); rest > 0; rest -= megabyte)
    await handle.write(randomBytes(Math.min(rest, megabyte)))
}

/** Bytes of all files below a folder; 0 where there is none. */
export async function bytesBelow(folder: string): Promise<number> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => [])
  const files = entries.filter((entry) => entry.isFile())
  const sizes = await Promise.all(
    files.map((file) =>
      stat(join(file.parentPath, file.name)).then(
        ({ size }) => size,
        () => 0,
      ),
    ),
  )
  return sizes.reduce((sum, size) => sum + size, 0)
}

export interface Watched<T> {
  readonly value: T
  readonly milliseconds: number
  /** Of a request to the service every 50 ms. */
  readonly pings: readonly number[]
  /** Megabytes that the service had more than before, at most. */
  readonly grew: number
  /** Megabytes of all that the service has started, at most. */
  readonly programs: number
}

/** Does something, and looks meanwhile whether the service answers others and keeps its memory. */
export async function watched<T>(service: Service, act: () => Promise<T>): Promise<Watched<T>> {
  const before = residentMemory(service.pid()).all
  let highest = before
  const pings: number[] = []
  let programs = 0
  const look = setInterval(() => {
    const sizes = descendantsOf(service.pid()).map(residentOf)
    programs = Math.max(
      programs,
      sizes.reduce((sum, size) => sum + size, 0),
    )
  }, 250)
  const under = new Set<Promise<void>>()
  const watch = setInterval(() => {
    const begun = performance.now()
    const ping = fetch(`${service.url}/api/v1/health`)
      .then((answer) => answer.text())
      .then(() => void pings.push(performance.now() - begun))
      .finally(() => under.delete(ping))
    ping.catch(() => undefined)
    under.add(ping)
    highest = Math.max(highest, residentMemory(service.pid()).all)
  }, 50)
  try {
    const begun = performance.now()
    const value = await act()
    return { value, milliseconds: performance.now() - begun, pings, grew: highest - before, programs }
  } finally {
    clearInterval(watch)
    clearInterval(look)
    await Promise.allSettled(under)
  }
}

function descendantsOf(root: number): readonly number[] {
  const parents = new Map(
    readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .map((pid) => [Number(pid), parentOf(pid)]),
  )
  const isBelow = (pid: number): boolean => {
    const parent = parents.get(pid)
    return parent !== undefined && parent > 1 && (parent === root || isBelow(parent))
  }
  return [...parents.keys()].filter(isBelow)
}

function parentOf(pid: string): number {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1])
  } catch {
    // It is gone.
    return 0
  }
}

/** Without files that it maps, such as packs: the machine takes these back when it needs room. */
function residentOf(pid: number): number {
  try {
    return Number(/RssAnon:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024
  } catch {
    return 0
  }
}
