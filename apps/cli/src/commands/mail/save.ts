import { mkdir } from 'node:fs/promises'
import { relative, resolve } from 'node:path'
import type { Context } from '../../context.ts'
import type { Define } from '../../define.ts'
import { CliError } from '../../errors.ts'
import { exitCodes } from '../../exit-codes.ts'
import { findMail } from '../../mail/find-mail.ts'
import { mailAttachment, mailSource } from '../../mail/mail-bytes.ts'
import { safeFileName } from '../../mail/safe-file-name.ts'
import { type SavedFile, saveFile } from '../../mail/save-file.ts'
import { plainText } from '../../output/plain-text.ts'
import { size } from '../../output/size.ts'

interface SaveFlags {
  readonly inline?: boolean
  readonly source?: boolean
}

export const defineSave: Define = (command, context) =>
  command
    .summary('save the files that a mail carries')
    .description('Save the files that a mail carries. Nothing that is there is ever overwritten.')
    .argument('<project>', 'id or slug')
    .argument('<mail>', 'id, or how it begins: see stq mail')
    .argument('[folder]', 'where to; it is made when it is missing (default: this folder)')
    .option('--inline', 'also images that belong to its text')
    .option('--source', 'also the mail itself, as an .eml file')
    .addHelpText('after', '\nThe paths of the files are printed, one a line. They are readable for you alone.')
    .action((project: string, mail: string, folder: string | undefined, flags: SaveFlags) =>
      run(context(), project, mail, folder ?? '.', flags),
    )

async function run(context: Context, id: string, wanted: string, folder: string, flags: SaveFlags): Promise<void> {
  const client = await context.client()
  const message = await findMail(context, id, wanted)
  const mail = await client.call('getMail', { params: { id, message } }, { signal: context.signal })
  const attachments = mail.attachments.filter(({ inline }) => flags.inline === true || !inline)
  const target = await folderFor(context, folder, attachments.length > 0 || flags.source === true)
  const items: (SavedFile & { readonly contentType: string })[] = []
  for (const { index, fileName, contentType } of attachments) {
    const bytes = await mailAttachment(context, id, message, index)
    const saved = await saveFile(target, safeFileName(fileName, `attachment-${index}`), bytes)
    items.push({ ...saved, contentType: plainText(contentType) })
  }
  if (flags.source === true) {
    const name = safeFileName(`${mail.subject.replaceAll(/[/\\]/g, '-')}.eml`, `${message}.eml`)
    const saved = await saveFile(target, name, await mailSource(context, id, message))
    items.push({ ...saved, contentType: 'message/rfc822' })
  }
  context.result({ items }, () => items.map(({ path }) => shownPath(context, path)).join('\n'))
  const bytes = items.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0)
  if (items.length === 0) context.note('This mail carries no files.')
  else context.note(`${items.length} ${items.length === 1 ? 'file' : 'files'}, ${size(bytes)}`)
}

async function folderFor({ world }: Context, folder: string, needed: boolean): Promise<string> {
  const path = resolve(world.cwd, folder)
  if (needed)
    await mkdir(path, { recursive: true }).catch((error: Error) => {
      throw new CliError(`The folder cannot be made: ${error.message}`, { exitCode: exitCodes.failed })
    })
  return path
}

/** Relative where that is shorter, as it would be typed. */
function shownPath({ world }: Context, path: string): string {
  const near = relative(world.cwd, path)
  return near.startsWith('..') ? path : near
}
