import { isDeepStrictEqual } from 'node:util'
import { isSecretRef, type Workload } from '@stackquay/engine-api'

/** Why a workload is not what it was, for people; empty when it is. Names of variables, never their values. */
export function whatChanged(before: Workload, after: Workload): readonly string[] {
  const differ = (part: (workload: Workload) => unknown) => !isDeepStrictEqual(part(before), part(after))
  const reasons = variablesThatChanged(before, after)
  if (differ(({ run }) => run)) reasons.push('its command changed')
  if (differ(({ ports }) => ports)) reasons.push('its ports changed')
  if (differ(({ setup }) => setup)) {
    const isSecret = !differ(({ setup }) => withoutVersions(setup))
    reasons.push(isSecret ? 'its credentials changed' : 'what is done before its start changed')
  }
  if (differ(({ health }) => health)) reasons.push('its health check changed')
  if (differ(({ data, requires, restart, stop }) => [data, requires, restart, stop]))
    reasons.push('its settings changed')
  return reasons
}

const shown = 3

function variablesThatChanged(before: Workload, after: Workload): string[] {
  const names = [...new Set([...Object.keys(before.env), ...Object.keys(after.env)])].filter(
    (name) => !isDeepStrictEqual(before.env[name], after.env[name]),
  )
  if (names.length === 0) return []
  const rest = names.length - shown
  const list = `${names.slice(0, shown).join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`
  return [names.length === 1 ? `the variable ${list} changed` : `the variables ${list} changed`]
}

/** Jobs whose secrets have other texts are the same jobs. */
function withoutVersions(setup: Workload['setup']): unknown {
  return JSON.parse(
    JSON.stringify(setup, (_key, inner: unknown) => (isSecretRef(inner) ? { ...inner, version: 0 } : inner)),
  )
}
