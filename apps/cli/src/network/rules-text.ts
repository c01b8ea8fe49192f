import type { ProxyRules } from '@stackquay/contract'
import { plainText } from '../output/plain-text.ts'
import type { Style } from '../output/style.ts'
import { fields } from '../output/table.ts'

/** What stands in front of a project, in the order in which it is asked. */
export function rulesText(rules: ProxyRules, style: Style): string {
  const rows = [
    ...each('Sign-in', rules.signIn === true ? ['people who may read the project'] : []),
    ...each('Addresses', rules.allowIps),
    ...each('CORS', rules.cors === null ? [] : corsLines(rules.cors)),
    ...each('Maintenance', rules.maintenance?.enabled === true ? [maintenanceText(rules.maintenance)] : []),
    ...each('Password', rules.basicAuth === null ? [] : [rules.basicAuth.username]),
    ...each(
      'Redirects',
      rules.redirects.map(({ host, from, to, status }) => `${host ?? ''}${from} -> ${to} [${status}]`),
    ),
    ...each('Request headers', rules.requestHeaders.map(headerText)),
    ...each('Response headers', rules.responseHeaders.map(headerText)),
  ]
  return rows.length === 0 ? 'No rules: everybody reaches the project as it is.' : fields(rows, style)
}

function corsLines(cors: NonNullable<ProxyRules['cors']>): readonly string[] {
  return [
    `from ${cors.origins.join(', ')}`,
    `methods ${cors.methods.join(', ')}`,
    ...(cors.headers.length === 0 ? [] : [`request headers ${cors.headers.join(', ')}`]),
    ...(cors.exposeHeaders.length === 0 ? [] : [`shows ${cors.exposeHeaders.join(', ')}`]),
    ...(cors.credentials ? ['with credentials'] : []),
    `remembered for ${cors.maxAgeSeconds} s`,
  ]
}

function maintenanceText({ allowIps = [], retryAfterSeconds = 600 }: NonNullable<ProxyRules['maintenance']>): string {
  const but = allowIps.length === 0 ? '' : `, but for ${allowIps.join(', ')}`
  return `503, again after ${retryAfterSeconds} s${but}`
}

function headerText({ name, value }: ProxyRules['requestHeaders'][number]): string {
  return value === null ? `${name}: (removed)` : `${name}: ${value}`
}

/** The label stands before the first line alone. */
function each(label: string, lines: readonly string[]): readonly (readonly [string, string])[] {
  return lines.map((line, index) => [index === 0 ? label : '', plainText(line)])
}
