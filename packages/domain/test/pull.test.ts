import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { test } from 'node:test'
import type { PullSource } from '@stackquay/contract'
import { emptySpec, mergeProject, pruneOf, pullFaults, pullParts, pullPlace, shellLine } from '@stackquay/domain'
import { parseManifest } from '@stackquay/domain/manifest'
import { printManifest } from '@stackquay/domain/print-manifest'

const database = { type: 'postgresql', version: '18', exposePort: false }
const spec = { ...emptySpec('Shop'), databases: { main: database } }
const ssh: PullSource = {
  from: 'ssh://deploy@shop.example.com:2222',
  key: 'DEPLOY_KEY',
  databases: { main: { command: ['pg_dump', 'shop'] } },
}
const offers = { runtimes: {}, services: {}, databases: {} }

test('an address is one of three kinds, and holds no password', () => {
  assert.deepEqual(pullPlace(ssh.from), { kind: 'ssh', user: 'deploy', host: 'shop.example.com', port: 2222 })
  assert.deepEqual(pullPlace('ssh://root@[::1]'), { kind: 'ssh', user: 'root', host: '::1', port: 22 })
  assert.deepEqual(pullPlace('s3://my-bucket/a/b/'), { kind: 's3', bucket: 'my-bucket', prefix: 'a/b' })
  assert.deepEqual(pullPlace('https://quay.example.com:8700'), {
    kind: 'stackquay',
    origin: 'https://quay.example.com:8700',
    host: 'quay.example.com',
  })
  const none = [
    '',
    'shop.example.com',
    'ssh://shop.example.com',
    'ssh://-o@host',
    'ssh://u:p@host',
    'ssh://u@host/path',
    'ssh://u@-host',
  ]
  const others = [
    's3://UPPER',
    's3://',
    'https://u:p@host',
    'https://host/path',
    'https://host/?a',
    'file:///etc',
    'ftp://host',
  ]
  for (const from of [...none, ...others]) assert.equal(pullPlace(from), null, from)
})

test('all that is wrong with a source is told at once, where it stands', () => {
  const faults = (source: PullSource) =>
    pullFaults('/pull/p', source, spec).map(({ pointer, code }) => `${pointer} ${code}`)
  assert.deepEqual(faults(ssh), [])
  assert.deepEqual(faults({ from: 'nowhere' }), ['/pull/p/from invalid_address'])
  assert.deepEqual(faults({ from: ssh.from, databases: {} }), ['/pull/p/key required'])
  assert.deepEqual(faults({ ...ssh, token: 'T', password: 'P' }), ['/pull/p/token other_kind', '/pull/p/key required'])
  assert.deepEqual(faults({ from: ssh.from, key: 'K' }), ['/pull/p required'])
  assert.deepEqual(faults({ ...ssh, databases: { gone: { command: ['x'] }, main: { database: 'main' } } }), [
    '/pull/p/databases/gone unknown_database',
    '/pull/p/databases/main required',
  ])
  assert.deepEqual(faults({ ...ssh, databases: { main: { command: ['a'], path: '/b' } } }), [
    '/pull/p/databases/main required',
  ])
  assert.deepEqual(faults({ from: 's3://bucket', databases: { main: { newest: '' } }, endpoint: 'ftp://x' }), [
    '/pull/p/accessKeyId required',
    '/pull/p/secretAccessKey required',
    '/pull/p/endpoint invalid_address',
  ])
  const files = {
    '/etc': '/a',
    '../x': '/a',
    '.git/hooks': '/a',
    '.stackquay': '/a',
    storage: '/a',
    'storage/app': '/a',
    ok: '../up',
    'a\nb': '/a',
  }
  assert.deepEqual(faults({ ...ssh, files }), [
    '/pull/p/files/~1etc invalid_path',
    '/pull/p/files/..~1x invalid_path',
    '/pull/p/files/.git~1hooks invalid_path',
    '/pull/p/files/.stackquay invalid_path',
    '/pull/p/files/storage~1app nested',
    '/pull/p/files/ok invalid_path',
    '/pull/p/files/a\nb invalid_path',
  ])
})

test('a source is replaced whole, null takes it away, and a file says and prunes it', () => {
  const merge = (before: typeof spec, pull: object | null) => {
    const merged = mergeProject(before, { pull } as never, {}, offers, 'keeps')
    assert.ok(merged.ok, JSON.stringify(merged))
    return merged.spec as typeof spec & { pull?: Record<string, PullSource> }
  }
  const first = merge(spec, { production: ssh, other: ssh })
  assert.deepEqual(Object.keys(first.pull ?? {}), ['production', 'other'])
  const changed = merge(first, { other: null, production: { ...ssh, hostKey: undefined, files: { a: '/a' } } })
  assert.deepEqual(changed.pull, { production: { ...ssh, files: { a: '/a' } } })
  assert.ok(!('pull' in merge(changed, null)) && !('pull' in merge(changed, { production: null })))

  const read = parseManifest(printManifest(first))
  assert.ok(read.ok, JSON.stringify(read))
  assert.deepEqual(read.manifest.patch.pull, first.pull)
  assert.deepEqual(pruneOf(first, { pull: { production: ssh } }).pull, { production: ssh, other: null })
  const typed = parseManifest(
    'pull: {live: {from: "ssh://a@b", key: K, databases: {main: {command: [dump, 1, true]}}}}',
  )
  assert.deepEqual(typed.ok && typed.manifest.patch.pull?.live?.databases?.main?.command, ['dump', '1', 'true'])
  const wrong = parseManifest('pull: {live: {from: "ssh://a@b", keys: K}}')
  assert.ok(!wrong.ok)
  assert.match(wrong.errors[0]?.detail ?? '', /Did you mean "key"/)
})

test('a source that stays as it is may name a database that is gone', () => {
  const before = { ...emptySpec('Shop'), pull: { production: ssh } }
  const same = mergeProject(before, { pull: { production: structuredClone(ssh) } }, {}, offers, 'keeps')
  assert.ok(same.ok && same.spec.pull?.production !== undefined)
  const other = mergeProject(before, { pull: { production: { ...ssh, key: 'OTHER' } } }, {}, offers, 'keeps')
  assert.ok(!other.ok && other.errors[0]?.code === 'unknown_database')
})

test('parts have ids, and only what is asked for is fetched', () => {
  const source = { ...ssh, files: { './storage//app/': '/var/app' } }
  assert.deepEqual(
    pullParts(source).map(({ id }) => id),
    ['database:main', 'files:./storage//app/'],
  )
  assert.deepEqual(pullParts(source, ['database:main']).length, 1)
  assert.equal(pullParts(source)[1]?.kind === 'files' && (pullParts(source)[1] as { path: string }).path, 'storage/app')
})

test('a shell hands on the words of a command as they are', () => {
  const words = ["it's", '$(id)', '`id`', 'a b', '', '\\', '"', '*', '~', '=ls', '!!', 'a\nb', ';', '&&', '--x=1', 'ü']
  const line = shellLine(['printf', '%s\\0', ...words])
  for (const shell of ['/bin/sh', '/bin/bash']) {
    const printed = execFileSync(shell, ['-c', line], { encoding: 'utf8' })
    assert.deepEqual(printed.split('\0').slice(0, -1), words)
  }
})
