import { appendFile, chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, type IncomingMessage } from 'node:http'
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { createNativeEngine, oneAccount } from '@stackquay/engines'
import { type LogExportDeps, type LogExportKeeper, openLogExport } from '../src/log-export/keeper.ts'
import type { QueueLimits } from '../src/log-export/line-queue.ts'

export const project = 'prj_logs'

/** What a recorder notes: when so much of stdout was there. */
function entryOf(time: number, size: number): Buffer {
  const entry = Buffer.alloc(16)
  entry.writeUIntBE(time, 0, 6)
  entry.writeUIntBE(size, 6, 5)
  return entry
}

interface Options {
  readonly url: string
  readonly headersFile?: string
  readonly limits?: QueueLimits
  readonly pace?: number
}

/** Exporters over a native engine in a home of its own, with logs as programs would have written them. */
export async function openExports(t: TestContext) {
  const root = await mkdtemp(join(tmpdir(), 'stackquay-log-export-'))
  await chmod(root, 0o711)
  const home = join(root, 'home')
  const runAs = process.getuid?.() === 0 ? { uid: 48_212, gid: 48_212 } : null
  const engine = await createNativeEngine({ home, accounts: oneAccount(runAs), bundled: [] })
  const open = new Set<LogExportKeeper>()
  t.after(async () => {
    for (const keeper of open) await keeper.close()
    await engine.close()
    await rm(root, { recursive: true, force: true })
  })
  const names = ['web']
  const row = { id: project, slug: 'logs', createdAt: '2026-01-01T00:00:00Z' }
  const known = () => ({ row, resolved: { workloads: names.map((workload) => ({ ref: { project, workload } })) } })
  const model = { all: () => [known()], find: () => known() } as unknown as LogExportDeps['model']
  /** As the store keeps them; each version that was written. */
  const written: unknown[] = []
  const state = { stored: null as unknown }
  const settings = {
    get: async () => structuredClone(state.stored),
    set: async (_name: string, value: unknown) => {
      state.stored = structuredClone(value)
      written.push(state.stored)
    },
  }
  const store = {
    settings,
    transaction: (work: (tx: unknown) => unknown) => work({ settings }),
  } as unknown as LogExportDeps['store']
  const errors: unknown[] = []
  const sizes = new Map<string, number>()
  const log = Date.now().toString(36).padStart(9, '0')
  return {
    ...{ root, names, written, state, errors },
    open({ url, headersFile, limits, pace = 0.02 }: Options) {
      const config = {
        logExport: { url: url as string | null, projects: [] as string[], headersFile: headersFile ?? null },
      }
      const keeper = openLogExport({
        ...{ store, engine, model, config, pace, ready: Promise.resolve(), now: () => new Date() },
        ...(limits && { limits }),
        chance: () => 0,
        onError: (error) => errors.push(error),
      })
      open.add(keeper)
      return { ...keeper, config, begun: () => until(() => state.stored !== null) }
    },
    async print(workload: string, ...lines: readonly string[]) {
      const directory = join(home, 'logs', project, workload)
      await mkdir(directory, { recursive: true, mode: 0o700 })
      await writeFile(join(directory, `${log}.err`), '', { flag: 'a' })
      const before = sizes.get(workload) ?? 0
      const text = `${lines.join('\n')}\n`
      sizes.set(workload, before + Buffer.byteLength(text))
      const entries = [...(before === 0 ? [entryOf(0, 0)] : []), entryOf(Date.now(), before + Buffer.byteLength(text))]
      await appendFile(join(directory, `${log}.idx`), Buffer.concat(entries))
      await appendFile(join(directory, `${log}.out`), text)
    },
  }
}

