import type { z } from 'zod'

/** The names of the fields an object may have at a place of a body, found by walking the schema there. */
export function knownFields(schema: z.ZodType, path: readonly PropertyKey[]): readonly string[] {
  const here = path.reduce<readonly z.ZodType[]>(
    (schemas, step) => schemas.flatMap((one) => inside(one, step)),
    [schema],
  )
  return [...new Set(here.flatMap(unwrap).flatMap((one) => Object.keys(definitionOf(one).shape ?? {})))]
}

function inside(schema: z.ZodType, step: PropertyKey): readonly z.ZodType[] {
  return unwrap(schema).flatMap((one) => {
    const { type, shape, valueType, element } = definitionOf(one)
    if (type === 'object') return shape && Object.hasOwn(shape, step) ? [shape[step as string]!] : []
    if (type === 'record' && valueType) return [valueType]
    return type === 'array' && element ? [element] : []
  })
}

/** What stands behind optional, nullable, default, pipes, lazies; each branch of a union. */
function unwrap(schema: z.ZodType): readonly z.ZodType[] {
  const { type, innerType, options, left, right, getter, in: first } = definitionOf(schema)
  if (innerType) return unwrap(innerType)
  if (type === 'pipe' && first) return unwrap(first)
  if (type === 'lazy' && getter) return unwrap(getter())
  if (left && right) return [...unwrap(left), ...unwrap(right)]
  return options ? options.flatMap(unwrap) : [schema]
}

/** The members of zod's definitions that lead further; which of them there are depends on `type`. */
interface Definition {
  readonly type: string
  readonly shape?: Readonly<Record<string, z.ZodType>>
  readonly valueType?: z.ZodType
  readonly element?: z.ZodType
  readonly innerType?: z.ZodType
  readonly options?: readonly z.ZodType[]
  readonly left?: z.ZodType
  readonly right?: z.ZodType
  readonly in?: z.ZodType
  readonly getter?: () => z.ZodType
}

function definitionOf(schema: z.ZodType): Definition {
  return schema._zod.def as unknown as Definition
}
