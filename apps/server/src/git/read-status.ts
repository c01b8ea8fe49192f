import type { GitChange, GitChangeKind } from '@stackquay/contract'

/** What `git status --porcelain=v2 --branch -z` tells. */
export interface StatusRead {
  /** Null before the first commit. */
  readonly commit: string | null
  /** Null: the head is detached. */
  readonly branch: string | null
  readonly changed: readonly GitChange[]
}

/** Reads the whole answer. What it does not know it leaves out: a later git may say more. */
export function readStatus(text: string): StatusRead {
  const entries = text.split('\0')
  const changed: GitChange[] = []
  let commit: string | null = null
  let branch: string | null = null
  for (let at = 0; at < entries.length; at += 1) {
    const entry = entries[at]!
    const kind = entry[0]
    if (entry.startsWith('# branch.oid ')) commit = oidOf(entry.slice(13))
    else if (entry.startsWith('# branch.head ')) branch = entry.slice(14) === '(detached)' ? null : entry.slice(14)
    else if (kind === '1') changed.push(changeOf(entry, 8, null))
    else if (kind === '2') {
      at += 1
      changed.push(changeOf(entry, 9, entries[at] ?? ''))
    } else if (kind === 'u')
      changed.push({ ...changeOf(entry, 10, null), staged: null, unstaged: null, conflict: true })
    else if (kind === '?')
      changed.push({ path: entry.slice(2), from: null, staged: null, unstaged: 'untracked', conflict: false })
  }
  return { commit, branch, changed }
}

const oidOf = (text: string) => (/^[0-9a-f]{40,64}$/.test(text) ? text : null)

/** `fields` words come before the path, which may have spaces in it. */
function changeOf(entry: string, fields: number, from: string | null): GitChange {
  let at = 0
  for (let field = 0; field < fields; field += 1) at = entry.indexOf(' ', at) + 1
  const [staged, unstaged] = [kinds[entry[2] ?? '.'], kinds[entry[3] ?? '.']]
  return { path: entry.slice(at), from, staged: staged ?? null, unstaged: unstaged ?? null, conflict: false }
}

const kinds: Readonly<Record<string, GitChangeKind>> = {
  M: 'modified',
  T: 'modified',
  A: 'added',
  D: 'deleted',
  R: 'renamed',
  C: 'added',
}

/** Of the files that git follows, those that are not as committed: what a checkout or a pull could run over. */
export function dirtyIn(changed: readonly GitChange[]): readonly GitChange[] {
  return changed.filter(({ unstaged, conflict }) => conflict || unstaged !== 'untracked')
}

/** What `git for-each-ref` and `git log` answer with this between the fields: it stands in no name and no text of git. */
export const fieldSeparator = '\x1f'

export function recordsOf(text: string): readonly (readonly string[])[] {
  return text
    .split('\0')
    .map((record) => record.replace(/^\n/, ''))
    .filter((record) => record !== '')
    .map((record) => record.split(fieldSeparator))
}
