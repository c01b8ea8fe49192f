import { createHash } from 'node:crypto'
import type { Release } from '@stackquay/contract'
import { installInputs, type Resolved, releaseOf } from '@stackquay/domain'
import type { Observed } from '@stackquay/engine-api'
import type { ProjectRow } from '@stackquay/store'
import type { ChangeDeps } from '../projects/change-project.ts'
import type { FilesOf } from '../projects/files-of.ts'

export interface ReleaseDeps extends Pick<ChangeDeps, 'model' | 'observations'> {
  readonly filesOf: FilesOf
}

/** What the project runs with, as far as it was looked at already: nobody is asked for it. */
export async function releaseNow(row: ProjectRow, { model, observations, filesOf }: ReleaseDeps): Promise<Release> {
  const { resolved } = model.find(row.id) ?? (await model.renew(row.id))
  const observed = observations.of(row.id)
  return releaseFrom(row, resolved, observed, filesOf)
}

export async function releaseFrom(
  row: ProjectRow,
  resolved: Pick<Resolved, 'workloads' | 'kinds' | 'versions'>,
  observed: readonly Observed[],
  filesOf: FilesOf,
): Promise<Release> {
  const paths = installInputs(row.path, resolved, observed)
  const installedFrom = await hashesOf(row, paths, filesOf)
  return releaseOf({ generation: row.generation, installedFrom }, resolved, observed)
}

/** Read as the project's user: a link that leads out of its folder is not there. */
export async function hashesOf(
  row: Pick<ProjectRow, 'id' | 'path'>,
  paths: readonly string[],
  filesOf: FilesOf,
): Promise<Record<string, string>> {
  if (paths.length === 0) return {}
  const files = await filesOf(row)
  const found = await files.readMany({ root: row.path, paths, maxBytesEach, maxBytes })
  return Object.fromEntries([...found].map(([path, content]) => [path, content === true ? unread : sha256(content)]))
}

export const sha256 = (bytes: Buffer) => `sha256:${createHash('sha256').update(bytes).digest('hex')}`

/** Of what is there and is too large, or no regular file. */
export const unread = 'unread'

/** Lock files of large repositories have a few MiB. */
export const maxBytesEach = 16 << 20
const maxBytes = 32 << 20
