import type { GitDeployKey } from '@stackquay/contract'
import type { ProjectRow, Store } from '@stackquay/store'
import { z } from 'zod'
import { gitDeployKeySecret, gitRemoteSecret, sourceUrlSecret } from '../projects/source-url.ts'
import { openSshKey, publicHalf } from '../source/deploy-key.ts'
import { type GitUrl, parseGitUrl } from '../source/git-url.ts'

/** What a person set. */
const SetRemote = z.object({
  url: z.string(),
  username: z.string().nullable(),
  token: z.string().nullable(),
  /** It stood in an address with a password, where some forges take a token for it: it is told to nobody. */
  isUsernameSealed: z.boolean().optional(),
})
export type SetRemote = z.infer<typeof SetRemote>

export interface Remote {
  readonly url: GitUrl
  /** Where it was created from: an administrator chose that, so the keys of the instance may open it. */
  readonly isOfCreation: boolean
  readonly deployKey: string | null
  /** Of an environment for a pull request from a fork: where its commits are, and which of them is approved. */
  readonly pull?: { readonly ref: string; readonly branch: string; readonly head: string }
}

type Subject = Pick<ProjectRow, 'id' | 'slug' | 'source'>

/**
 * Where a project fetches from. The environment of a branch has that of its project: its credentials stay there, and the network half
 * alone gets them.
 */
export async function remoteOf(
  row: Subject,
  store: Pick<Store, 'secrets' | 'projects' | 'branches'>,
): Promise<Remote | null> {
  const own = await ownRemoteOf(row, store)
  if (own !== null || row.source?.kind !== 'branch') return own
  const { of, ref, branch } = row.source
  const parent = await store.projects.find(of)
  const remote = parent === null ? null : await ownRemoteOf(parent, store)
  if (remote === null || ref === null) return remote
  const head = (await store.branches.ofProject(row.id))?.pullRequest?.head
  return head === undefined ? null : { ...remote, pull: { ref, branch, head } }
}

/** What is its own. Never by what the repository says: its project could name another, and be handed the credentials. */
export async function ownRemoteOf(row: Subject, { secrets }: Pick<Store, 'secrets'>): Promise<Remote | null> {
  const key = await textOf(row.id, gitDeployKeySecret, secrets)
  const deployKey = key === null ? null : openSshKey(key, commentOf(row))
  const set = await setRemoteOf(row, { secrets })
  if (set !== null) return { url: urlOf(set), isOfCreation: isOfCreation(row, set.url), deployKey }
  if (row.source?.kind !== 'git') return null
  const text = (await textOf(row.id, sourceUrlSecret, secrets)) ?? row.source.url
  return { url: parseGitUrl(text), isOfCreation: true, deployKey }
}

export async function setRemoteOf(
  { id }: Pick<ProjectRow, 'id'>,
  { secrets }: Pick<Store, 'secrets'>,
): Promise<SetRemote | null> {
  const text = await textOf(id, gitRemoteSecret, secrets)
  if (text === null) return null
  // A backup that somebody else made may hold anything.
  const read = SetRemote.safeParse(JSON.parse(text))
  return read.success ? read.data : null
}

/** What people may read of it. Of the address that a project was created from nothing but the address is shown. */
export function shownUsername(set: SetRemote | null): string | null {
  return set === null || set.isUsernameSealed === true ? null : (set.username ?? (set.token === null ? null : 'git'))
}

export function urlOf({ url, username, token, isUsernameSealed = false }: SetRemote): GitUrl {
  const parsed = parseGitUrl(url)
  if (token === null) return parsed
  const name = username ?? 'git'
  const secrets = [token, ...(isUsernameSealed ? [name] : [])].flatMap((one) => [one, encodeURIComponent(one)])
  return {
    ...parsed,
    credentials: { username: name, password: token },
    secrets: [...new Set(secrets)].filter((one) => one.length >= 3),
  }
}

export const isOfCreation = ({ source }: Pick<ProjectRow, 'source'>, url: string) =>
  source?.kind === 'git' && source.url === url

/** Null while there is none. */
export async function deployKeyOf(
  row: Pick<ProjectRow, 'id' | 'slug'>,
  { secrets }: Pick<Store, 'secrets'>,
): Promise<GitDeployKey | null> {
  const key = await textOf(row.id, gitDeployKeySecret, secrets)
  return key === null ? null : publicHalf(key, commentOf(row))
}

export const commentOf = ({ slug }: Pick<ProjectRow, 'slug'>) => `stackquay-${slug}`

async function textOf(project: string, name: string, secrets: Store['secrets']): Promise<string | null> {
  const handle = await secrets.find(project, name)
  return handle === null ? null : (await secrets.reveal(handle.secret)).expose()
}
