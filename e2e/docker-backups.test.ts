import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Backup, DatabaseImport, OperationRecord, ProjectView } from '@stackquay/contract'
import { type DockerService, lines, startDockerService } from './support/docker-service.ts'
import { databaseClient, type RealClient, serviceClients } from './support/real-clients.ts'

const id = 'shop'

/** The same as on the native engine, where data lies in volumes and programs run beside containers. */
describe('backups of a project in containers', () => {
  let service: DockerService
  let clients: readonly RealClient[]
  let backup: Backup

  before(async () => {
    service = await startDockerService(['postgresql', 'mariadb', 'redis'])
    const all = serviceClients(service, id)
    clients = [
      ...['redis', 'storage', 'mailpit'].map((kind) => all[kind]!),
      databaseClient(service, id, 'postgresql', 'main'),
      databaseClient(service, id, 'mariadb', 'reports'),
    ]
    const body: object = {
      name: 'Shop',
      redis: { version: lines.redis },
      storage: {},
      mailpit: {},
      databases: {
        main: { type: 'postgresql', version: lines.postgresql },
        reports: { type: 'mariadb', version: lines.mariadb },
      },
    }
    const made = await service.client.call('createProject', { body: { ...body, name: 'Shop' }, query: { wait: 170 } })
    assert.equal(made.operation?.state, 'succeeded', JSON.stringify(made.operation, null, 2))
    for (const client of clients) await client.write('before')
  })
  after(() => service?.close())

  const holds = async (name: string) => {
    for (const client of clients)
      assert.ok(await client.holds(name), `${client.workload} lost what was written ${name}`)
  }

  it('are made while it runs, and are whole', { timeout: 240_000 }, async () => {
    backup = (await service.client.call('createBackup', { params: { id }, query: { wait: 120 } })) as Backup
    assert.deepEqual(
      backup.parts?.map((part) => `${part.id} ${part.method}`).sort(),
      [
        'database:main online',
        'database:reports copy',
        'files copy',
        'service:mailpit online',
        'service:redis online',
        'service:storage online',
        'settings copy',
      ],
      JSON.stringify(backup),
    )
    const found = (await service.client.call('verifyBackup', {
      params: { id, backup: backup.id },
      query: { wait: 200 },
    })) as Backup
    assert.equal(found.verified?.outcome, 'whole', JSON.stringify(found))
    assert.equal(found.verified.checks.filter(({ check, ok }) => check === 'started' && ok).length, 5)
    await holds('before')
  })

  it('databases are exported and imported by the programs of their images', { timeout: 240_000 }, async () => {
    for (const [db, formats] of [
      ['main', ['sql', 'custom']],
      ['reports', ['sql']],
    ] as const) {
      for (const format of formats) {
        const address = `${service.url}/api/v1/projects/${id}/databases/${db}`
        const headers = { authorization: `Bearer ${service.token}`, 'content-type': 'application/octet-stream' }
        const dump = await fetch(`${address}/export?compress=zstd&format=${format}`, { headers })
        const body = new Uint8Array(await dump.arrayBuffer())
        const query = `mode=replace&confirm=${db}&wait=120`
        const answer = await fetch(`${address}/import?${query}`, { method: 'POST', headers, body })
        const imported = (await answer.json()) as DatabaseImport
        assert.equal(imported.operation?.state, 'succeeded', JSON.stringify(imported))
      }
    }
    await holds('before')
  })

  it('come back in place and into a new project', { timeout: 240_000 }, async () => {
    for (const client of clients) await client.write('after')
    const { generation } = (await service.client.call('getProject', { params: { id } })) as ProjectView
    const restored = (await service.client.call(
      'restoreBackup',
      { params: { id, backup: backup.id }, body: { confirm: id }, query: { wait: 170 } },
      { ifMatch: `"${generation}"` },
    )) as OperationRecord
    assert.equal(restored.state, 'succeeded', JSON.stringify(restored.error))
    await holds('before')
    for (const client of clients)
      assert.equal(await client.holds('after').catch(() => false), false, `${client.workload} has what came after`)

    await service.client.call('deleteProject', { params: { id }, query: { confirm: id, data: 'delete', wait: 60 } })
    const made = (await service.client.call('restoreBackupAs', {
      params: { backup: backup.id },
      body: { name: 'Shop', start: true },
      query: { wait: 170 },
    })) as ProjectView
    assert.equal(made.operation?.state, 'succeeded', JSON.stringify(made.operation?.error))
    assert.equal(made.engine, 'docker')
    await holds('before')
  })
})
