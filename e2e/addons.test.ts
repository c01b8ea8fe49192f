import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { after, before, describe, it } from 'node:test'
import type { Backup, ProjectView } from '@stackquay/contract'
import { withKeys } from './support/keys.ts'
import { type Service, startService } from './support/service.ts'
import { makeSourceRoot, type SourceRoot } from './support/source-root.ts'

/** A store of keys as an administrator would add one: a program of this machine, with data that is kept. */
const keeper = `name: keeper
title: Keeper
description: Keeps keys.
versions: [{version: '8.0'}]
native:
  programs: [redis-server]
  argv: [--bind, '\${host}', --port, '\${port.main}', --dir, '\${data}', --appendonly, 'yes', --protected-mode, 'no']
secrets: [token]
env: {KEEPER_TOKEN: '\${secret.token}'}
ports: [{name: main, port: 6390}]
volumes: [{path: /data}]
injects: {KEEPER_URL: 'redis://\${host}:\${port.main}'}
credentials:
  - {label: url, value: 'redis://\${host}:\${port.main}'}
  - {label: token, value: '\${secret.token}', secret: true}
`

describe('addons on this machine', () => {
  let service: Service
  let root: SourceRoot
  before(async () => {
    root = await makeSourceRoot()
    service = await startService({ roots: root.path })
  })
  after(async () => {
    await service?.close()
    await root?.remove()
  })

  it('are real programs with data that outlives them, and a page of the source', { timeout: 120_000 }, async () => {
    const { client } = service
    const path = await root.folder('shop', { 'hello.txt': 'from the source\n' })
    await client.call('addAddon', { body: { yaml: keeper } })
    const browser = await readFile(new URL('../examples/addons/source-browser.yml', import.meta.url), 'utf8')
    await client.call('addAddon', { body: { yaml: browser } })
    await client.call('createProject', { body: { name: 'Shop', path }, query: { wait: 60 } })
    const params = { id: 'shop' }
    const body = { addons: { keeper: { enabled: true }, 'source-browser': { enabled: true } } }
    await client.call('updateProject', { params, body, query: { wait: 60 } })
    await client.call('startProject', { params, query: { wait: 60 } })
    const shown = (await client.call('getProject', { params })) as ProjectView
    assert.deepEqual(
      shown.status.workloads.map(({ name, state }) => [name, state]),
      [
        ['keeper', 'running'],
        ['source-browser', 'running'],
      ],
    )
    const port = shown.addons?.['source-browser']?.hostPort
    assert.equal(await (await fetch(`http://127.0.0.1:${port}/hello.txt`)).text(), 'from the source\n')

    // Its page is for those who are logged in; the open address of before is nobody's.
    const { items } = await client.call('listProjectAddons', { params })
    assert.deepEqual(
      items.map(({ name, pageUrl }) => [name, pageUrl]),
      [
        ['keeper', null],
        ['source-browser', `http://source-browser--shop.localhost:${service.proxyPort}`],
      ],
    )
    assert.equal((await service.get('source-browser--shop', '/hello.txt')).status, 303)
    assert.equal((await service.get('source-browser.shop', '/hello.txt')).status, 404)

    const known = (await client.call('getAddonCredentials', { params: { id: 'shop', name: 'keeper' } })) as {
      url: string
      token: string
    }
    const { url, token } = known
    assert.match(token, /^[0-9A-Za-z]{32}$/)
    await withKeys(url, (keys) => keys.set('colour', 'green'))
    await client.call('disableProjectAddon', { params: { id: 'shop', name: 'keeper' }, query: { wait: 60 } })
    const { keptData } = await client.call('listExtras', { params })
    assert.deepEqual(
      keptData.map(({ kind }) => kind),
      ['keeper'],
    )
    await assert.rejects(
      client.call('deleteAddon', { params: { name: 'keeper' } }),
      /in use: shop \(its data is kept\)/,
    )

    const backup = (await client.call('createBackup', { params, query: { wait: 60 } })) as Backup
    assert.ok(
      backup.parts.some(({ id }) => id === 'service:keeper'),
      JSON.stringify(backup),
    )
    await client.call('setProjectAddon', { params: { id: 'shop', name: 'keeper' }, body: {}, query: { wait: 60 } })
    assert.equal(await withKeys(url, (keys) => keys.get('colour')), 'green')
    await client.call('restoreBackupAs', {
      params: { backup: backup.id },
      body: { name: 'Again' },
      query: { wait: 60 },
    })
    await client.call('setProjectAddon', { params: { id: 'again', name: 'keeper' }, body: {}, query: { wait: 60 } })
    await client.call('startProject', { params: { id: 'again' }, query: { wait: 60 } })
    const again = (await client.call('getAddonCredentials', {
      params: { id: 'again', name: 'keeper' },
    })) as typeof known
    assert.notEqual(again.url, url)
    assert.equal(again.token, token)
    assert.equal(await withKeys(again.url, (keys) => keys.get('colour')), 'green')
    for (const id of ['shop', 'again'])
      await client.call('deleteProject', {
        params: { id },
        query: { confirm: id, data: 'delete', purge: true, wait: 60 },
      })
  })
})
