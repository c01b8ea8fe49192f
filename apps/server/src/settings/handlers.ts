import {
  type FieldError,
  type InstanceSettingKey,
  type InstanceSettingsPatch,
  ProblemError,
  registryHostPattern,
} from '@stackquay/contract'
import type { Store, Transaction } from '@stackquay/store'
import type { PasswordAgain } from '../access/password-again.ts'
import { sessionOf } from '../access/session-of.ts'
import type { Handlers, RequestContext } from '../http/handler.ts'
import { hostOf } from '../registry-auth.ts'
import { type ChecksDeps, settingChecks } from './checks.ts'
import { settingDefinitions } from './definitions.ts'
import { readSetting, type StoredSettings } from './effective.ts'
import { isSame, type LiveSettings, settingsName, shown } from './instance-settings.ts'
import { registriesSetting, registrySecret, type StoredRegistries, storedRegistries } from './registries.ts'

export interface SettingsHandlersDeps extends ChecksDeps {
  readonly store: Store
  readonly live: LiveSettings
  readonly passwordAgain: PasswordAgain
  /** After they were written and hold: whatever was made from them is made again. */
  applied(keys: readonly InstanceSettingKey[]): Promise<void>
}

export function settingsHandlers(deps: SettingsHandlersDeps): Pick<Handlers, 'getSettings' | 'updateSettings'> {
  const { live } = deps
  let last: Promise<unknown> = Promise.resolve()
  /** One change after the other: each stands on what the one before wrote. */
  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const mine = last.then(work)
    last = mine.catch(() => undefined)
    return mine
  }
  return {
    getSettings: async () => ({ status: 200, body: await live.view() }),
    updateSettings: ({ body }, context) =>
      inTurn(async () => {
        await change(body, context, deps)
        return { status: 200, body: await live.view() }
      }),
  }
}

async function change(body: InstanceSettingsPatch, context: RequestContext, deps: SettingsHandlersDeps): Promise<void> {
  const { store, live } = deps
  const patch = Object.entries(body.settings ?? {}) as (readonly [
    InstanceSettingKey,
    StoredSettings[InstanceSettingKey],
  ])[]
  const before = live.stored()
  const kept = Object.fromEntries(Object.entries(before).filter(([key]) => !patch.some(([named]) => named === key)))
  const next: StoredSettings = { ...kept, ...Object.fromEntries(patch.filter(([, value]) => value !== null)) }
  refuseExternal(
    patch.map(([key]) => key),
    deps,
  )
  const registries = await changedRegistries(body, store)
  const faults = [...(await faultsOf(patch, next, deps)), ...registries.faults]
  if (faults.length > 0) throw invalid(faults)
  await checkPassword(
    body,
    patch.map(([key]) => key),
    next,
    context,
    deps,
  )

  const changed = patch.map(([key]) => key).filter((key) => !isSame(before[key] ?? null, next[key] ?? null))
  if (changed.length > 0 || registries.isChanged) {
    await store.transaction(async (tx) => {
      await tx.settings.set(settingsName, next)
      await writeRegistries(tx, body, registries.next)
      await tx.audit.append(
        context.audit({
          action: 'settings.update',
          target: null,
          changes: {
            before: { ...valuesOf(changed, before), ...registries.shownBefore },
            after: { ...valuesOf(changed, next), ...registries.shownAfter },
          },
        }),
      )
    })
  }
  await deps.applied(live.apply(next))
}

/** Null is the default. */
function valuesOf(keys: readonly InstanceSettingKey[], stored: StoredSettings) {
  return Object.fromEntries(keys.map((key) => [key, stored[key] ?? null]))
}

function refuseExternal(keys: readonly InstanceSettingKey[], { running }: SettingsHandlersDeps): void {
  const held = keys.filter((key) => running.given.has(settingDefinitions[key].variable))
  if (held.length === 0) return
  const errors = held.map((key) => fault(key, 'setting_external', `${settingDefinitions[key].variable} is set.`))
  const names = held.map((key) => settingDefinitions[key].variable).join(', ')
  throw new ProblemError('setting_external', `The environment of the service sets ${names}, which wins.`, { errors })
}

