import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { chmod, mkdir, mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Engine, ProcessRun } from '@stackquay/engine-api'
import type { Harness } from '@stackquay/engine-api/conformance'
import { createNativeEngine, type NativeEngineOptions } from '../src/native/index.ts'
import { processTable } from '../src/native/this-system.ts'
import { harnessPrograms } from './harness-programs.ts'

/** Tests run as root drop to this user, which owns nothing else on any machine. */
const TEST_ACCOUNT = { uid: 48_211, gid: 48_211 }

export interface NativeHarness extends Harness {
  readonly options: NativeEngineOptions
  /** A program in JavaScript. */
  script(source: string): ProcessRun
}

/** A machine of its own for the native engine: a temporary home, real processes, real ports. */
export async function nativeHarness(): Promise<NativeHarness> {
  const root = await mkdtemp(join(tmpdir(), 'stackquay-engine-'))
  const directory = join(root, 'project')
  await chmod(root, 0o711)
  await mkdir(directory)
  await chmod(directory, 0o777)
  const home = join(root, 'home')
  const account = process.getuid?.() === 0 ? TEST_ACCOUNT : null
  const options: NativeEngineOptions = { home, runAs: account, bundled: [] }
  const run = (argv: readonly [string, ...string[]]): ProcessRun => ({ kind: 'process', argv, cwd: directory })
  const script = (source: string) => run([process.execPath, '-e', source])
  const engines: Engine[] = []

  return {
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
  const uid = options.runAs?.uid ?? process.getuid?.() ?? -1
  return table.marked(uid).flatMap(({ pid, marker }) => {
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
