import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'
import { InboxChange, InboxMessage, type InboxRefusal, inboxPaths } from '@stackquay/catalog'
import type { z } from 'zod'

export interface TestInbox {
  readonly address: { readonly host: string; readonly port: number }
  /** What is in it, newest first. */
  readonly messages: Map<string, InboxMessage>
  /** Method and path of every request that showed the right key. */
  readonly asked: string[]
}

/** A real HTTP server that speaks the protocol of a mail catcher's inbox over messages in memory. */
export async function openInbox(
  t: Pick<TestContext, 'after'>,
  /** The key that a request must show; asked anew for each. */
  key: () => Promise<string>,
  messages: readonly InboxMessage[] = [mail('1')],
): Promise<TestInbox> {
  const inbox: TestInbox['messages'] = new Map(messages.map((message) => [message.id, message]))
  const asked: string[] = []
  const server = createServer(async (request, response) => {
    const answer = (status: number, body?: unknown) => {
      response.writeHead(status, body === undefined ? {} : { 'content-type': 'application/json' })
      response.end(body === undefined ? undefined : JSON.stringify(body))
    }
    const refuse = (status: number, code: z.infer<typeof InboxRefusal>['error']['code'], message: string) =>
      answer(status, { error: { code, message } })
    const url = new URL(request.url ?? '/', 'http://inbox')
    if (request.headers.authorization !== `Bearer ${await key()}`) return refuse(401, 'unauthorized', 'Who are you?')
    asked.push(`${request.method} ${url.pathname}${url.search}`)
    if (url.pathname === inboxPaths.messages) {
      if (request.method === 'DELETE') {
        inbox.clear()
        return answer(204)
      }
      if (url.searchParams.get('cursor') === 'torn') return refuse(400, 'invalid_request', 'The cursor is not one.')
      const found = [...inbox.values()].filter(({ subject }) => subject.includes(url.searchParams.get('q') ?? ''))
      const unread = [...inbox.values()].filter(({ read }) => !read).length
      return answer(200, { items: found, nextCursor: null, total: found.length, unread })
    }
    const message = [...inbox.values()].find(({ id }) => url.pathname.startsWith(inboxPaths.message(id)))
    if (message === undefined) return refuse(404, 'not_found', 'There is no such message.')
    if (url.pathname === inboxPaths.source(message.id)) return response.end(`Subject: ${message.subject}\r\n\r\nHello`)
    if (url.pathname === inboxPaths.attachment(message.id, 0)) return response.end('file')
    if (url.pathname !== inboxPaths.message(message.id)) return refuse(404, 'not_found', 'There is no such file.')
    if (request.method === 'DELETE') {
      inbox.delete(message.id)
      return answer(204)
    }
    if (request.method !== 'PATCH') return answer(200, message)
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const changed = { ...message, ...InboxChange.parse(JSON.parse(String(Buffer.concat(chunks)))) }
    inbox.set(message.id, changed)
    return answer(200, changed)
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return { address: { host: '127.0.0.1', port: (server.address() as AddressInfo).port }, messages: inbox, asked }
}

/** A message whose id ends with these hexadecimal digits. */
export function mail(digits: string, subject = 'Welcome'): InboxMessage {
  return InboxMessage.parse({
    id: digits.padStart(32, '0'),
    from: { name: 'Shop', address: 'shop@example.org' },
    to: [{ name: '', address: 'ada@example.org' }],
    subject,
    receivedAt: '2026-01-01T00:00:00.000Z',
    sizeBytes: 100,
    attachmentCount: 1,
    read: false,
    snippet: 'Hello',
    cc: [],
    bcc: [],
    replyTo: [],
    headers: [{ name: 'Subject', value: subject }],
    text: 'Hello',
    html: null,
    truncated: false,
    attachments: [
      { index: 0, fileName: 'a\r\nb".txt', contentType: 'text/html', sizeBytes: 4, inline: false, contentId: null },
    ],
    envelope: { from: 'shop@example.org', to: ['ada@example.org'] },
    problem: null,
  })
}
