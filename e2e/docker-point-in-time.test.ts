import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { PointInTime, ProjectView } from '@stackquay/contract'
import { waitFor } from '@stackquay/testkit'
import { Client } from 'pg'
import { type DockerService, lines, startDockerService } from './support/docker-service.ts'

const id = 'shop'
const params = { id, db: 'main' }

/** The same as on the native engine: the archive is a volume, and what is played back is so in a container of its own. */
describe('a PostgreSQL in a container as it was at a moment', { concurrency: 1 }, () => {
  let service: DockerService

  before(async () => {
    service = await startDockerService(['postgresql'])
    const main = { type: 'postgresql', version: lines.postgresql, pointInTime: { keep: '7d' } }
    const made = await service.client.call('createProject', {
      body: { name: 'Shop', databases: { main } },
      query: { wait: 170 },
    })
    assert.equal(made.operation?.state, 'succeeded', JSON.stringify(made.operation, null, 2))
  })
  after(() => service?.close())

  const query = async (sql: string, db = 'main') => {
    const credentials = await service.client.call('getDatabaseCredentials', { params: { id, db } })
    const client = new Client((credentials as { url: string }).url)
    await client.connect()
    try {
      return (await client.query(sql)).rows
    } finally {
      await client.end()
    }
  }
  const look = () => service.client.call('getPointInTime', { params }) as Promise<PointInTime>
  const restoreTo = async (to: Date, name: string) => {
    const body = { to: to.toISOString(), name }
    const made = await service.client.call('restoreDatabaseTo', { params, body, query: { wait: 200 } })
    assert.ok('databases' in made, JSON.stringify(made))
    return (made as ProjectView).databases[name]
  }

  it('moments between transactions, while it runs and while it is stopped', { timeout: 300_000 }, async () => {
    await waitFor('a base', async () => (await look()).state === 'ready', { timeoutMs: 90_000 })
    await query('CREATE TABLE written (n int PRIMARY KEY)')
    const moments: Date[] = []
    for (let n = 1; n <= 12; n += 1) {
      await query(`INSERT INTO written VALUES (${n})`)
      await sleep(15)
      moments.push(new Date())
      await sleep(15)
      if (n % 5 === 0) await query('SELECT pg_switch_wal()')
    }
    const count = async (db: string) => (await query('SELECT count(*)::int AS n FROM written', db))[0].n
    const made = await restoreTo(moments[6]!, 'then')
    assert.equal(await count('then'), 7)
    const last = Date.parse(made?.recovered?.lastTransactionAt ?? '')
    assert.ok(last > moments[5]!.getTime() && last < moments[6]!.getTime(), JSON.stringify(made))

    // Nothing was written after the last moment: it is the end of the log.
    await service.client.call('stopProject', { params: { id }, query: { wait: 100 } })
    const { ranges } = await look()
    assert.equal(ranges.length, 1, JSON.stringify(ranges))
    await restoreTo(new Date(), 'end')
    await restoreTo(moments[2]!, 'early')
    await service.client.call('startProject', { params: { id }, query: { wait: 150 } })
    assert.deepEqual([await count('end'), await count('early'), await count('main')], [12, 3, 12])
  })
})
