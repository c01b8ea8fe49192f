import { pause } from '@stackquay/client'
import type { EventRecord, OperationRecord } from '@stackquay/contract'
import { appendOutput, isOver, operationOf, outputOf } from '../lib/live.ts'
import { readBackupsAgain } from './backups.ts'
import { forgetProject, holdOperation, refreshProject } from './cache.ts'
import { client } from './client.ts'
import { readGitAgain } from './git.ts'
import { queryClient } from './query-client.ts'
import { readWorkAgain } from './workers.ts'

export type Connection = 'connecting' | 'live' | 'lost'

/** Between the tabs of one browser. `hello` asks the tab that leads how the connection is. */
type Message =
  | { readonly kind: 'event'; readonly event: EventRecord }
  | { readonly kind: 'gap' }
  | { readonly kind: 'state'; readonly state: Connection }
  | { readonly kind: 'hello' }

let connection: Connection = 'connecting'
const listeners = new Set<() => void>()

export function connectionNow(): Connection {
  return connection
}
export function onConnection(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

/**
 * Keeps the query cache true. One tab of the browser holds the lock and the WebSocket and tells the others; when it is
 * closed, the next one takes the lock and goes on after the last event it has seen.
 */
export function followEvents(signal: AbortSignal): void {
  const channel = typeof BroadcastChannel === 'undefined' ? null : new BroadcastChannel('stackquay-events')
  let last: number | undefined
  let leading = false

  const take = (message: Message): void => {
    switch (message.kind) {
      case 'event':
        last = message.event.seq
        apply(message.event)
        break
      case 'gap':
        readEverythingAgain()
        break
      case 'state':
        setConnection(message.state)
        break
      case 'hello':
        if (leading) channel?.postMessage({ kind: 'state', state: connection } satisfies Message)
        break
      default:
        message satisfies never
    }
  }
  const tell = (message: Message): void => {
    take(message)
    channel?.postMessage(message)
  }
  if (channel !== null) {
    channel.onmessage = ({ data }: MessageEvent<Message>) => take(data)
    channel.postMessage({ kind: 'hello' } satisfies Message)
    signal.addEventListener('abort', () => channel.close(), { once: true })
  }

  const lead = async (): Promise<void> => {
    leading = true
    await client.followEvents(last === undefined ? {} : { after: last }, {
      signal,
      onEvent: (event) => tell({ kind: 'event', event }),
      onGap: () => tell({ kind: 'gap' }),
      onState: (state) => {
        const next = { connecting: 'connecting', live: 'live', retrying: 'lost', ended: 'lost' } as const
        // Reads that ended before the stream was open may be older than its first event.
        if (state === 'live' && last === undefined) tell({ kind: 'gap' })
        tell({ kind: 'state', state: next[state] })
      },
    })
  }
  const run = () =>
    navigator.locks === undefined || channel === null
      ? lead()
      : navigator.locks.request('stackquay-events', { signal }, lead)
  void keepRunning(run, signal)
}

/**
 * A stream that the service refused is asked for again as long as the page needs one: what leads to the login looks once
 * for each refusal, and may itself find nobody who answers.
 */
async function keepRunning(run: () => Promise<void>, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await run().catch((error: unknown) => {
      if (signal.aborted) return
      console.warn('The event stream ended.', error)
      setConnection('lost')
    })
    await pause(5000, signal)
  }
}

/** Lists of the instance that are read again as a whole. */
const lists = {
  'trash.changed': 'trash',
  'certificate.changed': 'tls',
  'webhook.changed': 'webhooks',
  'notification.changed': 'notifications',
  'device.added': 'notifications',
  'second-factor.changed': 'notifications',
} as const

function apply(event: EventRecord): void {
  switch (event.type) {
    case 'project.created':
    case 'project.changed':
    case 'project.status':
      if (event.project !== null) readSoon(event.project)
      if (event.type === 'project.changed') void queryClient.invalidateQueries({ queryKey: ['addons'], exact: true })
      return
    case 'project.deleted':
      if (event.project !== null) forgetProject(event.project)
      return
    case 'operation.changed': {
      const operation = operationOf(event)
      if (operation === null) return
      holdOperation(operation)
      if (isOver(operation)) {
        // What it did is there only now; what was told of the project before may have been read too early.
        if (operation.project !== null) readSoon(operation.project)
        void readBackupsAgain()
        void readGitAgain()
      }
      void queryClient.invalidateQueries({ queryKey: ['operations'] })
      for (const { queryKey } of queryClient.getQueryCache().findAll({ queryKey: ['project'] })) {
        if (queryKey[2] === 'operations') void queryClient.invalidateQueries({ queryKey })
      }
      return
    }
    case 'operation.output': {
      const output = outputOf(event)
      if (output === null) return
      queryClient.setQueryData<OperationRecord>(['operation', output.operation], (held) =>
        held === undefined ? held : appendOutput(held, output.step, output.lines),
      )
      return
    }
    // `data` of these is what GET answers; what it shows is read again, at most once in a moment.
    case 'run.changed':
    case 'terminal.changed':
      for (const { queryKey } of queryClient.getQueryCache().findAll({ queryKey: ['project'] })) {
        const kinds = event.type === 'run.changed' ? ['actions', 'tests', 'runs', 'run', 'cron'] : ['terminals']
        if (kinds.includes(String(queryKey[2]))) void queryClient.invalidateQueries({ queryKey })
      }
      return
    case 'backup.created':
    case 'backup.deleted':
    case 'backup.verified':
    case 'backup.restored':
    case 'backup.scheduled':
    case 'backup.late':
    case 'backup.copied':
      void readBackupsAgain()
      if (event.project === null) void queryClient.invalidateQueries({ queryKey: ['instance-backups'] })
      if (event.type === 'backup.copied')
        void queryClient.invalidateQueries({ queryKey: ['backup-targets'], exact: true })
      return
    case 'backup-target.changed':
      void queryClient.invalidateQueries({ queryKey: ['backup-targets'] })
      return
    case 'branch.changed':
      void queryClient.invalidateQueries({ queryKey: ['git', event.project, 'environments'] })
      return
    case 'cron.changed':
    case 'cron.failed':
      if (event.project !== null) void readWorkAgain(event.project)
      return
    case 'trash.changed':
    case 'certificate.changed':
    case 'webhook.changed':
    case 'notification.changed':
    case 'device.added':
    case 'second-factor.changed':
      void queryClient.invalidateQueries({ queryKey: [lists[event.type]] })
      return
    default:
      event.type satisfies never
  }
}

const soon = new Map<string, ReturnType<typeof setTimeout>>()

/** A start makes a handful of events within milliseconds; one read after the first of them shows them all. */
function readSoon(project: string): void {
  if (soon.has(project)) return
  const timer = setTimeout(() => {
    soon.delete(project)
    refreshProject(project).catch(() => queryClient.invalidateQueries({ queryKey: ['projects'] }))
  }, 60)
  soon.set(project, timer)
}

function readEverythingAgain(): void {
  for (const key of ['projects', 'project', 'operations', 'operation'])
    void queryClient.invalidateQueries({ queryKey: [key] })
}

function setConnection(next: Connection): void {
  if (next === connection) return
  // A changed role ends the stream: what may be offered after it has come back is another.
  if (connection === 'lost' && next === 'live') void queryClient.invalidateQueries({ queryKey: ['me'] })
  connection = next
  for (const listener of listeners) listener()
}
