import type { CertificateKeeper } from '../certificates/keeper.ts'
import { createNotifier, type Notifier } from '../notifications/dispatcher.ts'
import { watchInstance } from '../notifications/watch-instance.ts'
import { createDispatcher, type Dispatcher } from '../webhooks/dispatcher.ts'
import type { AppContext } from './context.ts'
import type { Instance } from './instance.ts'

export interface Outgoing {
  readonly dispatcher: Dispatcher
  readonly notifier: Notifier
  /** Ends with what is under way; the rest stays due. */
  close(): Promise<void>
}

/** What tells others of events: webhooks programs, notifications people. */
export async function openOutgoing(
  {
    instance: { store },
    certificates,
  }: { readonly instance: Pick<Instance, 'store'>; readonly certificates: Pick<CertificateKeeper, 'troubles'> },
  { config, now, onError }: Pick<AppContext, 'config' | 'now' | 'onError'>,
): Promise<Outgoing> {
  const dispatcher = createDispatcher({ store, now, onError })
  await dispatcher.start()
  const notifier = createNotifier({ store, now, publicUrl: config.publicUrl, onError })
  await notifier.start()
  const stopWatching = watchInstance({ store, notifier, home: config.home, certificates, now, onError })
  return {
    dispatcher,
    notifier,
    close: async () => {
      stopWatching()
      await Promise.all([dispatcher.close(), notifier.close()])
    },
  }
}
