import { access } from 'node:fs/promises'
import type { Account } from '../account.ts'
import { runAsUser } from '../as-user/run-as-user.ts'

/** The answer of a short program of the system. */
export interface Answer {
  readonly code: number | null
  readonly output: string
  readonly errors: string
}

const MOST_OUTPUT = 1024 * 1024

/**
 * Runs a short program of the system to its end as that user: a path that leads elsewhere by now reaches nothing which that user
 * could not reach by itself. Null: as the user of this process.
 */
export async function runAs(account: Account | null, argv: readonly string[], signal?: AbortSignal): Promise<Answer> {
  const [file = '', ...args] = argv
  const options = { maxOutput: MOST_OUTPUT, timeoutMs: LONGEST_MS, ...(signal === undefined ? {} : { signal }) }
  const { code, output, errors } = await runAsUser(account, [file, ...args], options)
  return { code, output: output.toString('utf8'), errors }
}

/** Copying and removing large trees takes its time. */
const LONGEST_MS = 60 * 60 * 1000

const EXIST = 'for path; do if [ -e "$path" ]; then echo y; else echo n; fi; done'

/** Which of these paths are there for that user, in their order. */
export async function existFor(account: Account | null, paths: readonly string[]): Promise<readonly boolean[]> {
  if (paths.length === 0) return []
  if (account === null) {
    return Promise.all(
      paths.map((path) =>
        access(path).then(
          () => true,
          () => false,
        ),
      ),
    )
  }
  const { output } = await runAs(account, ['/bin/sh', '-c', EXIST, 'stackquay', ...paths])
  const answers = output.split('\n')
  return paths.map((_, at) => answers[at] === 'y')
}

const CAN_RUN = 'cd -- "$1" && [ -f "$2" ] && [ -x "$2" ]'

/** Whether that user may enter the folder and execute the program. */
export async function canRun(account: Account, cwd: string, program: string): Promise<boolean> {
  return (await runAs(account, ['/bin/sh', '-c', CAN_RUN, 'stackquay', cwd, program])).code === 0
}

const HASHES = `for path; do
  if [ -f "$path" ]; then /usr/bin/sha256sum < "$path" || echo unreadable
  elif [ -d "$path" ]; then ls -A -- "$path" | sort | /usr/bin/sha256sum
  elif [ -e "$path" ]; then echo special
  else echo absent; fi
done`

/** The same for the same content. Only ordinary files are read: a pipe would never end. Of a folder, the list of entries counts. */
export async function contentHashesFor(account: Account, paths: readonly string[]): Promise<readonly string[]> {
  if (paths.length === 0) return []
  const { output } = await runAs(account, ['/bin/sh', '-c', HASHES, 'stackquay', ...paths])
  const answers = output.split('\n')
  return paths.map((_, at) => (answers[at] ?? 'unreadable').replace(/\s.*$/, ''))
}

const MADE = '[ -e "$1" ] && { [ ! -d "$1" ] || [ -n "$(ls -A -- "$1" | head -n 1)" ]; }'

/** Whether something is there. An empty folder does not count. */
export async function isMadeFor(account: Account, path: string): Promise<boolean> {
  return (await runAs(account, ['/bin/sh', '-c', MADE, 'stackquay', path])).code === 0
}
