// What reads and writes project files (`manifest.ts`, `manifest-schema.ts`, `print-manifest.ts`) is imported by its own path, where it is used:
// with the parser of YAML that it brings, it would lie in the memory of every service.
export * from './access.ts'
export { asksAboutData } from './asks-about-data.ts'
export * from './backup-parts.ts'
export * from './backup-retention.ts'
export * from './backup-schedule.ts'
export type { OfferedLine } from './choose-line.ts'
export { type ContainerFacts, limitsOf } from './containers.ts'
export { envFiles } from './env-files.ts'
export * from './expired-copies.ts'
export type { Manifest, ManifestSecret, ParsedManifest } from './manifest.ts'
export * from './merge-databases.ts'
export { workloadNames } from './merge-limits.ts'
export * from './merge-project.ts'
export * from './names.ts'
export * from './network/index.ts'
export * from './observed-after.ts'
export * from './plan-project.ts'
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
export * from './resolve-dumps.ts'
export * from './resolve-facts.ts'
export * from './resolve-project.ts'
export * from './resolve-upgrade.ts'
export * from './restart-policy.ts'
export * from './restore-blockers.ts'
export { type Reverted, revertSpec } from './revert.ts'
export * from './scheduled-acts.ts'
export * from './scheduled-copies.ts'
export { changedFields, changesOf } from './shown-changes.ts'
export * from './snapshots.ts'
export * from './spec.ts'
export * from './trash.ts'
