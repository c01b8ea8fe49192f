import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { ApiError } from '@stackquay/client'
import type { ProjectView } from '@stackquay/contract'
import { databaseClient, memcachedAnswers, type RealClient, serviceClients } from './support/real-clients.ts'
import { alive, type Service, startService, until } from './support/service.ts'

const project = 'warehouse'

/** Everything at once in one project, used by the clients that people use. */
describe('services and databases with real clients', () => {
  let service: Service
  let services: Readonly<Record<string, RealClient>>
  let clients: readonly RealClient[]

  before(async () => {
    service = await startService()
    services = usualClients(service, project)
    clients = [
      ...Object.values(services),
      databaseClient(service, project, 'postgresql', 'main'),
      databaseClient(service, project, 'postgresql', 'old'),
      databaseClient(service, project, 'mariadb', 'reports'),
    ]
  })
  after(() => service?.close())

  const show = async () => (await service.client.call('getProject', { params: { id: project } })) as ProjectView
  const patch = async (body: Record<string, unknown>) => {
    const query = { wait: 120 }
    const changed = (await service.client.call('updateProject', {
      params: { id: project },
      body,
      query,
    })) as ProjectView
    assert.ok(
      changed.operation === null || changed.operation.state === 'succeeded',
      JSON.stringify(changed.operation?.error),
    )
    return changed
  }
  const pids = async () =>
    Object.fromEntries((await show()).status.workloads.map((workload) => [workload.name, workload.pid]))
  const running = (what: string) =>
    until(async () => (await show()).status.state === 'running', `the project to run ${what}`, 90_000)
  const everything = async (written: readonly string[]) => {
    for (const client of clients)
      for (const name of written)
        assert.ok(await client.holds(name), `${client.workload} lost what was written ${name.replaceAll('_', ' ')}`)
  }
  const writeAll = (name: string) => Promise.all(clients.map((client) => client.write(name)))

  it('are created, and started before anything that depends on them', { timeout: 300_000 }, async () => {
    const body = {
      name: 'Warehouse',
      template: 'express',
      ...Object.fromEntries(Object.keys(services).map((name) => [name, {}])),
      memcached: {},
      databases: {
        main: { type: 'postgres' },
        old: { type: 'postgresql', version: '15' },
        reports: { type: 'mariadb' },
      },
    }
    const created = await service.client.call('createProject', { body, query: { wait: 280 } })
    assert.equal(created.operation?.state, 'succeeded', JSON.stringify(created.operation?.error))
    const { status, operation } = created
    assert.deepEqual(
      status.workloads.filter(({ state, health }) => state !== 'running' || health === 'unhealthy'),
      [],
    )
    const ready = operation.steps.map((step) => step.id).filter((id) => id.startsWith('ready:'))
    assert.equal(ready.length, clients.length + 2)
    assert.equal(
      operation.steps.findIndex((step) => step.id.startsWith('start:node')) >
        operation.steps.findIndex((step) => step.id === ready.at(-2)),
      true,
    )
    const memcached = status.workloads.find((workload) => workload.name === 'memcached')
    assert.ok(await memcachedAnswers(memcached!.ports[0]!.hostPort))
    await writeAll('at_first')
    await everything(['at_first'])
  })

  it('give their whole record back and nothing happens', async () => {
    const before = await pids()
    const got = await show()
    for (const body of [got, ...Object.keys(services).map((name) => ({ [name]: got[name] }))]) {
      const { plan } = await service.client.plan('updateProject', { params: { id: project }, body })
      assert.deepEqual([plan.steps, plan.restarts, plan.changes], [[], [], []])
      await patch(body)
    }
    assert.equal((await show()).generation, got.generation)
    assert.deepEqual(await pids(), before)
  })

  it('are restarted by one variable only where a runtime receives it', { timeout: 120_000 }, async () => {
    const before = await pids()
    const body = { env: { GREETING: 'hello' } }
    const { plan } = await service.client.plan('updateProject', { params: { id: project }, body })
    assert.deepEqual(plan.restarts, ['node'])
    assert.deepEqual(new Set(plan.steps.flatMap((step) => step.because)), new Set(['the variable GREETING changed']))
    const { operation } = await patch(body)
    assert.deepEqual(
      operation?.steps.map((step) => step.title),
      plan.steps.map((step) => step.title),
    )
    const after = await pids()
    assert.deepEqual(
      Object.keys(after).filter((name) => after[name] !== before[name]),
      ['node'],
    )
  })

  it('keep data, version and credentials while they are disabled', { timeout: 300_000 }, async () => {
    for (const [name, client] of Object.entries(services)) {
      const before = await show()
      const hasCredentials = (await service.client.call('listServices')).items.find(
        (item) => item.name === name,
      )!.hasCredentials
      const credentials = async () =>
        hasCredentials ? service.client.call('getServiceCredentials', { params: { id: project, service: name } }) : null
      const secrets = await credentials()
      const off = await patch({ [name]: { enabled: false } })
      assert.ok(!off.status.workloads.some((workload) => workload.name === client.workload))
      const { keptData } = await service.client.call('listExtras', { params: { id: project } })
      const kept = keptData.find((data) => data.kind === name)
      assert.equal(kept?.version, (before[name] as { version: string }).version)
      assert.ok(kept.sizeBytes > 0)
      const on = await patch({ [name]: { enabled: true } })
      assert.deepEqual(on[name], before[name])
      assert.deepEqual(await credentials(), secrets)
      assert.ok(await client.holds('at_first'), `${name} lost its data`)
    }
    await everything(['at_first'])
  })

  it('keep what was written through a restart', { timeout: 300_000 }, async () => {
    await writeAll('before_the_restart')
    const operation = await service.client.call('restartProject', { params: { id: project }, query: { wait: 280 } })
    assert.equal(operation.state, 'succeeded', JSON.stringify(operation.error))
    await everything(['at_first', 'before_the_restart'])
  })

  it('keep what was acknowledged when each of them is killed', { timeout: 300_000 }, async () => {
    await writeAll('before_the_kill')
    const before = await pids()
    for (const client of clients) process.kill(before[client.workload]!, 'SIGKILL')
    await until(
      async () => {
        const now = await pids()
        return clients.every(({ workload }) => now[workload] != null && now[workload] !== before[workload])
      },
      'all of them to be started again',
      60_000,
    )
    await running('after all of it was killed')
    await everything(['at_first', 'before_the_restart', 'before_the_kill'])
  })

  it('go on while the control plane is killed, and are known to it again', { timeout: 120_000 }, async () => {
    await writeAll('before_the_control_plane_died')
    const before = await pids()
    await service.kill()
    assert.ok(Object.values(before).every((pid) => pid !== null && alive(pid)))
    await service.start()
    await running('after the control plane was started again')
    assert.deepEqual(await pids(), before)
    await everything(['at_first', 'before_the_control_plane_died'])
  })

  it('take new credentials, refuse the old ones and keep their data', { timeout: 300_000 }, async () => {
    const catalogue = (await service.client.call('listServices')).items
    for (const name of Object.keys(services)) {
      if (!catalogue.find((item) => item.name === name)!.hasCredentials) continue
      const params = { id: project, service: name }
      const before = await service.client.call('getServiceCredentials', { params })
      const rotated = await service.client.call('rotateServiceCredentials', { params, query: { wait: 120 } })
      assert.equal(rotated.operation?.state, 'succeeded', JSON.stringify(rotated.operation?.error))
      assert.notDeepEqual(await service.client.call('getServiceCredentials', { params }), before)
      assert.ok(await services[name]!.holds('at_first'), `${name} lost its data`)
    }
    for (const name of ['main', 'old', 'reports']) {
      const params = { id: project, db: name }
      const before = await service.client.call('getDatabaseCredentials', { params })
      const rotated = await service.client.call('rotateDatabaseCredentials', { params, query: { wait: 120 } })
      assert.equal(rotated.operation?.state, 'succeeded', JSON.stringify(rotated.operation?.error))
      assert.notEqual((await service.client.call('getDatabaseCredentials', { params })).password, before.password)
    }
    await everything(['at_first', 'before_the_kill'])
  })

  it('are found by a copy of the project, which goes its own way', { timeout: 300_000 }, async () => {
    const copied = await service.client
      .call('duplicateProject', { params: { id: project }, body: { name: 'Copy' }, query: { wait: 280 } })
      .catch((error: unknown) => {
        throw error instanceof ApiError ? new Error(JSON.stringify(error.problem, null, 2)) : error
      })
    assert.equal(copied.operation?.state, 'succeeded', JSON.stringify(copied.operation?.error))
    await running('after it was copied')
    const copies = [
      ...Object.values(usualClients(service, 'copy')),
      databaseClient(service, 'copy', 'mariadb', 'reports'),
    ]
    for (const copy of copies) {
      assert.ok(await copy.holds('at_first'), `the copy of ${copy.workload} lacks the data`)
      await copy.write('only_in_the_copy')
    }
    for (const client of clients) assert.ok(!(await client.holds('only_in_the_copy')), client.workload)
    await service.client.call('deleteProject', {
      params: { id: 'copy' },
      query: { confirm: 'copy', data: 'delete', wait: 120 },
    })
  })

  it('lose their data when that is asked for, and nothing else does', { timeout: 300_000 }, async () => {
    const emptied = new Set<RealClient>()
    for (const [name, client] of Object.entries(services)) {
      emptied.add(client)
      const settings = (await show())[name]
      const off = await patch({ [name]: { enabled: false, removeData: true } })
      assert.deepEqual(off[name], { ...(settings as object), enabled: false })
      const { keptData } = await service.client.call('listExtras', { params: { id: project } })
      assert.ok(!keptData.some((data) => data.kind === name))
      await patch({ [name]: { enabled: true } })
      assert.equal(await client.holds('at_first'), false, `${name} still has its data`)
      for (const other of clients)
        if (!emptied.has(other)) assert.ok(await other.holds('before_the_kill'), other.workload)
      await client.write('anew')
      assert.ok(await client.holds('anew'))
    }
  })
})

/** OpenSearch is on few machines; where it can be had it is in the round trip. */
function usualClients(service: Service, id: string): Readonly<Record<string, RealClient>> {
  const { opensearch: _, ...usual } = serviceClients(service, id)
  return usual
}
