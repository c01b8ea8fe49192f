import assert from 'node:assert/strict'
import { test } from 'node:test'
import { z } from 'zod'
import { type Operation, operationList, type Raise } from '../src/index.ts'

type Json = { readonly [key: string]: unknown }
type Part = Raise['when']['part']

/** A field or parameter that says by its name that something goes for good. */
const removingName = /^(remove|delete|drop|purge|erase|wipe)/i

/** Takes such a field and removes nothing, or no more than a record. */
const harmless: Readonly<Record<string, string>> = {
  createProject: 'a new project has no data yet',
  listAllBackups: 'it asks whose projects are gone',
  editTableRows: 'rows are what people who operate a project edit, named one by one',
  editKey: 'the same, of keys',
}

const find = (id: string) => operationList.find((one) => one.id === id)!
const raisesOf = ({ access }: Operation): readonly Raise[] => (access.kind === 'public' ? [] : (access.raised ?? []))
const isForAdmins = ({ access }: Operation) => access.kind === 'scope' && access.scope === 'admin'

test('every DELETE says what it takes away', () => {
  const silent = operationList.filter(({ method, removes }) => method === 'DELETE' && removes === undefined)
  assert.deepEqual(
    silent.map(({ id }) => id),
    [],
    'declare "removes"',
  )
})

test('an operation with a field or parameter that deletes says so, and an operator cannot use it', () => {
  for (const operation of operationList) {
    for (const { part, pointer } of removingFields(operation)) {
      if (Object.hasOwn(harmless, operation.id)) continue
      assert.equal(operation.removes, 'data', `${operation.id} takes ${pointer} in its ${part} and removes data`)
      const isRaised = raisesOf(operation).some(
        ({ to, when }) => to === 'admin' && when.part === part && when.pointers.includes(pointer),
      )
      assert.ok(isForAdmins(operation) || isRaised, `${operation.id}: ${pointer} in the ${part} needs scope admin`)
    }
  }
})

test('what removes data is for administrators, by itself or where its request removes some', () => {
  for (const operation of operationList.filter(({ removes }) => removes === 'data'))
    assert.ok(isForAdmins(operation) || raisesOf(operation).some(({ to }) => to === 'admin'), operation.id)
})

test('these remove data, and no others', () => {
  const ids = operationList.filter(({ removes }) => removes === 'data').map(({ id }) => id)
  assert.deepEqual(ids.sort(), [
    'deleteAnyBackup',
    'deleteBackup',
    'deleteBranch',
    'deleteCheckpoint',
    'deleteDatabase',
    'deleteInstanceBackup',
    'deleteKeptData',
    'deleteOrphan',
    'deleteProject',
    'deleteSnapshot',
    'deleteTargetBackup',
    'importDatabase',
    'pullProject',
    'purgeTrash',
    'resetDatabase',
    'restoreBackup',
    'restoreCheckpoint',
    'restoreSnapshot',
    'updateDatabase',
    'updateProject',
  ])
})

test('every pointer that raises a scope is one that the request can have', () => {
  for (const operation of operationList) {
    for (const { when } of raisesOf(operation)) {
      if (when.part === 'frame') continue
      const known = fieldsOf(operation[when.part], when.part).map(({ pointer }) => pointer)
      for (const pointer of when.pointers) assert.ok(known.includes(pointer), `${operation.id}: ${pointer}`)
    }
  }
})

test('what raises the scope of an operation is pinned', () => {
  const kinds = ['redis', 'rabbitmq', 'meilisearch', 'typesense', 'opensearch', 'mailpit', 'storage']
  assert.deepEqual(
    operationList.flatMap((operation) =>
      raisesOf(operation).map(({ to, when: { part, pointers, equals } }) => [operation.id, to, part, pointers, equals]),
    ),
    [
      ['createToken', 'operate', 'body', ['/scope'], 'operate'],
      ['createToken', 'admin', 'body', ['/scope'], 'admin'],
      ['updateProject', 'admin', 'body', [...kinds.map((kind) => `/${kind}/removeData`), '/addons/*/removeData'], true],
      ['updateProject', 'admin', 'body', ['/databases/*/removeData'], true],
      ['updateProject', 'admin', 'query', ['/purge'], true],
      ['updateDatabase', 'admin', 'body', ['/removeData'], true],
      ['importDatabase', 'admin', 'query', ['/mode'], 'replace'],
      ['watchRun', 'operate', 'frame', ['/type'], 'cancel'],
    ],
  )
})

test('the search for fields that delete finds those that are there', () => {
  assert.ok(removingFields(find('updateProject')).length > 3)
  assert.deepEqual(removingFields(find('deleteProject')), [
    { part: 'query', pointer: '/data' },
    { part: 'query', pointer: '/purge' },
  ])
  const nested = z.strictObject({ all: z.record(z.string(), z.strictObject({ purge: z.boolean() }).nullable()) })
  assert.deepEqual(removingFields({ ...find('createProject'), body: nested }), [
    { part: 'body', pointer: '/all/*/purge' },
  ])
})

function removingFields(operation: Operation): readonly { readonly part: Part; readonly pointer: string }[] {
  return (['body', 'query'] as const).flatMap((part) =>
    fieldsOf(operation[part], part)
      .filter(({ pointer, schema }) => isRemoving(pointer, schema))
      .map(({ pointer }) => ({ part, pointer })),
  )
}

function isRemoving(pointer: string, { enum: values }: Json): boolean {
  const name = pointer.slice(pointer.lastIndexOf('/') + 1)
  return removingName.test(name) || (Array.isArray(values) && values.some((value) => removingName.test(String(value))))
}

/** Every field of a schema at its pointer; `*` stands for any key of a map and any item of a list. */
function fieldsOf(schema: z.ZodType | undefined, part: Part): readonly { pointer: string; schema: Json }[] {
  if (schema === undefined) return []
  const json = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as Json
  const definitions = (json.$defs ?? {}) as Readonly<Record<string, Json>>
  return below(json, '', [])

  function below(of: Json, pointer: string, above: readonly unknown[]): readonly { pointer: string; schema: Json }[] {
    if (above.includes(of)) return []
    const inside = [...above, of]
    const reference = typeof of.$ref === 'string' ? definitions[of.$ref.replace('#/$defs/', '')] : undefined
    const branches = [of.anyOf, of.oneOf, of.allOf, reference].flat().filter(isObject)
    const named = Object.entries((of.properties ?? {}) as Readonly<Record<string, Json>>)
    const others = [of.additionalProperties, of.items].filter(isObject).map((inner) => ['*', inner] as const)
    return [
      ...branches.flatMap((branch) => below(branch, pointer, inside)),
      ...[...named, ...others].flatMap(([name, inner]) => {
        const at = `${pointer}/${name}`
        return [{ pointer: at, schema: inner }, ...below(inner, at, inside)]
      }),
    ]
  }

  function isObject(value: unknown): value is Json {
    assert.notEqual(part, 'frame')
    return typeof value === 'object' && value !== null
  }
}
