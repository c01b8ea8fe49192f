import type { Store } from '@stackquay/store'
import type { z } from 'zod'
import type { ChannelKind } from './channel-kind.ts'

/** Name under which what is secret of a channel is sealed. */
export function channelSecret(id: string): string {
  return `notification/${id}`
}

/** Names of the settings that are sealed and never answered. */
export function secretsOf({ settings }: ChannelKind): readonly string[] {
  return Object.entries(settings.shape as Record<string, z.ZodType>)
    .filter(([, schema]) => schema.meta()?.writeOnly === true)
    .map(([name]) => name)
}

/** What is secret of a channel; null when it is gone. */
export async function sealedSettings(
  { secrets }: Pick<Store, 'secrets'>,
  id: string,
): Promise<Readonly<Record<string, unknown>> | null> {
  const handle = await secrets.find(null, channelSecret(id))
  if (handle === null) return null
  return JSON.parse((await secrets.reveal(handle.secret)).expose()) as Record<string, unknown>
}

/** Text of others without what is secret of a channel: receivers repeat what they were sent. */
export function masked(text: string, secrets: Readonly<Record<string, unknown>>): string {
  let shown = text
  for (const secret of Object.values(secrets)) {
    if (typeof secret !== 'string' || secret.length < 4) continue
    for (const form of [secret, ...pathOf(secret), encodeURIComponent(secret)])
      shown = shown.replaceAll(form, '[secret]')
  }
  return shown
}

/** Of an address its key is the path. */
function pathOf(secret: string): readonly string[] {
  const url = /^https?:/.test(secret) ? URL.parse(secret) : null
  return url === null || url.pathname.length < 4 ? [] : [`${url.pathname}${url.search}`, url.pathname]
}
