import { resolve } from 'node:path'
import { refuse, send } from '@stackquay/client/transport'
import { backupArguments, backupPath, backupRef } from '../../backups/find-backup.ts'
import type { Context } from '../../context.ts'
import type { Define } from '../../define.ts'
import { size } from '../../output/size.ts'
import { whole, writeWholeFile } from '../../output/whole-file.ts'
import { writeBytes } from '../../output/write-bytes.ts'

interface DownloadFlags {
  readonly output?: string
}

export const defineDownload: Define = (command, context) =>
  command
    .summary('save a backup as one tar archive')
    .description('Save a backup as one tar archive, which "stq backup upload" brings back.')
    .argument('[project]', backupArguments.project)
    .argument('[backup]', backupArguments.backup)
    .option(
      '-o, --output <file>',
      'the file to write, readable for you alone (default: <backup>.tar); "-" for standard output',
    )
    .addHelpText('after', '\nIts settings and secrets open only with the secret key of this instance: keep that too.')
    .action((project: string | undefined, backup: string | undefined, flags: DownloadFlags) =>
      run(context(), project, backup, flags),
    )

async function run(
  context: Context,
  named: string | undefined,
  id: string | undefined,
  flags: DownloadFlags,
): Promise<void> {
  const ref = await backupRef(context, named, id)
  const connection = await context.connection()
  const path = `${backupPath(ref)}/download`
  const response = await send(connection, { method: 'GET', path }, { signal: context.signal })
  if (!response.ok || response.body === null) return refuse(connection, response)
  const chunks = whole('The download', response.body, context.signal)
  if (flags.output === '-') return writeBytes(context, chunks)
  const file = resolve(context.world.cwd, flags.output ?? `${ref.backup}.tar`)
  const bytes = await writeWholeFile(file, chunks)
  context.note(
    `${context.noteStyle.colors.green('✔')} ${flags.output ?? `${ref.backup}.tar`} is written, ${size(bytes)}`,
  )
  context.result({ file, bytes, backup: ref.backup }, () => '')
}
