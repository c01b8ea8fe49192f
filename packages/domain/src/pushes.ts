import type { Forge } from '@stackquay/contract'

/** What the headers of a delivery say. */
export interface DeliveryHead {
  readonly forge: Forge
  /** The forge’s own word: `push`, `Push Hook`, `ping`. */
  readonly event: string
  /** The same in each attempt to deliver it. Null where the forge names none. */
  readonly id: string | null
}

type Header = (name: string) => string | null

/** Pure. Null for what no known forge sends. Forgejo and Gitea send the headers of GitHub too, so they are asked first. */
export function deliveryHead(header: Header): DeliveryHead | null {
  for (const [forge, prefix] of [
    ['forgejo', 'x-forgejo'],
    ['gitea', 'x-gitea'],
    ['github', 'x-github'],
  ] as const) {
    const event = header(`${prefix}-event`)
    if (event !== null) return { forge, event: shown(event), id: shownOrNull(header(`${prefix}-delivery`)) }
  }
  const event = header('x-gitlab-event')
  if (event === null) return null
  const id = header('webhook-id') ?? header('idempotency-key') ?? header('x-gitlab-event-uuid')
  return { forge: 'gitlab', event: shown(event), id: shownOrNull(id) }
}

const shown = (text: string) => text.replace(/[^\x20-\x7e]/g, '�').slice(0, 100)
const shownOrNull = (text: string | null) => (text === null || text === '' ? null : shown(text))

/** What a push did to one name. */
export interface Push {
  readonly ref: string
  readonly before: string | null
  /** Null: it was deleted. */
  readonly after: string | null
}

/** Pure. Null for what is no push, or is none that can be read. */
export function pushOf({ forge, event }: Pick<DeliveryHead, 'forge' | 'event'>, payload: unknown): Push | null {
  if (typeof payload !== 'object' || payload === null) return null
  const fields = payload as Readonly<Record<string, unknown>>
  const kind = forge === 'gitlab' ? gitlabKind(event, fields) : event
  if (kind !== 'push' && !(forge === 'gitlab' && kind === 'tag_push')) return null
  const { ref, before, after } = fields
  if (typeof ref !== 'string' || !/^refs\/[^\x00-\x20\x7f]{1,250}$/.test(ref)) return null
  const to = commitOf(after)
  if (to === undefined) return null
  return { ref, before: commitOf(before) ?? null, after: to }
}

/** Pure. What a delivery of GitLab is about. Webhooks of a whole instance have one name for everything. */
export function gitlabKind(event: string, { object_kind, event_name }: Readonly<Record<string, unknown>>): unknown {
  return event === 'System Hook' ? (object_kind ?? event_name) : gitlabKinds.get(event)
}

const gitlabKinds: ReadonlyMap<string, string> = new Map([
  ['Push Hook', 'push'],
  ['Tag Push Hook', 'tag_push'],
  ['Merge Request Hook', 'merge_request'],
])

/** Null: all zeros, which forges send for "none". Undefined: no commit at all. */
function commitOf(value: unknown): string | null | undefined {
  if (typeof value !== 'string' || !/^[0-9a-f]{40}([0-9a-f]{24})?$/.test(value)) return undefined
  return /^0+$/.test(value) ? null : value
}

/** What follows of a delivery that is whole, signed and new. */
export type Verdict =
  | { readonly act: 'deploy'; readonly branch: string; readonly commit: string }
  | { readonly act: 'ignore'; readonly reason: string }

const ignore = (reason: string): Verdict => ({ act: 'ignore', reason })

/** Pure. `branch`: the one that is deployed. `current`: the commit that is checked out. */
export function judgePush(
  head: Pick<DeliveryHead, 'forge' | 'event'>,
  push: Push | null,
  { branch, current }: { readonly branch: string | null; readonly current: string | null },
): Verdict {
  if (head.event === 'ping') return ignore('A ping: the address and the secret are right.')
  if (push === null) return ignore(`An event "${head.event}" is no push of a branch.`)
  if (push.ref.startsWith('refs/tags/')) return ignore('Tags are not deployed.')
  if (!push.ref.startsWith('refs/heads/')) return ignore(`${push.ref} is no branch.`)
  const pushed = push.ref.slice('refs/heads/'.length)
  if (branch === null) return ignore('No branch is checked out, and the webhook names none.')
  if (pushed !== branch) return ignore(`The branch ${branch} is deployed, not ${pushed}.`)
  if (push.after === null) return ignore(`The branch ${pushed} was deleted.`)
  if (push.after === current) return ignore(`The commit ${push.after.slice(0, 10)} is what is there.`)
  return { act: 'deploy', branch: pushed, commit: push.after }
}

/** Pure. Milliseconds of `5m` or `2h`. */
export function watchMs(every: string): number {
  const [, count = '0', unit] = /^(\d+)([mh])$/.exec(every) ?? []
  return Number(count) * (unit === 'h' ? 3_600_000 : 60_000)
}

/** What is told to a forge about a commit. */
export type CommitState = 'pending' | 'success' | 'failure'

export interface StatusRequest {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/**
 * Pure. How a forge is told how a commit does, by the address of the repository; null where that is none of a forge. The token goes to the server
 * of the repository alone, or to the API of the one forge whose API has a host of its own.
 */
export function statusRequest(
  forge: Forge,
  remote: string,
  token: string,
  told: { readonly commit: string; readonly state: CommitState; readonly text: string; readonly url: string },
): StatusRequest | null {
  const url = URL.parse(remote)
  if (url === null || !/^https?:$/.test(url.protocol)) return null
  const path = url.pathname.replace(/^\/+|\/+$/g, '').replace(/\.git$/, '')
  const names = path.split('/')
  if (names.length < 2 || names.includes('') || path.includes('%')) return null
  const description = told.text.slice(0, 140)
  const target_url = told.url
  switch (forge) {
    case 'github': {
      if (names.length !== 2) return null
      const api = url.host === 'github.com' ? 'https://api.github.com' : `${url.origin}/api/v3`
      return {
        url: `${api}/repos/${path}/statuses/${told.commit}`,
        headers: {
          authorization: `Bearer ${token}`,
          accept: 'application/vnd.github+json',
          'x-github-api-version': '2022-11-28',
        },
        body: JSON.stringify({ state: told.state, target_url, description, context }),
      }
    }
    case 'gitlab': {
      const state = { pending: 'running', success: 'success', failure: 'failed' }[told.state]
      return {
        url: `${url.origin}/api/v4/projects/${encodeURIComponent(path)}/statuses/${told.commit}`,
        headers: { authorization: `Bearer ${token}` },
        body: JSON.stringify({ state, name: context, target_url, description }),
      }
    }
    case 'gitea':
    case 'forgejo': {
      return {
        url: `${url.origin}/${[...names.slice(0, -2), 'api/v1/repos', ...names.slice(-2)].join('/')}/statuses/${told.commit}`,
        headers: { authorization: `token ${token}` },
        body: JSON.stringify({ state: told.state, target_url, description, context }),
      }
    }
    default:
      return forge satisfies never
  }
}

const context = 'stackquay/deploy'
