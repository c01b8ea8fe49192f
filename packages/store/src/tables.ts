import { acmeReader, acmeWriter } from './acme.ts'
import { addonReader, addonWriter } from './addons.ts'
import { archiveReader, archiveWriter } from './archives.ts'
import { auditReader, auditWriter } from './audit.ts'
import { backupCheckReader, backupCheckWriter } from './backup-checks.ts'
import { backupScheduleReader, backupScheduleWriter } from './backup-schedules.ts'
import { backupTargetReader, backupTargetWriter } from './backup-targets.ts'
import { branchReader, branchWriter } from './branches.ts'
import { certificateReader, certificateWriter } from './certificates.ts'
import { checkpointReader, checkpointWriter } from './checkpoints.ts'
import type { Reading, Writing } from './context.ts'
import { cronReader, cronWriter } from './cron.ts'
import { deployReader, deployWriter } from './deploys.ts'
import { deviceReader, deviceWriter } from './devices.ts'
import { eventReader, eventWriter } from './events.ts'
import { idempotencyReader, idempotencyWriter } from './idempotency.ts'
import { imageReader, imageWriter } from './images.ts'
import { instanceReader, instanceWriter } from './instance.ts'
import { inviteReader, inviteWriter } from './invites.ts'
import { keptDataReader, keptDataWriter } from './kept-data.ts'
import { networkReader, networkWriter } from './network.ts'
import { notificationReader, notificationWriter } from './notifications.ts'
import { oidcReader, oidcWriter } from './oidc.ts'
import { operationReader, operationWriter } from './operations.ts'
import { pagePassReader, pagePassWriter } from './page-passes.ts'
import { portReader, portWriter } from './ports.ts'
import { projectUserReader, projectUserWriter } from './project-users.ts'
import { projectReader, projectWriter } from './projects.ts'
import { restoredWriter } from './restored.ts'
import { runReader, runWriter } from './runs.ts'
import { savedQueryReader, savedQueryWriter } from './saved-queries.ts'
import { secondFactorReader, secondFactorWriter } from './second-factors.ts'
import { secretReader, secretWriter } from './secrets.ts'
import { seedReader, seedWriter } from './seeds.ts'
import { sessionReader, sessionWriter } from './sessions.ts'
import { settingReader, settingWriter } from './settings.ts'
import { snapshotReader, snapshotWriter } from './snapshots.ts'
import { sshKeyReader, sshKeyWriter } from './ssh-keys.ts'
import type { Store, Transaction } from './store.ts'
import { terminalReader, terminalWriter } from './terminals.ts'
import { ticketReader, ticketWriter } from './tickets.ts'
import { tokenReader, tokenWriter } from './tokens.ts'
import { trashReader, trashWriter } from './trash.ts'
import { userReader, userWriter } from './users.ts'
import { webhookReader, webhookWriter } from './webhooks.ts'

/** The reading half of every table. */
export function readersOf(
  reading: Reading,
  checkpointFile: string | null,
): Pick<Store, Exclude<keyof Transaction, 'restored'>> {
  return {
    projects: projectReader(reading),
    operations: operationReader(reading),
    secrets: secretReader(reading),
    ports: portReader(reading),
    keptData: keptDataReader(reading),
    projectUsers: projectUserReader(reading),
    images: imageReader(reading),
    users: userReader(reading),
    sessions: sessionReader(reading),
    devices: deviceReader(reading),
    invites: inviteReader(reading),
    sshKeys: sshKeyReader(reading),
    secondFactors: secondFactorReader(reading),
    certificates: certificateReader(reading),
    acme: acmeReader(reading),
    tickets: ticketReader(reading),
    pagePasses: pagePassReader(reading),
    oidc: oidcReader(reading),
    instance: instanceReader(reading),
    tokens: tokenReader(reading),
    audit: auditReader(reading, checkpointFile),
    events: eventReader(reading),
    idempotency: idempotencyReader(reading),
    settings: settingReader(reading),
    runs: runReader(reading),
    terminals: terminalReader(reading),
    webhooks: webhookReader(reading),
    notifications: notificationReader(reading),
    network: networkReader(reading),
    backupChecks: backupCheckReader(reading),
    backupSchedules: backupScheduleReader(reading),
    backupTargets: backupTargetReader(reading),
    snapshots: snapshotReader(reading),
    checkpoints: checkpointReader(reading),
    addons: addonReader(reading),
    savedQueries: savedQueryReader(reading),
    archives: archiveReader(reading),
    seeds: seedReader(reading),
    cron: cronReader(reading),
    branches: branchReader(reading),
    deploys: deployReader(reading),
    trash: trashReader(reading),
  }
}

/** The writing half of every table. */
export function writersOf(writing: Writing): Transaction {
  return {
    projects: projectWriter(writing),
    operations: operationWriter(writing),
    secrets: secretWriter(writing),
    ports: portWriter(writing),
    keptData: keptDataWriter(writing),
    projectUsers: projectUserWriter(writing),
    images: imageWriter(writing),
    users: userWriter(writing),
    sessions: sessionWriter(writing),
    devices: deviceWriter(writing),
    invites: inviteWriter(writing),
    sshKeys: sshKeyWriter(writing),
    secondFactors: secondFactorWriter(writing),
    tickets: ticketWriter(writing),
    pagePasses: pagePassWriter(writing),
    oidc: oidcWriter(writing),
    instance: instanceWriter(writing),
    tokens: tokenWriter(writing),
    audit: auditWriter(writing),
    events: eventWriter(writing),
    idempotency: idempotencyWriter(writing),
    settings: settingWriter(writing),
    runs: runWriter(writing),
    terminals: terminalWriter(writing),
    webhooks: webhookWriter(writing),
    notifications: notificationWriter(writing),
    network: networkWriter(writing),
    backupChecks: backupCheckWriter(writing),
    backupSchedules: backupScheduleWriter(writing),
    restored: restoredWriter(writing),
    backupTargets: backupTargetWriter(writing),
    snapshots: snapshotWriter(writing),
    checkpoints: checkpointWriter(writing),
    certificates: certificateWriter(writing),
    acme: acmeWriter(writing),
    addons: addonWriter(writing),
    savedQueries: savedQueryWriter(writing),
    archives: archiveWriter(writing),
    seeds: seedWriter(writing),
    cron: cronWriter(writing),
    branches: branchWriter(writing),
    deploys: deployWriter(writing),
    trash: trashWriter(writing),
  }
}
