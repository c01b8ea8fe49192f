import { startSftp } from '@stackquay/engines'
import { createFileTrash, type FileTrash } from '../files/file-trash.ts'
import { createProjectFolders, type ProjectFolders } from '../files/folders.ts'
import { compiledFolder } from '../home.ts'
import { onDeletion } from '../projects/on-deletion.ts'
import { createSftpPlaces } from '../ssh/sftp-places.ts'
import type { AppContext } from './context.ts'
import type { Instance } from './instance.ts'

export interface Files {
  readonly folders: ProjectFolders
  readonly fileTrash: FileTrash
  close(): Promise<void>
}

/** The files of projects, as people use them through the API. */
export async function openFiles(
  { store, isolation }: Pick<Instance, 'store' | 'isolation'>,
  { config, now }: Pick<AppContext, 'config' | 'now'>,
): Promise<Files> {
  const compiled = await compiledFolder(config.home)
  const places = createSftpPlaces((place) => startSftp({ ...place, compiled }))
  const folders = createProjectFolders(places, (project) => isolation.accounts.of(project))
  const stopListening = onDeletion(store, folders.endOf)
  return {
    folders,
    fileTrash: createFileTrash({ store, folders, config, now }),
    close: async () => {
      stopListening()
      await folders.close()
    },
  }
}
