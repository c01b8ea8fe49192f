import { ProblemError } from '@stackquay/contract'
import type { Account } from '@stackquay/engines'
import { copyToProject } from '../source/copy-to-project.ts'
import type { GitHome, NetworkHalf } from '../source/git-home.ts'
import { localAnswer } from '../source/local-git.ts'
import { answerOf, mirrorSide, type Side } from './packs.ts'
import { type Ref, readRefs } from './ref-names.ts'
import { refused } from './refusals.ts'
import { type Ask, fetchSpecs, pulledRefs, refsOf, seed, type Talk, withRemote } from './remote.ts'
import type { OpenRepository } from './repository.ts'
import type { Remote } from './sealed-remote.ts'
import { headOf } from './source-changes.ts'

export interface BranchCheckout {
  /** Of the project that the branch is of. */
  readonly repository: OpenRepository
  /** Null: nothing is asked, and the branch is what the project has of it. */
  readonly remote: Remote | null
  readonly branch: string
  /** Made from the commit that the project has checked out. */
  readonly create: boolean
}

/**
 * A clone of the project’s repository with a branch checked out, in an empty folder of another project: the mirror takes the objects from the
 * first, asks the network for the rest, and hands them to the second (decision 27). Answers what the remote has on the branch; null for nothing.
 */
export async function checkOutBranch(
  asked: BranchCheckout,
  to: { readonly folder: string; readonly account: Account | null },
  half: NetworkHalf,
  talk: Talk,
): Promise<string | null> {
  const { remote } = asked
  if (remote === null) return throughMirror(asked, to, await half.gitHome(), null, talk)
  return withRemote(remote, half, talk, (ask, home) => throughMirror(asked, to, home, ask, talk))
}

async function throughMirror(
  asked: BranchCheckout,
  { folder, account }: { readonly folder: string; readonly account: Account | null },
  home: GitHome,
  ask: Ask | null,
  talk: Talk,
): Promise<string | null> {
  const { repository, remote, branch } = asked
  const { signal, say } = talk
  return home.withMirror(async (mirror) => {
    const side = mirrorSide(home, mirror)
    const ours = await refsOf(repository, signal)
    await seed(repository, ours, { home, mirror }, signal)
    const theirs = await branchesIn(side, asked, ours, { home, mirror, ask }, talk)
    const seen = theirs.get(branch) ?? null
    const head = await headToTake(side, asked, seen, ours, signal)
    const heads = new Map([...theirs, [branch, head]])
    const lines = [...heads].map(([name, oid]) => `update refs/heads/${name} ${oid}\n`).join('')
    await answerOf(side, ['update-ref', '--stdin'], { input: lines, signal })
    await copyToProject({
      mirror,
      from: home.user,
      folder,
      to: account,
      url: remote?.url.url ?? nowhere,
      branch,
      signal,
      onLine: say,
    })
    await setOrigin({ path: folder, account, settings: [] }, { branch, seen, hasRemote: remote !== null }, signal)
    say(`${branch} is at ${head.slice(0, 10)}.`)
    return seen
  })
}

/** What a clone calls an origin that there is none of; it is taken out again. */
const nowhere = 'https://localhost/none'

/** What the remote has now; where it cannot be asked, what the project knows of it. */
async function branchesIn(
  side: Side,
  { remote, create }: BranchCheckout,
  ours: readonly Ref[],
  { home, mirror, ask }: { readonly home: GitHome; readonly mirror: string; readonly ask: Ask | null },
  { signal, say }: Talk,
): Promise<Map<string, string>> {
  const known = new Map(
    ours.flatMap(({ name, oid }) => {
      const short = /^refs\/remotes\/origin\/(.+)$/.exec(name)?.[1]
      return short === undefined ? [] : [[short, oid] as const]
    }),
  )
  if (remote === null || ask === null || create) return known
  const { url } = remote.url
  await pulledRefs(remote, ask, home)
  const args = ['fetch', '--progress', '--no-tags', '--no-write-fetch-head', '--', url, ...fetchSpecs(remote)]
  try {
    await ask(args, mirror, `read ${url}`)
  } catch (error) {
    if (signal.aborted || remote.pull !== undefined || !(error instanceof ProblemError)) throw error
    say(`The remote cannot be read, so what the project knows of it is taken: ${error.message}`)
    return known
  }
  const format = '--format=%(objectname)%09%(refname)'
  const fetched = readRefs(await answerOf(side, ['for-each-ref', format, 'refs/heads'], { signal }))
  return new Map(fetched.map(({ name, oid }) => [name.slice('refs/heads/'.length), oid]))
}

/** Of the two sides the one that has all of the other; where they went different ways, the remote. */
async function headToTake(
  side: Side,
  { repository, branch, create, remote }: BranchCheckout,
  seen: string | null,
  ours: readonly Ref[],
  signal: AbortSignal,
): Promise<string> {
  const local = ours.find(({ name }) => name === `refs/heads/${branch}`)?.oid ?? null
  if (create) {
    if (local !== null || seen !== null)
      throw refused(`There is a branch "${branch}" already.`, 'Leave "create" out, or choose another name.')
    const head = await headOf(repository, signal)
    if (head === null) throw refused('The project has no commit yet.', 'Commit something first.')
    return head
  }
  if (remote?.pull !== undefined) {
    if (seen === remote.pull.head) return seen
    throw refused('The pull request has another commit than the approved one.', 'Approve it anew.')
  }
  if (seen === null && local === null)
    throw refused(
      `Neither the project nor its remote has a branch "${branch}".`,
      'Push it, or have it made from the commit that is checked out ("create": true, --create).',
    )
  if (seen === null || local === null) return (seen ?? local)!
  const newer = await answerOf(side, ['rev-list', '--count', `${local}..${seen}`], { signal })
  return newer.trim() === '0' ? local : seen
}

/** The clone takes the mirror for its origin, which has branches that the remote has not. */
async function setOrigin(
  repository: { readonly path: string; readonly account: Account | null; readonly settings: readonly string[] },
  { branch, seen, hasRemote }: { readonly branch: string; readonly seen: string | null; readonly hasRemote: boolean },
  signal: AbortSignal,
): Promise<void> {
  const tracking = `refs/remotes/origin/${branch}`
  const writes = { signal, writes: true } as const
  if (!hasRemote) await localAnswer(repository, ['remote', 'remove', 'origin'], writes)
  else if (seen === null) await localAnswer(repository, ['update-ref', '-d', tracking], writes)
  else await localAnswer(repository, ['update-ref', tracking, seen], writes)
}
