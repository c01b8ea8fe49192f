import type { Store } from '@stackquay/store'
import type { ProxyKeeper } from '../proxy-keeper.ts'
import type { Resolver } from './resolver.ts'

/** Forgets what is remembered of a project outside of the store, once it is deleted. Answers the function that ends this. */
export function forgetDeleted({
  store,
  resolver,
  keeper,
  onError,
}: {
  readonly store: Pick<Store, 'onCommit'>
  readonly resolver: Pick<Resolver, 'forget'>
  readonly keeper: Pick<ProxyKeeper, 'control'> | null
  onError(error: unknown, what: string): void
}): () => void {
  return store.onCommit((events) => {
    for (const { type, project } of events) {
      if (type !== 'project.deleted' || project === null) continue
      resolver.forget(project).catch((error: unknown) => onError(error, 'forgetting a source'))
      // What cannot be forgotten now is swept by the proxy when no table has had the project for a day.
      void keeper
        ?.control()
        ?.forgetAccess(project)
        .catch(() => undefined)
    }
  })
}
