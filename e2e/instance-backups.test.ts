import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import type { InstanceBackup } from '@stackquay/contract'
import { randomFrom } from '@stackquay/testkit/random'
import { rounds } from '@stackquay/testkit/rounds'
import { inBrowser } from './support/in-browser.ts'
import { admin, alive, type Service, startService, until } from './support/service.ts'

describe('restoring the instance in place', () => {
  let service: Service
  before(async () => {
    service = await startService()
  })
  after(() => service.close())

  const slugs = async () =>
    (await service.client.call('listProjects', { query: {} })).items.map(({ slug }) => slug).sort()
  const pids = async (slug: string) => {
    const { status } = await service.client.call('getProject', { params: { id: slug } })
    return status.workloads.map(({ pid }) => pid)
  }
  const restored = async () => {
    const { checks } = await service.client.call('getDiagnostics', {})
    return checks.find(({ id }) => id === 'restored')
  }
  const answers = () =>
    slugs().then(
      () => true,
      () => false,
    )
  let state: InstanceBackup
  let laterPids: readonly (number | null)[]

  it('opens the state of then in the same process; what came later runs on and is listed', async () => {
    const make = (name: string) =>
      service.client.call('createProject', { body: { name, template: 'static' }, query: { wait: 60 } })
    await make('Then')
    await inBrowser(service, 'POST', '/users', { username: 'bob', password: 'a long enough one', role: 'operate' })
    state = await service.client.call('createInstanceBackup', { body: { note: 'then' } })
    const thenPids = await pids('then')
    const later = await make('Later')
    assert.ok('id' in later)
    laterPids = await pids('later')
    const pid = service.pid()

    const { before } = await restore(service, state.id)
    await until(async () => (await slugs().catch(() => [])).join() === 'then', 'the state of then')
    assert.equal(service.pid(), pid)
    assert.deepEqual(await pids('then'), thenPids)
    assert.ok(laterPids.every((one) => one !== null && alive(one)))
    assert.match((await restored())?.detail ?? '', new RegExp(later.id))
    assert.equal((await service.get('then')).status, 200)
    const users = await inBrowser<{ items: { username: string }[] }>(service, 'GET', '/users')
    assert.deepEqual(users.items.map(({ username }) => username).sort(), [admin.username, 'bob'])
    assert.equal((await service.client.call('verifyAudit', {})).ok, true)

    // The way back: what was not known is known again, and is the same process.
    await restore(service, before)
    await until(async () => (await slugs().catch(() => [])).join() === 'later,then', 'the state from before')
    await until(async () => (await pids('later')).join() === laterPids.join(), 'the project to be found again')
    assert.equal((await service.get('later')).status, 200)
  })

  it('killed at random moments, the service has all of the one state or all of the other', {
    timeout: 120_000,
  }, async () => {
    const random = randomFrom(20_261_125)
    const outcomes: Record<string, number> = {}
    for (let round = 0; round < rounds(4, 50); round += 1) {
      const { items } = await service.client.call('listInstanceBackups', {})
      const target = (await slugs()).includes('later') ? state.id : items.find(({ projects }) => projects === 2)!.id
      const asking = restore(service, target).catch(() => null)
      await delay(random() * 1500)
      await service.kill()
      await asking
      await service.start()
      await until(answers, 'the service to answer')
      const now = (await slugs()).join()
      assert.match(now, /^(then|later,then)$/)
      outcomes[now] = (outcomes[now] ?? 0) + 1
      const { ok, reason } = await service.client.call('verifyAudit', {})
      assert.equal(ok, true, reason ?? '')
      assert.ok(laterPids.every((one) => one !== null && alive(one)))
    }
    console.log('after kills:', outcomes)
  })
})

function restore(service: Service, backup: string): Promise<{ before: string }> {
  return inBrowser(service, 'POST', `/instance/backups/${backup}/restore`, { confirm: backup })
}
