import assert from 'node:assert/strict'
import { test } from 'node:test'
import { filesBelow, isOurCode, read } from '../repository.ts'

/** Where the text of a sealed secret leaves its type, and why. A new place is a decision: add it here, with its reason. */
const places: Readonly<Record<string, string>> = {
  'apps/server/src/access/factors/check-factor.ts': 'to compare with the code of an authenticator app',
  'apps/server/src/certificates/acme/attempt.ts': 'an order under way, to go on with it',
  'apps/server/src/certificates/acme/stored.ts': 'to be known by an authority, and to write records at a DNS provider',
  'apps/server/src/app/instance.ts': 'for engines, inside apply',
  'apps/server/src/backup-targets/sealed-access.ts': 'to connect to a backup target, and to open what lies there',
  'apps/server/src/backups/backup-keys.ts': 'the identity that opens the settings of a backup',
  'apps/server/src/backups/settings-part.ts': 'to seal it in a backup, for the key of that backup',
  'apps/server/src/branches/create-environment.ts': 'to seal a copy with the databases that know it',
  'apps/server/src/certificates/local-certificates.ts': 'the authority signs with its key',
  'apps/server/src/certificates/page-certificate.ts': 'the page is served over TLS with it',
  'apps/server/src/certificates/to-proxy.ts': 'the proxy serves hosts with keys, and has them in memory alone',
  'apps/server/src/checkpoints/checkpoint-settings.ts': 'the settings of a checkpoint, to put them back',
  'apps/server/src/deploys/webhook-settings.ts': 'to check what a forge has signed',
  'apps/server/src/git/sealed-remote.ts': 'to log in where a repository comes from',
  'apps/server/src/http/idempotency.ts': 'the key of the fingerprints',
  'apps/server/src/mcp/masking.ts': 'to take it out of what assistants are answered',
  'apps/server/src/oidc/refresher.ts': 'to ask the provider whether a person is still there',
  'apps/server/src/oidc/settings.ts': 'to be known by the provider',
  'apps/server/src/pulls/pull-remote.ts': 'to log in where databases and files are pulled from',
  'apps/server/src/projects/env-handlers.ts': 'a variable, one by one, for those who may read it',
  'apps/server/src/projects/handlers/duplicate-project.ts': 'to seal a copy',
  'apps/server/src/projects/extract-secrets.ts': 'to seal it',
  'apps/server/src/operations/secret-texts.ts': 'to seal it for a snapshot or a clone, or put it back',
  'apps/server/src/operations/make-source.ts': 'the URL that git clones from',
  'apps/server/src/settings/registries.ts': 'to log in to a registry when an image is pulled',
  'apps/server/src/ssh/host-key.ts': 'to be known by clients of SSH',
  'apps/server/src/notifications/sealed-settings.ts': 'to send messages with',
  'apps/server/src/webhooks/sealed-keys.ts': 'to sign deliveries with',
}

test('the text of a sealed secret leaves its type only where that is listed', () => {
  const sources = filesBelow().filter((file) => /^(apps|packages)\/[^/]+\/src\//.test(file) && isOurCode(file))
  const found = sources.filter((file) => read(file).includes('.expose()'))
  assert.deepEqual(found.sort(), Object.keys(places).sort())
})
