import type { DatabaseType } from '@stackquay/catalog'
import type { FieldError } from '@stackquay/contract'

/** What is wrong with a path that must stay below the source; null: nothing. */
export function sourcePathFault(path: string): string | null {
  const names = path.split('/')
  if (path.startsWith('/') || /^[A-Za-z]:|\\/.test(path)) return 'is not relative to the source.'
  if (names.includes('..')) return 'leads out of the source.'
  if (/\p{Cc}/u.test(path)) return 'has characters that no path needs.'
  if (names.every((name) => name === '' || name === '.')) return 'names no file.'
  return null
}

/** One path, or several in their order. */
export function seedPaths(sent: string | readonly string[]): readonly string[] {
  return typeof sent === 'string' ? [sent] : sent
}

/** Pure. What keeps these from being seeds of a database of the type. */
export function seedFaults(
  database: string,
  kind: Pick<DatabaseType, 'dump' | 'label'>,
  sent: string | readonly string[] | undefined,
): readonly FieldError[] {
  if (sent === undefined) return []
  const paths = seedPaths(sent)
  const pointer = `/databases/${database}/seed`
  if (paths.length > 0 && kind.dump === undefined)
    return [{ pointer, code: 'no_dumps', detail: `${kind.label} reads no dumps, so it has no seed.` }]
  return paths.flatMap((path, index) => {
    const fault = sourcePathFault(path)
    if (fault === null) return []
    const at = typeof sent === 'string' ? pointer : `${pointer}/${index}`
    return [{ pointer: at, code: 'invalid_path', detail: `The seed "${path}" ${fault}` }]
  })
}

/** Nothing is written down where there is none, so that equal wishes are equal specifications. */
export function withSeed(seed: readonly string[] | undefined): { readonly seed?: readonly string[] } {
  return seed === undefined || seed.length === 0 ? {} : { seed }
}

/** What is remembered of the seed of a database: `begun` until it is filled. */
export type SeedState = 'begun' | 'done'

/**
 * Pure. What a start does for a database with a seed. `look`: it is filled when there is nothing in it. `again`: what an earlier
 * attempt left is emptied first.
 */
export function seedTurn(seed: readonly string[] | undefined, state: SeedState | null): 'none' | 'look' | 'again' {
  if (seed === undefined || seed.length === 0 || state === 'done') return 'none'
  return state === 'begun' ? 'again' : 'look'
}
