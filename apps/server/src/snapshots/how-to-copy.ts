import type { CopyMethod } from '@stackquay/contract'
import { type CopyManner, copyManner, type LiveProgram } from '@stackquay/domain'
import type { Engine } from '@stackquay/engine-api'
import type { ProjectRow } from '@stackquay/store'
import { bytesText, type DataRoom, requireRoomForData } from '../backups/free-room.ts'
import type { Resolver } from '../projects/resolver.ts'

/** How data of a project is copied at this moment. */
export interface HowToCopy {
  readonly manner: CopyManner
  /** What holds it meanwhile; null for any other manner. */
  readonly live: LiveProgram | null
  readonly method: CopyMethod
  /** What it has on disk; 0 where nobody needs to know, for every file is looked at for it. */
  readonly bytes: number
}

export interface CopyDeps {
  readonly engine: Engine
  readonly resolver: Pick<Resolver, 'backups'>
}

export async function howToCopy(
  row: ProjectRow,
  data: string,
  { engine, resolver }: CopyDeps,
  { signal, isShown }: { readonly signal: AbortSignal; readonly isShown: boolean },
): Promise<HowToCopy> {
  const [observed, programs, method] = await Promise.all([
    engine.observe(row.id, signal),
    resolver.backups(row),
    engine.copyMethod(row.id, signal),
  ])
  const sizes = isShown || method === 'copy' ? await engine.data(row.id, signal) : []
  const running = observed.find(({ ref, state }) => ref.workload === data && /^(running|waiting)$/.test(state))
  const known = programs.find(({ workload }) => workload.ref.workload === data)
  // One that runs with other settings than those of now has another port or password than the program would use.
  const isSame = running?.state === 'running' && running.fingerprint === known?.workload.fingerprint
  const live = isSame ? (known?.live ?? null) : null
  const manner = copyManner({ runs: running !== undefined, holds: live !== null })
  return { manner, live, method, bytes: sizes.find(({ name }) => name === data)?.sizeBytes ?? 0 }
}

/** Shared blocks take no room. Throws `disk_full` before anything is touched. */
export async function requireRoomForCopies(
  project: string,
  copies: readonly Pick<HowToCopy, 'method' | 'bytes'>[],
  what: string,
  deps: DataRoom,
  signal: AbortSignal,
): Promise<void> {
  const bytes = copies.reduce((sum, one) => sum + (one.method === 'copy' ? one.bytes : 0), 0)
  await requireRoomForData(project, bytes, what, deps, signal)
}

export function howText({ method, bytes }: HowToCopy): string {
  return method === 'copy-on-write'
    ? `The file system shares the blocks (copy-on-write): ${bytesText(bytes)} take no room.`
    : `The file system shares no blocks: ${bytesText(bytes)} are copied.`
}
