export * from './operation.ts'
export * from './operations/index.ts'
export * from './problems.ts'
export * from './schemas/access.ts'
export * from './schemas/common.ts'
export * from './schemas/observe.ts'
export * from './schemas/operations.ts'
export * from './schemas/project.ts'
export * from './schemas/system.ts'
export * from './streams.ts'
export type * from './types.ts'

/** Prefix of every path in `operations`. */
export const apiPrefix = '/api/v1'
