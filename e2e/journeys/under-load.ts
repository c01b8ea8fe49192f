import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { createProxyControl } from '@stackquay/proxy/control'
import { loadProgram, startLoad } from '../support/load.ts'
import { type Service, type ServiceOptions, until } from '../support/service.ts'
import { makeSourceRoot, type SourceRoot } from '../support/source-root.ts'

/** What differs between engines. */
export interface Where<S extends Service> {
  readonly title: string
  open(options: ServiceOptions): Promise<S>
  /** What a new project of Node says besides its source. */
  readonly settings: object
  /** What else becomes different when it is replaced. */
  readonly change: object
}

/** Requests that come all the time, while what answers them is replaced. */
export function underLoadJourney<S extends Service>({ title, open, settings, change }: Where<S>): void {
  describe(title, () => {
    let service: S
    let root: SourceRoot
    before(async () => {
      root = await makeSourceRoot()
      service = await open({ roots: root.path })
      for (const name of ['first', 'shop']) {
        const path = await root.folder(name, {
          'package.json': JSON.stringify({ name, private: true, scripts: { start: 'node server.js' } }),
          'server.js': loadProgram,
        })
        const created = await service.client.call('createProject', {
          body: { ...settings, name, path },
          query: { wait: 60 },
        })
        assert.equal(created.status.state, 'running', service.output())
      }
    })
    after(async () => {
      await service?.close()
      await root?.remove()
    })

    const params = { id: 'shop' }
    const query = { wait: 60 }

    it('loses no request while it is restarted three times, and none waits longer than the restart', {
      timeout: 180_000,
    }, async (t) => {
      const load = startLoad(service.proxyPort)
      let longest = 0
      try {
        for (let round = 1; round <= 3; round += 1) {
          await load.answersMore(40)
          const began = performance.now()
          const operation = await service.client.call('restartProject', { params, query })
          longest = Math.max(longest, performance.now() - began)
          assert.equal((operation as { state: string }).state, 'succeeded', service.output())
          await load.answersMore(40)
        }
      } finally {
        await load.end()
        t.diagnostic(load.inWords())
      }
      assert.deepEqual(load.failures, [])
      assert.equal(load.runs.size, 4)
      // The longest of them began before the restart and was answered after it, so it may have some time of its own.
      assert.ok(load.slowest < longest + 5000, `${load.slowest} ms, and the restart took ${longest} ms`)
    })

    it('loses no request while a change replaces it', { timeout: 120_000 }, async (t) => {
      const load = startLoad(service.proxyPort)
      try {
        await load.answersMore(40)
        const body = { ...change, env: { COLOUR: { value: 'green' } } }
        const changed = await service.client.call('updateProject', { params, query, body })
        assert.equal((changed as { status: { state: string } }).status.state, 'running', service.output())
        await load.answersMore(40)
      } finally {
        await load.end()
        t.diagnostic(load.inWords())
      }
      assert.deepEqual(load.failures, [])
      assert.equal(load.runs.size, 2)
      assert.equal(load.colour, 'green')
    })

    it('loses no request while the service is killed and started again, and neither does another project', {
      timeout: 120_000,
    }, async (t) => {
      const loads = [startLoad(service.proxyPort), startLoad(service.proxyPort, 'first.localhost')]
      const answersMore = (count: number) => Promise.all(loads.map((load) => load.answersMore(count)))
      try {
        await answersMore(40)
        await service.kill()
        await answersMore(200)
        await service.start()
        await until(
          async () => (await service.client.call('getProject', { params })).status.state === 'running',
          'the project to be known as running',
        )
        await answersMore(200)
      } finally {
        for (const load of loads) await load.end()
      }
      for (const load of loads) {
        t.diagnostic(load.inWords())
        assert.deepEqual(load.failures, [])
        assert.equal(load.runs.size, 1)
      }
    })

    it('loses no request while the service is killed in the middle of a restart and started again', {
      timeout: 120_000,
    }, async (t) => {
      const proxy = createProxyControl(join(service.home, 'proxy'))
      const load = startLoad(service.proxyPort)
      try {
        await load.answersMore(40)
        const restart = service.client.call('restartProject', { params, query }).catch(() => undefined)
        await until(async () => ((await proxy.status())?.held ?? 0) > 0, 'requests to wait')
        await service.kill()
        await restart
        await service.start()
        await load.answersMore(200)
      } finally {
        await load.end()
        t.diagnostic(load.inWords())
      }
      assert.deepEqual(load.failures, [])
    })

    it('is answered by its page, and nothing waits, when it is stopped and not started again', {
      timeout: 120_000,
    }, async () => {
      await service.client.call('stopProject', { params, query })
      const answer = await service.get('shop')
      assert.equal(answer.status, 503)
      assert.match(answer.body, /stopped/i)
      await service.client.call('startProject', { params, query })
      assert.equal((await service.get('shop')).status, 200)
    })

    it('that does not come back after a restart is answered by its page, and nothing goes on waiting', {
      timeout: 120_000,
    }, async () => {
      const body = { node: { command: ['node', 'gone.js'] } } as object
      await service.client.call('updateProject', { params, query, body }).catch(() => undefined)
      const began = performance.now()
      const answer = await service.get('shop')
      assert.equal(answer.status, 503)
      assert.ok(performance.now() - began < 20_000)
    })
  })
}
