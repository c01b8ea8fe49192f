import { functionSizes } from './function-sizes.ts'
import type { Source } from './import-graph.ts'

/** An ordinary file has 40 to 60 lines. More than this are several ideas in one. */
export const mostFileLines = 400
/** A function that fits neither a screen nor a head. An ordinary one has less than 30. */
export const mostFunctionLines = 80

/** Neither tests, the suites that every engine must pass among them, nor texts of the page and examples of the document. */
export function isMeasured(path: string): boolean {
  return (
    /^((apps|packages)\/[^/]+\/src|tools)\//.test(path) &&
    !/^tools\/test\/|\/src\/texts\/|\/src\/openapi\/examples\.ts$|^packages\/engine-api\/src\/conformance/.test(path)
  )
}

/** Files above the limit, with their lines. */
export function tooLongFiles(sources: readonly Source[]): ReadonlyMap<string, number> {
  return above(
    mostFileLines,
    sources.map(({ path, text }) => [path, text.split('\n').length - 1]),
  )
}

/** Functions above the limit, as `<file> <name>`, with their lines. Of functions with one name in one file, the longest. */
export function tooLongFunctions(sources: readonly Source[]): ReadonlyMap<string, number> {
  return above(
    mostFunctionLines,
    sources.flatMap(({ path, text }) =>
      functionSizes(text).map(({ name, lines }) => [`${path} ${name || '(no name)'}`, lines] as const),
    ),
  )
}

function above(limit: number, sizes: readonly (readonly [string, number])[]): ReadonlyMap<string, number> {
  const found = new Map<string, number>()
  for (const [name, lines] of sizes) if (lines > limit) found.set(name, Math.max(lines, found.get(name) ?? 0))
  return found
}

/** What is above the limits today. These may become shorter, not longer, and leave the list when they are below the limit. */
export const knownLongFiles: Readonly<Record<string, number>> = {
  'packages/store/src/store.ts': 754,
  'apps/server/src/house.ts': 629,
  'apps/web/src/pages/new-project-page.tsx': 571,
  'apps/web/src/pages/env-page.tsx': 498,
  'apps/server/src/terminals/terminals.ts': 477,
  'packages/engine-api/src/fake-engine.ts': 469,
  'apps/web/src/pages/overview-page.tsx': 465,
  'apps/web/src/pages/logs-page.tsx': 455,
  'apps/server/src/runs/carry-out.ts': 407,
  'apps/web/src/pages/projects-page.tsx': 407,
  'apps/web/src/modules/settings-form.tsx': 406,
}

