import type { LogExportTarget } from '@stackquay/domain'
import type { Sender, SenderOptions } from './sender.ts'

/** What a kind needs is loaded when it is used. */
export async function createSender(target: LogExportTarget, options: SenderOptions): Promise<Sender> {
  if (target.kind === 'otlp') return (await import('./otlp-sender.ts')).createOtlpSender(target, options)
  if (target.transport === 'udp') return (await import('./datagram-sender.ts')).createDatagramSender(target, options)
  return (await import('./stream-sender.ts')).createStreamSender({ ...target, transport: target.transport }, options)
}
