import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdirSync, readdirSync } from 'node:fs'
import { request as httpRequest, type IncomingHttpHeaders } from 'node:http'
import { connect } from 'node:net'
import { join } from 'node:path'
import {
  InboxMessage,
  InboxPage,
  inboxHeader,
  inboxPaths,
  type ServiceInput,
  serviceTypeOf,
  type WorkloadSpec,
} from '@stackquay/catalog'
import { createTransport } from 'nodemailer'
import type { Machine } from './run-workload.ts'
import type { Stage, Started } from './stage.ts'

const kind = serviceTypeOf('mailpit')!
export const apiKey = 'kEy0123456789'

interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly content: Buffer
  json(): unknown
}

/** A catcher on its stage, with those who send and read. Each test begins with `renew`: an empty inbox. */
export function mailDesk() {
  let stage: Stage
  let machine: Machine
  let input: ServiceInput
  let spec: WorkloadSpec
  let ports: { smtp: number; web: number }

  async function started(of: WorkloadSpec = spec): Promise<Started> {
    const running = await stage.start(of, machine)
    try {
      await running.ready()
    } catch (error) {
      await running.stop('SIGKILL')
      throw error
    }
    return running
  }

  async function serving(work: () => Promise<unknown>, of: WorkloadSpec = spec): Promise<void> {
    const running = await started(of)
    try {
      await work()
    } catch (error) {
      console.error(await running.output())
      throw error
    } finally {
      await running.stop()
    }
  }

  function withArguments(...more: string[]): WorkloadSpec {
    const argv = [...spec.run.argv, ...more] as [string, ...string[]]
    return { ...spec, run: { ...spec.run, argv } }
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

  return {
    get machine() {
      return machine
    },
    set machine(other: Machine) {
      machine = other
    },
    get input() {
      return input
    },
    get spec() {
      return spec
    },
    get ports() {
      return ports
    },
    async renew(on: Stage): Promise<void> {
      stage = on
      machine = stage.project('mailpit', { apiKey })
      input = await stage.service()
      spec = kind.toWorkload(input)
      ports = { smtp: input.hostPort('smtp'), web: input.hostPort('web') }
    },
    started,
    serving,
    withArguments,
    smtpOptions,
    pooled,
    send,
    sendRaw,
    talk,
    ask,
    list,
    listAll,
    show,
    remove,
    files,
  }
}

export function numbered(n: number) {
  const subject = `Mail ${n}`
  return { from: 'app@x.example', to: 'person@x.example', subject, text: `body of ${subject}` }
}

export async function until(condition: () => boolean): Promise<void> {
  const deadline = Date.now() + 120_000
  while (!condition()) {
    if (Date.now() > deadline) throw new Error('What was waited for has not come.')
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}
