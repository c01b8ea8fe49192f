import assert from 'node:assert/strict'
import { lchown, mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import type { OperationRecord } from '@stackquay/contract'
import { readHostKey } from '@stackquay/targets'
import { type SftpServer, startSftpServer } from '@stackquay/testkit'
import { type DockerService, lines, startDockerService } from './support/docker-service.ts'
import { databaseClient } from './support/real-clients.ts'

const id = 'shop'

/** The same as on the native engine, where client programs run in the containers of the databases. */
describe('seeds and pulls with databases in containers', () => {
  let service: DockerService
  let remote: SftpServer
  let source: string

  before(async () => {
    ;[service, remote] = await Promise.all([startDockerService(['postgresql', 'mariadb']), startSftpServer()])
    const databases = {
      main: { type: 'postgresql', version: lines.postgresql, seed: 'db/main.sql' },
      second: { type: 'mariadb', version: lines.mariadb, seed: ['db/second.sql'] },
    }
    const body = { name: 'Shop', databases, start: false }
    const made = await service.client.call('createProject', { body, query: { wait: 100 } })
    source = made.path
    await mkdir(join(source, 'db'))
    for (const name of ['main', 'second']) await writeFile(join(source, 'db', `${name}.sql`), dump('seeded'))
  })
  after(async () => {
    await Promise.all([service?.close(), remote?.[Symbol.asyncDispose]()])
  })

  const dump = (table: string) => `CREATE TABLE ${table} (n int);\nINSERT INTO ${table} VALUES (1);\n`
  const exported = async (db: string) => {
    const response = await fetch(`${service.url}/api/v1/projects/${id}/databases/${db}/export`, {
      headers: { authorization: `Bearer ${service.token}` },
    })
    assert.equal(response.status, 200)
    return response.text()
  }
  const succeeded = (operation: unknown) => {
    const { state, error } = operation as OperationRecord
    assert.equal(state, 'succeeded', JSON.stringify(error))
  }

  it('are filled by the first start, and again by a reset', { timeout: 300_000 }, async () => {
    succeeded(await service.client.call('startProject', { params: { id }, query: { wait: 170 } }))
    for (const db of ['main', 'second']) {
      assert.match(await exported(db), /seeded/)
      const type = db === 'main' ? 'postgresql' : 'mariadb'
      const client = databaseClient(service, id, type, db)
      await client.write('before')
      const reset = { params: { id, db }, body: { confirm: db }, query: { wait: 170 } }
      succeeded(await service.client.call('resetDatabase', reset, { ifMatch: '*' }))
      const text = await exported(db)
      assert.match(text, /seeded/)
      assert.doesNotMatch(text, /before/)
    }
  })

  it('take dumps and a folder over ssh', { timeout: 300_000 }, async () => {
    await mkdir(join(remote.path, 'app'))
    await writeFile(join(remote.path, 'app', 'theirs.txt'), 'theirs')
    await writeFile(join(remote.path, 'second.sql'), dump('pulled'))
    await mkdir(join(source, 'storage'))
    const { uid, gid } = await stat(source)
    await lchown(join(source, 'storage'), uid, gid)
    const production = {
      from: `ssh://${remote.user}@127.0.0.1:${remote.port}`,
      key: 'DEPLOY_KEY',
      hostKey: await readHostKey(remote),
      databases: { main: { command: ['echo', dump('pulled')] }, second: { path: join(remote.path, 'second.sql') } },
      files: { 'storage/app': join(remote.path, 'app') },
    }
    const body = { pull: { production }, env: { DEPLOY_KEY: { value: remote.privateKey, secret: true } } }
    await service.client.call('updateProject', { params: { id }, body, query: { wait: 100 } })
    const pull = { params: { id }, body: { source: 'production', confirm: id }, query: { wait: 170 } }
    succeeded(await service.client.call('pullProject', pull, { ifMatch: '*' }))
    for (const db of ['main', 'second']) {
      const text = await exported(db)
      assert.match(text, /pulled/)
      assert.doesNotMatch(text, /seeded/)
    }
    assert.equal(await readFile(join(source, 'storage', 'app', 'theirs.txt'), 'utf8'), 'theirs')
    assert.deepEqual(await readdir(join(service.home, 'dumps')), [])
  })
})
