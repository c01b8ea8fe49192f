import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { simpleParser } from 'mailparser'
import { SMTPServer } from 'smtp-server'
import { Webhook } from 'standardwebhooks'
import type { OutgoingMessage, SendOutcome } from '../src/notifications/channel-kind.ts'
import { channelKinds, kindOf } from '../src/notifications/channels/index.ts'
import { outsideFor } from '../src/notifications/outside.ts'
import { nextTry } from '../src/notifications/retries.ts'
import { masked, secretsOf } from '../src/notifications/sealed-settings.ts'

/** A project is called by its owner, and its output says what it likes. */
const hostile = '<!channel> @everyone **Shop** [x](http://evil.example) <b>&"\''
const message: OutgoingMessage = {
  id: 'msg_01test',
  event: 'down',
  project: 'prj_1',
  title: `${hostile}: web ended`,
  text: `It ended with exit code 1. <script>${hostile}`,
  tone: 'bad',
  urgent: false,
  at: '2026-11-27T12:00:00.000Z',
  link: 'https://quay.example.org/projects/prj_1',
}

test('Slack gets blocks in which nothing of a name is a mention or a link', async (t) => {
  const { sent, url } = await receiver(t)
  assert.equal((await send('slack', { url: `${url}/services/T/B/key` })).error, null)
  const [{ path, json }] = sent
  assert.equal(path, '/services/T/B/key')
  assert.match(json.text, /^&lt;!channel&gt; @everyone/)
  const [section, context] = json.blocks
  assert.deepEqual([section.type, section.text.type, section.text.verbatim], ['section', 'mrkdwn', true])
  assert.doesNotMatch(section.text.text, /<|>|&(?!amp;|lt;|gt;)/)
  assert.equal(context.elements[0].text, '<https://quay.example.org/projects/prj_1|Open in Stackquay>')
  await send('slack', { url }, { ...message, title: '&'.repeat(200), text: '<'.repeat(3000) })
  assert.ok(sent.at(-1)!.json.blocks[0].text.text.length <= 3000)
})

test('Discord gets an embed that calls nobody, within its limits', async (t) => {
  const { sent, url } = await receiver(t, () => ({ status: 204 }))
  assert.equal((await send('discord', { url: `${url}/api/webhooks/1/key` })).status, 204)
  const [{ json }] = sent
  assert.deepEqual(json.allowed_mentions, { parse: [] })
  const [embed] = json.embeds
  assert.ok(embed.title.startsWith('\\<!channel\\> \\@everyone \\*\\*Shop\\*\\* \\[x\\]\\(http\\://evil.example\\)'))
  assert.equal(embed.timestamp, message.at)
  await send('discord', { url }, { ...message, title: '*'.repeat(200), text: '_'.repeat(3000) })
  const long = sent.at(-1)!.json.embeds[0]
  assert.ok(
    long.title.length <= 256 && long.description.length <= 4096 && long.title.length + long.description.length <= 6000,
  )
})

