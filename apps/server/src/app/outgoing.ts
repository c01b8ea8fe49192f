import type { CertificateKeeper } from '../certificates/keeper.ts'
import { type LogExportKeeper, openLogExport } from '../log-export/keeper.ts'
import { createNotifier, type Notifier } from '../notifications/dispatcher.ts'
import { watchInstance } from '../notifications/watch-instance.ts'
import { createDispatcher, type Dispatcher } from '../webhooks/dispatcher.ts'
import type { AppContext } from './context.ts'
import type { Instance } from './instance.ts'
import type { KnownProjects } from './projects.ts'
import type { Resumption } from './resumption.ts'

export interface Outgoing {
  readonly dispatcher: Dispatcher
  readonly notifier: Notifier
  readonly logExport: LogExportKeeper
  /** Ends with what is under way; the rest stays due. */
  close(): Promise<void>
}

/** What tells others: webhooks tell programs of events, notifications people; lines of logs go to receivers. */
export async function openOutgoing(
  {
    instance: { store, engine },
    certificates,
    projects: { model },
    resumption: { ready },
  }: {
    readonly instance: Pick<Instance, 'store' | 'engine'>
    readonly certificates: Pick<CertificateKeeper, 'troubles'>
    readonly projects: Pick<KnownProjects, 'model'>
    readonly resumption: Pick<Resumption, 'ready'>
  },
  { config, now, onError }: Pick<AppContext, 'config' | 'now' | 'onError'>,
): Promise<Outgoing> {
  const dispatcher = createDispatcher({ store, now, onError })
  await dispatcher.start()
  const notifier = createNotifier({ store, now, publicUrl: config.publicUrl, onError })
  await notifier.start()
  const stopWatching = watchInstance({ store, notifier, home: config.home, certificates, now, onError })
  const logExport = openLogExport({ store, engine, model, config, now, onError, ready })
  return {
    dispatcher,
    notifier,
    logExport,
    close: async () => {
      stopWatching()
      await Promise.all([dispatcher.close(), notifier.close(), logExport.close()])
    },
  }
}
