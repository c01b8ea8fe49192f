import type { OperationId, Scope } from '@stackquay/contract'

/** One thing a token may do, in words people use; a test compares them with what the operations declare. */
interface Power {
  readonly scope: Scope
  /** Concerns the whole instance or makes projects, which a token for chosen projects never may. */
  readonly unrestricted: boolean
  readonly operations: readonly OperationId[]
}

export const powers = {
  see: {
    scope: 'read',
    unrestricted: false,
    operations: [
      'listProjects',
      'getProject',
      'getProjectEnv',
      'getProjectStats',
      'watchProjectStats',
      'listDatabases',
      'listImages',
      'listExtras',
      'getManifest',
      'planManifest',
      'listOperations',
      'getOperation',
      'streamEvents',
      'watchEvents',
      'listRuntimes',
      'listServices',
      'listActions',
      'listTests',
      'listDomains',
      'getProxyRules',
      'getShare',
      'listBackups',
      'listSnapshots',
      'listCheckpoints',
      'getCheckpoint',
      'getPointInTime',
      'getBackup',
      'getBackupSchedule',
      'getGit',
      'getProjectSsh',
      'getGitDiff',
      'getGitLog',
      'listGitBranches',
    ],
  },
  logs: {
    scope: 'read',
    unrestricted: false,
    operations: [
      'getProjectLogs',
      'watchProjectLogs',
      'downloadLogs',
      'listRuns',
      'getRun',
      'watchRun',
      'getRunOutput',
      'listTestCases',
      'listAccessLog',
      'getTraffic',
      'listShareViewers',
    ],
  },
  source: {
    scope: 'operate',
    unrestricted: false,
    operations: [
      'putGit',
      'createGitDeployKey',
      'fetchGit',
      'pullGit',
      'checkoutGit',
      'commitGit',
      'pushGit',
      'discardGit',
    ],
  },
  run: {
    scope: 'operate',
    unrestricted: false,
    operations: ['startProject', 'stopProject', 'restartProject', 'cancelOperation'],
  },
  execute: {
    scope: 'operate',
    unrestricted: false,
    operations: [
      'runAction',
      'watchAction',
      'runTests',
      'watchTests',
      'cancelRun',
      'execCommand',
      'watchExec',
      'listTerminals',
      'createTerminal',
      'getTerminal',
      'endTerminal',
      'watchTerminal',
      'openTerminal',
    ],
  },
  change: {
    scope: 'operate',
    unrestricted: false,
    operations: [
      'updateProject',
      'applySettings',
      'revertSettings',
      'useImage',
      'putProjectEnv',
      'deleteProjectEnv',
      'createDatabase',
      'cloneDatabase',
      'restoreDatabaseTo',
      'updateDatabase',
    ],
  },
  backup: {
    scope: 'operate',
    unrestricted: false,
    operations: ['createBackup', 'verifyBackup', 'downloadBackup', 'createSnapshot', 'createCheckpoint'],
  },
  dump: { scope: 'operate', unrestricted: false, operations: ['exportDatabase', 'importDatabase'] },
  publish: { scope: 'operate', unrestricted: false, operations: ['addDomain', 'removeDomain', 'endShare'] },
  secrets: {
    scope: 'operate',
    unrestricted: false,
    operations: ['getProjectEnvValue', 'getDatabaseCredentials', 'getServiceCredentials'],
  },
  mail: {
    scope: 'operate',
    unrestricted: false,
    operations: [
      'listMail',
      'getMail',
      'getMailHtml',
      'getMailSource',
      'getMailAttachment',
      'updateMail',
      'deleteMail',
      'deleteAllMail',
    ],
  },
  rotate: {
    scope: 'admin',
    unrestricted: false,
    operations: ['rotateDatabaseCredentials', 'rotateServiceCredentials'],
  },
  expose: { scope: 'admin', unrestricted: false, operations: ['putProxyRules', 'createShare'] },
  manifest: { scope: 'admin', unrestricted: false, operations: ['applyManifest'] },
  remove: { scope: 'admin', unrestricted: false, operations: ['deleteProject', 'deleteDatabase', 'deleteKeptData'] },
  trash: { scope: 'admin', unrestricted: false, operations: ['listTrash', 'restoreTrash', 'purgeTrash'] },
  schedule: { scope: 'admin', unrestricted: false, operations: ['putBackupSchedule', 'deleteBackupSchedule'] },
  restore: {
    scope: 'admin',
    unrestricted: false,
    operations: [
      'restoreBackup',
      'deleteBackup',
      'restoreSnapshot',
      'resetDatabase',
      'deleteSnapshot',
      'restoreCheckpoint',
      'deleteCheckpoint',
      'pullProject',
    ],
  },
  create: {
    scope: 'admin',
    unrestricted: true,
    operations: ['createProject', 'createFromManifest', 'duplicateProject', 'renameProject'],
  },
  oversee: {
    scope: 'admin',
    unrestricted: true,
    operations: ['listAudit', 'verifyAudit', 'exportAudit', 'getDiagnostics', 'deleteOrphan'],
  },
  tidy: { scope: 'admin', unrestricted: true, operations: ['deleteOrphan'] },
  archive: {
    scope: 'admin',
    unrestricted: true,
    operations: [
      'listAllBackups',
      'getAnyBackup',
      'downloadAnyBackup',
      'uploadBackup',
      'deleteAnyBackup',
      'restoreBackupAs',
      'listInstanceBackups',
      'createInstanceBackup',
      'uploadInstanceBackup',
      'deleteInstanceBackup',
      'getInstanceBackupSchedule',
      'putInstanceBackupSchedule',
      'deleteInstanceBackupSchedule',
      'copyInstanceBackup',
      'fetchInstanceBackup',
      'deleteTargetBackup',
      'copyBackup',
      'fetchBackup',
      'listBackupTargets',
      'getBackupTarget',
      'createBackupTarget',
      'checkBackupTarget',
      'deleteBackupTarget',
      'listTargetBackups',
    ],
  },
  notify: {
    scope: 'admin',
    unrestricted: true,
    operations: [
      'listWebhooks',
      'createWebhook',
      'updateWebhook',
      'deleteWebhook',
      'rotateWebhookSecret',
      'testWebhook',
      'listDeliveries',
      'redeliver',
    ],
  },
} as const satisfies Record<string, Power>
export type PowerId = keyof typeof powers

const order = ['read', 'operate', 'admin'] as const satisfies readonly Scope[]

export function includes(held: Scope, needed: Scope): boolean {
  return order.indexOf(held) >= order.indexOf(needed)
}

export function powersOf(
  scope: Scope,
  restricted: boolean,
): { readonly may: readonly PowerId[]; readonly mayNot: readonly PowerId[] } {
  const ids = Object.keys(powers) as PowerId[]
  const holds = (id: PowerId) => includes(scope, powers[id].scope) && !(restricted && powers[id].unrestricted)
  return { may: ids.filter(holds), mayNot: ids.filter((id) => !holds(id)) }
}
