import type { GitHome, NetworkHalf } from '../source/git-home.ts'
import { gitOverNetwork, type NetworkAnswer } from '../source/git-network.ts'
import { describeHostKey, type HostKey, knownHostName, rememberedKeys } from '../source/host-keys.ts'
import type { Repository } from '../source/local-git.ts'
import { withAgent } from '../source/ssh-agent.ts'
import { answerOf, handOver, mirrorSide, projectSide } from './packs.ts'
import { type Ref, type RefChange, readRefs, refChanges } from './ref-names.ts'
import { refused } from './refusals.ts'
import type { Remote } from './sealed-remote.ts'

export interface Talk {
  readonly signal: AbortSignal
  readonly say: (line: string) => void
}

/** Git against the remote, with the credentials and the key of the project. */
export type Ask = (args: readonly string[], cwd: string, what: string, bounded?: number) => Promise<NetworkAnswer>

export async function withRemote<T>(
  remote: Remote,
  { gitHome, network }: NetworkHalf,
  { signal, say }: Talk,
  act: (ask: Ask, home: GitHome) => Promise<T>,
): Promise<T> {
  const home = await gitHome()
  const { url, deployKey, isOfCreation } = remote
  let isShown = false
  const asking =
    (agent: string | undefined): Ask =>
    async (args, cwd, what, bounded) => {
      const limited = bounded === undefined ? signal : AbortSignal.any([signal, AbortSignal.timeout(bounded)])
      const answer = await gitOverNetwork(args, {
        home,
        network,
        url,
        cwd,
        agent,
        what,
        signal: limited,
        mustAnswer: bounded !== undefined,
        onLine: say,
      })
      const key = answer.ssh.shown()
      if (key !== null && !isShown) say(describeHostKey(knownHostName(url), key, answer.ssh.wasAdded()))
      isShown ||= key !== null
      return answer
    }
  if (url.protocol !== 'ssh' || deployKey === null)
    // Another address than that of the creation was not chosen by an administrator: the keys of the instance are not for it.
    return act(asking(isOfCreation ? undefined : 'none'), home)
  return withAgent(home, deployKey, signal, (socket) => act(asking(socket), home))
}

/** Its branches and tags, and where that is told its first branch. */
const listing = ['ls-remote', '--refs', '--heads', '--tags', '--']
const mostListMs = 20_000

/** Brings what the remote has into the project: objects, `origin/…` and new tags. No file of the project changes. */
export async function fetchInto(
  repository: Repository,
  remote: Remote,
  half: NetworkHalf,
  talk: Talk,
): Promise<readonly RefChange[]> {
  const { signal, say } = talk
  const project = projectSide(repository)
  const changes = await withRemote(remote, half, talk, async (ask, home) => {
    const { url } = remote.url
    const all = readRefs((await ask([...listing, url], home.folder, `read ${url}`, mostListMs)).stdout)
    const listed = [...all, ...(await pulledRefs(remote, ask, home))]
    const ours = await refsOf(repository, signal)
    const planned = refChanges(listed, ours)
    if ((await missingIn(repository, planned, signal)).length === 0) return planned
    return home.withMirror(async (mirror) => {
      const side = mirrorSide(home, mirror)
      await seed(repository, ours, { home, mirror }, signal)
      const specs = fetchSpecs(remote)
      const args = ['fetch', '--progress', '--no-tags', '--no-write-fetch-head', '--', url, ...specs]
      await ask(args, mirror, `read ${url}`)
      const theirs = readRefs(await answerOf(side, ['for-each-ref', listFormat, 'refs/heads', 'refs/tags'], { signal }))
      const wanted = refChanges(theirs, ours)
      const tips = [...new Set(wanted.flatMap(({ to }) => (to === null ? [] : [to])))]
      await handOver(side, project, [...tips, ...ours.map(({ oid }) => `^${oid}`)], signal)
      return wanted
    })
  })
  await writeRefs(repository, changes, signal)
  for (const { name, from, to } of changes) say(changeText(name, from, to))
  if (changes.length === 0) say('There is nothing new.')
  return changes
}

