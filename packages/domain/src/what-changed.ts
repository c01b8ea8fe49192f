import { isDeepStrictEqual } from 'node:util'
import { type Container, isSecretRef, type Job, type Workload } from '@stackquay/engine-api'

/** Why a workload is not what it was, for people; empty when it is. Names of variables, never their values. */
export function whatChanged(before: Workload, after: Workload): readonly string[] {
  const differ = (part: (workload: Workload) => unknown) => !isDeepStrictEqual(part(before), part(after))
  const reasons = variablesThatChanged(before, after)
  if (differ(({ run: { container: _container, limits: _limits, ...program } }) => program))
    reasons.push('its command changed')
  if (differ(({ run }) => [run.container?.image, run.container?.build])) reasons.push('its image changed')
  if (differ(({ run }) => [run.container?.limits, run.limits])) reasons.push('its limits changed')
  if (differ(({ run }) => containerEnvironment(run.container))) reasons.push('what it runs in changed')
  if (differ(({ ports }) => ports)) reasons.push('its ports changed')
  if (differ(({ setup }) => setup.map(withoutContainer))) {
    const isSecret = !differ(({ setup }) => withoutVersions(setup.map(withoutContainer)))
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

/** What is neither its image nor its limits, which have words of their own. */
function containerEnvironment(container: Container | undefined): unknown {
  if (container === undefined) return null
  const { image: _image, build: _build, limits: _limits, ...rest } = container
  return rest
}

/** A job's container and limits are its workload's, which are named already. */
function withoutContainer({ container: _container, limits: _limits, ...job }: Job): Job {
  return job
}

/** Jobs whose secrets have other texts are the same jobs. */
function withoutVersions(setup: Workload['setup']): unknown {
  return JSON.parse(
    JSON.stringify(setup, (_key, inner: unknown) => (isSecretRef(inner) ? { ...inner, version: 0 } : inner)),
  )
}
