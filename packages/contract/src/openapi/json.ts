export type Json = Readonly<Record<string, unknown>>

export interface OpenapiDocument {
  readonly openapi: '3.1.0'
  readonly info: { readonly title: string; readonly version: string } & Json
  readonly servers: readonly Json[]
  readonly tags: readonly { readonly name: string; readonly description: string }[]
  readonly security: readonly Json[]
  readonly paths: Readonly<Record<string, Readonly<Record<string, unknown>>>>
  readonly components: {
    readonly schemas: Readonly<Record<string, Json>>
    readonly responses: Readonly<Record<string, Json>>
    readonly parameters: Readonly<Record<string, Json>>
    readonly headers: Readonly<Record<string, Json>>
    readonly securitySchemes: Json
  }
}

/** What a reference leads to; anything else is itself. */
export function resolved<T>(document: OpenapiDocument, node: T | { readonly $ref: string }): T {
  if (typeof node !== 'object' || node === null || !('$ref' in node)) return node as T
  const [, kind, name] = node.$ref.slice(2).split('/') as [string, keyof OpenapiDocument['components'], string]
  return (document.components[kind] as Json)[name] as T
}
