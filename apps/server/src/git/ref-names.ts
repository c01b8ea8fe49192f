/** Whether git takes it as the name of a branch (git-check-ref-format(1)), and no option of git reads it as one. */
export function isBranchName(name: string): boolean {
  if (name === '' || name === '@' || name === 'HEAD' || name.length > 200 || name.startsWith('-')) return false
  if (/[\x00-\x20\x7f~^:?*[\\]|\.\.|@\{|\/\/|\ufffd/.test(name)) return false
  if (/^\/|\/$|\.$/.test(name)) return false
  return name.split('/').every((part) => !part.startsWith('.') && !part.endsWith('.lock'))
}

export interface Ref {
  readonly name: string
  readonly oid: string
}

/** Of `git ls-remote --refs` and of `for-each-ref` with the same fields. What is no branch, no tag, or has a hostile name is left out. */
export function readRefs(text: string): readonly Ref[] {
  return text.split('\n').flatMap((line) => {
    const [, oid, name] = /^([0-9a-f]{40}|[0-9a-f]{64})\t(refs\/.+)$/.exec(line) ?? []
    if (oid === undefined || name === undefined) return []
    const short = /^refs\/(?:heads|tags|remotes\/origin)\/(.+)$/.exec(name)?.[1]
    return short !== undefined && isBranchName(short) ? [{ name, oid }] : []
  })
}

export interface RefChange {
  readonly name: string
  /** Null: it goes. */
  readonly to: string | null
  /** Null: it is new. */
  readonly from: string | null
}

/**
 * What a fetch changes in a project: its `origin/…` become what the remote has, and tags come that it has not. A tag that is
 * there stays as it is. A branch that is gone elsewhere stays too, unless its name stands in the way of a new one.
 */
export function refChanges(theirs: readonly Ref[], ours: readonly Ref[]): readonly RefChange[] {
  const known = new Map(ours.map(({ name, oid }) => [name, oid]))
  const wanted = theirs.flatMap(({ name, oid }) => {
    if (name.startsWith('refs/tags/')) return known.has(name) ? [] : [{ name, to: oid, from: null }]
    if (!name.startsWith('refs/heads/')) return []
    const here = `refs/remotes/origin/${name.slice('refs/heads/'.length)}`
    const from = known.get(here) ?? null
    return from === oid ? [] : [{ name: here, to: oid, from }]
  })
  const there = new Set(theirs.map(({ name }) => name.replace(/^refs\/heads\//, 'refs/remotes/origin/')))
  const added = wanted.filter(({ from }) => from === null).map(({ name }) => name)
  const gone = ours
    .filter(({ name }) => name.startsWith('refs/remotes/origin/') && !there.has(name))
    .filter(({ name }) => added.some((one) => one.startsWith(`${name}/`) || name.startsWith(`${one}/`)))
    .map(({ name, oid }) => ({ name, to: null, from: oid }))
  return [...gone, ...wanted]
}
