import { addressSet } from '../address-set.ts'
import type { ErrorResponse } from '../error-responses.ts'
import type { RouteMaintenance } from '../route-maintenance.ts'
import type { RouteProject } from '../route-table.ts'
import { errorAnswer, type Rule } from './rule.ts'

/** Work on the project: 503 for all but those who do it. A request does not wake what sleeps, and none reaches the application. */
export function maintenanceGate({ allow, ...maintenance }: RouteMaintenance, project: RouteProject): Rule {
  const addresses = addressSet(allow)
  const answer = errorAnswer(maintenanceError(maintenance, project))
  return { check: ({ client }) => (client !== null && addresses.has(client) ? null : answer) }
}

/** Strangers see it: beside the name, which its address holds anyway, nothing is told of the project. */
function maintenanceError(
  { retryAfter, message, page }: Omit<RouteMaintenance, 'allow'>,
  project: RouteProject,
): ErrorResponse {
  const isForStrangers = project.slug === ''
  return {
    status: 503,
    code: 'project_maintenance',
    title: isForStrangers ? 'Under maintenance' : `${project.name} is under maintenance`,
    detail: message ?? 'Somebody is working on it. It comes back by itself.',
    hint: 'Open this page again later.',
    tone: 'calm',
    retryAfter,
    ...(page !== undefined && { page }),
  }
}
