import { settings } from '../../apps/server/src/config.ts'
import { page, table } from './page.ts'

/** Settings of the service from its own schema; those of the command line beside them. */
export function configurationReference(): string {
  return page(
    'Configuration',
    '`apps/server/src/config.ts`',
    'The service is configured by environment variables. An unknown `STACKQUAY_…` variable refuses to start: a misspelt setting is never ignored. ' +
      'All faults are told at once.',
    '## The service',
    table(
      ['Variable', 'Meaning'],
      Object.entries(settings).map(([name, schema]) => [`\`${name}\``, schema.description ?? '']),
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
