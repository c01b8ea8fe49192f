import { randomBytes } from 'node:crypto'
import { deployManners } from '@stackquay/contract'
import type { Store, Transaction } from '@stackquay/store'
import { z } from 'zod'
import { gitWebhookSecret } from '../projects/source-url.ts'

const Stored = z.object({
  /** Part of the address; null until it is enabled first, as is the secret. */
  hook: z.string().nullable(),
  secret: z.string().nullable(),
  enabled: z.boolean(),
  branch: z.string().nullable(),
  manner: z.enum(deployManners),
  rollback: z.boolean(),
  watch: z.object({ every: z.string() }).nullable(),
})
/** What is set for the pushes of a project. It is sealed whole, with its secret. */
export type WebhookSettings = z.infer<typeof Stored>

const none: WebhookSettings = {
  hook: null,
  secret: null,
  enabled: false,
  branch: null,
  manner: 'fast-forward',
  rollback: true,
  watch: null,
}

export async function webhookOf(project: string, { secrets }: Pick<Store, 'secrets'>): Promise<WebhookSettings> {
  const handle = await secrets.find(project, gitWebhookSecret)
  if (handle === null) return none
  // A backup that somebody else made may hold anything.
  const read = Stored.safeParse(JSON.parse((await secrets.reveal(handle.secret)).expose()))
  return read.success ? read.data : none
}

/** Of the projects for which anything is set. */
export async function allWebhooks(store: Pick<Store, 'secrets'>): Promise<ReadonlyMap<string, WebhookSettings>> {
  const all = new Map<string, WebhookSettings>()
  for (const project of await store.secrets.projectsWith(gitWebhookSecret))
    all.set(project, await webhookOf(project, store))
  return all
}

export async function putWebhook(tx: Transaction, project: string, settings: WebhookSettings): Promise<void> {
  await tx.secrets.put(project, gitWebhookSecret, JSON.stringify(settings))
}

/** Taken by every forge as it is; by GitLab also as a signing token (Standard Webhooks). */
export const newHookSecret = () => `whsec_${randomBytes(32).toString('base64')}`

/** Names its project, so that it is found, and 160 random bits, so that it is not guessed. */
export const newHookId = (project: string) => `${project.replace(/^prj_/, '')}.${randomBytes(20).toString('hex')}`

/** Null for what no address has. */
export function projectOfHook(hook: string): string | null {
  const [, id] = /^([0-9a-z]{1,40})\.[0-9a-f]{40}$/.exec(hook) ?? []
  return id === undefined ? null : `prj_${id}`
}
