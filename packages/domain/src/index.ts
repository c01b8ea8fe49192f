export * from './access.ts'
export * from './backup-parts.ts'
export type { OfferedLine } from './choose-line.ts'
export { type ContainerFacts, limitsOf } from './containers.ts'
export { envFiles } from './env-files.ts'
export * from './manifest.ts'
export * from './manifest-schema.ts'
export { workloadNames } from './merge-limits.ts'
export * from './merge-project.ts'
export { asksAboutData } from './merge-services.ts'
export * from './names.ts'
export * from './network/index.ts'
export * from './observed-after.ts'
export * from './plan-project.ts'
export * from './print-manifest.ts'
export * from './project-status.ts'
export * from './prune.ts'
export * from './requests.ts'
export * from './resolve-backups.ts'
export * from './resolve-commands.ts'
export {
  databaseSecret,
  databaseWorkload,
  packageFolder,
  resolveConnections,
  serviceSecret,
} from './resolve-connections.ts'
export * from './resolve-facts.ts'
export * from './resolve-project.ts'
export * from './restart-policy.ts'
export * from './restore-blockers.ts'
export { type Reverted, revertSpec } from './revert.ts'
export { changedFields, changesOf } from './shown-changes.ts'
export * from './spec.ts'
