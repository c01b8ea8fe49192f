import type { Operation } from '../operation.ts'
import * as access from './access.ts'
import * as acme from './acme.ts'
import * as addons from './addons.ts'
import * as backupTargets from './backup-targets.ts'
import * as backups from './backups.ts'
import * as branches from './branches.ts'
import * as checkpoints from './checkpoints.ts'
import * as databaseBrowser from './database-browser.ts'
import * as databases from './databases.ts'
import * as deploys from './deploys.ts'
import * as dumps from './dumps.ts'
import * as env from './env.ts'
import * as files from './files.ts'
import * as git from './git.ts'
import * as healthChecks from './health-checks.ts'
import * as images from './images.ts'
import * as instanceBackups from './instance-backups.ts'
import * as instanceSettings from './instance-settings.ts'
import * as logStats from './log-stats.ts'
import * as manifest from './manifest.ts'
import * as network from './network.ts'
import * as notifications from './notifications.ts'
import * as observe from './observe.ts'
import * as oidc from './oidc.ts'
import * as ofOperations from './operations.ts'
import * as people from './people.ts'
import * as pointInTime from './point-in-time.ts'
import * as projects from './projects.ts'
import * as pull from './pull.ts'
import * as runs from './runs.ts'
import * as secondFactor from './second-factor.ts'
import * as services from './services.ts'
import * as snapshots from './snapshots.ts'
import * as ssh from './ssh.ts'
import * as system from './system.ts'
import * as terminals from './terminals.ts'
import * as tls from './tls.ts'
import * as trash from './trash.ts'
import * as webhooks from './webhooks.ts'
import * as workers from './workers.ts'

/** The one description of what the product can do. Routes, OpenAPI, client, CLI and reference are read from it. */
export const operations = {
  ...system,
  ...instanceSettings,
  ...tls,
  ...acme,
  ...access,
  ...oidc,
  ...secondFactor,
  ...people,
  ...projects,
  ...images,
  ...observe,
  ...logStats,
  ...healthChecks,
  ...env,
  ...databases,
  ...databaseBrowser,
  ...dumps,
  ...pointInTime,
  ...snapshots,
  ...checkpoints,
  ...pull,
  ...files,
  ...git,
  ...branches,
  ...deploys,
  ...backups,
  ...instanceBackups,
  ...trash,
  ...backupTargets,
  ...manifest,
  ...ofOperations,
  ...services,
  ...addons,
  ...runs,
  ...workers,
  ...terminals,
  ...ssh,
  ...webhooks,
  ...notifications,
  ...network,
}

export type Operations = typeof operations
export type OperationId = keyof Operations

export const operationList: readonly Operation[] = Object.values(operations)
