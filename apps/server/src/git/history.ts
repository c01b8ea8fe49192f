import { type GitBranch, type GitCommitRecord, type GitDiff, ProblemError } from '@stackquay/contract'
import { localAnswer, localGit, localText } from '../source/local-git.ts'
import { fieldSeparator as f, recordsOf } from './read-status.ts'
import type { OpenRepository } from './repository.ts'

const mostPatchBytes = 512 << 10
const mostFiles = 1000

/** Programs that attributes name for a file (textconv, external diffs) are not asked. */
const plain = ['--no-ext-diff', '--no-textconv', '--no-color', '--find-renames', '--ignore-submodules=dirty']

export interface DiffAsked {
  readonly path?: string | undefined
  readonly staged?: boolean
  readonly commit?: string | undefined
}

export async function diffOf(repository: OpenRepository, asked: DiffAsked, signal: AbortSignal): Promise<GitDiff> {
  const paths = asked.path === undefined ? [] : [asked.path]
  const command = await diffCommand(repository, asked, signal)
  const [numbers, patch] = await Promise.all([
    localGit(repository, [...command, ...plain, '--numstat', '-z', '--', ...paths], {
      signal,
      maxBytes: 1 << 20,
      cuts: true,
    }),
    localGit(repository, [...command, ...plain, '--patch', '--', ...paths], {
      signal,
      maxBytes: mostPatchBytes,
      cuts: true,
    }),
  ])
  const files = readNumbers(numbers.stdout.toString('utf8'))
  if (files.length === 0 && asked.path !== undefined && asked.staged !== true && asked.commit === undefined)
    return untracked(repository, asked.path, signal)
  return {
    files: files.slice(0, mostFiles),
    patch: patch.stdout.toString('utf8'),
    truncated: patch.isCut || numbers.isCut || files.length > mostFiles,
  }
}

async function diffCommand(
  repository: OpenRepository,
  { staged, commit }: DiffAsked,
  signal: AbortSignal,
): Promise<readonly string[]> {
  if (commit === undefined) return staged === true ? ['diff', '--cached'] : ['diff']
  if ((await localText(repository, ['rev-parse', '--verify', '--quiet', `${commit}^{commit}`], { signal })) === null)
    throw new ProblemError('not_found', `The repository has no commit ${commit}.`)
  return ['diff-tree', '--no-commit-id', '--root', '-r', '-m', '--first-parent', commit]
}

/** Of a file that git does not follow yet: all of it is new. */
async function untracked(repository: OpenRepository, path: string, signal: AbortSignal): Promise<GitDiff> {
  const list = ['ls-files', '--others', '--exclude-standard', '-z', '--', path]
  const listed = await localGit(repository, list, { signal, maxBytes: 1 << 20, cuts: true })
  const names = listed.stdout.toString('utf8').split('\0')
  if (!names.includes(path)) return { files: [], patch: '', truncated: false }
  const args = ['diff', '--no-index', ...plain, '--patch', '--', '/dev/null', path]
  const { stdout, isCut } = await localGit(repository, args, {
    signal,
    maxBytes: mostPatchBytes,
    cuts: true,
    timeoutMs: 10_000,
  })
  const patch = stdout.toString('utf8')
  const binary = /^Binary files /m.test(patch)
  const added = binary || isCut ? null : patch.split('\n').filter((line) => /^\+(?!\+\+ )/.test(line)).length
  return { files: [{ path, from: null, added, removed: binary ? null : 0, binary }], patch, truncated: isCut }
}

/** Of `--numstat -z`: `added TAB removed TAB path NUL`, of a rename `… TAB NUL from NUL to NUL`. */
export function readNumbers(text: string): GitDiff['files'] {
  const parts = text.split('\0')
  const files: GitDiff['files'] = []
  for (let at = 0; at < parts.length; at += 1) {
    const [, added, removed, path] = /^(\d+|-)\t(\d+|-)\t(.*)$/s.exec(parts[at]!) ?? []
    if (path === undefined) continue
    const binary = added === '-'
    const counts = { added: binary ? null : Number(added), removed: binary ? null : Number(removed), binary }
    if (path !== '') files.push({ path, from: null, ...counts })
    else {
      files.push({ path: parts[at + 2] ?? '', from: parts[at + 1] ?? '', ...counts })
      at += 2
    }
  }
  return files
}

