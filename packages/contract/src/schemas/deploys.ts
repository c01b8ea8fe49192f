import { z } from 'zod'
import { pageOf, Time } from './common.ts'
import { GitBranchName } from './git.ts'

export const forges = ['github', 'gitlab', 'gitea', 'forgejo'] as const
export type Forge = (typeof forges)[number]
export const deployTriggers = ['push', 'watch', 'person', 'rollback'] as const
export const deployStates = ['waiting', 'running', 'succeeded', 'failed', 'cancelled', 'superseded'] as const
export const deployManners = ['fast-forward', 'reset'] as const

const Commit = z.string().nullable().describe('Id of a commit.')

export const GitWatch = z
  .strictObject({
    every: z
      .string()
      .regex(/^([1-9]\d?m|[1-9]\d?h)$/, 'must be like 5m or 2h')
      .describe('How often the remote is asked: 5m, 2h.'),
  })
  .meta({ id: 'GitWatch' })

export const GitDelivery = z
  .object({
    id: z.string().describe('As the forge calls it.'),
    at: Time,
    forge: z.enum(forges).describe('Which forge it names.'),
    event: z.string().describe('The forge’s own word for it.'),
    ref: z.string().nullable().describe('What was pushed.'),
    commit: Commit,
    outcome: z.enum(['accepted', 'ignored', 'replayed']),
    reason: z.string().nullable().describe('Why nothing follows of it.'),
    deploy: z.string().nullable().describe('Id of the deploy that follows of it.'),
  })
  .meta({ id: 'GitDelivery' })
export type GitDelivery = z.infer<typeof GitDelivery>

export const GitRefusedDelivery = z.object({ at: Time, reason: z.string() }).meta({ id: 'GitRefusedDelivery' })
export type GitRefusedDelivery = z.infer<typeof GitRefusedDelivery>

const watchText = 'Asks the remote instead; null: never.'

const settings = {
  enabled: z.boolean().describe('Whether deliveries are taken.'),
  branch: GitBranchName.nullable().describe('Pushes to it are deployed. Null: to the one that is checked out.'),
  manner: z
    .enum(deployManners)
    .describe('reset also takes a history that was rewritten, and keeps what was here as a branch `kept/…`.'),
  rollback: z.boolean().describe('Whether a deploy that fails goes back to the commit before by itself.'),
}

export const GitWebhook = z
  .object({
    ...settings,
    watch: GitWatch.nullable().describe(watchText),
    watched: z
      .object({ at: Time, error: z.string().nullable() })
      .meta({ id: 'GitWatched' })
      .nullable()
      .describe('The last look at the remote.'),
    address: z.string().nullable().describe('Where the forge sends pushes to. Null until it is enabled.'),
    refused: GitRefusedDelivery.nullable().describe(
      'The last delivery whose signature was not right, since the secret was made.',
    ),
    deliveries: z.array(GitDelivery).describe('The last 20.'),
    secret: z.string().optional().describe('`whsec_…`, only when it was just made: never shown again.'),
  })
  .meta({ id: 'GitWebhook' })
export type GitWebhook = z.infer<typeof GitWebhook>

export const GitWebhookPut = z
  .strictObject({
    enabled: settings.enabled.optional(),
    branch: settings.branch.optional(),
    manner: settings.manner.optional(),
    rollback: settings.rollback.optional(),
    watch: GitWatch.nullable().optional().describe(watchText),
    newSecret: z.boolean().optional().describe('Make another secret; the one before is forgotten.'),
  })
  .meta({ id: 'GitWebhookPut' })

/** What forges send has hundreds of fields; what is read of it is in `packages/domain/src/pushes.ts`. */
export const ForgeEvent = z.looseObject({}).meta({ id: 'ForgeEvent' })

export const ForgeAnswer = z
  .object({
    delivery: GitDelivery.shape.id,
    outcome: GitDelivery.shape.outcome,
    reason: GitDelivery.shape.reason,
    deploy: GitDelivery.shape.deploy,
  })
  .meta({ id: 'ForgeAnswer' })

const Named = z.record(z.string(), z.string())

export const Release = z
  .object({
    generation: z.int().describe('Of the specification.'),
    installedFrom: Named.describe(
      'Files that decide what is installed, such as lock files: path to `sha256:…`; `unread` when too large.',
    ),
    images: Named.describe('Workload to id of the build that it runs from. Empty without images.'),
    runtimes: Named.describe('Runtime to version of its program. Empty with images.'),
  })
  .meta({ id: 'Release' })
export type Release = z.infer<typeof Release>

export const Deploy = z
  .object({
    id: z.string().describe('Its id: `dpl_…`.'),
    trigger: z.enum(deployTriggers).describe('What it follows of.'),
    actor: z.string().describe('Who asked: a person, a token, or the webhook with its delivery.'),
    state: z.enum(deployStates).describe('superseded: a newer push came before it began.'),
    branch: z.string().nullable(),
    from: Commit.describe('The commit before.'),
    commit: Commit.describe('The commit that it brought; until then the one that was announced.'),
    rolledBack: z.boolean().describe('It failed, and the commit before is there again.'),
    reason: z.string().nullable().describe('Why it is what it is.'),
    operation: z.string().nullable().describe('Id of the operation that carries it out.'),
    reported: z
      .string()
      .nullable()
      .describe('Why the forge could not be told how it went; empty when it was told, null when it was not tried.'),
    createdAt: Time,
    finishedAt: Time.nullable(),
    release: Release.nullable().describe(
      'What its commit was well with. Null until then, and where it was not written down.',
    ),
  })
  .meta({ id: 'Deploy' })
export type Deploy = z.infer<typeof Deploy>
export const DeployPage = pageOf('DeployPage', Deploy)

export const RollbackRequest = z
  .strictObject({
    deploy: z.string().max(60).optional().describe('To the commit of this deploy; absent: to the one before the last.'),
  })
  .meta({ id: 'RollbackRequest' })
