import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { forwardOf, type ReachablePort, readSshUser, signalOf, sshUserOf, takesVariable } from '../src/ssh.ts'

describe('user names of SSH', () => {
  it('are a slug, or a slug and a workload', () => {
    assert.deepEqual(readSshUser('shop'), { slug: 'shop', workload: null })
    assert.deepEqual(readSshUser('my-shop+php'), { slug: 'my-shop', workload: 'php' })
    assert.deepEqual(readSshUser('a+b_c-1'), { slug: 'a', workload: 'b_c-1' })
    for (const [slug, workload] of [
      ['shop', null],
      ['shop', 'php'],
    ] as const)
      assert.deepEqual(readSshUser(sshUserOf(slug, workload)), { slug, workload })
  })

  for (const name of [
    '',
    'Shop',
    'shop+',
    '+php',
    'shop+a+b',
    'shop/..',
    'shop ',
    'sh\0op',
    '-shop',
    'shop-',
    'shop\n',
    'prj_1',
    'ſhop',
    'a'.repeat(64),
  ])
    it(`are not ${JSON.stringify(name)}`, () => assert.equal(readSshUser(name), null))
})

describe('what a client may send along', () => {
  it('is the language and the terminal', () => {
    for (const name of ['LANG', 'LC_ALL', 'LC_CTYPE', 'TERM']) assert.ok(takesVariable(name, 'C.UTF-8'), name)
    for (const name of [
      'PATH',
      'LD_PRELOAD',
      'LC_',
      'LC_A;B',
      'LANGUAGE',
      'NODE_OPTIONS',
      'BASH_ENV',
      'ENV',
      'lang',
      'TERMINFO',
      'LOCPATH',
    ])
      assert.ok(!takesVariable(name, 'x'), name)
    for (const value of ['', 'a\nb', 'a\0b', 'é', 'x'.repeat(201)]) assert.ok(!takesVariable('LANG', value), value)
  })

  it('is a signal that programs know', () => {
    assert.equal(signalOf('INT'), 'SIGINT')
    for (const name of ['STOP', 'SIGINT', 'int', '9', '', 'CONT']) assert.equal(signalOf(name), null)
  })
})

describe('where connections go on to', () => {
  const ports: readonly ReachablePort[] = [
    { workload: 'php', port: 'http', aliases: [], numbers: [20001, 8000] },
    {
      workload: 'postgresql-main',
      port: 'postgresql',
      aliases: ['main', 'postgresql', 'postgres'],
      numbers: [20002, 5432],
    },
    {
      workload: 'postgresql-reports',
      port: 'postgresql',
      aliases: ['reports', 'postgresql', 'postgres'],
      numbers: [20003, 5432],
    },
    { workload: 'redis', port: 'redis', aliases: [], numbers: [20004, 6379] },
  ]
  const to = (workload: string, port: string) => ({ kind: 'workload', workload, port })
  const why = (host: string, port: number) => {
    const found = forwardOf(host, port, ports)
    return found.kind === 'refused' ? found.why : assert.fail(`${host}:${port} is ${JSON.stringify(found)}`)
  }

  it('is a port of this machine or inside, by localhost', () => {
    for (const host of ['localhost', '127.0.0.1', '::1', 'LOCALHOST', 'localhost.']) {
      assert.deepEqual(forwardOf(host, 20001, ports), to('php', 'http'))
      assert.deepEqual(forwardOf(host, 6379, ports), to('redis', 'redis'))
    }
  })

  it('is a workload by its name or alias', () => {
    assert.deepEqual(forwardOf('redis', 6379, ports), to('redis', 'redis'))
    assert.deepEqual(forwardOf('main', 5432, ports), to('postgresql-main', 'postgresql'))
    assert.deepEqual(forwardOf('postgresql-reports', 20003, ports), to('postgresql-reports', 'postgresql'))
  })

  it('is named when a number or a name is that of two', () => {
    assert.match(why('localhost', 5432), /postgresql-main and of postgresql-reports/)
    assert.match(why('postgres', 5432), /use one of these names/)
    assert.deepEqual(forwardOf('postgres', 20002, ports), to('postgresql-main', 'postgresql'))
  })

  it('is asked for where a program of the project may listen by itself', () => {
    assert.deepEqual(forwardOf('localhost', 45_000, ports), { kind: 'loopback', port: 45_000 })
    assert.match(why('localhost', 22), /Only ports of the project/)
    assert.match(why('redis', 6380), /There is redis:6379/)
  })

  for (const [host, port] of [
    ['169.254.169.254', 80],
    ['10.0.0.1', 5432],
    ['example.org', 443],
    ['0.0.0.0', 20001],
    ['127.0.0.2', 20001],
    ['127.1', 20001],
    ['2130706433', 20001],
    ['0x7f000001', 20001],
    ['localhost.example.org', 20001],
    ['::ffff:127.0.0.1', 20001],
    ['::', 20001],
    ['', 20001],
    ['redis\0', 6379],
    ['/var/run/docker.sock', 1],
    ['other-project', 80],
    ['localhost', 0],
    ['localhost', 65_536],
    ['localhost', 8700.5],
  ] as const)
    it(`is not ${JSON.stringify(host)}:${port}`, () => assert.ok(why(host, port).length > 0))
})
