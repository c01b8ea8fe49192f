import { type EventRecord, type OperationRecord, visibleText } from '@stackquay/contract'
import type { Failing, Incident } from '@stackquay/domain'
import type { Store } from '@stackquay/store'
import { type News, noNews, ofInstance } from './news.ts'

type Lookups = Pick<Store, 'users' | 'devices'> & { readonly projects: Pick<Store['projects'], 'find'> }
type Teller = (event: EventRecord, store: Lookups) => Promise<News>

/** What an event means to people who are not watching. Of most it is nothing. */
export async function newsOfEvent(event: EventRecord, store: Lookups): Promise<News> {
  return (await tellers[event.type]?.(event, store)) ?? noNews
}

export function mayBeNews({ type, data }: EventRecord): boolean {
  if (type === 'operation.changed') return data.state === 'failed'
  return type in tellers
}

const tellers: Partial<Record<EventRecord['type'], Teller>> = {
  'project.status': statusNews,
  'project.deleted': async ({ project, time }) => ({
    incidents: [],
    wellBelow: { prefix: `${project}/`, ending: (key) => ({ key, title: '', at: time, quietly: true }) },
  }),
  'operation.changed': operationNews,
  'cron.failed': cronNews,
  'backup.late': lateNews,
  'backup.verified': verifiedNews,
  'device.added': deviceNews,
  'second-factor.changed': factorNews,
}

async function statusNews(event: EventRecord, store: Lookups): Promise<News> {
  const { state, desired, failing = [], running = [] } = event.data as unknown as StatusData
  const project = String(event.project)
  const prefix = `${project}/workload/`
  // Nothing is known, least of all that something is well.
  if (state === 'unknown') return noNews
  const isRunning = (key: string) => state === 'running' || running.includes(key.slice(prefix.length))
  const name = await nameOf(project, store)
  const wanted = desired === 'running'
  const incidents = wanted ? failing.map((one) => failure(one, name, event)) : []
  const failed = new Set(incidents.map(({ key }) => key))
  return {
    incidents,
    wellBelow: {
      prefix,
      ending: (key) => {
        if (wanted && (failed.has(key) || !isRunning(key))) return null
        const workload = key.slice(prefix.length)
        const title = workload === '' ? `${name} runs again` : `${name}: ${workload} runs again`
        return { key, title, at: event.time, quietly: !wanted || state === 'sleeping' }
      },
    },
  }
}

interface StatusData {
  readonly state: string
  readonly desired: string
  readonly failing?: readonly Failing[]
  readonly running?: readonly string[]
}

const words: Readonly<Record<string, string>> = {
  'backing-off': 'ended and is started again',
  crashed: 'does not stay up',
  unhealthy: 'does not answer its health check',
}

function failure({ workload, state, outOfMemory, reason, mark }: Failing, name: string, event: EventRecord): Incident {
  const { project, time: at } = event
  const what = workload === null ? name : `${name}: ${workload}`
  const detail = reason ?? ''
  const shared = { project, mark, detail: visibleText(detail), at }
  if (state === 'out-of-memory') {
    const title = `${name} runs short of memory`
    return { ...shared, key: `${project}/memory`, event: 'out-of-memory', title, lasts: false }
  }
  const title = `${what} ${outOfMemory ? 'was ended for lack of memory' : (words[state] ?? 'does not run')}`
  const stays = state === 'crashed' || state === 'failed'
  const kind = outOfMemory ? 'out-of-memory' : stays ? 'failed' : 'down'
  return { ...shared, key: `${project}/workload/${workload ?? ''}`, event: kind, title, lasts: true }
}

/** What keeps a project from running when it fails. What a person asks for beside that, he is answered. */
const startKinds: ReadonlySet<string> = new Set(['create', 'start', 'restart', 'update', 'reconcile', 'wake'])
const backupKinds: ReadonlySet<string> = new Set(['backup', 'copy-backup'])