export async function until(holds: () => boolean, milliseconds = 8000): Promise<void> {
  const end = Date.now() + milliseconds
  while (!holds()) {
    if (Date.now() > end) throw new Error(`It did not come true in ${milliseconds} ms: ${holds}`)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

interface Answer {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

/**
 * Not a receiver but a recorder: takes OTLP/HTTP in JSON and refuses (with an error that the test sees) whatever the schema of
 * `ExportLogsServiceRequest` does not know.
 */
export async function recordOtlp(t: TestContext) {
  const texts: string[] = []
  const batches: number[] = []
  const times: number[] = []
  const faults: string[] = []
  const requests: IncomingMessage[] = []
  const state = { answer: { status: 200, body: '{}' } as Answer, delayMs: 0 }
  const server = createServer(async (request, response) => {
    const parts: Buffer[] = []
    for await (const part of request) parts.push(part as Buffer)
    times.push(Date.now())
    requests.push(request)
    const { status, headers = {}, body = '' } = state.answer
    const lines = readOtlp(gunzipSync(Buffer.concat(parts)).toString(), faults)
    if (state.delayMs > 0) await new Promise((resolve) => setTimeout(resolve, state.delayMs))
    if (status === 200) {
      texts.push(...lines)
      batches.push(lines.length)
    }
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(body)
  })
  const port = await listening(t, server)
  return { ...{ texts, batches, times, faults, requests, state }, url: `otlp+http://127.0.0.1:${port}/v1/logs` }
}

interface KnownRecord {
  readonly timeUnixNano: string
  readonly severityNumber?: number
  readonly body: { readonly stringValue: string }
}

/** The texts of the records of a request; what the schema does not know becomes a fault. */
function readOtlp(json: string, faults: string[]): readonly string[] {
  const only = (value: object, required: readonly string[], optional: readonly string[] = []) => {
    const keys = Object.keys(value)
    const odd = keys.filter((key) => !required.includes(key) && !optional.includes(key))
    const missing = required.filter((key) => !keys.includes(key))
    if (odd.length + missing.length > 0) faults.push(`${JSON.stringify(odd)} odd, ${JSON.stringify(missing)} missing`)
  }
  const body = JSON.parse(json)
  only(body, ['resourceLogs'])
  return body.resourceLogs.flatMap(
    (resourceLog: { resource: object; scopeLogs: { scope: object; logRecords: object[] }[] }) => {
      only(resourceLog, ['resource', 'scopeLogs'])
      only(resourceLog.resource, ['attributes'])
      return resourceLog.scopeLogs.flatMap((scopeLog) => {
        only(scopeLog, ['scope', 'logRecords'])
        return scopeLog.logRecords.map((record) => {
          const required = ['timeUnixNano', 'observedTimeUnixNano', 'body', 'attributes']
          only(record, required, ['severityNumber', 'severityText'])
          const { timeUnixNano, severityNumber = 1, body: text } = record as KnownRecord
          if (!/^\d{19}$/.test(timeUnixNano)) faults.push(`time ${timeUnixNano}`)
          if (!Number.isInteger(severityNumber) || severityNumber < 1 || severityNumber > 24) faults.push('severity')
          return text.stringValue
        })
      })
    },
  )
}

const messageForm =
  /^<(\d{1,3})>1 (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z) ([!-~]{1,255}) ([!-~]{1,48}) (-) (stdout|stderr) (\[[!-~]+(?: [!-~]+="(?:[^"\\\]]|\\["\\\]])*")*\]) (.*)$/

/** The text of a message of RFC 5424, strictly; throws for anything else. */
export function readSyslog(message: string): { readonly text: string; readonly app: string; readonly data: string } {
  const found = messageForm.exec(message)
  if (found === null || /\p{Cc}/u.test(message)) throw new Error(`No message of RFC 5424: ${JSON.stringify(message)}`)
  return { text: found[8]!, app: found[4]!, data: found[7]! }
}

/** Not a receiver but a recorder: splits by octet counts alone (RFC 6587 3.4.1) and reads each message strictly. */
export async function recordSyslog(
  t: TestContext,
  make: (listener: (socket: Socket) => void) => Server = createTcpServer,
  at = 0,
) {
  const texts: string[] = []
  const faults: unknown[] = []
  const sockets = new Set<Socket>()
  const server = make((socket) => {
    sockets.add(socket)
    let rest = Buffer.alloc(0)
    socket.on('error', () => undefined)
    socket.on('data', (data: Buffer) => {
      rest = Buffer.concat([rest, data])
      try {
        for (;;) {
          const [head, digits] = /^([1-9]\d{0,6}) /.exec(rest.subarray(0, 8).toString('latin1')) ?? []
          if (head === undefined || digits === undefined) {
            if (rest.length >= 8) throw new Error(`No octet count: ${rest.subarray(0, 20)}`)
            return
          }
          const end = head.length + Number(digits)
          if (rest.length < end) return
          texts.push(readSyslog(rest.subarray(head.length, end).toString()).text)
          rest = rest.subarray(end)
        }
      } catch (error) {
        faults.push(error)
      }
    })
  })
  const port = await listening(t, server, at)
  const cut = () => {
    for (const socket of sockets) socket.destroy()
  }
  t.after(cut)
  return { texts, faults, sockets, port, cut, close: () => new Promise((resolve) => server.close(resolve)) }
}

async function listening(t: TestContext, server: Server, port = 0): Promise<number> {
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  t.after(() => {
    server.close()
    if ('closeAllConnections' in server) (server.closeAllConnections as () => void)()
  })
  return (server.address() as AddressInfo).port
}
