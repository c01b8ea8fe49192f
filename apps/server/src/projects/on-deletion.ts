import type { Store } from '@stackquay/store'

/**
 * Tells of each project whose deletion was asked for, so that what people run in it ends at once: the deletion itself waits
 * for its turn, which an installation may hold for long. Answers the function that ends the telling.
 */
export function onDeletion(store: Pick<Store, 'onCommit'>, tell: (project: string) => void): () => void {
  return store.onCommit((events) => {
    for (const { type, project, data } of events)
      if (type === 'operation.changed' && data.kind === 'delete' && data.state === 'queued' && project !== null)
        tell(project)
  })
}