/** All that is wrong with the values, before one is changed. */
async function faultsOf(
  patch: readonly (readonly [InstanceSettingKey, StoredSettings[InstanceSettingKey]])[],
  next: StoredSettings,
  deps: SettingsHandlersDeps,
): Promise<readonly FieldError[]> {
  const { config } = deps.live.wanted(next)
  const found = await Promise.all(
    patch.map(async ([key, value]) => {
      const read = value === null || value === undefined ? null : readSetting(key, value, config)
      if (read?.ok === false) return [fault(key, 'invalid_value', read.detail)]
      const details = (await settingChecks[key]?.(config, deps)) ?? []
      return details.map((detail) => fault(key, 'not_possible', detail))
    }),
  )
  return found.flat()
}

function fault(key: InstanceSettingKey, code: string, detail: string): FieldError {
  return { pointer: `/settings/${key}`, code, detail }
}

function invalid(errors: readonly FieldError[]): ProblemError {
  const detail = `Nothing was changed. ${errors.map((error) => error.detail).join(' ')}`
  return new ProblemError('validation_failed', detail, { errors: [...errors] })
}

/** An administrator’s token, or an open page, must not be enough to let the world in. */
async function checkPassword(
  { password }: InstanceSettingsPatch,
  keys: readonly InstanceSettingKey[],
  next: StoredSettings,
  context: RequestContext,
  { live, passwordAgain }: SettingsHandlersDeps,
): Promise<void> {
  const [before, after] = [live.wanted().config, live.wanted(next).config]
  const asking = keys.filter(
    (key) => settingDefinitions[key].passwordAgain && !isSame(shown(key, before), shown(key, after)),
  )
  if (asking.length === 0) return
  sessionOf(context)
  if (password === undefined) {
    const detail = `A change of ${asking.join(', ')} takes your password.`
    throw invalid([{ pointer: '/password', code: 'required', detail }])
  }
  await passwordAgain.check(context, password, 'settings.update', 'password')
}

async function changedRegistries({ registries = {} }: InstanceSettingsPatch, store: Pick<Store, 'settings'>) {
  const before = await storedRegistries(store)
  const next: Record<string, { readonly username: string }> = { ...before }
  const faults: FieldError[] = []
  const [shownBefore, shownAfter]: Record<string, unknown>[] = [{}, {}]
  for (const [name, login] of Object.entries(registries)) {
    const host = hostOf(name)
    if (!registryHostPattern.test(name)) {
      const detail = `${JSON.stringify(name)} is no host of a registry, such as ghcr.io or registry.example.org:5000.`
      faults.push({
        pointer: `/registries/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`,
        code: 'invalid_value',
        detail,
      })
      continue
    }
    const known = Object.hasOwn(before, host) ? before[host] : undefined
    shownBefore![host] = known === undefined ? null : { ...known, password: '[secret]' }
    shownAfter![host] = login === null ? null : { username: login.username, password: '[secret]' }
    if (login === null) delete next[host]
    else next[host] = { username: login.username }
  }
  const isChanged = Object.keys(shownBefore!).length > 0
  return {
    ...{ next, faults, isChanged },
    shownBefore: isChanged ? { registries: shownBefore } : {},
    shownAfter: isChanged ? { registries: shownAfter } : {},
  }
}

async function writeRegistries(
  tx: Transaction,
  { registries = {} }: InstanceSettingsPatch,
  next: StoredRegistries,
): Promise<void> {
  if (Object.keys(registries).length === 0) return
  await tx.settings.set(registriesSetting, next)
  for (const [name, login] of Object.entries(registries)) {
    if (login === null) await tx.secrets.delete(null, registrySecret(hostOf(name)))
    else await tx.secrets.put(null, registrySecret(hostOf(name)), login.password)
  }
}
