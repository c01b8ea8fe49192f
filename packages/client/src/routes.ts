// Written by generate-routes.ts from the contract; do not edit.
import type { Method, OperationId } from '@stackquay/contract'

export const apiPrefix = '/api/v1'

export interface Route {
  readonly method: Method
  readonly path: string
  /** Statuses of 400 and more that carry a result and not a problem. */
  readonly answers?: readonly number[]
}

export const routes: Readonly<Record<OperationId, Route>> = {
  exportAudit: { method: 'GET', path: '/audit/export' },
  getDiagnostics: { method: 'GET', path: '/system/diagnostics' },
  getHealth: { method: 'GET', path: '/health', answers: [503] },
  getOpenapi: { method: 'GET', path: '/openapi.json' },
  listAudit: { method: 'GET', path: '/audit' },
  listRuntimes: { method: 'GET', path: '/runtimes' },
  listServices: { method: 'GET', path: '/services' },
  streamEvents: { method: 'GET', path: '/events' },
  verifyAudit: { method: 'GET', path: '/audit/verify' },
  watchEvents: { method: 'GET', path: '/events/ws' },
  changePassword: { method: 'POST', path: '/auth/password' },
  changeUser: { method: 'PATCH', path: '/users/{uid}' },
  completeSetup: { method: 'POST', path: '/setup' },
  createToken: { method: 'POST', path: '/tokens' },
  createUser: { method: 'POST', path: '/users' },
  deleteUser: { method: 'DELETE', path: '/users/{uid}' },
  endOtherSessions: { method: 'DELETE', path: '/auth/sessions' },
  endSession: { method: 'DELETE', path: '/auth/sessions/{sid}' },
  getMe: { method: 'GET', path: '/auth/me' },
  getSecretKey: { method: 'GET', path: '/settings/secret-key' },
  getSetup: { method: 'GET', path: '/setup' },
  getUser: { method: 'GET', path: '/users/{uid}' },
  listSessions: { method: 'GET', path: '/auth/sessions' },
  listTokens: { method: 'GET', path: '/tokens' },
  listUsers: { method: 'GET', path: '/users' },
  login: { method: 'POST', path: '/auth/login' },
  logout: { method: 'POST', path: '/auth/logout' },
  replaceSecretKey: { method: 'POST', path: '/settings/secret-key/replace' },
  revealSecretKey: { method: 'POST', path: '/settings/secret-key/reveal' },
  revokeToken: { method: 'DELETE', path: '/tokens/{tid}' },
  applyManifest: { method: 'POST', path: '/projects/{id}/manifest/apply' },
  cancelOperation: { method: 'POST', path: '/operations/{op}/cancel' },
  createDatabase: { method: 'POST', path: '/projects/{id}/databases' },
  createFromManifest: { method: 'POST', path: '/projects/from-manifest' },
  createProject: { method: 'POST', path: '/projects' },
  deleteDatabase: { method: 'DELETE', path: '/projects/{id}/databases/{db}' },
  deleteProject: { method: 'DELETE', path: '/projects/{id}' },
  deleteProjectEnv: { method: 'DELETE', path: '/projects/{id}/env/{name}' },
  duplicateProject: { method: 'POST', path: '/projects/{id}/duplicate' },
  getDatabaseCredentials: { method: 'GET', path: '/projects/{id}/databases/{db}/credentials' },
  getManifest: { method: 'GET', path: '/projects/{id}/manifest' },
  getOperation: { method: 'GET', path: '/operations/{op}' },
  getProject: { method: 'GET', path: '/projects/{id}' },
  getProjectEnv: { method: 'GET', path: '/projects/{id}/env' },
  getProjectLogs: { method: 'GET', path: '/projects/{id}/logs' },
  getProjectStats: { method: 'GET', path: '/projects/{id}/stats' },
  listDatabases: { method: 'GET', path: '/projects/{id}/databases' },
  listOperations: { method: 'GET', path: '/operations' },
  listProjects: { method: 'GET', path: '/projects' },
  planManifest: { method: 'POST', path: '/projects/{id}/manifest/plan' },
  putProjectEnv: { method: 'PUT', path: '/projects/{id}/env/{name}' },
  restartProject: { method: 'POST', path: '/projects/{id}/restart' },
  startProject: { method: 'POST', path: '/projects/{id}/start' },
  stopProject: { method: 'POST', path: '/projects/{id}/stop' },
  updateProject: { method: 'PATCH', path: '/projects/{id}' },
  watchProjectLogs: { method: 'GET', path: '/projects/{id}/logs/ws' },
  watchProjectStats: { method: 'GET', path: '/projects/{id}/stats/ws' },
}
