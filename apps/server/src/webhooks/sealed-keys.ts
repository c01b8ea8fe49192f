import type { Store } from '@stackquay/store'
import { readKeys, type WebhookKeys } from './signature.ts'

/** Name under which the keys of a webhook are sealed. */
export function webhookSecret(id: string): string {
  return `webhook/${id}`
}

/** The keys of a webhook, to sign with; null when they are gone. */
export async function sealedKeys({ secrets }: Pick<Store, 'secrets'>, id: string): Promise<WebhookKeys | null> {
  const handle = await secrets.find(null, webhookSecret(id))
  return handle === null ? null : readKeys((await secrets.reveal(handle.secret)).expose())
}
