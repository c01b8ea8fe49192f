import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { request as httpRequest, type IncomingHttpHeaders } from 'node:http'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, beforeEach, describe, test } from 'node:test'
import { Script } from 'node:vm'
import type { Worker } from 'node:worker_threads'
import {
  InboxMessage,
  InboxPage,
  InboxRefusal,
  InboxSummary,
  inboxHeader,
  inboxLimits,
  inboxPaths,
  serviceKindOf,
  type WorkloadDraft,
} from '@stackquay/catalog'
import { createTransport } from 'nodemailer'
import { createReader } from '../src/services/mailpit/catcher/reader.ts'
import { serviceInput } from './support/inputs.ts'
import { freePort, listening, type Machine, type Running, start } from './support/run-draft.ts'

const kind = serviceKindOf('mailpit')!
const apiKey = 'kEy0123456789'

let folder: string
let machine: Machine
let draft: WorkloadDraft
let ports: { smtp: number; web: number }

before(() => {
  folder = mkdtempSync(join(tmpdir(), 'stackquay-mail-'))
})

after(() => rmSync(folder, { recursive: true, force: true }))

beforeEach(async () => {
  const data = mkdtempSync(join(folder, 'data-'))
  machine = { data: { mailpit: data }, secrets: { apiKey } }
  ports = { smtp: await freePort(), web: await freePort() }
  draft = kind.toWorkload(serviceInput(kind, {}, { hostPort: (port) => ports[port as 'smtp' | 'web'] }))
})

