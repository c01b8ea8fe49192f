import type { ProjectRow } from '@stackquay/store'
import type { Resolver } from '../projects/resolver.ts'
import { environmentFor, placesOf } from '../terminals/environment.ts'
import { usableShell } from '../terminals/shell.ts'

/** Shells without a terminal, as clients expect to find one behind a command. */
export interface Shells {
  /** Runs one line. */
  running(project: ProjectRow, workload: string | undefined, line: string): Promise<readonly string[]>
  /** Runs lines from its standard input. */
  reading(project: ProjectRow, workload: string | undefined): Promise<readonly string[]>
}

/** Nobody knows what an image has before it runs. */
const best = 'command -v bash > /dev/null && exec bash "$@"; exec sh "$@"'

export function createShells(resolver: Pick<Resolver, 'commands'>): Shells {
  const shell = async (project: ProjectRow, workload: string | undefined, ...words: readonly string[]) => {
    const { container } = environmentFor(placesOf(await resolver.commands(project)), workload)
    if (container !== undefined) return ['/bin/sh', '-c', best, 'sh', ...words]
    const [file] = (await usableShell()).argv
    return [file, ...words]
  }
  return {
    running: (project, workload, line) => shell(project, workload, '-c', line),
    reading: (project, workload) => shell(project, workload, '-s'),
  }
}
