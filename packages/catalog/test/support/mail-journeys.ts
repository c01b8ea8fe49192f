import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { after, before, beforeEach, describe, test } from 'node:test'
import { InboxPage, inboxPaths } from '@stackquay/catalog'
import { apiKey, mailDesk, numbered } from './mail-desk.ts'
import type { Stage } from './stage.ts'

/** What the catcher promises for mail, wherever it runs. */
export function mailJourneys(place: string, open: () => Stage): void {
  describe(`Mail that is caught ${place}`, { concurrency: 1 }, () => {
    const desk = mailDesk()
    const { ask, files, list, listAll, pooled, send, serving, show, started, withArguments } = desk
    let stage: Stage

    before(() => {
      stage = open()
    })
    after(() => stage.close())
    beforeEach(() => desk.renew(stage))

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
      const idle = connect(desk.ports.smtp, '127.0.0.1')
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
      const data = desk.machine.data.mailpit!
      writeFileSync(join(data, 'incoming', 'half.part'), 'Subject: half')
      writeFileSync(join(data, 'messages', `${'0'.repeat(32)}.eml`), 'Subject: never acknowledged')
      rmSync(join(data, 'messages', files('messages').filter((name) => !name.startsWith('0000'))[0]!))
      await serving(async () => {
        assert.equal((await list()).total, 1)
        assert.equal(files('messages').length, 1)
        assert.deepEqual(files('incoming'), [])
      })
    })

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
      const [program, ...args] = desk.spec.run.argv
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
        { ...desk.spec, run: { ...desk.spec.run, argv } },
      )
      await serving(async () => {
        assert.deepEqual((await listAll()).map(({ subject }) => subject).toReversed(), acknowledged)
        await send(numbered(5_000))
      })
    })

    test('takes a rotated key and refuses the one before, with all mail kept', async () => {
      await serving(() => send(numbered(1)))
      desk.machine = { ...desk.machine, secrets: { apiKey: 'rotated' } }
      await serving(async () => {
        const headers = (key: string) => ({ host: 'x.example', authorization: `Bearer ${key}` })
        const page = await ask('GET', inboxPaths.messages, { headers: headers('rotated'), bare: true })
        assert.equal(InboxPage.parse(page.json()).total, 1)
        assert.equal((await ask('GET', inboxPaths.messages, { headers: headers(apiKey), bare: true })).status, 401)
      })
    })
  })
}
