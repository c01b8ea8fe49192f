import { delimiter, isAbsolute, join, resolve } from 'node:path'
import { ProblemError } from '@stackquay/contract'
import type { NamedEnvironment } from '@stackquay/domain'
import type { Value } from '@stackquay/engine-api'
import type { ProjectFiles } from '@stackquay/engines'

/**
 * argv with the absolute path of its program in front, found as a shell finds it: by PATH, or from the folder when it names
 * one. Looked for as the project's user, so that a missing program is an error that says so, and not exit code 127 of a helper. What runs in a
 * container is looked for there, by whoever starts it.
 */
export async function withProgram(
  argv: readonly string[],
  { env, cwd, container }: Pick<NamedEnvironment, 'env' | 'cwd' | 'container'>,
  files: () => Promise<ProjectFiles>,
): Promise<readonly [string, ...string[]]> {
  const [name = '', ...args] = argv
  if (argv.some((word) => word.includes('\0'))) {
    throw new ProblemError('validation_failed', 'A program and its arguments cannot hold zero bytes.', {
      errors: [{ pointer: '/argv', code: 'invalid', detail: 'must not hold zero bytes' }],
    })
  }
  if (container !== undefined) return [name, ...args]
  const places = name.includes('/') ? [resolve(cwd, name)] : onPath(name, env.PATH)
  const found = places.length === 0 ? null : await (await files()).firstProgram(places)
  if (found !== null) return [found, ...args]
  throw new ProblemError(
    'program_not_found',
    name.includes('/') ? `There is no program at "${name}".` : `There is no program "${name}" on the PATH.`,
    {
      hint: name.includes('/')
        ? 'Check the path, which begins at the project’s folder, and that the file is executable.'
        : 'Check its name, install it, or name it by its path. A shell’s own words need a shell: sh -c "…".',
    },
  )
}

function onPath(name: string, path: Value | undefined): readonly string[] {
  if (name === '' || typeof path !== 'string') return []
  // A part that is empty or relative means the folder that one is in; nobody wants programs to be found there by accident.
  return path
    .split(delimiter)
    .filter(isAbsolute)
    .map((folder) => join(folder, name))
}