describe('Mail that a real client sends', () => {
  test('is listed and shown with all that it carries, attachments byte for byte', () =>
    serving(async () => {
      const bytes = randomBytes(300_000)
      const pixel = Buffer.from(
        'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
        'base64',
      )
      await send({
        from: '"Zoë Grün" <zoe@example.com>',
        to: ['Ann <ann@example.com>', 'bob@example.com'],
        cc: 'carl@example.com',
        bcc: 'hidden@example.com',
        replyTo: 'answers@example.com',
        subject: 'Rechnung für März €',
        text: 'Hallo Welt',
        html: '<p>Hallo <img src="cid:logo@here"> <img src="https://tracker.example/x.png"></p>',
        attachments: [
          { filename: 'Übersicht "2026".bin', content: bytes },
          { filename: 'logo.png', content: pixel, cid: 'logo@here' },
        ],
      })
      const { items, total, unread, nextCursor } = await list()
      assert.deepEqual([items.length, total, unread, nextCursor], [1, 1, 1, null])
      const [summary] = items
      assert.deepEqual(summary!.from, { name: 'Zoë Grün', address: 'zoe@example.com' })
      assert.equal(summary!.subject, 'Rechnung für März €')
      assert.equal(summary!.snippet, 'Hallo Welt')
      assert.equal(summary!.attachmentCount, 1)

      const message = await show(summary!.id)
      assert.deepEqual(
        message.to.map(({ address }) => address),
        ['ann@example.com', 'bob@example.com'],
      )
      assert.deepEqual(message.cc, [{ name: '', address: 'carl@example.com' }])
      assert.deepEqual(message.bcc, [{ name: '', address: 'hidden@example.com' }])
      assert.deepEqual(message.replyTo, [{ name: '', address: 'answers@example.com' }])
      assert.equal(message.text, 'Hallo Welt')
      assert.equal(
        message.html,
        `<p>Hallo <img src="data:image/png;base64,${pixel.toString('base64')}"> <img src="https://tracker.example/x.png"></p>`,
      )
      assert.equal(message.problem, null)
      assert.equal(message.headers[0]?.name, 'From')
      assert.equal(message.envelope.to.length, 4)

      const file = message.attachments.find(({ inline }) => !inline)!
      assert.equal(file.fileName, 'Übersicht "2026".bin')
      assert.equal(file.sizeBytes, bytes.length)
      const download = await ask('GET', inboxPaths.attachment(message.id, file.index))
      assert.ok(download.content.equals(bytes))
      assert.equal(download.headers['content-type'], 'application/octet-stream')
      assert.equal(download.headers['x-content-type-options'], 'nosniff')
      assert.equal(
        download.headers['content-disposition'],
        `attachment; filename="_bersicht _2026_.bin"; filename*=UTF-8''%C3%9Cbersicht%20%222026%22.bin`,
      )
      assert.equal((await ask('GET', inboxPaths.attachment(message.id, 99))).status, 404)

      const source = await ask('GET', inboxPaths.source(message.id))
      assert.equal(source.headers['content-type'], 'message/rfc822')
      assert.equal(source.content.length, message.sizeBytes)
      assert.match(source.content.toString(), /^From: =\?UTF-8/)
    }))

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
  test('survives SIGKILL: of 1,000 mails sent over two kills none is lost, and none is there that was never sent', async () => {
    const acknowledged = new Set<string>()
    let next = 0
    const sendUntil = async (count: number) => {
      const transport = pooled()
      const sender = async () => {
        while (acknowledged.size < count && next < 1_500) {
          const mail = numbered(next++)
          try {
            await transport.sendMail(mail)
          } catch {
            return
          }
          acknowledged.add(mail.subject)
        }
      }
      await Promise.all(Array.from({ length: 4 }, sender))
      transport.close()
    }
    for (const count of [300, 700]) {
      const running = await started()
      const sending = sendUntil(2_000)
      while (acknowledged.size < count) await new Promise((resolve) => setTimeout(resolve, 5))
      await running.stop('SIGKILL')
      await sending
    }
    await serving(async () => {
      await sendUntil(1_000)
      const there = await listAll()
      const subjects = new Set(there.map(({ subject }) => subject))
      assert.deepEqual(
        [...acknowledged].filter((subject) => !subjects.has(subject)),
        [],
      )
      // Those that a kill caught between being kept and being acknowledged: at most one a connection.
      assert.ok(there.length - acknowledged.size <= 8)
      assert.equal(files('messages').length, there.length)
      assert.deepEqual(files('incoming'), [])
      const sample = there.find(({ subject }) => subject === [...acknowledged][250])!
      const source = (await ask('GET', inboxPaths.source(sample.id))).content.toString()
      assert.ok(source.includes(`body of ${sample.subject}`))
    })
  })

  test('is there after a stop, which idle clients do not hold up', async () => {
    const running = await started()
    const idle = connect(ports.smtp, '127.0.0.1')
    idle.on('error', () => {})
    await once(idle, 'data')
    await send(numbered(1))
    assert.deepEqual(await running.stop(), { code: 0, signal: null })
    idle.destroy()
    await serving(async () => assert.equal((await list()).total, 1))
  })

  test('stays when its start finds what a crash left beside it', async () => {
    const running = await started()
    await send(numbered(1))
    await send(numbered(2))
    await running.stop('SIGKILL')
    const data = machine.data.mailpit!
    writeFileSync(join(data, 'incoming', 'half.part'), 'Subject: half')
    writeFileSync(join(data, 'messages', `${'0'.repeat(32)}.eml`), 'Subject: never acknowledged')
    rmSync(join(data, 'messages', files('messages').filter((name) => !name.startsWith('0000'))[0]!))
    await serving(async () => {
      assert.equal((await list()).total, 1)
      assert.equal(files('messages').length, 1)
      assert.deepEqual(files('incoming'), [])
    })
  })

  test('is not touched by a second catcher that is started over the same data', () =>
    serving(async () => {
      await send(numbered(1))
      const other = { smtp: await freePort(), web: await freePort() }
      const second = kind.toWorkload(serviceInput(kind, {}, { hostPort: (port) => other[port as 'smtp' | 'web'] }))
      const running = await start(second, machine)
      const [code] = (await once(running.child, 'close')) as [number]
      assert.equal(code, 1)
      assert.match(running.output(), /cannot start: .*database is locked/)
      await send(numbered(2))
      assert.equal((await list()).total, 2)
    }))

  test('is dropped from the oldest end alone when the inbox is full', async () => {
    const limited = withArguments('--max-messages', '5')
    await serving(async () => {
      for (let n = 0; n < 8; n++) await send(numbered(n))
      assert.deepEqual(
        (await list()).items.map(({ subject }) => subject),
        [7, 6, 5, 4, 3].map((n) => `Mail ${n}`),
      )
      assert.equal(files('messages').length, 5)
    }, limited)
    await serving(
      async () => {
        await send({ ...numbered(9), text: 'x'.repeat(30_000) })
        assert.deepEqual(
          (await list()).items.map(({ subject }) => subject),
          ['Mail 9'],
        )
      },
      withArguments('--max-bytes', '20000'),
    )
  })

  test('is all that is there when the disk has no room for more, and the sender is told to try later', async () => {
    // The kernel refuses to make a file larger than this, as it refuses to fill a disk further.
    const [program, ...args] = draft.run.argv
    const argv = ['/bin/sh', '-c', 'ulimit -f 1024 && exec "$@"', 'sh', program, ...args] as [string, ...string[]]
    const acknowledged: string[] = []
    await serving(
      async () => {
        await send(numbered(0))
        const large = { ...numbered(1), text: 'large '.repeat(1_000_000) }
        await assert.rejects(send(large), { responseCode: 452, response: /The disk is full/ })
        assert.deepEqual(files('incoming'), [])
        acknowledged.push('Mail 0')
        // The index grows until it cannot either.
        for (let n = 2; n < 2_000; n++) {
          const refused = await send(numbered(n)).then(
            () => null,
            (error: { responseCode: number }) => error.responseCode,
          )
          if (refused !== null) {
            assert.equal(refused, 452)
            break
          }
          acknowledged.push(`Mail ${n}`)
        }
        assert.ok(acknowledged.length > 3 && acknowledged.length < 1_900)
        assert.equal((await list()).total, acknowledged.length)
      },
      { ...draft, run: { ...draft.run, argv } },
    )
    await serving(async () => {
      assert.deepEqual((await listAll()).map(({ subject }) => subject).toReversed(), acknowledged)
      await send(numbered(5_000))
    })
  })
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

      const socket = connect(ports.smtp, '127.0.0.1')
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
    const path = join(machine.data.mailpit!, 'slow.eml')
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
    const path = join(machine.data.mailpit!, 'fine.eml')
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
      const own = `127.0.0.1:${ports.web}`
      const status = async (headers: Record<string, string>, method = 'GET', path: string = inboxPaths.messages) =>
        (await ask(method, path, { headers, bare: true })).status
      for (const host of [own, `localhost:${ports.web}`, `shop.localhost:${ports.web}`, `[::1]:${ports.web}`]) {
        assert.equal(await status({ host }), 200, host)
      }
      const rebound = [
        'evil.example',
        `evil.example:${ports.web}`,
        '127.0.0.1',
        '127.0.0.1:1',
        `127.0.0.1.evil.example:${ports.web}`,
        `localhost.evil.example:${ports.web}`,
        `10.1.2.3:${ports.web}`,
        '',
        `a@127.0.0.1:${ports.web}`,
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
        `http://localhost:${ports.web + 1}`,
        `http://localhost:${ports.web}`,
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

  test('takes a rotated key and refuses the one before, with all mail kept', async () => {
    await serving(() => send(numbered(1)))
    machine = { ...machine, secrets: { apiKey: 'rotated' } }
    await serving(async () => {
      const headers = (key: string) => ({ host: 'x.example', authorization: `Bearer ${key}` })
      const page = await ask('GET', inboxPaths.messages, { headers: headers('rotated'), bare: true })
      assert.equal(InboxPage.parse(page.json()).total, 1)
      assert.equal((await ask('GET', inboxPaths.messages, { headers: headers(apiKey), bare: true })).status, 401)
    })
  })

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

async function started(of: WorkloadDraft = draft): Promise<Running> {
  const running = await start(of, machine)
  try {
    await listening(running, ports.web)
  } catch (error) {
    await running.stop('SIGKILL')
    throw error
  }
  return running
}

async function serving(work: () => Promise<unknown>, of: WorkloadDraft = draft): Promise<void> {
  const running = await started(of)
  try {
    await work()
  } catch (error) {
    console.error(running.output())
    throw error
  } finally {
    await running.stop()
  }
}

function withArguments(...more: string[]): WorkloadDraft {
  const argv = [...draft.run.argv, ...more] as [string, ...string[]]
  return { ...draft, run: { ...draft.run, argv } }
}

function smtpOptions() {
  return { host: '127.0.0.1', port: ports.smtp } as const
}

function pooled() {
  return createTransport({ ...smtpOptions(), pool: true, maxConnections: 4, maxMessages: 10_000 })
}

async function send(mail: Record<string, unknown>): Promise<void> {
  const transport = createTransport(smtpOptions())
  await transport.sendMail(mail)
  transport.close()
}

function numbered(n: number) {
  const subject = `Mail ${n}`
  return { from: 'app@x.example', to: 'person@x.example', subject, text: `body of ${subject}` }
}

/** One message as bytes; answers the last line of the server, or throws it when it is a refusal. */
async function sendRaw(message: Buffer, { stuffed = true } = {}): Promise<void> {
  const text = message.toString('latin1')
  const data = Buffer.from(stuffed ? text.replace(/(^|\r\n)\./g, '$1..') : text, 'latin1')
  const end = data.subarray(-2).toString() === '\r\n' ? '.\r\n' : '\r\n.\r\n'
  const { answers } = await talk([
    'EHLO me',
    'MAIL FROM:<a@x.example>',
    'RCPT TO:<b@x.example>',
    'DATA',
    Buffer.concat([data, Buffer.from(end)]),
    'QUIT',
  ])
  const [answer = ''] = answers
    .split('\r\n')
    .filter((line) => /^\d{3} /.test(line))
    .slice(-2)
  if (!answer.startsWith('250')) throw new Error(answer)
}

/** Says one thing after the other, each when the one before was answered. */
async function talk(says: readonly (string | Buffer)[]): Promise<{ answers: string }> {
  const socket = connect(ports.smtp, '127.0.0.1')
  let answers = ''
  let waiting: (() => void) | null = null
  socket.on('data', (chunk) => {
    answers += chunk.toString('latin1')
    if (/(^|\r\n)\d{3} [^\r\n]*\r\n$/.test(answers)) waiting?.()
  })
  const answered = () =>
    new Promise<void>((resolve, reject) => {
      waiting = resolve
      socket.once('error', reject)
    })
  try {
    await answered()
    for (const line of says) {
      const answer = answered()
      socket.write(typeof line === 'string' ? `${line}\r\n` : line)
      await answer
    }
  } finally {
    socket.destroy()
  }
  return { answers }
}

interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly content: Buffer
  json(): unknown
}

/** With `bare` nothing but the headers that are given; else as the page asks. */
async function ask(
  method: string,
  path: string,
  { headers = {}, body, bare = false }: { headers?: Record<string, string>; body?: string; bare?: boolean } = {},
): Promise<Answer> {
  const all = { ...(bare ? {} : { host: `127.0.0.1:${ports.web}`, [inboxHeader]: '1' }), ...headers }
  const sent = httpRequest({
    host: '127.0.0.1',
    port: ports.web,
    method,
    path,
    headers: all,
    setHost: false,
    agent: false,
  })
  sent.end(body)
  const [response] = await once(sent, 'response')
  const chunks: Buffer[] = []
  for await (const chunk of response) chunks.push(chunk)
  const content = Buffer.concat(chunks)
  return {
    status: response.statusCode,
    headers: response.headers,
    content,
    json: () => JSON.parse(content.toString('utf8')),
  }
}

async function list(query: Record<string, string> = {}): Promise<InboxPage> {
  const answer = await ask('GET', `${inboxPaths.messages}?${new URLSearchParams(query)}`)
  assert.equal(answer.status, 200, answer.content.toString())
  return InboxPage.parse(answer.json())
}

async function listAll() {
  const items = []
  let cursor: string | null = null
  do {
    const page: InboxPage = await list({ limit: '200', ...(cursor === null ? {} : { cursor }) })
    items.push(...page.items)
    cursor = page.nextCursor
  } while (cursor !== null)
  return items
}

async function show(id: string): Promise<InboxMessage> {
  const answer = await ask('GET', inboxPaths.message(id))
  assert.equal(answer.status, 200, answer.content.toString())
  return InboxMessage.parse(answer.json())
}

async function remove(id: string): Promise<void> {
  assert.equal((await ask('DELETE', inboxPaths.message(id))).status, 204)
}

function files(name: string): string[] {
  const path = join(machine.data.mailpit!, name)
  mkdirSync(path, { recursive: true })
  return readdirSync(path)
}

async function until(condition: () => boolean): Promise<void> {
  const deadline = Date.now() + 120_000
  while (!condition()) {
    if (Date.now() > deadline) throw new Error('What was waited for has not come.')
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}

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
