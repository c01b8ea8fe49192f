import type { Model } from './model.ts'

/** Of branches: each with the project that it is of. Of the rows that are known, so it costs no question to the store. */
export function environmentsOf({ all }: Pick<Model, 'all'>): { readonly project: string; readonly of: string }[] {
  return all().flatMap(({ row: { id, source } }) => (source?.kind === 'branch' ? [{ project: id, of: source.of }] : []))
}