export interface LogAsked {
  readonly branch?: string | undefined
  readonly limit: number
  /** `<commit>:<how many to leave out>` */
  readonly cursor?: string | undefined
}

export async function logOf(
  repository: OpenRepository,
  { branch, limit, cursor }: LogAsked,
  signal: AbortSignal,
): Promise<{ readonly items: GitCommitRecord[]; readonly nextCursor: string | null }> {
  const from = cursor === undefined ? await startOf(repository, branch, signal) : readCursor(cursor)
  if (from === null) return { items: [], nextCursor: null }
  const format = ['%H', '%P', '%an', '%ae', '%aI', '%D', '%s', '%b'].join('%x1f')
  const range = [`--max-count=${limit + 1}`, `--skip=${from.skip}`, `--format=${format}`, '-z']
  const args = ['log', ...range, '--no-color', '--decorate=short', '--no-show-signature', from.commit, '--']
  const records = recordsOf((await localAnswer(repository, args, { signal, maxBytes: 16 << 20 })).toString('utf8'))
  const items = records.slice(0, limit).map(commitOf)
  const more = records.length > limit
  return { items, nextCursor: more ? `${from.commit}:${from.skip + limit}` : null }
}

function commitOf([
  id = '',
  parents = '',
  name = '',
  email = '',
  at = '',
  refs = '',
  subject = '',
  ...body
]: readonly string[]) {
  return {
    id,
    parents: parents.split(' ').filter((parent) => parent !== ''),
    author: { name, email },
    at: timeOf(at),
    subject: subject.slice(0, 1000),
    body: body.join(f).trim().slice(0, 10_000),
    refs: refs.split(', ').filter((ref) => ref !== ''),
  }
}

/** In UTC. An author may have written a time that no calendar has. */
function timeOf(text: string): string {
  const time = new Date(text)
  return Number.isNaN(time.getTime()) ? new Date(0).toISOString() : time.toISOString()
}

function readCursor(cursor: string) {
  const [, commit, skip] = /^([0-9a-f]{40,64}):(\d{1,9})$/.exec(cursor) ?? []
  if (commit !== undefined) return { commit, skip: Number(skip) }
  throw new ProblemError('validation_failed', 'The cursor is not one of this list.', {
    errors: [{ pointer: '/cursor', code: 'invalid', detail: 'Send the nextCursor of the page before.' }],
  })
}

async function startOf(repository: OpenRepository, branch: string | undefined, signal: AbortSignal) {
  const refs =
    branch === undefined
      ? ['HEAD']
      : [`refs/heads/${branch}`, ...(branch.startsWith('origin/') ? [`refs/remotes/${branch}`] : [])]
  for (const ref of refs) {
    const commit = await localText(repository, ['rev-parse', '--verify', '--quiet', `${ref}^{commit}`], { signal })
    if (commit !== null) return { commit, skip: 0 }
  }
  if (branch === undefined) return null
  throw new ProblemError('not_found', `The repository has no branch "${branch}".`)
}

export async function branchesOf(repository: OpenRepository, signal: AbortSignal): Promise<GitBranch[]> {
  const format = [
    '%(refname)',
    '%(HEAD)',
    '%(objectname)',
    '%(committerdate:iso-strict)',
    '%(symref)',
    '%(contents:subject)',
  ].join('%1f')
  const args = ['for-each-ref', '--sort=-committerdate', '--count=500', `--format=${format}%00`]
  const text = await localAnswer(repository, [...args, 'refs/heads', 'refs/remotes/origin'], {
    signal,
    maxBytes: 4 << 20,
  })
  return recordsOf(text.toString('utf8')).flatMap(([ref = '', head, commit = '', at = '', symref, subject = '']) => {
    const remote = ref.startsWith('refs/remotes/')
    const name = ref.slice(remote ? 'refs/remotes/'.length : 'refs/heads/'.length)
    if (symref !== '' || name === '') return []
    return [{ name, remote, current: head === '*', commit, subject: subject.slice(0, 1000), at: timeOf(at) }]
  })
}
