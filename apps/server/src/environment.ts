import { engineNames } from '@stackquay/contract'
import { isTimeZone, readAddressRange, readLogExportUrl, scheduleBlocker, secondFactorRules } from '@stackquay/domain'
import { z } from 'zod'
import { Address, AddressOrOff } from './address-setting.ts'
import { isolationLevels } from './isolation/level.ts'
import { providerNames } from './network/providers/index.ts'

const Text = z.string().min(1)

/** Every setting that comes from the environment, described once; the reference page is made from this. */
export const settings = {
  STACKQUAY_HOME: Text.optional().describe(
    'Folder of all state. Default: `~/.stackquay`; for root `/var/lib/stackquay`.',
  ),
  STACKQUAY_LISTEN: Address.default({ host: '127.0.0.1', port: 8700 }).describe(
    'Address of the page and the API. Default: `127.0.0.1:8700`.',
  ),
  STACKQUAY_PROXY_HTTP: AddressOrOff.default({ host: '127.0.0.1', port: 8780 }).describe(
    'Address under which projects answer, or `off`. Default: `127.0.0.1:8780`.',
  ),
  STACKQUAY_PROXY_HTTPS: AddressOrOff.default({ host: '127.0.0.1', port: 8743 }).describe(
    'Address under which projects with a certificate answer by https, or `off`. Default: `127.0.0.1:8743`.',
  ),
  STACKQUAY_TLS_LOCAL: z
    .enum(['on', 'off'])
    .default('off')
    .describe(
      'Whether a certificate authority of this instance makes [certificates](https.md) for names of this machine. Default: `off`.',
    ),
  STACKQUAY_TLS_REDIRECT: z
    .enum(['on', 'off'])
    .default('on')
    .describe('Whether requests over http are sent on to https where there is a certificate. Default: `on`.'),
  STACKQUAY_TLS_HSTS_SECONDS: z
    .string()
    .regex(/^\d{1,9}$/, 'must be a whole number of seconds')
    .transform(Number)
    .refine((seconds) => seconds <= 63_072_000, 'must be at most 63072000')
    .default(0)
    .describe(
      'How long browsers are told to use https alone, in seconds; never for the authority of this instance. `0`: they are not told. Default: `0`.',
    ),
  STACKQUAY_SSH: AddressOrOff.default({ host: '127.0.0.1', port: 8722 }).describe(
    'Address of the SSH and SFTP service, or `off`. Default: `127.0.0.1:8722`.',
  ),
  STACKQUAY_ENGINE: z
    .enum(['auto', ...engineNames])
    .default('auto')
    .describe(
      'What new projects run on, unless they name an engine. Default: `auto`, which is `docker` when Docker answers at the first start, else `native`; what was chosen then stays.',
    ),
  DOCKER_HOST: Text.optional().describe(
    'Where Docker answers: `unix:///path` or `tcp://host:port`. Default: `unix:///var/run/docker.sock`.',
  ),
  DOCKER_TLS_VERIFY: Text.optional().describe(
    'For a Docker at `tcp://`: any text has it asked over TLS, `0` and the empty one without. Default: another machine is not asked without.',
  ),
  DOCKER_CERT_PATH: Text.optional().describe(
    'Folder with `ca.pem`, `cert.pem` and `key.pem` for that. Default: `.docker` in your own home.',
  ),
  STACKQUAY_IMAGE_MAP: Text.optional().describe(
    'Images that take the place of others, `from=to` with commas between, or `@file` with a JSON object. `postgres:18=db.test/postgres:18` is one image, `docker.io/*=mirror.test/*` all of a registry. Default: none.',
  ),
  STACKQUAY_REGISTRY_AUTH_FILE: Text.optional().describe(
    'File with the credentials of registries, in the format of Docker’s `config.json`, which nobody else may read. It is read at every pull. Default: none.',
  ),
  STACKQUAY_PROJECTS_DIR: Text.optional().describe(
    'Folder where new projects get their files. Default: `projects` in the home.',
  ),
  STACKQUAY_ALLOWED_ROOTS: Text.optional().describe(
    'Folders, separated by colons, from which existing folders may be taken as projects. Default: the projects folder and your own home; for root `/home`, `/srv` and `/var/www`.',
  ),
  STACKQUAY_BASE_DOMAIN: z
    .string()
    .regex(/^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/, 'must be a domain name in lower case')
    .default('localhost')
    .describe(
      'Projects answer at `<slug>.<base domain>`. Default: `localhost`, which reaches this machine in every browser.',
    ),
  STACKQUAY_PORT_RANGE: z
    .string()
    .regex(/^\d{1,5}-\d{1,5}$/, 'must be from-to')
    .transform((text) => {
      const [from, to] = text.split('-').map(Number)
      return { from: from!, to: to! }
    })
    .refine(({ from, to }) => from >= 1024 && to <= 65535 && from <= to, 'must lie in 1024-65535')
    .default({ from: 20000, to: 20999 })
    .describe('Ports of this machine that workloads get. Default: `20000-20999`.'),
  STACKQUAY_PUBLISH_ADDRESS: z
    .enum(['127.0.0.1', '0.0.0.0'])
    .default('127.0.0.1')
    .describe(
      'Where ports are published that a project exposes. Default: `127.0.0.1`; `0.0.0.0` publishes them to the network.',
    ),
  STACKQUAY_ADMIN_USER: Text.optional().describe(
    'Makes the first administrator at the first start, without the set-up page.',
  ),
  STACKQUAY_ADMIN_PASSWORD: Text.optional().describe('The first administrator’s password.'),
  STACKQUAY_ADMIN_PASSWORD_FILE: Text.optional().describe('File that holds it.'),
  STACKQUAY_SECRET_KEY: Text.optional().describe(
    'Key that seals secrets: 32 bytes as base64 or hex. Default: a file `secret.key` in the home, made at the first start.',
  ),
  STACKQUAY_SECRET_KEY_FILE: Text.optional().describe('File that holds the key.'),
  STACKQUAY_RESTORE: Text.optional().describe(
    'File with a backup of an instance, as it was downloaded, that a start on a home without a database restores; on one that has a database the service does not start. Needs the secret key that it was made with. Default: none.',
  ),
  STACKQUAY_LOG_LEVEL: z
    .enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'])
    .default('info')
    .describe('How much the service writes to its own log. Default: `info`.'),
  STACKQUAY_LOG_MAX_MB: z
    .string()
    .regex(/^\d{1,6}$/, 'must be a whole number of megabytes')
    .transform(Number)
    .refine((megabytes) => megabytes >= 1 && megabytes <= 100_000, 'must lie in 1-100000')
    .default(256)
    .describe('How much is kept of what one workload prints; the oldest lines go first. In MB. Default: `256`.'),
  STACKQUAY_LOG_MAX_DAYS: z
    .string()
    .regex(/^\d{1,4}$/, 'must be a whole number of days')
    .transform(Number)
    .refine((days) => days >= 1, 'must be at least 1')
    .default(14)
    .describe('How long what a workload prints is kept at most, in days. Default: `14`.'),
  STACKQUAY_LOG_EXPORT_URL: z
    .string()
    .superRefine((text, { addIssue }) => {
      const read = readLogExportUrl(text)
      if (!read.ok) addIssue({ code: 'custom', message: read.detail })
    })
    .optional()
    .describe(
      'Receiver that [lines of logs are sent to](logs.md#logs-out): `otlp+https://host:4318/v1/logs`, `https://…`, `syslog+tls://host:6514`, `syslog+tcp://host:601` or `syslog+udp://host:514`. Default: none.',
    ),
  STACKQUAY_LOG_EXPORT_PROJECTS: z
    .string()
    .transform((text) =>
      text
        .split(',')
        .map((slug) => slug.trim())
        .filter((slug) => slug !== ''),
    )
    .refine((slugs) => slugs.every((slug) => /^[a-z0-9-]{1,63}$/.test(slug)), 'must be slugs of projects, with commas')
    .default([])
    .describe('Slugs of projects whose lines are sent, with commas between. Default: all.'),
  STACKQUAY_LOG_EXPORT_HEADERS_FILE: Text.optional().describe(
    'File with headers for an OTLP receiver, `Name: value` in each line, such as its token; read for each batch. Default: none.',
  ),
  STACKQUAY_RUN_AS: z
    .string()
    .regex(/^\d+:\d+$/, 'must be uid:gid')
    .transform((text) => {
      const [uid, gid] = text.split(':').map(Number)
      return { uid: uid!, gid: gid! }
    })
    .refine(({ uid }) => uid !== 0, 'must not be root')
    .optional()
    .describe(
      'One user and group for the programs of all projects, `uid:gid`, when the service runs as root: level `shared`. Default: a user for each project.',
    ),
  STACKQUAY_ISOLATION: z
    .enum(['auto', ...isolationLevels])
    .default('auto')
    .describe(
      'How projects are kept apart: `user` (a system user for each; the service runs as root), `sandbox` (bubblewrap in addition), `shared` (one user for all). Default: `auto`, the strongest that works at the first start; it stays, and never falls by itself.',
    ),
  STACKQUAY_PROJECT_UIDS: z
    .string()
    .regex(/^\d{4,9}-\d{4,9}$/, 'must be two uids with a hyphen between')
    .transform((text) => {
      const [from, to] = text.split('-').map(Number)
      return { from: from!, to: to! }
    })
    .refine(({ from, to }) => from >= 1000 && from <= to && to < 2 ** 31, 'must begin at 1000 or above, lowest first')
    .default({ from: 50_000, to: 59_999 })
    .describe('Uids for the users of projects. Default: `50000-59999`.'),
  STACKQUAY_SHARE_SSH: z
    .string()
    .regex(
      /^[a-z_][a-z0-9_.-]*@(\[[0-9a-f:]+\]|[a-z0-9][a-z0-9.-]*)(:\d{1,5})?$/i,
      'must be user@host or user@host:port',
    )
    .transform((text) => {
      const [, user, host, port] = /^([^@]+)@(\[.+\]|[^:]+)(?::(\d+))?$/.exec(text)!
      return { user: user!, host: host!.replace(/^\[|\]$/g, ''), port: Number(port ?? 22) }
    })
    .refine(({ port }) => port >= 1 && port <= 65535, 'has a port that is none')
    .optional()
    .describe(
      'Server of yours through whose SSH service shares can be shown to the world, `user@host` or `user@host:port`. Default: none.',
    ),
  STACKQUAY_RUN_MAX_MINUTES: z
    .string()
    .regex(/^\d{1,5}$/, 'must be a whole number of minutes')
    .transform(Number)
    .refine((minutes) => minutes >= 1 && minutes <= 10_080, 'must lie in 1-10080')
    .default(60)
    .describe('Minutes after which a run of an action or a test suite is ended. Default: `60`.'),
  STACKQUAY_TERMINAL_IDLE_HOURS: z
    .string()
    .regex(/^\d{1,4}(\.\d{1,4})?$/, 'must be a number of hours')
    .transform(Number)
    .refine((hours) => hours >= 0.001 && hours <= 8760, 'must lie in 0.001-8760')
    .default(12)
    .describe('Hours without input and output after which a terminal is ended. Default: `12`.'),
  STACKQUAY_AWAKE_MAX_MB: z
    .string()
    .regex(/^\d{1,8}$/, 'must be a whole number of megabytes')
    .transform(Number)
    .refine((megabytes) => megabytes >= 16, 'must be at least 16')
    .optional()
    .describe(
      'Memory of all programs of projects together, in MB, above which [projects that sleep](sleep.md#a-memory-budget) do so early. Default: none.',
    ),
  STACKQUAY_TRASH_DAYS: z
    .string()
    .regex(/^\d{1,4}$/, 'must be a whole number of days')
    .transform(Number)
    .refine((days) => days <= 3650, 'must be at most 3650')
    .default(30)
    .describe('How many days deleted projects and data stay in the trash; `0`: a minute at most. Default: `30`.'),
  STACKQUAY_BACKUP_CRON: Text.max(100)
    .refine((cron) => scheduleBlocker({ cron, timezone: 'UTC' }, new Date()) === null, 'must be five fields of cron')
    .optional()
    .describe(
      'When new projects are backed up by themselves, five fields of cron: `30 2 * * *`. Each project’s own schedule can be changed. Default: none.',
    ),
  STACKQUAY_BACKUP_TIMEZONE: z
    .string()
    .refine(isTimeZone, 'must be a time zone of the IANA database: `Europe/Berlin`')
    .default('UTC')
    .describe('Time zone of that. Default: `UTC`.'),
  STACKQUAY_BACKUP_TARGETS: z
    .string()
    .transform((text) =>
      text
        .split(',')
        .map((id) => id.trim())
        .filter((id) => id !== ''),
    )
    .refine((ids) => ids.length <= 5 && new Set(ids).size === ids.length, 'must be at most five, each once')
    .default([])
    .describe('Ids of backup targets that those backups are copied to, with commas between. Default: none.'),
  STACKQUAY_AUDIT_MAX_DAYS: z
    .string()
    .regex(/^\d{1,4}$/, 'must be a whole number of days')
    .transform(Number)
    .refine((days) => days >= 30, 'must be at least 30')
    .optional()
    .describe(
      'How many days entries of the audit log are kept; the log says what was removed, and stays verifiable. Default: for ever.',
    ),
  STACKQUAY_METRICS_MAX_DAYS: z
    .string()
    .regex(/^\d{1,3}$/, 'must be a whole number of days')
    .transform(Number)
    .refine((days) => days >= 1 && days <= 366, 'must lie in 1-366')
    .default(366)
    .describe('How many days the history of metrics goes back at most. Default: `366`.'),
  STACKQUAY_SHARE_PROVIDERS: z
    .string()
    .transform((text) =>
      text
        .split(',')
        .map((name) => name.trim())
        .filter((name) => name !== ''),
    )
    .refine((names) => names.every((name) => providerNames.includes(name)), `must be of ${providerNames.join(', ')}`)
    .default([...providerNames])
    .describe(
      `Ways in which projects may be shared, with commas between. Default: all, which are \`${providerNames.join('`, `')}\`.`,
    ),
  STACKQUAY_SESSION_IDLE_HOURS: z
    .string()
    .regex(/^\d{1,4}$/, 'must be a whole number of hours')
    .transform(Number)
    .refine((hours) => hours >= 1 && hours <= 8760, 'must lie in 1-8760')
    .default(12)
    .describe('Hours without use after which a browser session ends. Default: `12`.'),
  STACKQUAY_SESSION_MAX_DAYS: z
    .string()
    .regex(/^\d{1,3}$/, 'must be a whole number of days')
    .transform(Number)
    .refine((days) => days >= 1 && days <= 365, 'must lie in 1-365')
    .default(7)
    .describe('Days after which a browser session ends, used or not. Default: `7`.'),
  STACKQUAY_REQUIRE_SECOND_FACTOR: z
    .enum(secondFactorRules)
    .default('off')
    .describe(
      'Of whom a second factor is required to log in: `off`, `administrators` or `everyone`. Whoever has none may do nothing before it is set up. Default: `off`.',
    ),
  STACKQUAY_TRUSTED_PROXIES: z
    .string()
    .transform((text) =>
      text
        .split(',')
        .map((part) => part.trim())
        .filter((part) => part !== ''),
    )
    .refine(
      (parts) => parts.every((part) => readAddressRange(part).ok),
      'must be addresses and CIDR blocks, with commas',
    )
    .default([])
    .describe(
      'Addresses and CIDR blocks of proxies in front, with commas between, whose `X-Forwarded-*` headers are believed. Default: none.',
    ),
  STACKQUAY_PUBLIC_URL: z
    .url({ protocol: /^https?$/ })
    .optional()
    .describe(
      'Address of the page as people reach it, when another proxy stands in front. Default: the listen address.',
    ),
  STACKQUAY_UPDATE_URL: z
    .url({ protocol: /^https?$/ })
    .optional()
    .describe(
      'Address that tells the newest version, once a day when the diagnostics are looked at: JSON with `version` and `url`, or the newest release of a forge. Default: none, and nobody is asked.',
    ),
} as const
