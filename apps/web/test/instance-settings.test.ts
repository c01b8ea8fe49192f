import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type InstanceSetting, type InstanceSettingKey, instanceSettingKeys } from '@stackquay/contract'
import { settingChanges, settingGroups, shownText } from '../src/lib/instance-settings.ts'

function item(
  key: InstanceSettingKey,
  value: InstanceSetting['value'],
  usual: InstanceSetting['value'],
): InstanceSetting {
  const source = JSON.stringify(value) === JSON.stringify(usual) ? 'default' : 'stored'
  const more = { choices: null, variable: 'STACKQUAY_X', description: '', restart: false, pending: false }
  return { ...more, key, value, default: usual, source, passwordAgain: false, ignored: null }
}

test('every setting is in one group of the form', () => {
  assert.deepEqual(Object.values(settingGroups).flat().toSorted(), instanceSettingKeys.toSorted())
})

test('a PATCH holds what is to be other than it is, and nothing else', () => {
  const items = [
    item('trashDays', 7, 30),
    item('baseDomain', 'localhost', 'localhost'),
    item('trustedProxies', ['10.0.0.1'], []),
    item('shareSsh', 'ada@a.test:22', null),
    item('logMaxMb', 256, 256),
  ]
  assert.deepEqual(settingChanges(items, {}), {})
  assert.deepEqual(settingChanges(items, { trashDays: '7', baseDomain: ' localhost ', logMaxMb: null }), {})
  assert.deepEqual(
    settingChanges(items, {
      ...{
        trashDays: null,
        baseDomain: 'dev.test',
        trustedProxies: ' 10.0.0.2 \n\nfd00::/8\n',
        shareSsh: '',
        logMaxMb: '12',
      },
    }),
    { trashDays: null, baseDomain: 'dev.test', trustedProxies: ['10.0.0.2', 'fd00::/8'], shareSsh: null, logMaxMb: 12 },
  )
  assert.deepEqual(settingChanges(items, { logMaxMb: 'much', trustedProxies: '' }), {
    logMaxMb: 'much',
    trustedProxies: [],
  })
})

test('a field shows what was typed, else what is; reset, the default', () => {
  const trash = item('trashDays', 7, 30)
  assert.deepEqual(
    [{}, { trashDays: '8' }, { trashDays: null }].map((edits) => shownText(trash, edits)),
    ['7', '8', '30'],
  )
})
