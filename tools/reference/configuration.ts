import { settings } from '../../apps/server/src/environment.ts'
import { settingDefinitions } from '../../apps/server/src/settings/definitions.ts'
import { page, table } from './page.ts'

/** Settings of the service from its own schema; those of the command line beside them. */
export function configurationReference(): string {
  return page(
    'Configuration',
    '`apps/server/src/config.ts` and `apps/server/src/settings/definitions.ts`',
    'The service is configured by environment variables, and an administrator changes most of that while it runs. An unknown `STACKQUAY_…` variable ' +
      'refuses to start: a misspelt setting is never ignored. All faults are told at once.',
    ...changes,
    '## The service',
    table(
      ['Variable', 'Meaning'],
      Object.entries(settings).map(([name, schema]) => [`\`${name}\``, schema.description ?? '']),
    ),
    '## Settings that can be changed while it runs',
    'The key stands in `GET` and `PATCH /api/v1/settings`, in `stq instance settings`, and is the name of the variable in camel case.',
    table(
      ['Key', 'Variable', 'Takes effect', 'Password again'],
      Object.entries(settingDefinitions).map(([key, { variable, restart, passwordAgain }]) => [
        `\`${key}\``,
        `\`${variable}\``,
        restart ? 'at the next start' : 'at once',
        passwordAgain ? 'yes, in the page' : 'no',
      ]),
    ),
    '## The command line',
    table(
      ['Variable', 'Meaning'],
      [
        [
          '`STACKQUAY_URL`',
          'The service to talk to. `--url` beats it; it beats the one logged in at. Default: `http://127.0.0.1:8700`.',
        ],
        ['`STACKQUAY_TOKEN`', 'The API token. It beats the one kept by `stq login`.'],
        ['`STACKQUAY_NODE`', 'A newer Node program to run `stq` with, for machines whose own is too old.'],
      ],
    ),
  )
}

const changes = [
  '## Which value wins',
  'The environment wins over what is stored, which wins over the default. The page (Settings, General), the API and `stq instance settings` show where each value comes from. ' +
    'A setting of the environment is changed there: a change of it is refused and names the variable. What is stored is in the database of the service, so backups of the instance hold it.',
  [
    '```sh',
    'stq instance settings',
    'stq instance settings set trashDays 14',
    'stq instance settings unset trashDays',
    'stq instance registries set ghcr.io ada < token.txt',
    '```',
  ].join('\n'),
  'A change is all or nothing: every fault is told before anything is changed. What takes effect at once does so without a dropped request; the rest waits for the next start. ' +
    'What lets others in takes a browser session and the password again. A stored value that is not valid any more, after an update, is left out, and diagnostics say so. ' +
    'An address that cannot be had at a start is overruled by its variable: `STACKQUAY_LISTEN=127.0.0.1:8700`.',
  'After a change of the base domain projects answer at the new addresses alone; names that were added to them stay. Their programs learn the new address (`APP_URL` and the like) when they restart. ' +
    'Ports that projects have stay inside the port range: one that excludes them is refused. Passwords of registries are sealed like all secrets; a login in `STACKQUAY_REGISTRY_AUTH_FILE` wins over a stored one.',
]
