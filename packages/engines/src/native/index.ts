export type { Account } from './account.ts'
export { type Accounts, oneAccount, serviceUser } from './accounts.ts'
export * from './as-user/index.ts'
export { startTalker, type TalkerProcess } from './as-user/talker.ts'
export type { BundledProgram } from './bundled.ts'
export { createNativeEngine, type NativeEngineOptions } from './engine.ts'
export { instanceOf } from './home.ts'
export { existFor, runAs } from './isolation/as-user.ts'
export { openControlGroups } from './isolation/control-groups.ts'
export { type Isolation, type IsolationFeature, isolationFeatures, noIsolation } from './isolation/isolation.ts'
export type { PortRule, UidRange } from './isolation/port-rules.ts'
export { type OpenedPortWalls, openPortWalls, type PortWalls, type PortWallsOptions } from './isolation/port-walls.ts'
export { findSandbox } from './isolation/sandbox.ts'
export { usualLogLimits } from './log-retention.ts'
export { type NetworkEnvironment, networkEnvironment } from './network-environment.ts'
export {
  openSftpFiles,
  type SftpEntry,
  type SftpFiles,
  type SftpHandle,
  type SftpInfo,
} from './sftp/client.ts'
export { type SftpProcess, startSftp } from './sftp/start-sftp.ts'
export type { LogLimits } from './tidy-logs.ts'
