import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { EventRecord } from '@stackquay/contract'
import type { Service } from './service.ts'

/** All that the service has told or written down, by where it stands: for tests that look for what must not be there. */
export async function traces(service: Service): Promise<Readonly<Record<string, string>>> {
  const { client } = service
  const projects = await client.call('listProjects', { query: { limit: 200 } })
  const records = await Promise.all(
    projects.items.map(async ({ id }) => ({
      record: await client.call('getProject', { params: { id } }),
      manifest: await client.call('getManifest', { params: { id } }),
      logs: await client.call('getProjectLogs', { params: { id } }).catch(() => null),
    })),
  )
  const operations = await client.call('listOperations', { query: { limit: 200 } })
  const audit = await client.call('listAudit', { query: { limit: 200 } })
  const events = await allEvents(service)
  return {
    'the list of projects': JSON.stringify(projects),
    'the records, project files and logs of projects': JSON.stringify(records),
    'the operations': JSON.stringify(operations),
    'the audit log': JSON.stringify(audit),
    'the events': JSON.stringify(events),
    'the log of the service': service.output(),
  }
}

/** Every event from the first to the present, as server-sent events tell them. */
export async function allEvents(service: Service): Promise<readonly EventRecord[]> {
  const present = await firstFrame(service)
  const events: EventRecord[] = []
  if (present === 0) return events
  for await (const { event, data } of eventStream(service, 0)) {
    if (event !== 'start') events.push(JSON.parse(data) as EventRecord)
    if ((events.at(-1)?.seq ?? 0) >= present) return events
  }
  return events
}

async function firstFrame(service: Service): Promise<number> {
  for await (const { data } of eventStream(service)) return (JSON.parse(data) as { seq: number }).seq
  throw new Error('the event stream ended before it began')
}

export interface SentEvent {
  readonly id: string
  readonly event: string
  readonly data: string
}

/** Server-sent events until the caller leaves the loop or the connection ends. `lastEventId` is how a browser resumes. */
export async function* eventStream(service: Service, after?: number, lastEventId?: string): AsyncGenerator<SentEvent> {
  const controller = new AbortController()
  const response = await fetch(`${service.url}/api/v1/events${after === undefined ? '' : `?after=${after}`}`, {
    headers: {
      authorization: `Bearer ${service.token}`,
      ...(lastEventId === undefined ? {} : { 'last-event-id': lastEventId }),
    },
    signal: controller.signal,
  })
  if (!response.ok) throw new Error(`the event stream answered ${response.status}: ${await response.text()}`)
  let text = ''
  try {
    for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
      text += chunk
      for (let end = text.indexOf('\n\n'); end !== -1; end = text.indexOf('\n\n')) {
        const fields = Object.fromEntries(
          text
            .slice(0, end)
            .split('\n')
            .map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1).trimStart()]),
        )
        text = text.slice(end + 2)
        if (fields.data !== undefined)
          yield { id: fields.id ?? '', event: fields.event ?? 'message', data: fields.data }
      }
    }
  } finally {
    controller.abort()
  }
}

/** Files below a folder in which one of the texts stands, as bytes. */
export async function filesThatHold(folder: string, texts: readonly string[]): Promise<readonly string[]> {
  const needles = texts.map((text) => Buffer.from(text, 'utf8'))
  const found: string[] = []
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue
    const path = join(entry.parentPath, entry.name)
    const bytes = await readFile(path).catch(() => null)
    if (bytes !== null && needles.some((needle) => bytes.includes(needle))) found.push(path)
  }
  return found
}