test('Telegram gets escaped HTML; the patience it asks for in the body is kept', async (t) => {
  const { sent, url } = await receiver(t, (count) =>
    count === 0
      ? {
          status: 429,
          body: '{"ok":false,"error_code":429,"description":"Too Many Requests: retry after 35","parameters":{"retry_after":35}}',
        }
      : { status: 200, body: '{"ok":true}' },
  )
  const settings = { token: '123456:ABC-secret_key', chatId: '-100123', serverUrl: url }
  const refused = await send('telegram', settings)
  assert.deepEqual([refused.status, refused.retryAfterSeconds], [429, 35])
  assert.match(refused.error ?? '', /Too Many Requests/)
  assert.equal((await send('telegram', settings)).error, null)
  const { path, json } = sent[1]!
  assert.equal(path, '/bot123456:ABC-secret_key/sendMessage')
  assert.deepEqual(
    [json.chat_id, json.parse_mode, json.link_preview_options],
    ['-100123', 'HTML', { is_disabled: true }],
  )
  assert.match(json.text, /^<b>&lt;!channel&gt; .*&lt;b&gt;&amp;&quot;'?/)
  assert.deepEqual(json.text.match(/<[^>]+>/g), [
    '<b>',
    '</b>',
    '<a href="https://quay.example.org/projects/prj_1">',
    '</a>',
  ])
})

test('ntfy gets JSON at its root, with the token, and never more than becomes an attachment', async (t) => {
  const { sent, url } = await receiver(t)
  await send(
    'ntfy',
    { topic: 'stackquay', serverUrl: url, token: 'tk_secret' },
    { ...message, title: 'Кафе ☕ ist weg', text: 'ß'.repeat(3000) },
  )
  const [{ path, headers, json }] = sent
  assert.deepEqual([path, headers.authorization], ['/', 'Bearer tk_secret'])
  assert.deepEqual(
    [json.topic, json.title, json.priority, json.tags],
    ['stackquay', 'Кафе ☕ ist weg', 4, ['rotating_light']],
  )
  assert.ok(Buffer.byteLength(json.message) <= 3900 && !json.message.includes('\uFFFD'))
  assert.equal(json.click, message.link)
})

test('Teams gets an Adaptive Card of text runs, which know no markup', async (t) => {
  const { sent, url } = await receiver(t, () => ({ status: 202 }))
  assert.equal((await send('teams', { url: `${url}/workflows/x?sig=key` })).error, null)
  const [{ path, json }] = sent
  assert.equal(path, '/workflows/x?sig=key')
  const [{ contentType, content }] = json.attachments
  assert.deepEqual(
    [json.type, contentType, content.type],
    ['message', 'application/vnd.microsoft.card.adaptive', 'AdaptiveCard'],
  )
  assert.ok(
    content.body.every(
      ({ type, inlines }: Block) => type === 'RichTextBlock' && inlines.every((run) => run.type === 'TextRun'),
    ),
  )
  assert.equal(content.body[0].inlines[0].text, message.title)
})

test('Gotify gets plain text with its token in the header', async (t) => {
  const { sent, url } = await receiver(t)
  await send('gotify', { serverUrl: `${url}/gotify/`, token: 'Asecret' })
  const [{ path, headers, json }] = sent
  assert.deepEqual([path, headers['x-gotify-key']], ['/gotify/message', 'Asecret'])
  assert.deepEqual([json.title, json.message, json.priority], [message.title, message.text, 7])
  assert.equal(json.extras['client::display'].contentType, 'text/plain')
})

test('a webhook is signed so that the library of Standard Webhooks takes it', async (t) => {
  const { sent, url } = await receiver(t)
  const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
  assert.equal((await send('webhook', { url, secret })).error, null)
  const [{ headers, body }] = sent
  const read = new Webhook(secret).verify(body, headers as Record<string, string>) as { data: { title: string } }
  assert.equal(read.data.title, message.title)
  assert.throws(() => new Webhook(secret).verify(body.replace('web', 'xxx'), headers as Record<string, string>))
  await send('webhook', { url })
  assert.equal(sent.at(-1)!.headers['webhook-signature'], undefined)
  assert.equal(sent.at(-1)!.headers['webhook-id'], message.id)
  assert.equal(kindOf('webhook')!.settings.safeParse({ url, secret: 'whsec_short' }).success, false)
})

test('a mail arrives with both texts, and no line of its head comes from a name', async (t) => {
  const { mails, port } = await mailServer(t)
  const settings = {
    host: '127.0.0.1',
    port,
    security: 'none',
    user: 'quay',
    password: 'secret',
    from: 'quay@example.org',
    to: ['ops@example.org', 'ada@example.org'],
  }
  const title = `Shop\r\nBcc: eve@example.org\r\n\r\n${hostile}`
  const result = await send('email', settings, { ...message, title })
  assert.equal(result.error, null)
  const [{ raw, to, user }] = mails
  assert.deepEqual([to, user], [['ops@example.org', 'ada@example.org'], 'quay'])
  const mail = await simpleParser(raw)
  assert.equal(mail.headers.has('bcc'), false)
  assert.match(mail.subject ?? '', /^Shop Bcc: eve@example.org <!channel>/)
  assert.equal(mail.messageId, '<msg_01test@example.org>')
  assert.match(mail.text ?? '', /It ended with exit code 1\. <script>/)
  assert.doesNotMatch(String(mail.html), /<script|<b>/)
  assert.match(String(mail.html), /&lt;script&gt;/)
  const wrong = await send('email', { ...settings, password: 'wrong' })
  assert.match(wrong.error ?? '', /535/)
})

test('a mail server without TLS, or with a certificate that nobody signed, gets no password', async (t) => {
  const plain = await mailServer(t)
  const settings = {
    host: 'localhost',
    user: 'quay',
    password: 'secret',
    from: 'quay@example.org',
    to: ['ops@example.org'],
  }
  const without = await send('email', { ...settings, port: plain.port })
  assert.match(without.error ?? '', /STARTTLS|TLS/i)
  // The certificate that the library brings for tests.
  const own = await mailServer(t, { tls: true })
  const unsigned = await send('email', { ...settings, port: own.port })
  assert.match(unsigned.error ?? '', /certificate|self.signed|expired|altnames/i)
  assert.deepEqual([plain.logins(), own.logins(), plain.mails.length, own.mails.length], [0, 0, 0, 0])
})

test('redirects are not followed, metadata addresses are refused, and what a receiver answers is shown without secrets', async (t) => {
  const elsewhere = await receiver(t)
  const { url } = await receiver(t, () => ({ status: 302, headers: { location: elsewhere.url } }))
  assert.match((await send('slack', { url })).error ?? '', /answered 302/)
  assert.equal(elsewhere.sent.length, 0)
  for (const [kind, settings] of Object.entries({
    slack: { url: 'http://169.254.169.254/latest' },
    gotify: { serverUrl: 'http://metadata.google.internal', token: 'x' },
    email: { host: '169.254.169.254', from: 'a@example.org', to: ['b@example.org'] },
  }))
    assert.match((await send(kind, settings)).error ?? '', /belongs to the machine itself/, kind)
  const shown = masked('no_service at https://h.example/services/T/B/key and /services/T/B/key', {
    url: 'https://h.example/services/T/B/key',
  })
  assert.equal(shown, 'no_service at [secret] and [secret]')
})

test('every kind says what is secret of it, and shows an address without it', () => {
  const secrets = Object.fromEntries(channelKinds.map((kind) => [kind.name, [...secretsOf(kind)]]))
  assert.deepEqual(secrets, {
    email: ['password'],
    slack: ['url'],
    discord: ['url'],
    telegram: ['token'],
    teams: ['url'],
    ntfy: ['topic', 'token'],
    gotify: ['token'],
    webhook: ['url', 'secret'],
  })
})

test('what failed is tried again, later each time, for a day; the patience of a receiver is kept', () => {
  const created = Date.parse('2026-11-27T00:00:00Z')
  let at = created
  const waits: number[] = []
  for (let attempts = 1; ; attempts++) {
    const next = nextTry({ attempts, createdAt: new Date(created).toISOString() }, new Date(at), null, 0)
    if (next === null) break
    waits.push((next.getTime() - at) / 1000)
    at = next.getTime()
  }
  assert.deepEqual(waits.slice(0, 10), [10, 20, 40, 80, 160, 320, 640, 1280, 2560, 3600])
  assert.ok(at - created > 23 * 3600_000 && at - created <= 24 * 3600_000)
  const now = new Date(created)
  const first = { attempts: 1, createdAt: now.toISOString() }
  assert.equal(nextTry(first, now, 120, 0)!.getTime() - created, 120_000)
  assert.equal(nextTry(first, now, 2 * 86_400, 0), null)
  assert.equal(nextTry(first, now, null, 1)!.getTime() - created, 12_000)
})

interface Block {
  readonly type: string
  readonly inlines: readonly { readonly type: string }[]
}

async function send(name: string, settings: object, what = message): Promise<SendOutcome> {
  const kind = kindOf(name)!
  const read = kind.settings.parse(settings)
  return kind
    .send(
      what,
      read,
      outsideFor(AbortSignal.timeout(30_000), () => new Date()),
    )
    .catch((error: Error) => ({
      status: null,
      error: error.message,
      retryAfterSeconds: null,
    }))
}

interface Sent {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
  // biome-ignore lint/suspicious/noExplicitAny: bodies of every kind.
  readonly json: any
}

interface Answer {
  readonly status: number
  readonly body?: string
  readonly headers?: Record<string, string>
}

async function receiver(t: TestContext, answer: (count: number) => Answer = () => ({ status: 200, body: 'ok' })) {
  const sent = [] as unknown as [Sent, ...Sent[]]
  const server = createServer(async (request, response) => {
    const parts: Buffer[] = []
    for await (const part of request) parts.push(part as Buffer)
    const body = Buffer.concat(parts).toString('utf8')
    assert.equal(request.headers['content-type'], 'application/json')
    const { status, body: text = '', headers = {} } = answer(sent.length)
    sent.push({ path: request.url ?? '', headers: request.headers, body, json: JSON.parse(body) })
    response.writeHead(status, headers).end(text)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  return { sent, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}

interface Received {
  readonly raw: string
  readonly to: readonly string[]
  readonly user: string | null
}

async function mailServer(t: TestContext, { tls = false } = {}) {
  const mails = [] as unknown as [Received, ...Received[]]
  let logins = 0
  const server = new SMTPServer({
    disabledCommands: tls ? [] : ['STARTTLS'],
    allowInsecureAuth: true,
    authOptional: true,
    onAuth: (auth, _session, callback) => {
      logins += 1
      if (auth.password === 'secret') return callback(null, { user: auth.username ?? '' })
      return callback(new Error('wrong password'))
    },
    onData: async (stream, session, callback) => {
      const parts: Buffer[] = []
      for await (const part of stream) parts.push(part as Buffer)
      const to = session.envelope.rcptTo.map(({ address }) => address)
      mails.push({ raw: Buffer.concat(parts).toString('utf8'), to, user: session.user ?? null })
      callback()
    },
  })
  server.on('error', () => undefined)
  server.listen(0, '127.0.0.1')
  await once(server.server, 'listening')
  t.after(() => server.close(() => undefined))
  return { mails, logins: () => logins, port: (server.server.address() as AddressInfo).port }
}
