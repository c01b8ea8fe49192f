import { once } from 'node:events'
import { EngineError } from '@stackquay/engine-api'
import { DEFAULT_PATH } from './environment.ts'
import { isMade } from './job-stamp.ts'
import type { Machine } from './machine.ts'
import { spawnDetached } from './spawn.ts'

/**
 * Removes what a workload made, with the rights of the workload user: a path through a symbolic link cannot reach what
 * that user could not have removed by itself. Succeeds when nothing, or an empty directory, is left.
 */
export async function removeAsWorkload(machine: Machine, path: string): Promise<void> {
  if (!(await isMade(path))) return
  await runAsWorkload(machine, ['/bin/rm', '-rf', '--', path])
  if (await isMade(path)) {
    throw new EngineError('io_failed', `${path} could not be removed.`, { hint: 'Remove it by hand, then try again.' })
  }
}

/** Runs a short program of the system to its end as the workload user; answers its exit code and what it complained of. */
export async function runAsWorkload(
  machine: Machine,
  argv: readonly string[],
  signal?: AbortSignal,
): Promise<{ code: number | null; errors: string }> {
  const { child } = await spawnDetached(machine, { argv, cwd: '/', env: { PATH: DEFAULT_PATH, LC_ALL: 'C' } }, [
    'ignore',
    'ignore',
    'pipe',
  ])
  const end = () => child.kill('SIGKILL')
  signal?.addEventListener('abort', end, { once: true })
  let errors = ''
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    if (errors.length < 4096) errors += text
  })
  const [code] = (await once(child, 'close')) as [number | null]
  signal?.removeEventListener('abort', end)
  return { code, errors: errors.trim() }
}
