import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { chmod, mkdir, mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Engine, ProcessRun } from '@stackquay/engine-api'
import type { Harness } from '@stackquay/engine-api/conformance'
import {
  type Accounts,
  createNativeEngine,
  findSandbox,
  type Isolation,
  type NativeEngineOptions,
  noIsolation,
  openControlGroups,
  serviceUser,
} from '../src/native/index.ts'
import { processTable } from '../src/native/this-system.ts'
import { harnessPrograms } from './harness-programs.ts'

/** Tests run as root give each project a user from here on; these own nothing else on any machine. */
export const FIRST_UID = 48_211
const isRoot = process.getuid?.() === 0

export type TestLevel = 'user' | 'sandbox'

/** A user for each project, the same in every process; as an ordinary user, that one. */
export function testAccounts(home: string): Accounts {
  if (!isRoot) return serviceUser
  const accountOf = (project: string) => {
    const uid = FIRST_UID + (createHash('sha256').update(project).digest().readUInt32BE() % 1000)
    return { uid, gid: uid }
  }
  return {
    of: async (project) => accountOf(project),
    known: accountOf,
    // Every project that ever ran something has one.
    all: () => namesIn(join(home, 'run-home')).map((project) => ({ project, account: accountOf(project) })),
    shared: undefined,
  }
}

function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory)
  } catch {
    return []
  }
}

/** What an engine over this home is opened with, also by another process of a test. */
export async function optionsAt(home: string, directory: string, level: TestLevel): Promise<NativeEngineOptions> {
  const instance = createHash('sha256').update(home).digest('hex').slice(0, 12)
  const { sandbox, why } = level === 'sandbox' ? await findSandbox() : { sandbox: null, why: null }
  if (level === 'sandbox' && sandbox === null) throw new Error(why ?? 'There is no sandbox.')
  return {
    home,
    accounts: testAccounts(home),
    isolation: {
      groups: openControlGroups(instance),
      sandbox,
      hidden: [],
      hiddenFrom: async () => [],
      folders: async () => [{ path: directory, readOnly: false }],
    },
    bundled: [],
  }
}

export interface NativeHarness extends Harness {
  /** Whether programs run as other users than this process. */
  readonly hasUsers: boolean
  /** Source text of an expression that answers `options` in another process. */
  readonly optionsElsewhere: string
  readonly options: NativeEngineOptions
  /** A program in JavaScript. */
  script(source: string): ProcessRun
}

/** A machine of its own for the native engine: a temporary home, real processes, real ports. */
export async function nativeHarness(
  level: TestLevel = 'user',
  isolation: Partial<Isolation> = {},
  parent = tmpdir(),
): Promise<NativeHarness> {
  const root = await mkdtemp(join(parent, 'stackquay-engine-'))
  const directory = join(root, 'project')
  await chmod(root, 0o711)
  await mkdir(directory)
  await chmod(directory, 0o777)
  const home = join(root, 'home')
  const usual = await optionsAt(home, directory, level)
  const options = { ...usual, isolation: { ...(usual.isolation ?? noIsolation), ...isolation } }
  const run = (argv: readonly [string, ...string[]]): ProcessRun => ({ kind: 'process', argv, cwd: directory })
  const script = (source: string) => run([process.execPath, '-e', source])
  const engines: Engine[] = []

  return {
    hasUsers: isRoot,
    optionsElsewhere: `await (await import(${JSON.stringify(import.meta.url)})).optionsAt(${[home, directory, level].map((text) => JSON.stringify(text)).join(', ')})`,
    options,
    directory,
    script,
    ...harnessPrograms({
      run,
      script,
      shell: (source) => run(['/bin/sh', '-c', source]),
      serve: (source) => script(`${source}.listen(process.env.PORT, '127.0.0.1')`),
    }),
    async open() {
      const engine = await createNativeEngine(options)
      engines.push(engine)
      return engine
    },
    freePort,
    keptTexts: async () => [...(await textsBelow(join(home, 'run'))), ...(await textsBelow(join(home, 'commands')))],
    leftovers: async () => leftovers(options),
    async close() {
      await Promise.all(engines.map((engine) => engine.close()))
      for (const project of new Set(options.accounts.all().map(({ project }) => project)))
        options.isolation?.groups?.tidy(project)
      for (const pid of leftovers(options)) process.kill(Number(pid), 'SIGKILL')
      await rm(root, { recursive: true, force: true })
    },
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

/** Living processes that carry a run marker of the test user. */
function leftovers(options: NativeEngineOptions): string[] {
  const table = processTable()
  const instance = createHash('sha256').update(options.home).digest('hex').slice(0, 12)
  const uids = new Set(isRoot ? options.accounts.all().map(({ account }) => account.uid) : [process.getuid?.() ?? -1])
  return table.marked(uids).flatMap(({ pid, marker }) => {
    const entry = table.find(pid)
    return entry !== null && !entry.zombie && marker.startsWith(instance) ? [String(pid)] : []
  })
}

async function textsBelow(directory: string): Promise<string[]> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true })
  return Promise.all(
    entries.filter((entry) => entry.isFile()).map((entry) => readFile(join(entry.parentPath, entry.name), 'latin1')),
  )
}
