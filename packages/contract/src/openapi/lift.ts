import type { Json } from './json.ts'

/**
 * Schemas that cannot carry a name of their own, because other documents are made of them too (the project file's schema,
 * the settings of the catalogue), and field schemas that many objects have: name → where one of them stands.
 */
const places: Readonly<Record<string, string>> = {
  DevServer: 'NodeRuntime/properties/devServer',
  DevServerPatch: 'NodeRuntimePatch/properties/devServer',
  ExternalRedis: 'RedisService/properties/external/anyOf/0',
  ExternalRedisPatch: 'RedisServicePatch/properties/external/anyOf/0',
  WorkloadLimits: 'Limits/properties/workloads/additionalProperties',
  AssignedPort: 'GoRuntime/properties/hostPort',
  RuntimeCommand: 'GoRuntime/properties/command',
  RuntimeMode: 'GoRuntime/properties/mode',
  RuntimePort: 'GoRuntime/properties/port',
  RuntimeDebug: 'GoRuntime/properties/debug',
  RuntimeDebugPort: 'GoRuntime/properties/debugPort',
  RuntimeServer: 'GoRuntime/properties/server',
  RuntimeVersion: 'GoRuntime/properties/version',
  ApplicationFolder: 'PythonRuntime/properties/package',
  PackageFolder: 'NodeRuntime/properties/package',
  MainPackageFolder: 'GoRuntime/properties/package',
  ServedFolder: 'StaticRuntime/properties/documentRoot',
  DocumentRoot: 'PhpRuntime/properties/documentRoot',
  ServiceVersion: 'MailpitService/properties/version',
  ServicePortExposed: 'MemcachedService/properties/exposePort',
  ServiceEnabled: 'MailpitService/properties/enabled',
  DataRemoval: 'MailpitServicePatch/properties/removeData',
  CpuLimit: 'Limits/properties/cpus',
  MemoryLimit: 'Limits/properties/memoryBytes',
  ProcessLimit: 'Limits/properties/pids',
}

/** The same schemas with those of the places above as components, referred to wherever an equal one stands. */
export function lift(schemas: ReadonlyMap<string, Json>): Map<string, Json> {
  const names = new Map<string, string>()
  const lifted = new Map<string, Json>()
  for (const [name, place] of Object.entries(places)) {
    const schema = schemaAt(schemas, place)
    names.set(JSON.stringify(schema), name)
    lifted.set(name, schema)
  }
  const result = new Map<string, Json>()
  for (const [name, schema] of [...schemas, ...lifted])
    result.set(name, withoutLifted(schema, (text) => (names.get(text) === name ? undefined : names.get(text))) as Json)
  return result
}

function schemaAt(schemas: ReadonlyMap<string, Json>, place: string): Json {
  const [name, ...steps] = place.split('/')
  const found = steps.reduce<unknown>((node, step) => (node as Json | undefined)?.[step], schemas.get(name!))
  if (found === undefined) throw new Error(`There is no schema at ${place}.`)
  return found as Json
}

function withoutLifted(node: unknown, nameOf: (text: string) => string | undefined): unknown {
  if (Array.isArray(node)) return node.map((item) => withoutLifted(item, nameOf))
  if (typeof node !== 'object' || node === null) return node
  const name = nameOf(JSON.stringify(node))
  if (name !== undefined) return { $ref: `#/components/schemas/${name}` }
  return Object.fromEntries(Object.entries(node).map(([key, value]) => [key, withoutLifted(value, nameOf)]))
}
