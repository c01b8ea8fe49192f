import type { Migration } from '../migrate.ts'
import * as first from './0001-first.ts'
import * as auditSearch from './0002-audit-search.ts'
import * as keptData from './0003-kept-data.ts'
import * as runs from './0004-runs.ts'
import * as network from './0005-network.ts'
import * as engines from './0006-engines.ts'
import * as sessionOrigin from './0007-session-origin.ts'
import * as projectUsers from './0008-project-users.ts'
import * as devices from './0009-devices.ts'
import * as waitingOperations from './0010-waiting-operations.ts'
import * as backupChecks from './0011-backup-checks.ts'
import * as backupSchedules from './0012-backup-schedules.ts'
import * as spareUsers from './0013-spare-users.ts'
import * as backupTargets from './0014-backup-targets.ts'
import * as scheduleTargets from './0015-schedule-targets.ts'
import * as formerSlugs from './0016-former-slugs.ts'
import * as copiesThatGo from './0017-copies-that-go.ts'
import * as snapshots from './0018-snapshots.ts'
import * as trash from './0019-trash.ts'
import * as pointInTime from './0020-point-in-time.ts'
import * as checkpoints from './0021-checkpoints.ts'
import * as seeds from './0022-seeds.ts'
import * as cron from './0023-cron.ts'
import * as deploys from './0024-deploys.ts'
import * as sshKeys from './0025-ssh-keys.ts'
import * as savedQueries from './0026-saved-queries.ts'
import * as sleep from './0027-sleep.ts'
import * as branches from './0028-branches.ts'
import * as addons from './0029-addons.ts'
import * as releases from './0030-releases.ts'
import * as pagePasses from './0031-page-passes.ts'
import * as pendingPullRequests from './0032-pending-pull-requests.ts'
import * as notifications from './0033-notifications.ts'
import * as certificates from './0034-certificates.ts'
import * as acme from './0035-acme.ts'
import * as people from './0036-people.ts'
import * as secondFactors from './0037-second-factors.ts'
import * as oidc from './0038-oidc.ts'
import * as auditBase from './0039-audit-base.ts'

/** In order; the position, counted from one, is the schema's version. Only ever added to: what was released stays as it is. */
export const migrations: readonly Migration[] = [
  first,
  auditSearch,
  keptData,
  runs,
  network,
  engines,
  sessionOrigin,
  projectUsers,
  devices,
  waitingOperations,
  backupChecks,
  backupSchedules,
  spareUsers,
  backupTargets,
  scheduleTargets,
  formerSlugs,
  copiesThatGo,
  snapshots,
  trash,
  pointInTime,
  checkpoints,
  seeds,
  cron,
  deploys,
  sshKeys,
  savedQueries,
  sleep,
  branches,
  addons,
  releases,
  pagePasses,
  pendingPullRequests,
  notifications,
  certificates,
  acme,
  people,
  secondFactors,
  oidc,
  auditBase,
]

/** The schema that this program brings a database to; it opens no later one. */
export const knownSchema: number = migrations.length
