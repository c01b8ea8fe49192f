import assert from 'node:assert/strict'
import { globSync } from 'node:fs'
import { dirname } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { type DatabaseInput, databaseTypeOf } from '@stackquay/catalog'
import { postgresqlJourneys } from './support/postgresql-journeys.ts'
import { embeddedPostgresql, postgresqlIn } from './support/postgresql-programs.ts'
import { freePort, type Machine } from './support/run-workload.ts'
import { nativeStage, type Stage } from './support/stage.ts'

const kind = databaseTypeOf('postgresql')!

const embedded = embeddedPostgresql()
after(embedded.remove)

// And those of the host where Debian puts them.
const installations = [
  { name: 'the embedded binaries', directory: embedded.directory },
  ...globSync('/usr/lib/postgresql/*/bin/postgres').map((program) => ({
    name: dirname(program),
    directory: dirname(program),
  })),
]

for (const { name, directory } of installations) {
  postgresqlJourneys(`with ${name}`, () => nativeStage(kind, postgresqlIn(directory)))

  describe(`A cluster with ${name}`, () => {
    let stage: Stage
    let machine: Machine
    let input: DatabaseInput

    before(async () => {
      stage = nativeStage(kind, postgresqlIn(directory))
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
