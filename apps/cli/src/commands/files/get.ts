import { access } from 'node:fs/promises'
import { resolve } from 'node:path'
import { refuse, send } from '@stackquay/client/transport'
import type { Context } from '../../context.ts'
import { transferred } from '../../databases/transfer.ts'
import type { Define } from '../../define.ts'
import { usageError } from '../../errors.ts'
import { size } from '../../output/size.ts'
import { whole, writeWholeFile } from '../../output/whole-file.ts'
import { writeBytes } from '../../output/write-bytes.ts'

interface GetFlags {
  readonly archive?: boolean
  readonly force?: boolean
}

export const defineGet: Define = (command, context) =>
  command
    .summary('save a file of a project here')
    .description('Save a file of a project here, or with --archive a folder as tar.gz.')
    .argument('<project>', 'id or slug')
    .argument('<path>', 'from the folder of the project on: src/app.ts')
    .argument('[file]', 'where to; by its own name in this folder unless given; "-" for standard output')
    .option('--archive', 'the folder at that path, as tar.gz')
    .option('--force', 'replace the file that is here')
    .action((project: string, path: string, file: string | undefined, flags: GetFlags) =>
      run(context(), project, path, file, flags),
    )

async function run(
  context: Context,
  id: string,
  path: string,
  given: string | undefined,
  { archive = false, force = false }: GetFlags,
): Promise<void> {
  const name = path.split('/').findLast((part) => part !== '' && part !== '.') ?? id
  const target = given ?? (archive ? `${name}.tar.gz` : name)
  const file = resolve(context.world.cwd, target)
  const refuseThere = async () => {
    if (target === '-' || force || !(await isThere(file))) return
    throw usageError(`There is a file ${target} here already.`, 'Name another one, or replace it with --force.')
  }
  await refuseThere()
  const connection = await context.connection()
  const address = `/projects/${encodeURIComponent(id)}/files/${archive ? 'archive' : 'content'}`
  const wanted = { method: 'GET', path: address, query: { path } } as const
  const response = await send(connection, wanted, { signal: context.signal })
  if (!response.ok || response.body === null) return refuse(connection, response)
  const chunks = transferred(context, 'Received', whole('The download', response.body, context.signal))
  if (target === '-') return writeBytes(context, chunks)
  const bytes = await writeWholeFile(file, chunks)
  context.note(`${context.noteStyle.colors.green('✔')} ${target} is written, ${size(bytes)}`)
  context.result({ file, bytes, path }, () => '')
}

function isThere(file: string): Promise<boolean> {
  return access(file).then(
    () => true,
    () => false,
  )
}