async function operationNews(event: EventRecord, store: Lookups): Promise<News> {
  const operation = event.data as unknown as OperationRecord
  if (operation.state !== 'failed') return noNews
  const { kind } = operation
  const told = backupKinds.has(kind)
    ? ({
        event: 'backup-failed',
        below: 'backup',
        words: kind === 'backup' ? 'a backup failed' : 'a copy of a backup failed',
      } as const)
    : kind === 'deploy'
      ? ({ event: 'deploy-failed', below: 'deploy', words: 'a deploy failed' } as const)
      : startKinds.has(kind)
        ? ({ event: 'failed', below: `operation/${kind}`, words: `${kind} failed` } as const)
        : null
  if (told === null) return noNews
  const { project, time: at } = event
  const incident: Incident = {
    key: `${project ?? ofInstance}/${told.below}`,
    event: told.event,
    project,
    mark: operation.id,
    title: `${await nameOf(project, store)}: ${told.words}`,
    detail: visibleText(operation.error?.detail ?? ''),
    lasts: false,
    at,
  }
  return { incidents: [incident], wellBelow: null }
}

async function cronNews(event: EventRecord, store: Lookups): Promise<News> {
  const { name, exitCode, signal, error, run } = event.data as Record<string, string | number | null>
  const how =
    exitCode === null ? (signal === null ? '' : `It was ended by ${signal}.`) : `It ended with exit code ${exitCode}.`
  const title = `${await nameOf(event.project, store)}: the cron job ${name} failed`
  return single(event, {
    key: `cron/${name}`,
    event: 'cron-failed',
    mark: String(run),
    title,
    detail: String(error ?? how),
  })
}

async function lateNews(event: EventRecord, store: Lookups): Promise<News> {
  return single(event, {
    key: 'backup',
    event: 'backup-failed',
    mark: `late ${event.seq}`,
    title: `${await nameOf(event.project, store)}: the backup is late`,
    detail: 'By its schedule there would be a newer backup or copy.',
  })
}

async function verifiedNews(event: EventRecord, store: Lookups): Promise<News> {
  const { id, outcome } = event.data as { readonly id: string; readonly outcome?: string }
  if (outcome !== 'faulty' && outcome !== 'failed') return noNews
  const name = await nameOf(event.project, store)
  return outcome === 'faulty'
    ? single(event, {
        key: 'unverified',
        event: 'backup-unverified',
        mark: `${event.seq}`,
        title: `${name}: a backup is not whole`,
        detail: `The restore drill found faults in ${id}.`,
      })
    : single(event, {
        key: 'drill',
        event: 'drill-failed',
        mark: `${event.seq}`,
        title: `${name}: a restore drill failed`,
        detail: `${id} could not be tried.`,
      })
}

async function deviceNews(event: EventRecord, store: Lookups): Promise<News> {
  const { user, device } = event.data as { readonly user: string; readonly device: string }
  const name = (await store.users.find(user))?.username ?? user
  const found = (await store.devices.of(user)).find(({ id }) => id === device)
  const from = [found?.ip ?? 'an unknown address', ...(found?.userAgent == null ? [] : [`with ${found.userAgent}`])]
  return single(event, {
    key: `device/${user}`,
    event: 'new-device',
    mark: device,
    title: `${visibleText(name)} logged in from a new device`,
    detail: visibleText(`From ${from.join(' ').slice(0, 300)}.`),
  })
}

async function factorNews(event: EventRecord, store: Lookups): Promise<News> {
  const { user, kind, added } = event.data as { readonly user: string; readonly kind: string; readonly added: boolean }
  const name = (await store.users.find(user))?.username ?? user
  const what = kind === 'totp' ? 'authenticator app' : 'passkey'
  return single(event, {
    key: `factor/${user}`,
    event: 'second-factor',
    mark: String(event.seq),
    title: `${visibleText(name)}: ${added ? `${what} added` : `${what} removed`}`,
    detail: `Whoever logs in as ${visibleText(name)} is asked for ${added ? 'it' : 'one less'} from now on.`,
  })
}

type One = Pick<Incident, 'key' | 'event' | 'mark' | 'title' | 'detail'>

/** Something that happened once. */
function single({ project, time }: EventRecord, { key, title, detail, ...one }: One): News {
  const incident: Incident = {
    ...one,
    key: `${project ?? ofInstance}/${key}`,
    title: visibleText(title),
    detail: visibleText(detail),
    project,
    lasts: false,
    at: time,
  }
  return { incidents: [incident], wellBelow: null }
}

async function nameOf(project: string | null, { projects }: Pick<Lookups, 'projects'>): Promise<string> {
  if (project === null) return 'Stackquay'
  const row = await projects.find(project)
  return row === null ? project : visibleText(row.spec.name)
}
