import type { ImageBuildView } from '@stackquay/contract'

/** What tells builds apart for people: the first twelve digits, as the tools of containers write them. */
export function shortBuild({ digest, id }: Pick<ImageBuildView, 'digest' | 'id'>): string {
  return (digest ?? id).replace(/^sha256:/, '').slice(0, 12)
}
