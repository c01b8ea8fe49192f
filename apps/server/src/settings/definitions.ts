import type { InstanceSettingKey, InstanceSettingValue } from '@stackquay/contract'
import type { z } from 'zod'
import { type Config, readImageMap, readRoots, urlOfListen } from '../config.ts'
import type { settings } from '../environment.ts'
import { type Address, addressText } from '../ports/held-addresses.ts'

type Variable = keyof typeof settings

/** A setting that people can change while the service runs: its variable in the environment, and its place in the config. */
export interface SettingDefinition {
  readonly variable: Variable
  /** What changes only at the next start. */
  readonly restart: boolean
  /** Who may change it can reach further than projects do, so an open page is not enough. */
  readonly passwordAgain: boolean
  /** Of a list: what stands between its members in the variable. */
  readonly separator: string | null
  show(config: Config): InstanceSettingValue
  /** The fields of the config, from what the schema of the variable made of the text. */
  into(parsed: unknown, config: Config): Partial<Config>
}

interface Traits<V extends Variable> extends Partial<Omit<SettingDefinition, 'variable' | 'show' | 'into'>> {
  show(config: Config): InstanceSettingValue
  into(parsed: Exclude<z.output<(typeof settings)[V]>, undefined>, config: Config): Partial<Config>
}

function setting<V extends Variable>(variable: V, traits: Traits<V>): SettingDefinition {
  const usual = { restart: false, passwordAgain: false, separator: null }
  return { ...usual, ...traits, variable } as SettingDefinition
}

const atRestart = { restart: true } as const
const asksAgain = { passwordAgain: true } as const
const orOff = (address: Address | null) => (address === null ? 'off' : addressText(address))

