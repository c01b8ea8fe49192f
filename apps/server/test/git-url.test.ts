import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { parseGitUrl } from '../src/source/git-url.ts'
import { openTestApp, type ProblemAnswer } from './projects-support.ts'

test('addresses of repositories are read as git, curl and ssh read them, and shown without credentials', () => {
  const shown = (text: string) => {
    const { protocol, url, host, port, credentials } = parseGitUrl(text)
    return { protocol, url, host, port, credentials }
  }
  assert.deepEqual(shown('https://ada:p%40ss@example.org:8443/a/b.git'), {
    protocol: 'https',
    url: 'https://example.org:8443/a/b.git',
    host: 'example.org',
    port: 8443,
    credentials: { username: 'ada', password: 'p@ss' },
  })
  assert.deepEqual(shown('HTTP://example.org/a%20b.git').url, 'http://example.org/a%20b.git')
  assert.deepEqual(shown('http://ada:100%@[::1]:80/r').credentials, { username: 'ada', password: '100%' })
  assert.deepEqual(shown('git://example.org/r').protocol, 'git')
  assert.deepEqual(shown('ssh://git@example.org:2222/~ada/r.git'), {
    protocol: 'ssh',
    url: 'ssh://git@example.org:2222/~ada/r.git',
    host: 'example.org',
    port: 2222,
    credentials: null,
  })
  assert.deepEqual(shown('git@Example.org:ada/r.git'), {
    protocol: 'ssh',
    url: 'git@Example.org:ada/r.git',
    host: 'example.org',
    port: null,
    credentials: null,
  })
  assert.deepEqual(shown('git@[::1]:r.git').host, '::1')
  assert.deepEqual(shown('ssh://ada%40example.org@git.example.org/r').url, 'ssh://ada%40example.org@git.example.org/r')
})

const refusedUrls = [
  'fd::3',
  'fd::17/foo',
  'ext::sh -c touch% /tmp/x',
  'ext::ssh://h',
  'file:///etc',
  'FILE:///etc',
  '/etc',
  '../other',
  './r',
  'r.git',
  '-u./payload',
  '--upload-pack=touch x',
  '-oProxyCommand=touch x',
  'ssh://-oProxyCommand=touch x/r',
  'ssh://-oProxyCommand=x/r',
  'ssh://-l@host/r',
  'ssh://%2doProxyCommand=x/r',
  'ssh://-oProxyCommand=x@host/r',
  'ssh://%2doProxyCommand=x@host/r',
  'ssh://ada:secret-word@host/r',
  'ssh://host',
  '-oProxyCommand=x:r',
  '-l@host:r',
  'host:-x',
  'host:',
  'ftp://host/r',
  'rsync://host/r',
  'svn::http://host',
  'gopher://host/r',
  'javascript://host/r',
  '://host/r',
  'http://host\\@other/r',
  'http://a@b@host/r',
  'http:///r',
  'http://host:0/r',
  'http://host:70000/r',
  'http://ho st/r',
  'http://host/r?token=secret-word',
  'http://host/r#secret-word',
  'http://host/r\n[core]',
  'http://host/\u0000r',
  'http://ada:a%0ahost=evil@host/r',
  'https://host/\u202egit.r',
  'https://host/r\u200b',
  ' https://host/r',
  '::',
  'git://ada:secret-word@host/r',
]

test('every other address is refused at once, with what to do, and starts nothing', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'stackquay-no-git-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  await chmod(folder, 0o755)
  const log = join(folder, 'started')
  for (const program of ['git', 'ssh', 'useradd'])
    await writeFile(join(folder, program), `#!/bin/sh\necho "$0 $*" >> '${log}'\nexit 1\n`, { mode: 0o755 })
  const { PATH } = process.env
  process.env.PATH = `${folder}:${PATH}`
  t.after(() => {
    process.env.PATH = PATH
  })
  const app = await openTestApp(t)
  await app.ask('GET', '/projects')
  for (const url of refusedUrls) {
    const before = performance.now()
    const answer = await app.ask<ProblemAnswer>('POST', '/projects', { name: 'Nothing', git: { url } })
    const took = performance.now() - before
    assert.deepEqual([url, answer.status, answer.body.code], [url, 422, 'source_failed'], JSON.stringify(answer.body))
    assert.ok(took < 200, `${url} took ${took} ms`)
    assert.ok(answer.body.detail.startsWith('The address of the repository '), answer.body.detail)
    assert.ok(answer.body.hint.length > 0)
    assert.ok(!JSON.stringify(answer.body).includes('secret-word'), JSON.stringify(answer.body))
  }
  assert.equal(existsSync(log), false, 'a program was started')
  assert.equal(existsSync(join(app.folder, 'git')), false)
})
