import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import type { IncomingHttpHeaders } from 'node:http'
import { connect } from 'node:net'
import { join } from 'node:path'
import { after, before, beforeEach, describe, test } from 'node:test'
import { Script } from 'node:vm'
import type { Worker } from 'node:worker_threads'
import { InboxRefusal, InboxSummary, inboxHeader, inboxLimits, inboxPaths, serviceTypeOf } from '@stackquay/catalog'
import { createTransport } from 'nodemailer'
import { createReader } from '../src/services/mailpit/catcher/reader.ts'
import { apiKey, mailDesk, numbered, until } from './support/mail-desk.ts'
import { mailJourneys } from './support/mail-journeys.ts'
import { nativeStage, type Stage } from './support/stage.ts'

const kind = serviceTypeOf('mailpit')!
const open = () => nativeStage(kind, null, { asSelf: true })
const desk = mailDesk()
const { ask, files, list, listAll, send, sendRaw, serving, show, smtpOptions, pooled, remove, talk } = desk
let stage: Stage

before(() => {
  stage = open()
})

after(() => stage.close())

beforeEach(() => desk.renew(stage))

mailJourneys('on this machine', open)

describe('Mail that a real client sends', () => {
  test('is taken from clients that give credentials, whatever they are', () =>
    serving(async () => {
      for (const authMethod of ['PLAIN', 'LOGIN', 'CRAM-MD5']) {
        const transport = createTransport({ ...smtpOptions(), authMethod, auth: { user: 'shop', pass: 'any "thing"' } })
        await transport.sendMail({ from: 'a@x.example', to: 'b@x.example', subject: authMethod, text: 'x' })
      }
      assert.deepEqual((await list()).items.map(({ subject }) => subject).sort(), ['CRAM-MD5', 'LOGIN', 'PLAIN'])
    }))

  test('is read in every charset it may come in', () =>
    serving(async () => {
      const cases: readonly [string, Buffer, string][] = [
        ['iso-8859-1', Buffer.from('Grüße', 'latin1'), 'Grüße'],
        ['windows-1251', Buffer.from('cff0e8e2e5f2', 'hex'), 'Привет'],
        ['shift_jis', Buffer.from('93fa967b', 'hex'), '日本'],
        ['iso-2022-jp', Buffer.from('1b2442467c4b5c1b2842', 'hex'), '日本'],
        ['utf-8', Buffer.from('naïve 🙂'), 'naïve 🙂'],
      ]
      for (const [charset, bytes] of cases) {
        const head = `Subject: =?${charset}?B?${bytes.toString('base64')}?=\r\nX-Charset: ${charset}\r\n`
        const type = `MIME-Version: 1.0\r\nContent-Type: text/plain; charset=${charset}\r\n`
        const body = `Content-Transfer-Encoding: base64\r\n\r\n${bytes.toString('base64')}\r\n`
        await sendRaw(Buffer.from(head + type + body))
      }
      const { items } = await list()
      for (const [index, [charset, , text]] of cases.toReversed().entries()) {
        const message = await show(items[index]!.id)
        assert.equal(message.headers.find(({ name }) => name === 'X-Charset')?.value, charset)
        assert.equal(message.subject, text, charset)
        assert.equal(message.text?.trim(), text, charset)
      }
    }))

  test('is found by words of its subject, people, files and text, all of them and in any case', () =>
    serving(async () => {
      await send({
        from: 'Élise <elise@x.example>',
        to: 'b@x.example',
        subject: 'Monthly REPORT',
        text: 'numbers 100%_x',
      })
      await send({
        from: 'a@x.example',
        to: 'b@x.example',
        bcc: 'secret@x.example',
        subject: 'Two',
        html: '<b>Bold</b> words',
      })
      await send({
        from: 'a@x.example',
        to: 'b@x.example',
        subject: 'Three',
        text: 'x',
        attachments: [{ filename: 'plan.pdf', content: 'x' }],
      })
      const found = async (q: string) => {
        const page = await list({ q })
        assert.equal(page.total, page.items.length)
        return page.items.map(({ subject }) => subject)
      }
      assert.deepEqual(await found('report'), ['Monthly REPORT'])
      assert.deepEqual(await found('ÉLISE numbers'), ['Monthly REPORT'])
      assert.deepEqual(await found('élise bold'), [])
      assert.deepEqual(await found('100%_'), ['Monthly REPORT'])
      assert.deepEqual(await found('%'), ['Monthly REPORT'])
      assert.deepEqual(await found('bold words'), ['Two'])
      assert.deepEqual(await found('SECRET@x'), ['Two'])
      assert.deepEqual(await found('plan.PDF'), ['Three'])
      assert.deepEqual(await found(`'; DROP TABLE message; --`), [])
      assert.deepEqual(await found('  '), ['Three', 'Two', 'Monthly REPORT'])
    }))

  test('is paged without gaps or doubles while other mail arrives and goes', () =>
    serving(async () => {
      const transport = pooled()
      for (let n = 0; n < 25; n++) await transport.sendMail(numbered(n))
      const first = await list({ limit: '10' })
      const rest = await list({ limit: '200' })
      for (let n = 100; n < 105; n++) await transport.sendMail(numbered(n))
      transport.close()
      // One that was listed, the one that the cursor stands on, and one that is still to come.
      for (const index of [3, 9, 15]) await remove(rest.items[index]!.id)
      const second = await list({ limit: '10', cursor: first.nextCursor! })
      const third = await list({ limit: '10', cursor: second.nextCursor! })
      assert.equal(third.nextCursor, null)
      const expected = rest.items.filter((_item, index) => index < 10 || index !== 15).map(({ id }) => id)
      assert.deepEqual(
        [...first.items, ...second.items, ...third.items].map(({ id }) => id),
        expected,
      )
      assert.equal((await list()).total, 27)
    }))

  test('can be marked and deleted, one or all, and its file goes with it', () =>
    serving(async () => {
      for (let n = 0; n < 3; n++) await send(numbered(n))
      const { items } = await list()
      const path = inboxPaths.message(items[0]!.id)
      const marked = await ask('PATCH', path, { body: '{"read":true}' })
      assert.equal(InboxSummary.parse(marked.json()).read, true)
      assert.equal((await list()).unread, 2)
      for (const body of [
        '{}',
        '[]',
        'null',
        '{"read":1}',
        '{"read":true,"x":1}',
        'no json',
        `{"read":"${'x'.repeat(5000)}"}`,
      ]) {
        assert.equal((await ask('PATCH', path, { body })).status, 400, body)
      }
      assert.equal((await ask('DELETE', path)).status, 204)
      assert.equal((await ask('DELETE', path)).status, 404)
      assert.equal((await ask('PATCH', path, { body: '{"read":true}' })).status, 404)
      assert.equal((await ask('GET', inboxPaths.source(items[0]!.id))).status, 404)
      assert.equal(files('messages').length, 2)
      assert.equal((await ask('DELETE', inboxPaths.messages)).status, 204)
      assert.deepEqual(await list(), { items: [], nextCursor: null, total: 0, unread: 0 })
      assert.deepEqual(files('messages'), [])
    }))
})

