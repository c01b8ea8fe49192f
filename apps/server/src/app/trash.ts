import { openTrashKeeper, type TrashKeeper } from '../trash/keeper.ts'
import type { AppContext } from './context.ts'
import type { Files } from './files.ts'
import type { Instance } from './instance.ts'
import type { Resumption } from './resumption.ts'

/** Who purges what is due, and goes on with what was cut off. */
export function openTrash(
  { store, engine, isolation: { users } }: Pick<Instance, 'store' | 'engine' | 'isolation'>,
  { fileTrash }: Pick<Files, 'fileTrash'>,
  { ready }: Pick<Resumption, 'ready'>,
  { config, now, onError }: Pick<AppContext, 'config' | 'now' | 'onError'>,
): TrashKeeper {
  const retire = async (project: string) =>
    users?.retire(project).catch((error: unknown) => onError(error, 'taking a user away'))
  return openTrashKeeper({ store, engine, files: fileTrash, config, now, onError, ready, retire })
}
