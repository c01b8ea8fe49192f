import assert from 'node:assert/strict'
import { readdir, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { OperationRecord, Plan, PointInTime, Problem, ProjectView } from '@stackquay/contract'
import { waitFor } from '@stackquay/testkit'
import { randomFrom } from '@stackquay/testkit/random'
import { rounds } from '@stackquay/testkit/rounds'
import { Client } from 'pg'
import { type Service, startService } from './support/service.ts'

const id = 'shop'

/** Real servers, whose changes are archived: every moment comes back with exactly what was committed before it. */
describe('a PostgreSQL as it was at a moment', { concurrency: 1 }, () => {
  let service: Service

  before(async () => {
    service = await startService()
    const databases = { main: { type: 'postgresql', pointInTime: { keep: '7d' } }, plain: { type: 'mariadb' } }
    const made = await service.client.call('createProject', { body: { name: 'Shop', databases }, query: { wait: 170 } })
    assert.equal(made.operation?.state, 'succeeded', JSON.stringify(made.operation?.error))
    await query('CREATE TABLE written (n int PRIMARY KEY)')
  })
  after(() => service?.close())

  const urlOf = async (db: string) => {
    const credentials = await service.client.call('getDatabaseCredentials', { params: { id, db } })
    return (credentials as { url: string }).url
  }
  const query = async (sql: string, db = 'main') => {
    const client = new Client(await urlOf(db))
    await client.connect()
    try {
      return (await client.query(sql)).rows
    } finally {
      await client.end()
    }
  }
  const called = async <Body>(method: string, path: string, body?: object) => {
    const response = await fetch(`${service.url}/api/v1/projects/${id}${path}`, {
      method,
      headers: { authorization: `Bearer ${service.token}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    return { status: response.status, body: (text === '' ? null : JSON.parse(text)) as Body }
  }
  const look = async (db = 'main') => (await called<PointInTime>('GET', `/databases/${db}/point-in-time`)).body
  const ready = () => waitFor('a base', async () => (await look()).state === 'ready', { timeoutMs: 60_000 })
  const restoreTo = (to: Date | string, name: string) =>
    called<ProjectView>('POST', '/databases/main/restore-to?wait=150', {
      to: typeof to === 'string' ? to : to.toISOString(),
      name,
    })
  const drop = async (name: string) => {
    const dropped = await called('DELETE', `/databases/${name}?confirm=${name}&purge=true&wait=100`)
    assert.equal(dropped.status, 200, JSON.stringify(dropped.body))
  }
  const settled = () =>
    waitFor('an end of what was under way', async () => {
      const { items } = await service.client.call('listOperations', { query: { active: true } })
      return items.length === 0
    })
  const data = async () => {
    const folder = join(service.home, 'data', (await service.client.call('getProject', { params: { id } })).id)
    const [archive] = (await readdir(folder)).filter((name) => name.startsWith('arc_'))
    return { folder, wal: join(folder, archive ?? 'none', 'wal') }
  }

  it('random moments: exactly the transactions before it, the last of them named, and the first server untouched', async () => {
    await ready()
    const random = randomFrom(20261126)
    const count = rounds(60, 200)
    const client = new Client(await urlOf('main'))
    await client.connect()
    const times: { readonly before: number; readonly after: number }[] = []
    for (let n = 1; n <= count; n += 1) {
      const before = Date.now()
      await client.query('INSERT INTO written VALUES ($1)', [n])
      times.push({ before, after: Date.now() })
      if (n % 17 === 0) await client.query('SELECT pg_switch_wal()')
      await sleep(20 + random() * 60)
    }
    await client.end()
    for (let turn = 0; turn < rounds(4, 20); turn += 1) {
      // The last one is behind all of them.
      const n = turn === 0 ? count : 1 + Math.floor(random() * (count - 1))
      const [low, high] = [times[n - 1]!.after + 2, (times[n]?.before ?? times[n - 1]!.after + 20) - 1]
      const moment = new Date(low + Math.floor(random() * Math.max(high - low, 1)))
      const made = await restoreTo(moment, 'then')
      assert.equal(made.status, 201, JSON.stringify(made.body))
      const rows = (await query('SELECT n FROM written ORDER BY n', 'then')).map((row) => row.n)
      assert.deepEqual(rows, Array.from({ length: n }, (_, at) => at + 1), `${moment.toISOString()} of ${turn}`)
      const { recovered, pointInTime } = made.body.databases.then ?? {}
      assert.deepEqual([recovered?.database, recovered?.to, pointInTime], ['main', moment.toISOString(), undefined])
      const last = Date.parse(recovered?.lastTransactionAt ?? '')
      assert.ok(last >= times[n - 1]!.before - 1 && last <= times[n - 1]!.after + 1, `${recovered?.lastTransactionAt}`)
      await drop('then')
    }
    assert.equal((await query('SELECT count(*)::int AS n FROM written'))[0].n, count)
  })
})
