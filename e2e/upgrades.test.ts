import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Backup, Plan, Problem, ProjectView } from '@stackquay/contract'
import { randomFrom } from '@stackquay/testkit/random'
import { rounds } from '@stackquay/testkit/rounds'
import { Client } from 'pg'
import { type Service, startService } from './support/service.ts'

const id = 'shop'

/** Versions of real databases are changed; the programs of each type are tried in packages/catalog/test/upgrade-*.test.ts. */
describe('the version of a database', { concurrency: 1 }, () => {
  let service: Service

  before(async () => {
    service = await startService()
    const databases = { main: { type: 'postgresql', version: '15' } }
    const made = await service.client.call('createProject', { body: { name: 'Shop', databases }, query: { wait: 170 } })
    assert.equal(made.operation?.state, 'succeeded', JSON.stringify(made.operation?.error))
    for (const sql of filling) await postgres(sql)
    await postgres('CREATE TABLE precious AS SELECT n, md5(n::text) FROM generate_series(1, 1000) n', 'other')
  })
  after(() => service?.close())

  const postgres = async (sql: string, database = 'main') => {
    const credentials = await service.client.call('getDatabaseCredentials', { params: { id, db: 'main' } })
    const url = new URL((credentials as { url: string }).url)
    url.pathname = `/${database}`
    const client = new Client(url.href)
    await client.connect()
    try {
      return (await client.query(sql)).rows as Record<string, unknown>[]
    } finally {
      await client.end()
    }
  }
  const change = async <Body = ProjectView>(database: object, query = 'wait=300', token = service.token) => {
    const response = await fetch(`${service.url}/api/v1/projects/${id}?${query}`, {
      method: 'PATCH',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ databases: { main: database } }),
    })
    return { status: response.status, body: (await response.json()) as Body }
  }
  const becomes = async (version: string, more: object = {}) => {
    const { body } = await change({ version, ...more })
    assert.equal(body.operation?.state, 'succeeded', JSON.stringify(body, null, 1))
    assert.equal(body.databases.main?.version, version)
    return body
  }
  const version = async () => String((await postgres('SHOW server_version'))[0]!.server_version).split('.')[0]
  const sums = async () => [
    await postgres("SELECT count(*)::int AS n, md5(string_agg(b::text, '' ORDER BY n)) AS sum FROM book b"),
    await postgres('SELECT count(*)::int AS n, md5(string_agg(md5, $$$$ ORDER BY n)) AS sum FROM precious', 'other'),
    await postgres('SELECT last_value, is_called FROM ticket'),
    await postgres("SELECT convert_from(lo_get(4711), 'UTF8') AS text"),
    await postgres("SELECT rolname, rolpassword FROM pg_authid WHERE rolname !~ '^pg_' ORDER BY 1"),
    await postgres('SELECT extname FROM pg_extension ORDER BY 1'),
    await postgres('SELECT tgname FROM pg_trigger WHERE NOT tgisinternal'),
    await postgres('SELECT count(*)::int AS n FROM thin'),
  ]
  const backups = async (source: string) =>
    ((await service.client.call('listBackups', { params: { id } })).items as Backup[]).filter(
      (one) => one.source === source,
    )

  it('a plan says what happens to the data and how to come back', async () => {
    const { status, body } = await change<Plan>({ version: '18' }, 'dryRun=true')
    assert.equal(status, 200, JSON.stringify(body))
    assert.deepEqual(
      body.plan.steps.slice(0, 4).map(({ title }) => title),
      [
        'Stop what uses it: postgresql-main',
        'Back up what is there',
        'Write the data of PostgreSQL 15 anew as PostgreSQL 18, and compare both',
        'Start PostgreSQL 18',
      ],
    )
    assert.deepEqual([body.plan.deletesData, body.plan.restarts], [[], ['postgresql-main']])
    assert.match(body.plan.warnings.join('\n'), /before-upgrade[\s\S]*half a minute[\s\S]*free room/)
    assert.equal(await version(), '15')
  })

  it('from 15 to 18 and back, with everything that is there', async () => {
    const before = await sums()
    const changed = await becomes('18')
    assert.equal(changed.generation, changed.observedGeneration)
    assert.equal(await version(), '18')
    assert.deepEqual(await sums(), before)
    const [taken] = await backups('before-upgrade')
    assert.deepEqual(
      taken?.parts.map(({ id: part, version: line }) => [part, line]),
      [
        ['settings', null],
        ['database:main', '15'],
      ],
    )
    await postgres('DELETE FROM book WHERE n < 100')

    const refused = (await change<Problem>({ version: '15' })).body
    assert.deepEqual(
      refused.errors?.map(({ pointer, code }) => [pointer, code]),
      [['/databases/main/removeData', 'confirm']],
    )
    assert.match(refused.errors?.[0]?.detail ?? '', new RegExp(`${taken!.id}.*lost`))
    const operate = await service.newToken('operate')
    assert.equal((await change({ version: '15', removeData: true }, 'wait=1', operate)).status, 403)
    const { plan } = (await change<Plan>({ version: '15', removeData: true }, 'dryRun=true')).body
    assert.deepEqual(plan.deletesData, ['postgresql-main'])
    assert.match(plan.warnings.join('\n'), /written to "main" since .* is lost/)
    await becomes('15', { removeData: true })
    assert.equal(await version(), '15')
    assert.deepEqual(await sums(), before)
    assert.equal((await backups('before-restore')).length, 1)
    assert.equal((await change({ version: '15.4' })).body.databases.main?.version, '15')
  })

  it('one that fails leaves version and data as they were, and names what failed', async () => {
    await postgres('CREATE EXTENSION old_snapshot')
    const before = await sums()
    const kept = (await backups('before-upgrade')).length
    const { body } = await change({ version: '18' })
    assert.equal(body.operation?.state, 'failed')
    assert.match(JSON.stringify(body.operation?.error), /old_snapshot/)
    assert.deepEqual([body.databases.main?.version, body.generation], ['15', body.observedGeneration])
    assert.deepEqual([await version(), (await backups('before-upgrade')).length], ['15', kept])
    assert.deepEqual(await sums(), before)
    await postgres('DROP EXTENSION old_snapshot')
  })

  it('of a project that is stopped changes, and the project stays stopped', async () => {
    await service.client.call('stopProject', { params: { id }, query: { wait: 60 } })
    const { status } = await becomes('18')
    assert.equal(status.state, 'stopped')
    await service.client.call('startProject', { params: { id }, query: { wait: 60 } })
    assert.equal(await version(), '18')
    await becomes('15', { removeData: true })
  })

  it('a service that is killed meanwhile finishes or undoes it, and nothing is lost', {
    timeout: 1_200_000,
  }, async () => {
    const before = await sums()
    const random = randomFrom(15)
    for (let round = 0; round < rounds(4, 20); round += 1) {
      const { body } = await change({ version: '18' }, 'wait=0')
      assert.ok(body.operation, JSON.stringify(body))
      await sleep(random() * 14_000)
      await service.kill()
      await service.start()
      const { client } = service
      let operation = await client.call('getOperation', { params: { op: body.operation.id }, query: { wait: 60 } })
      while (operation.state === 'running' || operation.state === 'queued')
        operation = await client.call('getOperation', { params: { op: body.operation.id }, query: { wait: 60 } })
      const is = await version()
      assert.equal(is, operation.state === 'succeeded' ? '18' : '15', JSON.stringify(operation))
      const project = await client.call('getProject', { params: { id } })
      assert.equal(project.databases.main?.version, is)
      assert.deepEqual(await sums(), before)
      if (is === '18') await becomes('15', { removeData: true })
    }
  })
})

const filling = [
  'CREATE EXTENSION pgcrypto; CREATE EXTENSION "uuid-ossp"; CREATE EXTENSION citext',
  "CREATE ROLE alice LOGIN PASSWORD 'hers'; CREATE ROLE readers; GRANT readers TO alice",
  'CREATE DATABASE other OWNER alice',
  `CREATE TABLE book AS SELECT n, repeat(md5(n::text), 10) AS text, uuid_generate_v4() AS id FROM generate_series(1, 40000) n;
   CREATE UNIQUE INDEX ON book (n);
   CREATE SEQUENCE ticket START 41; SELECT nextval('ticket');
   CREATE VIEW thin AS SELECT * FROM book WHERE n < 10; GRANT SELECT ON thin TO readers;
   CREATE FUNCTION told() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN new; END $$;
   CREATE TRIGGER told AFTER UPDATE ON book FOR EACH ROW EXECUTE FUNCTION told();
   SELECT lo_from_bytea(4711, 'a large one')`,
]
