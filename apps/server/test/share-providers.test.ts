import assert from 'node:assert/strict'
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { ConfigError, readConfig } from '../src/config.ts'
import { findProvider, providerNames, shareProviders } from '../src/network/providers/index.ts'
import { programOnPath } from '../src/network/providers/program-on-path.ts'
import type { ProviderEnvironment } from '../src/network/providers/provider.ts'

const nowhere: ProviderEnvironment = { allowed: providerNames, path: '', ssh: null }
const server = { user: 'gate', host: 'tunnel.example.org', port: 22 }

test('every folder of a provider is in the list, and nothing else', async () => {
  const entries = await readdir(new URL('../src/network/providers', import.meta.url), { withFileTypes: true })
  const folders = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name)
  assert.deepEqual(shareProviders.map(({ name }) => name).sort(), folders.sort())
})

test('a provider that cannot be used says why, and what to do', async () => {
  for (const provider of shareProviders) {
    const found = await provider.probe(nowhere)
    if (provider.tunnel === null) assert.equal(found.available, true)
    else if (!found.available) assert.ok(found.reason !== '' && found.install !== null, provider.name)
    else assert.fail(`${provider.name} is there without a program`)
  }
  const withServer = await findProvider('ssh')!.probe({ allowed: providerNames, path: '', ssh: server })
  assert.ok(!withServer.available && /not installed/.test(withServer.reason))
})

test('the address of a quick tunnel is found, and that of the service itself is not taken for one', () => {
  const { addressIn } = findProvider('cloudflare')!.tunnel!
  const of = (line: string) => addressIn(line, nowhere)
  assert.equal(
    of('2026-11-22T09:56:36Z INF |  https://disciplinary-tennis-breaking.trycloudflare.com                |'),
    'https://disciplinary-tennis-breaking.trycloudflare.com',
  )
  for (const line of [
    'failed to request quick Tunnel: Post "https://api.trycloudflare.com/tunnel": dial tcp: no such host',
    'INF Requesting new quick Tunnel on trycloudflare.com...',
    'see https://developers.cloudflare.com/cloudflare-one/connections/connect-apps',
    'https://owl.trycloudflare.com.evil.example',
    'http://owl.trycloudflare.com',
  ])
    assert.equal(of(line), null, line)
})

test('the port that an SSH server chose becomes an address of that server', () => {
  const { addressIn } = findProvider('ssh')!.tunnel!
  const line = 'Allocated port 41234 for remote forward to 127.0.0.1:20003'
  assert.equal(addressIn(line, { allowed: providerNames, path: '', ssh: server }), 'http://tunnel.example.org:41234')
  assert.equal(
    addressIn(line, { allowed: providerNames, path: '', ssh: { ...server, host: '2001:db8::1' } }),
    'http://[2001:db8::1]:41234',
  )
  assert.equal(addressIn(`banner: ${line}`, { allowed: providerNames, path: '', ssh: server }), null)
})

test('programs are found in absolute folders of PATH alone, and only what can be run', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'stackquay-path-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  await writeFile(join(folder, 'plain'), '')
  await writeFile(join(folder, 'program'), '', { mode: 0o755 })
  await mkdir(join(folder, 'directory'))
  assert.equal(await programOnPath('program', `:.:relative:${folder}`), join(folder, 'program'))
  assert.equal(await programOnPath('plain', folder), null)
  assert.equal(await programOnPath('directory', folder), null)
})

test('the server for SSH is a user and a host, and nothing that ssh would take for an option', () => {
  const read = (value: string) => readConfig({ STACKQUAY_SHARE_SSH: value }).shareSsh
  assert.deepEqual(read('gate@tunnel.example.org'), server)
  assert.deepEqual(read('gate@[2001:db8::1]:2222'), { user: 'gate', host: '2001:db8::1', port: 2222 })
  for (const wrong of [
    'tunnel.example.org',
    '-oProxyCommand=x@host',
    'gate@-host',
    'gate@host:0',
    'gate@host:70000',
    'a b@host',
  ])
    assert.throws(() => read(wrong), ConfigError, wrong)
  assert.equal(readConfig({}).shareSsh, null)
})
