import { stat } from 'node:fs/promises'
import type { NamedEnvironment } from '@stackquay/domain'
import type { Value } from '@stackquay/engine-api'

/** What a terminal runs when nobody names a program. */
export interface Shell {
  readonly argv: readonly [string, ...string[]]
  /** `bash`. */
  readonly name: string
}

/**
 * The best shell of this machine, by what is there: the account of projects is a system user, whose login shell is often
 * `nologin`. The machine's own start files are left out, because they replace the prompt and may write anywhere.
 */
export async function usableShell(places: readonly string[] = bashPlaces): Promise<Shell> {
  for (const path of places) {
    const info = await stat(path).catch(() => null)
    if (info?.isFile() === true && (info.mode & 0o111) !== 0)
      return { argv: [path, '--noprofile', '--norc', '-i'], name: 'bash' }
  }
  return { argv: ['/bin/sh', '-i'], name: 'sh' }
}

/** The shell of an environment: of its image, where it has one. */
export async function shellOf({ container }: Pick<NamedEnvironment, 'container'>): Promise<Shell> {
  return container === undefined ? usableShell() : { argv: ['/bin/sh', '-c', bestShell], name: 'sh' }
}

/** Nobody knows what an image has before it runs. */
const bestShell = 'command -v bash > /dev/null && exec bash --noprofile --norc -i; exec sh -i'

/** What programs in a terminal want to know, besides what they get anywhere. The person's own variables win. */
export function terminalVariables(
  place: string,
  shell: Shell | null,
  env: Readonly<Record<string, Value>>,
): Readonly<Record<string, Value>> {
  return {
    LANG: 'C.UTF-8',
    ...env,
    TERM: 'xterm-256color',
    COLORTERM: 'truecolor',
    ...(shell === null
      ? {}
      : { SHELL: shell.argv[0], PS1: shell.name === 'bash' ? `${place}:\\W\\$ ` : `${place} $ ` }),
  }
}

const bashPlaces = ['/bin/bash', '/usr/bin/bash', '/usr/local/bin/bash', '/opt/homebrew/bin/bash']
