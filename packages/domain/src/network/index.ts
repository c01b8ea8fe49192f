export * from './address-range.ts'
export * from './host-name.ts'
export * from './proxy-rules.ts'
