import { readFileSync } from 'node:fs'
import { realpath } from 'node:fs/promises'
import type { Account } from '../account.ts'
import { FilesError } from './files-error.ts'
import { runAsUser } from './run-as-user.ts'
import { isPath } from './tar.ts'

export interface ClearOptions {
  /** Entries of these names at any depth stay, those at these paths (`a/b`), and the folders above them. */
  readonly except: readonly string[]
  readonly signal?: AbortSignal
}

/** Removes everything in a folder but what is excepted; the folder itself stays. What cannot be cleared whole is left as it is. */
export async function clearTree(account: Account | null, path: string, options: ClearOptions): Promise<void> {
  await requireClearable(account, path, options)
  const find = findIn(path, options.except, '-depth')
  const empty = ['(', '!', '-type', 'd', '-o', '-empty', ')']
  const { code, errors } = await runAsUser(account, [...find, ...empty, '-delete'], limits(options))
  if (code !== 0) throw new FilesError('failed', `The folder could not be emptied: ${errors.split('\n')[0] ?? ''}`)
}

/**
 * Throws `denied`, with a name, where a folder cannot be cleared whole: where folders of others hold something, or something is mounted.
 * Asked before anything is replaced, because what is cleared half cannot be cleared to put back what was there.
 */
export async function requireClearable(account: Account | null, path: string, options: ClearOptions): Promise<void> {
  const mounted = mountedBelow(await placeOf(path), options.except)
  if (mounted !== undefined) throw new FilesError('denied', `Something is mounted at "${mounted}".`)
  // Nothing in them can be removed. Empty ones can be.
  const closed = ['(', '!', '-readable', '-o', '!', '-executable', '-o', '!', '-writable', '!', '-empty', ')']
  const look = () =>
    runAsUser(account, [...findIn(path, options.except), '-type', 'd', ...closed, '-print', '-quit'], limits(options))
  let { code, output, errors } = await look()
  if (code !== 0 || output.length > 0) {
    // Folders that their owner may not read.
    await runAsUser(account, ['chmod', '-R', 'u+rwX', '--', rootOf(path)], limits(options))
    ;({ code, output, errors } = await look())
  }
  if (code === 0 && output.length === 0) return
  const name = output.length === 0 ? errors : output.toString().slice(rootOf(path).length + 1)
  throw new FilesError('denied', `The project’s user may not remove what is in "${name.split('\n')[0]}".`)
}

function placeOf(path: string): Promise<string> {
  return realpath(path).catch((cause: unknown) => {
    throw new FilesError('missing', undefined, { cause })
  })
}

const limits = ({ signal }: ClearOptions) => ({ timeoutMs: 600_000, ...(signal === undefined ? {} : { signal }) })

/** With a dot at its end: a path that is a link itself leads to the folder behind it. */
const rootOf = (path: string) => `${path.replace(/\/+$/, '')}/.`

/** On its own file system alone. */
function findIn(path: string, except: readonly string[], ...global: readonly string[]): readonly [string, ...string[]] {
  const root = rootOf(path)
  const kept = except.flatMap((name) => {
    const [inside, plain] = [pattern(root), pattern(name)]
    if (isPath(name)) return ['!', '-path', `${inside}/${plain}`, '!', '-path', `${inside}/${plain}/*`]
    return ['!', '-name', plain, '!', '-path', `${inside}/${plain}/*`, '!', '-path', `${inside}/*/${plain}/*`]
  })
  return ['find', '-P', root, '-xdev', '-mindepth', '1', ...global, ...kept]
}

/** The first of what is mounted in a folder and is to be removed with it. */
function mountedBelow(folder: string, except: readonly string[]): string | undefined {
  if (process.platform !== 'linux') return undefined
  const isKept = (name: string) =>
    except.some((one) => (isPath(one) ? `${name}/`.startsWith(`${one}/`) : name.split('/').includes(one)))
  const points = readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    // Spaces and the like are written in octal there.
    .map((line) =>
      (line.split(' ')[4] ?? '').replace(/\\([0-7]{3})/g, (_, octal) => String.fromCharCode(parseInt(octal, 8))),
    )
  return points
    .filter((point) => point.startsWith(`${folder}/`))
    .map((point) => point.slice(folder.length + 1))
    .find((name) => !isKept(name))
}

/** As find(1) understands it, matching nothing but itself. */
function pattern(text: string): string {
  return text.replace(/[\\*?[\]]/g, '\\$&')
}