export function fetchSpecs({ pull }: Remote): readonly string[] {
  const all = ['+refs/heads/*:refs/heads/*', '+refs/tags/*:refs/tags/*']
  return pull === undefined ? all : [...all, `+${pull.ref}:refs/heads/${pull.branch}`]
}

/** Of a pull request from a fork only the commit that somebody approved: its owner may have pushed another since. */
export async function pulledRefs({ url: { url }, pull }: Remote, ask: Ask, home: GitHome): Promise<readonly Ref[]> {
  if (pull === undefined) return []
  const { stdout } = await ask(['ls-remote', '--', url, pull.ref], home.folder, `read ${url}`, mostListMs)
  const [oid = null] = /^[0-9a-f]{40,64}(?=\t)/.exec(stdout) ?? []
  if (oid === pull.head) return [{ name: `refs/heads/${pull.branch}`, oid }]
  throw refused(
    oid === null
      ? `The remote has no ${pull.ref}.`
      : `The commit ${oid.slice(0, 10)} of the pull request is not the one that was approved (${pull.head.slice(0, 10)}).`,
    'Look at it, then approve it: POST /projects/{id}/branches with "head".',
  )
}

/** All branches of the remote, with their commits. */
export async function remoteBranches(
  remote: Remote,
  half: NetworkHalf,
  talk: Talk,
): Promise<ReadonlyMap<string, string>> {
  return withRemote(remote, half, talk, async (ask, home) => {
    const { url } = remote.url
    const { stdout } = await ask(['ls-remote', '--refs', '--heads', '--', url], home.folder, `read ${url}`, mostListMs)
    return new Map(readRefs(stdout).map(({ name, oid }) => [name.slice('refs/heads/'.length), oid]))
  })
}

export interface Pushed {
  readonly branch: string
  readonly commit: string
  /** What the remote has there now; null for nothing. The push is refused if it is something else by then. */
  readonly expected: string | null
  readonly force: boolean
}

/** What the remote has now on a branch; null for nothing. */
export async function remoteBranch(
  branch: string,
  remote: Remote,
  half: NetworkHalf,
  talk: Talk,
): Promise<string | null> {
  return withRemote(remote, half, talk, async (ask, home) => {
    const { url } = remote.url
    const ref = `refs/heads/${branch}`
    const { stdout } = await ask(['ls-remote', '--refs', '--', url, ref], home.folder, `read ${url}`, mostListMs)
    return readRefs(stdout).find(({ name }) => name === ref)?.oid ?? null
  })
}

/** Sends a branch: the mirror takes the objects from the project, and hands them on. */
export async function pushFrom(
  repository: Repository,
  { branch, commit, expected, force }: Pushed,
  remote: Remote,
  half: NetworkHalf,
  talk: Talk,
): Promise<void> {
  const { signal } = talk
  await withRemote(remote, half, talk, async (ask, home) => {
    await home.withMirror(async (mirror) => {
      await seed(repository, [{ name: `refs/heads/${branch}`, oid: commit }], { home, mirror }, signal)
      const { url } = remote.url
      const ref = `refs/heads/${branch}`
      const lease = `--force-with-lease=${ref}:${expected ?? ''}`
      const args = ['push', '--progress', '--no-verify', '--no-follow-tags', '--recurse-submodules=no', lease]
      // A lease makes every push a forced one, so whether it goes forward was asked before: the lease holds that answer.
      await ask([...args, '--', url, `${commit}:${ref}`], mirror, `${force ? 'replace' : 'push to'} ${url}`)
    })
  })
  const tracking = `refs/remotes/origin/${branch}`
  const [now] = await refsOf(repository, signal, [tracking])
  await writeRefs(repository, [{ name: tracking, from: now?.oid ?? null, to: commit }], signal)
}

