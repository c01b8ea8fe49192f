import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { describe, test } from 'node:test'
import { InboxQuery, inboxPaths, serviceTypeOf } from '@stackquay/catalog'
import { programFile, programPackages } from '../src/folders.ts'
import { serviceInput } from './support/inputs.ts'

const kind = serviceTypeOf('mailpit')!

describe('The mail catcher', () => {
  test('listens where it was told, with its key in the environment alone', () => {
    const input = serviceInput(kind, {}, { bind: (port) => (port === 'web' ? '0.0.0.0' : '127.0.0.1') })
    const spec = kind.toWorkload(input)
    assert.equal(spec.name, 'mailpit')
    assert.deepEqual(spec.data, [{ name: 'mailpit' }])
    assert.deepEqual(spec.run.argv.slice(2), [
      programFile('mail-catcher'),
      ...['--data', '{data:mailpit}'],
      ...['--smtp-port', '30000', '--smtp-host', '127.0.0.1'],
      ...['--web-port', '30001', '--web-host', '0.0.0.0'],
      ...['--name', 'shop.localhost'],
    ])
    assert.deepEqual(spec.env, { INBOX_API_KEY: [{ secret: 'apiKey', version: 1 }] })
    assert.deepEqual(spec.ports, [
      { name: 'smtp', port: 30000, hostPort: 30000, bind: '127.0.0.1' },
      { name: 'web', port: 30001, hostPort: 30001, bind: '0.0.0.0' },
    ])
  })

  test('answers to the domain of an instance that has one', () => {
    const project = { ...serviceInput(kind).project, url: 'https://shop.dev.example.com' }
    const { argv } = kind.toWorkload(serviceInput(kind, {}, { project })).run
    assert.deepEqual(argv.slice(-4), ['--name', 'shop.dev.example.com', '--name', 'dev.example.com'])
  })

  test('tells runtimes where to send, and nothing secret', () => {
    assert.deepEqual(kind.variables(serviceInput(kind)), {
      SMTP_HOST: '127.0.0.1',
      SMTP_PORT: '30000',
      MAIL_URL: 'smtp://127.0.0.1:30000',
      MAILER_DSN: 'smtp://127.0.0.1:30000',
    })
    assert.deepEqual(Object.keys(kind.variables(serviceInput(kind))), kind.injects)
    assert.equal(kind.credentials, undefined)
  })

  test('is always published, keeps data, and answers its inbox on a port it has', () => {
    assert.equal(kind.alwaysPublished, true)
    assert.equal(kind.settings.defaults().exposePort, true)
    assert.deepEqual(
      kind.ports.map(({ name, published }) => [name, published]),
      [
        ['smtp', false],
        ['web', true],
      ],
    )
    assert.ok(kind.ports.some(({ name }) => name === kind.inboxPort))
    assert.equal(kind.lineOf('1.2.3'), '1')
    assert.equal(kind.dataBlocker('1', '1'), null)
    assert.deepEqual(
      kind.secrets.map(({ name }) => name),
      ['apiKey'],
    )
  })

  test('is a built-in program that is there', () => {
    assert.ok(existsSync(programFile('mail-catcher')))
    assert.deepEqual(programPackages('mail-catcher'), ['smtp-server', 'mailparser', 'tar-stream'])
  })

  test('has a protocol that takes a query as a URL has it', () => {
    assert.deepEqual(InboxQuery.parse({ limit: '500', q: 'a b' }), { limit: 200, q: 'a b' })
    for (const limit of ['0', '-1', '1.5', 'x', '']) assert.equal(InboxQuery.safeParse({ limit }).success, false, limit)
    assert.equal(inboxPaths.attachment('ab/c', 3), '/api/messages/ab%2Fc/attachments/3')
  })
})
