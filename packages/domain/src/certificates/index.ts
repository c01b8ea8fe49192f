export * from './choice.ts'
export * from './local.ts'
export * from './names.ts'
export * from './trouble.ts'