/** The same for functions. Migrations are never changed again. */
export const knownLongFunctions: Readonly<Record<string, number>> = {
  'apps/server/src/house.ts openHouse': 358,
  'packages/engine-api/src/fake-engine.ts createFakeEngine': 347,
  'apps/web/src/pages/new-project-page.tsx Form': 322,
  'apps/server/src/terminals/terminals.ts createTerminals': 260,
  'packages/orchestrator/src/supervisor.ts createSupervisor': 228,
  'apps/server/src/runs/runs.ts createRuns': 206,
  'apps/server/src/network/shares.ts createShares': 198,
  'apps/server/src/webhooks/dispatcher.ts createDispatcher': 178,
  'apps/server/src/access/handlers.ts accessHandlers': 176,
  'apps/server/src/projects/model.ts createModel': 172,
  'apps/server/src/webhooks/handlers.ts webhookHandlers': 169,
  'packages/store/src/migrations/0001-first.ts up': 169,
  'apps/server/src/projects/log-reader.ts openLogReader': 167,
  'apps/server/src/projects/catalogue.ts createCatalogue': 162,
  'apps/web/src/modules/log-viewer.tsx LogViewer': 162,
  'apps/web/src/pages/users-page.tsx UsersPage': 159,
  'packages/store/src/store-over.ts storeOver': 155,
  'apps/proxy/src/access/access-log.ts createAccessLog': 154,
  'packages/catalog/src/services/mailpit/catcher/store.ts openStore': 154,
  'packages/domain/src/resolve-project.ts resolveProject': 151,
  'apps/web/src/modules/palette.tsx Commands': 147,
  'apps/server/src/isolation/project-users.ts openProjectUsers': 143,
  'apps/web/src/pages/project-page.tsx Header': 142,
  'apps/web/src/modules/terminal-view.tsx drawnIn': 136,
  'apps/web/src/pages/terminal-page.tsx Terminals': 131,
  'apps/server/src/projects/mail-handlers.ts mailHandlers': 129,
  'apps/web/src/pages/projects-page.tsx ProjectsPage': 129,
  'packages/engines/src/docker/logs/index.ts createDockerLogs': 128,
  'apps/server/src/terminals/exec.ts createExec': 127,
  'packages/orchestrator/src/orchestrator.ts createOrchestrator': 127,
  'apps/web/src/pages/logs-page.tsx useLog': 125,
  'apps/web/src/pages/tokens-page.tsx CreateForm': 124,
  'apps/server/src/projects/resolver.ts createResolver': 123,
  'apps/server/src/runs/own-data.ts createOwnData': 122,
  'apps/server/src/http/upgrade.ts createUpgrades': 127,
  'apps/server/src/network/share-tunnels.ts createShareTunnels': 120,
  'packages/engines/src/native/supervisor.ts createSupervisor': 120,
  'apps/web/src/pages/runtimes-page.tsx RuntimesForm': 119,
  'apps/web/src/modules/settings-form.tsx Control': 118,
  'apps/web/src/pages/env-page.tsx EnvPage': 118,
  'apps/server/src/runs/handlers.ts runHandlers': 116,
  'apps/web/src/modules/stats-chart.tsx StatsChart': 116,
  'apps/server/src/http/door.ts createDoor': 114,
  'apps/web/src/pages/network-rules.tsx RulesForm': 114,
  'apps/web/src/pages/webhook-form.tsx WebhookForm': 114,
  'packages/engines/src/engines.ts createEngines': 131,
  'apps/web/src/pages/project-settings-page.tsx ProjectFile': 113,
  'packages/store/src/audit.ts auditQuestions': 113,
  'apps/proxy/src/workers/crew.ts createCrew': 112,
  'apps/web/src/pages/overview-page.tsx Workload': 112,
  'apps/server/src/http/frame-socket.ts openFrameSocket': 111,
  'packages/catalog/src/services/storage/server/contents.ts openContents': 111,
  'packages/engines/src/native/commands/holder.ts hold': 109,
  'apps/server/src/projects/database-handlers.ts databaseHandlers': 107,
  'packages/engines/src/native/engine.ts createNativeEngine': 107,
  'packages/client/src/connection.ts converse': 106,
  'apps/proxy/src/proxy.ts startProxy': 104,
  'apps/server/src/projects/journal.ts createJournal': 104,
  'apps/web/src/modules/service-card.tsx ServiceCard': 103,
  'apps/web/src/pages/webhooks-page.tsx Webhooks': 102,
  'apps/web/src/modules/share-form.tsx ShareForm': 101,
  'packages/domain/src/resolve-connections.ts resolveConnections': 101,
  'apps/server/src/access/user-handlers.ts userHandlers': 100,
  'apps/web/src/pages/databases-page.tsx AddFields': 100,
  'packages/engines/src/native/as-user/user-files.ts createHelpers': 100,
  'apps/web/src/pages/databases-page.tsx DatabaseCard': 99,
  'apps/web/src/pages/logs-page.tsx Filters': 99,
  'apps/web/src/pages/project-settings-page.tsx General': 99,
  'apps/web/src/pages/audit-filters.tsx AuditFilters': 96,
  'packages/store/src/migrations/0004-runs.ts up': 96,
  'apps/web/src/pages/env-page.tsx VariableForm': 95,
  'packages/engines/src/docker/supervisor.ts createSupervisor': 95,
  'packages/engines/src/native/log-retention.ts createLogKeeper': 95,
  'apps/web/src/pages/mail-page.tsx MailInbox': 94,
  'apps/web/src/pages/tokens-page.tsx TokensPage': 94,
  'apps/server/src/access/authenticator.ts createAuthenticator': 92,
  'packages/store/src/runs.ts runChanges': 91,
  'apps/web/src/pages/logs-page.tsx Logs': 90,
  'apps/server/src/http/idempotency.ts createIdempotency': 89,
  'apps/server/src/streams/relay.ts createRelay': 89,
  'packages/engines/src/native/as-user/helper-process.ts supervise': 89,
  'apps/server/src/projects/service-handlers.ts serviceHandlers': 87,
  'packages/engine-api/src/fake-command.ts createFakeCommand': 87,
  'apps/server/src/projects/image-handlers.ts imageHandlers': 86,
  'apps/web/src/pages/setup-page.tsx SetupPage': 86,
  'packages/engines/src/native/run-monitor.ts monitorRun': 86,
  'apps/server/src/projects/restart-holds.ts createRestartHolds': 85,
  'packages/client/src/follow-terminal.ts followTerminal': 85,
  'apps/server/src/projects/log-handlers.ts logHandlers': 83,
  'apps/web/src/modules/time-chart.tsx TimeChart': 82,
}
