import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bodyOfTarget, fieldsOfTarget } from '../src/lib/target-fields.ts'

test('a new target is sent with the fields of its kind alone, and without what was left empty', () => {
  const fields = {
    ...fieldsOfTarget,
    name: 'Offsite',
    path: '/srv',
    bucket: 'backups',
    accessKeyId: 'KEY',
    secretAccessKey: 'secret',
    host: 'nas',
    user: 'ada',
    password: 'sesame',
  }
  assert.deepEqual(bodyOfTarget('folder', fields), { name: 'Offsite', folder: { path: '/srv' } })
  assert.deepEqual(bodyOfTarget('s3', { ...fields, passphrase: 'of my own' }), {
    name: 'Offsite',
    passphrase: 'of my own',
    s3: { bucket: 'backups', accessKeyId: 'KEY', secretAccessKey: 'secret' },
  })
  const sftp = { host: 'nas', port: 22, user: 'ada', path: '/srv', password: 'sesame' }
  assert.deepEqual(bodyOfTarget('sftp', fields), { name: 'Offsite', sftp })
  const hostKey = 'ssh-ed25519 SHA256:abc'
  assert.deepEqual(bodyOfTarget('sftp', { ...fields, hostKey }), { name: 'Offsite', sftp: { ...sftp, hostKey } })
})
