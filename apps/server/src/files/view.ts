import type { FileView } from '@stackquay/contract'
import type { SftpFiles, SftpInfo } from '@stackquay/engines'
import { sftpPath } from './paths.ts'

/** `name`: bytes in latin1. What is no UTF-8 is shown as well as it can be, and has no path. */
export async function viewOf(
  files: SftpFiles,
  folder: readonly string[],
  name: string,
  info: SftpInfo,
): Promise<FileView> {
  const bytes = Buffer.from(name, 'latin1')
  const text = bytes.toString('utf8')
  const isText = Buffer.from(text).equals(bytes)
  return {
    name: text,
    path: isText ? [...folder, text].join('/') : null,
    kind: info.kind,
    size: info.size,
    mode: (info.mode & 0o7777).toString(8).padStart(3, '0'),
    modifiedAt: new Date(info.modified * 1000).toISOString(),
    link: info.kind === 'link' ? await linkOf(files, `${sftpPath(folder)}/${name}`) : null,
  }
}

/** What a link says, and what it is of the project when it stays there. */
async function linkOf(files: SftpFiles, path: string): Promise<FileView['link']> {
  const target = await files.linkTarget(path).catch(() => '')
  const found = await files.look(path, 'follow').catch(() => null)
  const to = found?.kind === 'file' || found?.kind === 'folder' ? found.kind : null
  return { target: Buffer.from(target, 'latin1').toString('utf8'), to }
}

export async function viewAt(files: SftpFiles, names: readonly string[]): Promise<FileView> {
  const name = Buffer.from(names.at(-1)!).toString('latin1')
  return viewOf(files, names.slice(0, -1), name, await files.look(sftpPath(names), 'keep'))
}
