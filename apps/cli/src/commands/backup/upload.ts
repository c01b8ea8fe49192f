import { openAsBlob } from 'node:fs'
import { open } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { Backup } from '@stackquay/contract'
import type { Context } from '../../context.ts'
import type { Define } from '../../define.ts'
import { usageError } from '../../errors.ts'

export const defineUpload: Define = (command, context) =>
  command
    .summary('bring a downloaded backup back')
    .description('Bring a downloaded backup back. Every part is checked before it counts. It takes scope admin.')
    .argument('<file>', 'the archive, as it was downloaded')
    .addHelpText('after', '\nThen: stq backup restore-as <backup> <name>')
    .action((file: string) => run(context(), file))

async function run(context: Context, file: string): Promise<void> {
  const blob = await fileBlob(resolve(context.world.cwd, file))
  const client = await context.client()
  const { data } = await client.request({ method: 'POST', path: '/backups/upload', blob }, { signal: context.signal })
  const backup = data as Backup
  context.note(`${context.noteStyle.colors.green('✔')} ${file} is whole: a backup of ${backup.project.slug}`)
  if (!backup.opensHere)
    context.note('Its settings are sealed with another secret key: this instance cannot open them.')
  context.result(backup, () => backup.id)
}

/** Read from the disk as it is sent, whatever its size. */
async function fileBlob(path: string): Promise<Blob> {
  try {
    await using handle = await open(path, 'r')
    if (!(await handle.stat()).isFile()) throw new Error(`${path} is not a file`)
    return await openAsBlob(path, { type: 'application/x-tar' })
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw usageError(`The archive cannot be read: ${reason}`)
  }
}