describe('Acknowledged mail', () => {
  test('is not touched by a second catcher that is started over the same data', () =>
    serving(async () => {
      await send(numbered(1))
      const second = await stage.start(kind.toWorkload(await stage.service()), desk.machine)
      const { code } = await second.ended()
      assert.equal(code, 1)
      assert.match(await second.output(), /cannot start: .*database is locked/)
      await send(numbered(2))
      assert.equal((await list()).total, 2)
    }))
})

describe('Hostile mail', () => {
  const kept: readonly [string, Buffer][] = [
    ['headers without end', Buffer.from(`Subject: big\r\nX-Long: ${'a'.repeat(2_000_000)}\r\n\r\nbody\r\n`)],
    ['100,000 headers', Buffer.from(`${'X-Many: 1\r\n'.repeat(100_000)}\r\nbody\r\n`)],
    ['parts within parts', nested(2_000)],
    ['thousands of parts', manyParts(5_000)],
    ['null bytes', Buffer.from('From: a\0b@x.example\r\nSubject: nu\0ll\r\n\r\nbo\0dy\r\n')],
    [
      'a charset nobody knows',
      Buffer.from(
        'Subject: =?klingon-8?Q?=FF?=\r\nContent-Type: text/plain; charset=klingon-8\r\n\r\n\xff\r\n',
        'latin1',
      ),
    ],
    ['base64 that is none', Buffer.from('Content-Type: image/png\r\nContent-Transfer-Encoding: base64\r\n\r\n%%%\r\n')],
    ['no headers', Buffer.from('\r\nbody alone\r\n')],
    ['nothing', Buffer.from('\r\n')],
    [
      'bytes',
      Buffer.concat([
        Buffer.from('Subject: bytes\r\n\r\n'),
        Buffer.from(
          randomBytes(50_000)
            .toString('latin1')
            .replace(/[\r\n.]/g, 'x'),
          'latin1',
        ),
        Buffer.from('\r\n'),
      ]),
    ],
    ['unclosed HTML', Buffer.from(`Content-Type: text/html\r\n\r\n${'<div><style>'.repeat(20_000)}\r\n`)],
    ['an address list without end', Buffer.from(`To: ${'"a" <a@x.example>, ('.repeat(20_000)}\r\n\r\nx\r\n`)],
  ]

  test('is kept and shown, at worst as it came, and the catcher goes on', () =>
    serving(async () => {
      for (const [what, bytes] of kept) {
        await sendRaw(bytes)
        const { items } = await list({ limit: '1' })
        const message = await show(items[0]!.id)
        assert.ok(message.text !== null || message.html !== null || message.attachments.length > 0, what)
        const source = await ask('GET', inboxPaths.source(message.id))
        assert.ok(source.content.equals(bytes), what)
      }
      assert.equal((await list()).total, kept.length)
      const big = (await listAll()).at(-1)!
      const message = await show(big.id)
      assert.match(message.problem ?? '', /^The message could not be read: /)
      assert.match(message.text ?? '', /^Subject: big/)
      assert.equal(message.truncated, true)
    }))

  test('smuggles no second message past the end that SMTP gives the first', () =>
    serving(async () => {
      const inner = 'MAIL FROM:<evil@x.example>\r\nRCPT TO:<b@x.example>\r\nDATA\r\nSubject: smuggled\r\n\r\n'
      for (const end of ['\n.\n', '\n.\r\n', '\r.\r', '\r\n.\n', '\r\n.\r', '\r\n..\r\n']) {
        await sendRaw(Buffer.from(`Subject: outer\r\n\r\nx${end}${inner}`), { stuffed: false })
      }
      const { items } = await list()
      assert.deepEqual(
        items.map(({ subject }) => subject),
        Array(6).fill('outer'),
      )
      const source = (await ask('GET', inboxPaths.source(items[0]!.id))).content.toString()
      assert.ok(source.includes('x\r\n.\r\nMAIL FROM'), 'a doubled dot is one dot')
    }))

  test('may have 1,000 recipients', () =>
    serving(async () => {
      const bcc = Array.from({ length: 1_000 }, (_empty, n) => `person${n}@x.example`)
      await send({ ...numbered(1), bcc })
      const message = await show((await list()).items[0]!.id)
      assert.equal(message.envelope.to.length, 1_001)
      assert.equal(message.bcc.length, 1_000)
      await send({ ...numbered(2), to: bcc })
      const [open] = (await list()).items
      assert.equal(open!.to.length, inboxLimits.listedRecipients)
      assert.equal((await show(open!.id)).to.length, 1_000)
      assert.deepEqual((await show(open!.id)).bcc, [])
    }))

  test('is refused above 25 MiB, as announced, and when its sender goes away; neither leaves anything', () =>
    serving(async () => {
      const { answers } = await talk(['EHLO me', 'QUIT'])
      assert.match(answers, new RegExp(`SIZE ${25 * 1024 * 1024}\r`))
      assert.doesNotMatch(answers, /STARTTLS/)
      const large = Buffer.alloc(25 * 1024 * 1024 + 10, 'a line of text that is not very long at all\r\n')
      await assert.rejects(sendRaw(large), /552/)

      const socket = connect(desk.ports.smtp, '127.0.0.1')
      await once(socket, 'data')
      socket.write('EHLO me\r\nMAIL FROM:<a@x.example>\r\nRCPT TO:<b@x.example>\r\nDATA\r\nSubject: half\r\n')
      await until(() => files('incoming').length === 1)
      socket.destroy()
      await until(() => files('incoming').length === 0)
      assert.deepEqual(files('messages'), [])
      await send(numbered(1))
      assert.equal((await list()).total, 1)
    }))

  test('that takes too long to read counts as one that nobody can read', async () => {
    const path = join(desk.machine.data.mailpit!, 'slow.eml')
    writeFileSync(path, 'Subject: slow\r\n\r\nbody\r\n')
    const reader = createReader(0.001)
    try {
      const mail = await reader.mail(path)
      assert.match(mail.problem ?? '', /it took longer than 0.001 seconds/)
      assert.equal(mail.text, 'Subject: slow\r\n\r\nbody\r\n')
      assert.equal((await reader.digest(path)).subject, '')
    } finally {
      await reader.close()
    }
  })
})

