import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { type Service, startService, throughProxy, until } from './support/service.ts'

const stqFile = fileURLToPath(new URL('../apps/cli/bin/stq', import.meta.url))

describe('the command line and the network of a project', () => {
  let service: Service
  let home: string
  before(async () => {
    home = await mkdtemp(join(tmpdir(), 'stq-network-'))
    service = await startService()
    await service.client.call('createProject', { body: { name: 'Shop', template: 'static' }, query: { wait: 60 } })
  })
  after(async () => {
    await service?.close()
    if (home !== undefined) await rm(home, { recursive: true, force: true })
  })

  const at = (host: string, headers: Record<string, string> = {}) =>
    throughProxy(service.proxyPort, host, '/', { headers })

  it('domain adds a host name that answers at once, and removes it again', { timeout: 120_000 }, async () => {
    assert.equal((await at('shop.example.org')).status, 404)
    const added = await stq(['domain', 'add', 'shop', 'shop.example.org'])
    assert.equal(added.code, 0, added.stderr)
    assert.match(added.stdout, /^http:\/\/shop\.example\.org/)
    assert.equal((await at('shop.example.org')).status, 200)
    const list = await stq(['domain', 'list', 'shop', '--quiet'])
    assert.deepEqual(list.stdout.trim().split('\n').sort(), ['shop.example.org', 'shop.localhost'])
    assert.equal((await stq(['domain', 'remove', 'shop', 'shop.example.org'])).code, 0)
    assert.equal((await at('shop.example.org')).status, 404)
  })

  it('rules changes what is named, holds at once, goes through a file, and is cleared', {
    timeout: 120_000,
  }, async () => {
    const password = await stq(['rules', 'set', 'shop', '--password', 'ada', '--password-stdin'], 'a long secret\n')
    assert.equal(password.code, 0, password.stderr)
    assert.equal((await at('shop.localhost')).status, 401)
    const authorization = `Basic ${Buffer.from('ada:a long secret').toString('base64')}`
    assert.equal((await at('shop.localhost', { authorization })).status, 200)

    const allow = await stq(['rules', 'set', 'shop', '--allow', '192.0.2.0/24'])
    assert.equal(allow.code, 0, allow.stderr)
    assert.equal((await at('shop.localhost', { authorization })).status, 403)

    const json = await stq(['rules', 'show', 'shop', '--json'])
    assert.ok(!json.stdout.includes('a long secret'))
    const changed = JSON.stringify({ ...JSON.parse(json.stdout), allowIps: [] })
    const file = await stq(['rules', 'set', 'shop', '--file', '-'], changed)
    assert.equal(file.code, 0, file.stderr)
    // The password was not in it, and stayed.
    assert.equal((await at('shop.localhost')).status, 401)
    assert.equal((await at('shop.localhost', { authorization })).status, 200)

    assert.equal((await stq(['rules', 'clear', 'shop', '--yes'])).code, 0)
    assert.equal((await at('shop.localhost')).status, 200)
  })

  it('share prints an address that answers, and nothing is there once it was ended', { timeout: 120_000 }, async () => {
    const made = await stq(['share', 'shop', '--minutes', '5'])
    assert.equal(made.code, 0, made.stderr)
    const { hostname } = new URL(made.stdout.trim())
    assert.equal((await at(hostname)).status, 200)
    const shown = await stq(['share', 'show', 'shop', '--json'])
    assert.equal(new URL(JSON.parse(shown.stdout).share.url).hostname, hostname)
    await until(async () => {
      const viewers = await stq(['share', 'viewers', 'shop', '--json'])
      return (JSON.parse(viewers.stdout) as { items: unknown[] }).items.length === 1
    }, 'the viewer to be known')
    assert.equal((await stq(['share', 'end', 'shop'])).code, 0)
    assert.equal((await at(hostname)).status, 410)
  })

  it('traffic and access-log tell the requests that were made', { timeout: 120_000 }, async () => {
    assert.equal((await throughProxy(service.proxyPort, 'shop.localhost', '/not-there')).status, 404)
    await until(async () => {
      const { stdout } = await stq(['access-log', 'shop', '--status', '404', '--grep', 'not-there'])
      return /404 .*GET shop\.localhost(:\d+)?\/not-there/.test(stdout)
    }, 'the request in the access log')
    await until(async () => {
      const { stdout } = await stq(['traffic', 'shop', '--range', '15m'])
      return /^Requests +\d+/.test(stdout)
    }, 'the request in the traffic')
  })

  async function stq(args: readonly string[], input = '') {
    const env = { PATH: process.env.PATH, HOME: home, STACKQUAY_URL: service.url, STACKQUAY_TOKEN: service.token }
    const child = spawn(process.execPath, [stqFile, ...args], { env, stdio: 'pipe' })
    let [stdout, stderr] = ['', '']
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout += text
    })
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr += text
    })
    child.stdin.on('error', () => {})
    child.stdin.end(input)
    const guard = setTimeout(() => child.kill('SIGKILL'), 60_000)
    const code = await new Promise<number | null>((resolve) => child.on('close', resolve))
    clearTimeout(guard)
    return { code, stdout, stderr }
  }
})
