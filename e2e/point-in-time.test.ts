import assert from 'node:assert/strict'
import { chmod, readdir, rename, truncate, utimes } from 'node:fs/promises'
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
    await client.connect().catch(async (cause: unknown) => {
      const { status, databases } = await service.client.call('getProject', { params: { id } })
      throw new Error(`${db} does not answer: ${JSON.stringify({ status, database: databases[db] })}`, { cause })
    })
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

  it('random moments: exactly the transactions before it, the last of them named, and the first server untouched', async (t) => {
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
    const turns = rounds(4, 20)
    for (let turn = 0; turn < turns; turn += 1) {
      // The last one is behind all of them.
      const n = turn === 0 ? count : 1 + Math.floor(random() * (count - 1))
      const [low, high] = [times[n - 1]!.after + 2, (times[n]?.before ?? times[n - 1]!.after + 20) - 1]
      const moment = new Date(low + Math.floor(random() * Math.max(high - low, 1)))
      const made = await restoreTo(moment, 'then')
      assert.equal(made.status, 201, JSON.stringify(made.body))
      const rows = (await query('SELECT n FROM written ORDER BY n', 'then')).map((row) => row.n)
      assert.deepEqual(
        rows,
        Array.from({ length: n }, (_, at) => at + 1),
        `${moment.toISOString()} of ${turn}`,
      )
      const { recovered, pointInTime } = made.body.databases.then ?? {}
      assert.deepEqual([recovered?.database, recovered?.to, pointInTime], ['main', moment.toISOString(), undefined])
      const last = Date.parse(recovered?.lastTransactionAt ?? '')
      assert.ok(last >= times[n - 1]!.before - 1 && last <= times[n - 1]!.after + 1, `${recovered?.lastTransactionAt}`)
      await drop('then')
    }
    assert.equal((await query('SELECT count(*)::int AS n FROM written'))[0].n, count)
    t.diagnostic(`${count} transactions, ${turns} moments`)
  })

  it('what cannot be is refused before anything is touched, with what can', async () => {
    const [range] = (await look()).ranges
    assert.ok(range)
    const refused = async (to: string, db = 'main', name = 'never') => {
      const { status, body } = await called<Problem>('POST', `/databases/${db}/restore-to`, { to, name })
      return [status, body.errors?.[0]?.code ?? body.code, body.detail]
    }
    const before = new Date(Date.parse(range.from) - 1000).toISOString()
    const [status, code, detail] = await refused(before)
    assert.deepEqual([status, code], [422, 'out_of_range'])
    assert.match(String(detail), new RegExp(`from ${range.from} to `))
    assert.deepEqual((await refused('2099-01-01T00:00:00Z')).slice(0, 2), [422, 'in_future'])
    for (const zoneless of ['2026-11-26T10:00:00', '2026-11-26', 'yesterday', "2026-11-26T10:00:00Z'; x"])
      assert.equal((await refused(zoneless))[0], 422, zoneless)
    assert.deepEqual((await refused(new Date().toISOString(), 'main', 'plain')).slice(0, 2), [409, 'conflict'])
    assert.deepEqual((await refused(new Date().toISOString(), 'plain')).slice(0, 2), [422, 'engine_cannot'])
    const patch = await called<Problem>('PATCH', '/databases/plain', { pointInTime: { keep: '7d' } })
    assert.deepEqual([patch.status, patch.body.errors?.[0]?.code], [422, 'point_in_time_unsupported'])
    for (const keep of ['0d', '7', '400d', '7w'])
      assert.equal((await called('PATCH', '/databases/main', { pointInTime: { keep } })).status, 422, keep)
    const { plan } = (
      await called<Plan>('POST', '/databases/main/restore-to?dryRun=true', {
        to: new Date().toISOString(),
        name: 'never',
      })
    ).body
    assert.deepEqual([plan.restarts, plan.stops, plan.deletesData], [[], [], []])
    assert.match(plan.steps.map(({ title }) => title).join(), /Play its changes back/)
    const { databases } = await service.client.call('getProject', { params: { id } })
    assert.deepEqual(Object.keys(databases).sort(), ['main', 'plain'])
  })

  it('a service that is killed while changes are played back goes on with it', async () => {
    const rows = (await query('SELECT count(*)::int AS n FROM written'))[0].n
    const moment = new Date()
    await query('INSERT INTO written SELECT generate_series(1000, 1200)')
    const begun = await called<OperationRecord>('POST', '/databases/main/restore-to', {
      to: moment.toISOString(),
      name: 'killed',
    })
    assert.equal(begun.status, 202, JSON.stringify(begun.body))
    const params = { op: begun.body.id }
    for (const step of ['recover', 'declare']) {
      await waitFor(
        `the step ${step}`,
        async () => {
          const { steps } = await service.client.call('getOperation', { params })
          return steps.some((one) => one.id === step && one.state !== 'pending')
        },
        { timeoutMs: 60_000, everyMs: 5 },
      ).catch(() => undefined)
      await service.kill()
      await service.start()
    }
    await settled()
    const ended = await service.client.call('getOperation', { params })
    assert.equal(ended.state, 'succeeded', JSON.stringify(ended))
    assert.equal((await query('SELECT count(*)::int AS n FROM written', 'killed'))[0].n, rows)
    await drop('killed')
  })

  it('an archive that nothing gets into is told of, and what waits can be restored all the same', async () => {
    const { folder, wal } = await data()
    await chmod(wal, 0o500)
    await query('INSERT INTO written VALUES (5000)')
    await query('SELECT pg_switch_wal()')
    const moment = new Date()
    await waitFor('a piece that waits', async () => (await look()).waiting > 0)
    const status = join(folder, 'postgresql-main', 'cluster', 'pg_wal', 'archive_status')
    const old = new Date(Date.now() - 10 * 60_000)
    for (const name of await readdir(status)) if (name.endsWith('.ready')) await utimes(join(status, name), old, old)
    assert.deepEqual((await look()).state, 'late')
    const made = await restoreTo(moment, 'waiting')
    assert.equal(made.status, 201, JSON.stringify(made.body))
    assert.deepEqual(await query('SELECT n FROM written WHERE n = 5000', 'waiting'), [{ n: 5000 }])
    await drop('waiting')
    const codes = async () =>
      (await service.client.call('getProject', { params: { id } })).status.warnings.map(({ code }) => code)
    await waitFor('a warning', async () => (await codes()).includes('archive_late'))
    await chmod(wal, 0o700)
    // The server tries again by itself after a minute, or when another piece is finished.
    await query('INSERT INTO written VALUES (5001)')
    await query('SELECT pg_switch_wal()')
    await waitFor('an empty queue', async () => (await look()).waiting === 0, { timeoutMs: 90_000, everyMs: 500 })
    assert.notEqual((await look()).state, 'late')
  })

  it('a piece that is missing ends the range, and no later moment is promised', async () => {
    const { wal } = await data()
    const early = new Date()
    // The end of a range is told in whole seconds, and with one of doubt.
    await sleep(2500)
    for (const n of [6001, 6002, 6003]) {
      await query(`INSERT INTO written VALUES (${n})`)
      await query('SELECT pg_switch_wal()')
    }
    await waitFor('an archive', async () => (await look()).waiting === 0)
    // What the server itself still has is no gap: it lets go of what is in the archive.
    await query('CHECKPOINT')
    const moment = new Date()
    const pieces = (await readdir(wal)).filter((name) => /^[0-9A-F]{24}\.gz$/.test(name)).sort()
    const missing = join(wal, pieces.at(-2)!)
    // The service looks at it when something has ended: until then there is one range less.
    await rename(missing, `${missing}.aside`)
    const ranges = (await look()).ranges
    assert.ok(Date.parse(ranges[0]!.to) < moment.getTime(), JSON.stringify(ranges))
    const refused = await called<Problem>('POST', '/databases/main/restore-to', {
      to: moment.toISOString(),
      name: 'gap',
    })
    assert.deepEqual([refused.status, refused.body.errors?.[0]?.code], [422, 'out_of_range'])
    const made = await restoreTo(early, 'early')
    assert.equal(made.status, 201, JSON.stringify(made.body))
    await waitFor('a base after the gap', async () => (await look()).ranges.length === 2, {
      timeoutMs: 150_000,
      everyMs: 500,
    })
    // Damage is no end of the log either.
    await rename(`${missing}.aside`, missing)
    await truncate(missing, 1000)
    const damaged = await restoreTo(moment, 'damaged')
    assert.deepEqual([damaged.status, (damaged.body as unknown as OperationRecord).state], [202, 'failed'])
    assert.match(JSON.stringify(damaged.body), /is damaged/)
    const { databases } = await service.client.call('getProject', { params: { id } })
    assert.deepEqual(Object.keys(databases).sort(), ['early', 'main', 'plain'])
    await drop('early')
  })

  it('other data in its place begins a new range; the old one can still be restored, until it is dropped with the database', async () => {
    await settled()
    const before = (await look()).ranges.at(-1)!
    await query('CREATE TABLE kept (n int)')
    const moment = new Date()
    await sleep(2500)
    const made = await called('POST', '/databases/main/snapshots?wait=100', { name: 'first' })
    assert.equal(made.status, 201)
    await query('DROP TABLE kept')
    const response = await fetch(
      `${service.url}/api/v1/projects/${id}/databases/main/snapshots/first/restore?wait=150`,
      {
        method: 'POST',
        headers: { authorization: `Bearer ${service.token}`, 'content-type': 'application/json', 'if-match': '*' },
        body: JSON.stringify({ confirm: 'main' }),
      },
    )
    assert.equal(((await response.json()) as OperationRecord).state, 'succeeded')
    await waitFor(
      'a range of the new data',
      async () => {
        const { ranges, state } = await look()
        return state === 'ready' && Date.parse(ranges.at(-1)!.from) > moment.getTime()
      },
      { timeoutMs: 60_000 },
    )
    const after = (await look()).ranges
    assert.ok(
      after.some(({ from }) => from === before.from),
      JSON.stringify({ before, after }),
    )
    const restored = await restoreTo(moment, 'then')
    assert.equal(restored.status, 201, JSON.stringify(restored.body))
    assert.deepEqual(await query('SELECT * FROM kept', 'then'), [])
    const off = await called<ProjectView>('PATCH', '/databases/main?wait=100', { pointInTime: null })
    assert.equal(off.body.databases.main?.pointInTime, undefined)
    const lookedAt = await look()
    assert.equal(lookedAt.state, 'off', JSON.stringify(lookedAt))
    assert.ok((await look()).ranges.length > 0)
    await settled()
    await drop('main')
    const { folder } = await data()
    assert.deepEqual(
      (await readdir(folder)).filter((name) => /^(arc|snp)_/.test(name)),
      [],
    )
  })
})