describe('The thread that reads mail', () => {
  test('is another one after it broke, and the next message is not blamed for it', async () => {
    const path = join(desk.machine.data.mailpit!, 'fine.eml')
    writeFileSync(path, 'Subject: fine\r\n\r\nbody\r\n')
    const threads: Worker[] = []
    const note = (thread: Worker) => threads.push(thread)
    process.on('worker', note)
    const reader = createReader()
    try {
      assert.equal((await reader.digest(path)).subject, 'fine')
      // What a message started may throw when its answer is out already.
      await threads[0]!.terminate()
      const { subject, problem } = await reader.digest(path)
      assert.deepEqual([subject, problem, threads.length], ['fine', null, 2])
    } finally {
      process.off('worker', note)
      await reader.close()
    }
  })
})

describe('The web port', () => {
  test('answers its own page and programs of this machine, and no page elsewhere', () =>
    serving(async () => {
      await send(numbered(1))
      const own = `127.0.0.1:${desk.ports.web}`
      const status = async (headers: Record<string, string>, method = 'GET', path: string = inboxPaths.messages) =>
        (await ask(method, path, { headers, bare: true })).status
      for (const host of [
        own,
        `localhost:${desk.ports.web}`,
        `shop.localhost:${desk.ports.web}`,
        `[::1]:${desk.ports.web}`,
      ]) {
        assert.equal(await status({ host }), 200, host)
      }
      const rebound = [
        'evil.example',
        `evil.example:${desk.ports.web}`,
        '127.0.0.1',
        '127.0.0.1:1',
        `127.0.0.1.evil.example:${desk.ports.web}`,
        `localhost.evil.example:${desk.ports.web}`,
        `10.1.2.3:${desk.ports.web}`,
        '',
        `a@127.0.0.1:${desk.ports.web}`,
      ]
      for (const host of rebound) {
        for (const path of ['/', inboxPaths.messages])
          assert.equal(await status({ host }, 'GET', path), 421, `${host} ${path}`)
      }
      assert.equal(await status({ host: own, 'sec-fetch-site': 'same-origin' }), 200)
      assert.equal(await status({ host: own, 'sec-fetch-site': 'none' }), 200)
      for (const site of ['cross-site', 'same-site'])
        assert.equal(await status({ host: own, 'sec-fetch-site': site }), 403)
      for (const origin of [
        'http://evil.example',
        'null',
        `http://localhost:${desk.ports.web + 1}`,
        `http://localhost:${desk.ports.web}`,
      ]) {
        assert.equal(await status({ host: own, origin }), 403, origin)
      }
      assert.equal(await status({ host: own, origin: `http://${own}` }), 200)
      // A link from elsewhere may open the page, which has nothing in it yet; a frame elsewhere may not show it.
      assert.equal(
        await status({ host: own, 'sec-fetch-site': 'cross-site', 'sec-fetch-dest': 'document' }, 'GET', '/'),
        200,
      )
      assert.equal(
        await status({ host: own, 'sec-fetch-site': 'cross-site', 'sec-fetch-dest': 'iframe' }, 'GET', '/'),
        403,
      )

      const change = { host: own, origin: `http://${own}` }
      assert.equal(await status(change, 'DELETE'), 403)
      assert.equal(await status(change, 'POST'), 403)
      assert.equal(await status({ ...change, [inboxHeader]: '1', 'sec-fetch-site': 'cross-site' }, 'DELETE'), 403)
      assert.equal((await list()).total, 1)
      assert.equal(await status({ ...change, [inboxHeader]: '1' }, 'DELETE'), 204)
      const preflight = await ask('OPTIONS', inboxPaths.messages, {
        headers: { host: own, origin: 'http://evil.example' },
        bare: true,
      })
      assert.equal(preflight.status, 403)
      assert.equal(preflight.headers['access-control-allow-origin'], undefined)
    }))

  test('answers by the port that it is published at, too, and by no other', async () => {
    const published = 8123
    const { input } = desk
    const elsewhere = kind.toWorkload({ ...input, hostPort: () => published })
    const ports = elsewhere.ports.map((port) => ({ ...port, hostPort: port.port }))
    await serving(
      async () => {
        const answer = (host: string) => ask('GET', inboxPaths.messages, { headers: { host }, bare: true })
        for (const host of [`127.0.0.1:${published}`, `shop.localhost:${published}`, `127.0.0.1:${desk.ports.web}`])
          assert.equal((await answer(host)).status, 200, host)
        for (const host of [`127.0.0.1:${published + 1}`, `evil.example:${published}`]) {
          const refused = await answer(host)
          assert.equal(refused.status, 421, host)
          assert.ok(InboxRefusal.parse(refused.json()).error.message.endsWith(`http://127.0.0.1:${published}.`))
        }
      },
      { ...elsewhere, ports },
    )
  })

  test('answers whoever has the key, wherever they are, and nobody with another', () =>
    serving(async () => {
      const headers = { host: 'anything.example', origin: 'http://elsewhere.example' }
      const withKey = (key: string) => ({ ...headers, authorization: key })
      const status = async (key: string, method = 'GET') =>
        (await ask(method, inboxPaths.messages, { headers: withKey(key), bare: true })).status
      assert.equal(await status(`Bearer ${apiKey}`), 200)
      assert.equal(await status(`Bearer ${apiKey}`, 'DELETE'), 204)
      for (const wrong of ['Bearer ', 'Bearer null', `Bearer ${apiKey}x`, `Basic ${apiKey}`, apiKey]) {
        assert.equal(await status(wrong), 401, wrong)
      }
    }))

  test('answers nonsense with what is wrong', () =>
    serving(async () => {
      const unknown = '0'.repeat(32)
      const cases: readonly [string, string, number][] = [
        ['GET', '/api/messages?limit=0', 400],
        ['GET', '/api/messages?limit=x', 400],
        ['GET', '/api/messages?cursor=', 400],
        ['GET', '/api/messages?cursor=1%20OR%201', 400],
        ['GET', `/api/messages?q=${'x'.repeat(inboxLimits.searchCharacters + 1)}`, 400],
        ['GET', inboxPaths.message(unknown), 404],
        ['GET', inboxPaths.message('../../inbox.sqlite'), 404],
        ['GET', `/api/messages/../../inbox.sqlite`, 404],
        ['GET', inboxPaths.attachment(unknown, 0), 404],
        ['GET', '/nowhere', 404],
        ['POST', inboxPaths.messages, 405],
        ['PUT', inboxPaths.message(unknown), 405],
      ]
      for (const [method, path, status] of cases) {
        const answer = await ask(method, path)
        assert.equal(answer.status, status, `${method} ${path}`)
        assert.ok(InboxRefusal.parse(answer.json()).error.message.length > 10)
      }
      assert.equal((await ask('HEAD', inboxPaths.messages)).content.length, 0)
      assert.equal((await ask('GET', inboxPaths.health)).status, 200)
    }))

  test('has a page that runs its own script alone, and shows HTML of messages where nothing runs or loads', () =>
    serving(async () => {
      const html = '<script>alert(1)</script><img src="https://tracker.example/x.png"><a href="https://x.example">x</a>'
      await send({ ...numbered(1), html })
      const page = await ask('GET', '/')
      assert.match(String(page.headers['content-type']), /^text\/html/)
      assert.match(policy(page.headers), /default-src 'none'; script-src 'self';.*frame-ancestors 'none'/)
      const script = await ask('GET', '/page.js')
      assert.doesNotThrow(() => new Script(script.content.toString()))
      assert.match(script.content.toString(), new RegExp(`'${inboxHeader}'`))
      assert.equal((await ask('GET', '/page.css')).headers['content-type'], 'text/css; charset=utf-8')

      const { id } = (await list()).items[0]!
      assert.equal((await show(id)).html, html)
      const body = await ask('GET', `/messages/${id}/html`)
      assert.ok(body.content.toString().endsWith(html))
      assert.match(policy(body.headers), /sandbox allow-popups allow-popups-to-escape-sandbox$/)
      assert.match(policy(body.headers), /default-src 'none'; img-src data:;/)
      assert.doesNotMatch(policy(body.headers), /script|http/)
      const remote = await ask('GET', `/messages/${id}/html?remote=1`)
      assert.match(policy(remote.headers), /img-src data: http: https:/)
      assert.doesNotMatch(policy(remote.headers), /script/)
    }))
})

function policy(headers: IncomingHttpHeaders): string {
  return String(headers['content-security-policy'])
}

function nested(depth: number): Buffer {
  const open = Array.from(
    { length: depth },
    (_empty, n) => `Content-Type: multipart/mixed; boundary=b${n}\r\n\r\n--b${n}\r\n`,
  )
  return Buffer.from(`Subject: nested\r\n${open.join('')}\r\nbottom\r\n`)
}

function manyParts(count: number): Buffer {
  const parts = '--b\r\nContent-Disposition: attachment; filename=x\r\n\r\nx\r\n'.repeat(count)
  return Buffer.from(`Subject: many\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n${parts}--b--\r\n`)
}