/** By key: the name of the variable in camel case. Text, meaning, default and what is valid stand with the variable, in `config.ts`. */
export const settingDefinitions: Readonly<Record<InstanceSettingKey, SettingDefinition>> = {
  // Links of invitations and the sign-in lead there.
  publicUrl: setting('STACKQUAY_PUBLIC_URL', {
    ...{ ...atRestart, ...asksAgain },
    show: ({ publicUrl, listen }) => (publicUrl === urlOfListen(listen) ? null : publicUrl),
    into: (url) => ({ publicUrl: url.replace(/\/$/, '') }),
  }),
  listen: setting('STACKQUAY_LISTEN', {
    ...{ ...atRestart, ...asksAgain },
    show: ({ listen }) => addressText(listen),
    into: (listen, { publicUrl, listen: before }) => ({
      listen,
      ...(publicUrl === urlOfListen(before) && { publicUrl: urlOfListen(listen) }),
    }),
  }),
  proxyHttp: setting('STACKQUAY_PROXY_HTTP', {
    ...{ ...atRestart, ...asksAgain },
    show: ({ proxy }) => orOff(proxy),
    into: (proxy) => ({ proxy }),
  }),
  proxyHttps: setting('STACKQUAY_PROXY_HTTPS', {
    ...{ ...atRestart, ...asksAgain },
    show: ({ proxyHttps }) => orOff(proxyHttps),
    into: (proxyHttps) => ({ proxyHttps }),
  }),
  tlsLocal: setting('STACKQUAY_TLS_LOCAL', {
    show: ({ tls }) => (tls.local ? 'on' : 'off'),
    into: (word, { tls }) => ({ tls: { ...tls, local: word === 'on' } }),
  }),
  tlsRedirect: setting('STACKQUAY_TLS_REDIRECT', {
    show: ({ tls }) => (tls.redirect ? 'on' : 'off'),
    into: (word, { tls }) => ({ tls: { ...tls, redirect: word === 'on' } }),
  }),
  tlsHstsSeconds: setting('STACKQUAY_TLS_HSTS_SECONDS', {
    show: ({ tls }) => tls.hstsSeconds,
    into: (hstsSeconds, { tls }) => ({ tls: { ...tls, hstsSeconds } }),
  }),
  ssh: setting('STACKQUAY_SSH', {
    ...{ ...atRestart, ...asksAgain },
    show: ({ ssh }) => orOff(ssh),
    into: (ssh) => ({ ssh }),
  }),
  baseDomain: setting('STACKQUAY_BASE_DOMAIN', {
    show: ({ baseDomain }) => baseDomain,
    into: (baseDomain) => ({ baseDomain }),
  }),
  trustedProxies: setting('STACKQUAY_TRUSTED_PROXIES', {
    ...{ ...asksAgain, separator: ',' },
    show: ({ trustedProxies }) => [...trustedProxies],
    into: (trustedProxies) => ({ trustedProxies }),
  }),
  publishAddress: setting('STACKQUAY_PUBLISH_ADDRESS', {
    ...asksAgain,
    show: ({ publishAddress }) => publishAddress,
    into: (publishAddress) => ({ publishAddress }),
  }),
  portRange: setting('STACKQUAY_PORT_RANGE', {
    show: ({ portRange: { from, to } }) => `${from}-${to}`,
    into: (portRange) => ({ portRange }),
  }),
  shareSsh: setting('STACKQUAY_SHARE_SSH', {
    show: ({ shareSsh }) => (shareSsh === null ? null : `${shareSsh.user}@${addressText(shareSsh)}`),
    into: (shareSsh) => ({ shareSsh }),
  }),
  shareProviders: setting('STACKQUAY_SHARE_PROVIDERS', {
    separator: ',',
    show: ({ shareProviders }) => [...shareProviders],
    into: (shareProviders) => ({ shareProviders }),
  }),
  engine: setting('STACKQUAY_ENGINE', {
    ...atRestart,
    show: ({ engine }) => engine,
    into: (engine) => ({ engine }),
  }),
  isolation: setting('STACKQUAY_ISOLATION', {
    ...{ ...atRestart, ...asksAgain },
    show: ({ isolation }) => isolation,
    into: (isolation) => ({ isolation }),
  }),
  allowedRoots: setting('STACKQUAY_ALLOWED_ROOTS', {
    ...{ ...asksAgain, separator: ':' },
    show: ({ allowedRoots, projectsDir }) => allowedRoots.filter((root) => root !== projectsDir),
    into: (text, { projectsDir }) => ({ allowedRoots: [projectsDir, ...readRoots(text)] }),
  }),
  imageMap: setting('STACKQUAY_IMAGE_MAP', {
    separator: ',',
    show: ({ imageMap }) => [...imageMap],
    into: (text) => readImageMap(text),
  }),
  backupCron: setting('STACKQUAY_BACKUP_CRON', {
    show: ({ newBackups }) => newBackups.cron,
    into: (cron, { newBackups }) => ({ newBackups: { ...newBackups, cron } }),
  }),
  backupTimezone: setting('STACKQUAY_BACKUP_TIMEZONE', {
    show: ({ newBackups }) => newBackups.timezone,
    into: (timezone, { newBackups }) => ({ newBackups: { ...newBackups, timezone } }),
  }),
  backupTargets: setting('STACKQUAY_BACKUP_TARGETS', {
    separator: ',',
    show: ({ newBackups }) => [...newBackups.targets],
    into: (targets, { newBackups }) => ({ newBackups: { ...newBackups, targets } }),
  }),
  trashDays: setting('STACKQUAY_TRASH_DAYS', {
    show: ({ trashDays }) => trashDays,
    into: (trashDays) => ({ trashDays }),
  }),
  auditMaxDays: setting('STACKQUAY_AUDIT_MAX_DAYS', {
    ...asksAgain,
    show: ({ auditDays }) => auditDays,
    into: (auditDays) => ({ auditDays }),
  }),
  metricsMaxDays: setting('STACKQUAY_METRICS_MAX_DAYS', {
    show: ({ metricsDays }) => metricsDays,
    into: (metricsDays) => ({ metricsDays }),
  }),
  awakeMaxMb: setting('STACKQUAY_AWAKE_MAX_MB', {
    show: ({ awakeMaxBytes }) => awakeMaxBytes && awakeMaxBytes / 1024 / 1024,
    into: (megabytes) => ({ awakeMaxBytes: megabytes * 1024 * 1024 }),
  }),
  logMaxMb: setting('STACKQUAY_LOG_MAX_MB', {
    show: ({ logs }) => logs.maxBytes / 1024 / 1024,
    into: (megabytes, { logs }) => ({ logs: { ...logs, maxBytes: megabytes * 1024 * 1024 } }),
  }),
  logMaxDays: setting('STACKQUAY_LOG_MAX_DAYS', {
    show: ({ logs }) => logs.maxDays,
    into: (maxDays, { logs }) => ({ logs: { ...logs, maxDays } }),
  }),
  logExportUrl: setting('STACKQUAY_LOG_EXPORT_URL', {
    ...asksAgain,
    show: ({ logExport }) => logExport.url,
    into: (url, { logExport }) => ({ logExport: { ...logExport, url } }),
  }),
  logExportProjects: setting('STACKQUAY_LOG_EXPORT_PROJECTS', {
    ...{ ...asksAgain, separator: ',' },
    show: ({ logExport }) => [...logExport.projects],
    into: (projects, { logExport }) => ({ logExport: { ...logExport, projects } }),
  }),
  runMaxMinutes: setting('STACKQUAY_RUN_MAX_MINUTES', {
    show: ({ runMaxMinutes }) => runMaxMinutes,
    into: (runMaxMinutes) => ({ runMaxMinutes }),
  }),
  terminalIdleHours: setting('STACKQUAY_TERMINAL_IDLE_HOURS', {
    show: ({ terminalIdleHours }) => terminalIdleHours,
    into: (terminalIdleHours) => ({ terminalIdleHours }),
  }),
  sessionIdleHours: setting('STACKQUAY_SESSION_IDLE_HOURS', {
    show: ({ sessions }) => sessions.idleMs / 3_600_000,
    into: (hours, { sessions }) => ({ sessions: { ...sessions, idleMs: hours * 3_600_000 } }),
  }),
  sessionMaxDays: setting('STACKQUAY_SESSION_MAX_DAYS', {
    show: ({ sessions }) => sessions.ageMs / 86_400_000,
    into: (days, { sessions }) => ({ sessions: { ...sessions, ageMs: days * 86_400_000 } }),
  }),
  requireSecondFactor: setting('STACKQUAY_REQUIRE_SECOND_FACTOR', {
    ...asksAgain,
    show: ({ requireSecondFactor }) => requireSecondFactor,
    into: (requireSecondFactor) => ({ requireSecondFactor }),
  }),
  updateUrl: setting('STACKQUAY_UPDATE_URL', {
    show: ({ updateUrl }) => updateUrl,
    into: (updateUrl) => ({ updateUrl }),
  }),
  logLevel: setting('STACKQUAY_LOG_LEVEL', {
    show: ({ logLevel }) => logLevel,
    into: (logLevel) => ({ logLevel }),
  }),
}
