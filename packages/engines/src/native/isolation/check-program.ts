import { dirname } from 'node:path'
import type { Account } from '../account.ts'
import { runAs } from './as-user.ts'

/** What keeps a user from running a program in a folder, as that user sees it. Null: nothing. */
export type Lack =
  | { readonly what: 'wall'; readonly path: string; readonly at: string }
  | { readonly what: 'no_folder' | 'no_program' | 'not_executable' }

const CHECK = `cwd=$1 file=$2; shift 2
for folder; do
  [ -x "$folder" ] && continue
  if [ -e "$folder" ]; then printf 'wall %s' "$folder"; else printf missing; fi
  exit
done
if [ ! -d "$cwd" ]; then printf missing
elif [ ! -e "$file" ]; then printf no_program
elif [ ! -f "$file" ] || [ ! -x "$file" ]; then printf not_executable
fi`

/** Asked as the user: paths below a folder of a project lead where its programs put them, and no other user follows them. */
export async function lackOf(account: Account, cwd: string, program: string): Promise<Lack | null> {
  const ask = async (folders: readonly string[]) =>
    (await runAs(account, ['/bin/sh', '-c', CHECK, 'stackquay', cwd, program, ...folders])).output
  const said = await ask([...foldersAbove(`${cwd}/.`)])
  if (said.startsWith('wall ')) return { what: 'wall', path: cwd, at: said.slice('wall '.length) }
  if (said === 'missing') return { what: 'no_folder' }
  if (said === 'not_executable') return { what: 'not_executable' }
  if (said !== 'no_program') return null
  const onTheWay = await ask([...foldersAbove(program)])
  return onTheWay.startsWith('wall ')
    ? { what: 'wall', path: program, at: onTheWay.slice('wall '.length) }
    : { what: 'no_program' }
}

/** From the root in. */
function foldersAbove(path: string): readonly string[] {
  const parent = dirname(path)
  return parent === path ? [] : [...foldersAbove(parent), parent]
}