/** The objects that the project has, so that only what it has not is asked for; and where its history is cut. */
export async function seed(
  repository: Repository,
  refs: readonly Ref[],
  { home, mirror }: { readonly home: GitHome; readonly mirror: string },
  signal: AbortSignal,
): Promise<void> {
  const side = mirrorSide(home, mirror)
  const format = refs.some(({ oid }) => oid.length === 64) ? ['--object-format=sha256'] : []
  await answerOf(side, ['init', '--bare', '--quiet', ...format], { signal })
  if (refs.length === 0) return
  const project = projectSide(repository)
  const shallow = (await answerOf(project, ['rev-parse', '--is-shallow-repository'], { signal })).trim() === 'true'
  if (shallow) await home.write(`${mirror}/shallow`, await cutOf(project, refs, signal))
  await handOver(project, side, [...new Set(refs.map(({ oid }) => oid))], signal)
  const lines = refs.map(({ oid }, at) => `create refs/seed/${at} ${oid}\n`).join('')
  await answerOf(side, ['update-ref', '--stdin'], { input: lines, signal })
}

/** Commits whose parents are not there: in a shallow repository they have none. */
async function cutOf(
  project: ReturnType<typeof projectSide>,
  refs: readonly Ref[],
  signal: AbortSignal,
): Promise<string> {
  const args = ['rev-list', '--max-parents=0', '--stdin']
  return answerOf(project, args, { input: `${refs.map(({ oid }) => oid).join('\n')}\n`, signal })
}

const listFormat = '--format=%(objectname)%09%(refname)'

export async function refsOf(
  repository: Repository,
  signal: AbortSignal,
  patterns: readonly string[] = ['refs/heads', 'refs/tags', 'refs/remotes/origin'],
): Promise<readonly Ref[]> {
  return readRefs(await answerOf(projectSide(repository), ['for-each-ref', listFormat, ...patterns], { signal }))
}

async function missingIn(
  repository: Repository,
  changes: readonly RefChange[],
  signal: AbortSignal,
): Promise<readonly string[]> {
  const tips = changes.flatMap(({ to }) => (to === null ? [] : [to]))
  if (tips.length === 0) return []
  const args = ['cat-file', '--batch-check=%(objectname)']
  const text = await answerOf(projectSide(repository), args, { input: `${tips.join('\n')}\n`, signal })
  return text.split('\n').filter((line) => line.endsWith(' missing'))
}

async function writeRefs(repository: Repository, changes: readonly RefChange[], signal: AbortSignal): Promise<void> {
  const lines = (wanted: readonly RefChange[]) =>
    wanted
      .map(({ name, from, to }) => {
        if (to === null) return `delete ${name}\0${from}\0`
        return from === null ? `create ${name}\0${to}\0` : `update ${name}\0${to}\0${from}\0`
      })
      .join('')
  // A name must be gone before another can begin with it.
  for (const wanted of [changes.filter(({ to }) => to === null), changes.filter(({ to }) => to !== null)])
    if (wanted.length > 0)
      await answerOf(projectSide(repository), ['update-ref', '-m', 'fetch', '-z', '--stdin'], {
        input: lines(wanted),
        signal,
      })
}

function changeText(name: string, from: string | null, to: string | null): string {
  const short = name.replace(/^refs\/(remotes\/|tags\/)/, '')
  if (to === null) return `${short} is gone`
  return from === null
    ? `${short} is new, at ${to.slice(0, 10)}`
    : `${short}: ${from.slice(0, 10)} → ${to.slice(0, 10)}`
}

/** What is remembered of the server that the address names. */
export async function hostKeysOf({ url }: Remote, { gitHome }: NetworkHalf): Promise<readonly HostKey[]> {
  if (url.protocol !== 'ssh') return []
  const { knownHosts, user } = await gitHome()
  return rememberedKeys(knownHosts, knownHostName(url), user)
}
