/*
 * Who may use node:fs in what the service runs, which may be root, and where. Root touches nothing by path inside a tree that a
 * project can write: what is done there goes through `createUserFiles`, `runAsUser` and the functions beside them
 * (packages/engines/src/native/as-user). A new line here says in which of our own folders a file works.
 */

export interface FileAccess {
  /** A file, or with `/` at its end everything below. */
  readonly path: string
  readonly why: string
}

export const foldersWithoutFileAccess: readonly string[] = [
  'apps/server/src',
  'packages/acme/src',
  'packages/archive/src',
  'packages/targets/src',
  'packages/engines/src',
  'packages/catalog/src',
  'packages/domain/src',
  'packages/orchestrator/src',
]

const home = 'folders of our own in the home, which only we can write'

export const fileAccess: readonly FileAccess[] = [
  // The helper itself.
  { path: 'packages/engines/src/native/as-user/acts.ts', why: 'runs as the user of the project' },
  { path: 'packages/engines/src/native/as-user/beneath.ts', why: 'runs as the user of the project' },
  { path: 'packages/engines/src/native/as-user/clear-tree.ts', why: 'where a folder really is, and what is mounted' },
  { path: 'packages/engines/src/native/as-user/copy-databases.ts', why: 'runs as the user of the project' },
  { path: 'packages/engines/src/native/as-user/copy-tree.ts', why: 'runs as the user of the project' },
  { path: 'packages/engines/src/native/as-user/helper.ts', why: 'makes its threads before it gives up its rights' },
  {
    path: 'packages/engines/src/native/as-user/trees.ts',
    why: 'names in our own folders; inside one only before it is given to a user',
  },

  // The process of an SFTP session.
  { path: 'packages/engines/src/native/sftp/', why: 'runs as the user of the project' },

  // The service.
  { path: 'apps/server/src/ssh/own-listener.ts', why: 'whose sockets listen, in /proc' },
  {
    path: 'apps/server/src/backup-targets/access-of-request.ts',
    why: 'asks where a folder really is, and nothing else',
  },
  { path: 'apps/server/src/backups/drill-folder.ts', why: 'makes `drills`, which is ours, and lists its names' },
  { path: 'apps/server/src/backups/free-room.ts', why: 'the free room of the home' },
  { path: 'apps/server/src/bundled.ts', why: 'programs of the installation' },
  { path: 'apps/server/src/config-values.ts', why: 'files that an administrator names in the settings' },
  {
    path: 'apps/server/src/settings/checks.ts',
    why: 'whether folders are there that an administrator names as allowed roots, and nothing else',
  },
  { path: 'apps/server/src/dumps/received-dumps.ts', why: 'files in `dumps` of the home, which only we can read' },
  { path: 'apps/server/src/git/locks.ts', why: 'whose processes run, in /proc' },
  { path: 'apps/server/src/home.ts', why: 'makes the home and the folder above projects' },
  { path: 'apps/server/src/app/built-page.ts', why: 'looks for the built page' },
  { path: 'apps/server/src/backups/own-backups.ts', why: 'the size of the database in the home' },
  {
    path: 'apps/server/src/instance-backups/restore-first.ts',
    why: 'the archive that an administrator names in the settings; whether the home has a database',
  },
  { path: 'apps/server/src/instance-backups/restore-folder.ts', why: '`restore` in the home, and names in the home' },
  { path: 'apps/server/src/instance-lock.ts', why: 'the socket of the instance, in the home' },
  { path: 'apps/server/src/isolation/folder-owner.ts', why: '/etc/login.defs' },
  { path: 'apps/server/src/isolation/provision.ts', why: '/proc' },
  { path: 'apps/server/src/isolation/system-users.ts', why: '/etc/passwd; whose processes run, in /proc' },
  { path: 'apps/server/src/isolation/user-homes.ts', why: 'links in `run-home`, which is ours' },
  { path: 'apps/server/src/metrics/families.ts', why: 'the free room of the home; /proc' },
  { path: 'apps/server/src/metrics/history.ts', why: '`metrics.db` in the home' },
  { path: 'apps/server/src/network/providers/program-on-path.ts', why: 'programs on the PATH of the service' },
  { path: 'apps/server/src/ports/', why: 'the note of who holds the ports, in the home; /proc' },
  { path: 'apps/server/src/catalogue/container-facts.ts', why: 'Dockerfiles of the installation, and `toolchains`' },
  {
    path: 'apps/server/src/projects/files-of.ts',
    why: 'asks whether a folder is there and whose it is, and nothing else',
  },
  { path: 'apps/server/src/projects/new-folder.ts', why: 'names in the folder above projects, which is ours' },
  { path: 'apps/server/src/catalogue/our-programs.ts', why: 'programs of the installation, copied to `toolchains`' },
  { path: 'apps/server/src/projects/prepare.ts', why: 'makes `tools`, which is ours' },
  { path: 'apps/server/src/projects/source-memory.ts', why: 'notes of sources, in the home' },
  { path: 'apps/server/src/projects/sources.ts', why: 'the allowed roots and the home, which an administrator chose' },
  { path: 'apps/server/src/proxy-program.ts', why: 'the proxy of the installation, copied to `toolchains`' },
  { path: 'apps/server/src/log-export/headers-file.ts', why: 'the file that the environment names' },
  { path: 'apps/server/src/registry-auth.ts', why: 'a file that an administrator names in the settings' },
  { path: 'apps/server/src/resume/leftovers.ts', why: 'lists names in `tools`' },
  { path: 'apps/server/src/runs/results-folder.ts', why: 'makes `results` and lists its names' },
  { path: 'apps/server/src/sealing-key.ts', why: 'the secret key, in the home' },
  { path: 'apps/server/src/rescue/main.ts', why: 'whose the database in the home is' },
  { path: 'apps/server/src/setup-code.ts', why: 'the set-up code, in the home' },
  { path: 'apps/server/src/source/', why: 'folders of `git` in the home, given to the user that talks to the network' },
  { path: 'apps/server/src/system/disk-check.ts', why: 'the free room of the home' },
  { path: 'apps/server/src/system/file-system.ts', why: 'the file system of the home' },
  { path: 'apps/server/src/terminals/shell.ts', why: 'shells of the machine' },
  { path: 'apps/server/src/users/system-user.ts', why: 'programs of the machine' },
  { path: 'apps/server/src/version.ts', why: 'package.json of the installation' },

  // Backups.
  { path: 'packages/archive/src/archive-folder.ts', why: 'names in `backups` of the home' },
  { path: 'packages/archive/src/archive-writer.ts', why: 'a backup that is written, in `backups` of the home' },
  { path: 'packages/archive/src/find-zstd.ts', why: 'looks for `zstd` on the PATH of the service' },
  { path: 'packages/archive/src/files.ts', why: 'writes in `backups` of the home' },
  {
    path: 'packages/archive/src/instance/instance-archives.ts',
    why: 'names in `instance-backups` of the home, and the copies in it',
  },
  {
    path: 'packages/archive/src/packer/',
    why: 'writes in `backups` of the home; the process that packs has descriptors alone',
  },
  { path: 'packages/archive/src/read-part.ts', why: 'reads in `backups` of the home' },
  { path: 'packages/archive/src/upload.ts', why: 'removes what it wrote, in `backups` of the home' },
  {
    path: 'packages/targets/src/drivers/folder.ts',
    why: 'the folder of a target, which an administrator names; follows no link in it',
  },

  // The catalogue: only the first runs in the service.
  { path: 'packages/catalog/src/folders.ts', why: 'templates and programs of the installation' },
  { path: 'packages/catalog/src/runtimes/go/go-watch.ts', why: 'a workload, runs as the user of the project' },
  { path: 'packages/catalog/src/runtimes/static/find-file.ts', why: 'a workload, runs as the user of the project' },
  { path: 'packages/catalog/src/services/mailpit/catcher/', why: 'a workload, runs as the user of the project' },
  { path: 'packages/catalog/src/services/opensearch/auth-proxy/', why: 'a workload, runs as the user of the project' },
  { path: 'packages/catalog/src/services/storage/server/', why: 'a workload, runs as the user of the project' },
  { path: 'packages/catalog/src/suites/test-output/', why: 'a test runner’s front, runs as the user of the project' },

  // Docker.
  { path: 'packages/engines/src/docker/certificates.ts', why: 'certificates of the machine' },
  { path: 'packages/engines/src/docker/cgroup.ts', why: 'cgroups of the machine' },
  { path: 'packages/engines/src/docker/network-usage.ts', why: '/proc' },
  { path: 'packages/engines/src/docker/commands/exec-beside.ts', why: '/proc' },
  { path: 'packages/engines/src/docker/asides.ts', why: 'makes folders in `data` of the home' },
  { path: 'packages/engines/src/docker/commands/index.ts', why: home },
  { path: 'packages/engines/src/docker/data.ts', why: 'notes of copies under way, in `data` of the home' },
  { path: 'packages/engines/src/docker/engine.ts', why: home },
  { path: 'packages/engines/src/docker/health.ts', why: '/proc' },
  { path: 'packages/engines/src/docker/load-client.ts', why: 'whether the socket of Docker is there' },
  { path: 'packages/engines/src/docker/logs/', why: home },
  {
    path: 'packages/engines/src/docker/numbered-volumes.ts',
    why: 'notes of volumes that were set aside, in `data` of the home',
  },
  { path: 'packages/engines/src/docker/own-container.ts', why: '/proc' },
  { path: 'packages/engines/src/docker/record.ts', why: home },
  { path: 'packages/engines/src/docker/remove.ts', why: home },
  { path: 'packages/engines/src/docker/subnets.ts', why: '/proc' },
  { path: 'packages/engines/src/docker/tls.ts', why: 'certificates that an administrator names' },
  {
    path: 'packages/engines/src/docker/volumes.ts',
    why: 'the top of a volume, below a folder of Docker’s that only root enters',
  },

  // This machine.
  { path: 'packages/engines/src/native/account.ts', why: '/etc/passwd, and folders of ours that are given away' },
  { path: 'packages/engines/src/native/adopt-runs.ts', why: home },
  { path: 'packages/engines/src/native/atomic-file.ts', why: home },
  { path: 'packages/engines/src/native/bundled.ts', why: 'programs of the installation, copied to `toolchains`' },
  { path: 'packages/engines/src/native/commands/', why: 'output logs, pipes and states in `commands` of the home' },
  { path: 'packages/engines/src/native/data-copies.ts', why: 'names in `data` of the home, never what is inside' },
  { path: 'packages/engines/src/native/asides.ts', why: 'names in `data` of the home, never what is inside' },
  { path: 'packages/engines/src/native/data.ts', why: 'names in `data` of the home, never what is inside' },
  { path: 'packages/engines/src/native/directory-watch.ts', why: home },
  { path: 'packages/engines/src/native/engine.ts', why: home },
  { path: 'packages/engines/src/native/exit-file.ts', why: 'exit files in `run` of the home' },
  { path: 'packages/engines/src/native/disk-usage.ts', why: 'where programs have the rights of the service anyway' },
  { path: 'packages/engines/src/native/home.ts', why: home },
  {
    path: 'packages/engines/src/native/isolation/as-user.ts',
    why: 'where programs have the rights of the service anyway',
  },
  { path: 'packages/engines/src/native/isolation/control-group-trees.ts', why: 'control groups of the machine' },
  { path: 'packages/engines/src/native/isolation/control-groups.ts', why: 'control groups of the machine' },
  { path: 'packages/engines/src/native/isolation/group-events.ts', why: 'control groups of the machine' },
  { path: 'packages/engines/src/native/isolation/iptables-walls.ts', why: 'programs of the machine' },
  {
    path: 'packages/engines/src/native/job-stamp.ts',
    why: 'stamps in `run` of the home; else where programs have the rights of the service anyway',
  },
  { path: 'packages/engines/src/native/lock.ts', why: home },
  { path: 'packages/engines/src/native/log-files.ts', why: home },
  { path: 'packages/engines/src/native/log-lines.ts', why: home },
  { path: 'packages/engines/src/native/log-open.ts', why: home },
  { path: 'packages/engines/src/native/log-recorder.ts', why: home },
  { path: 'packages/engines/src/native/log-retention.ts', why: home },
  { path: 'packages/engines/src/native/logs.ts', why: home },
  { path: 'packages/engines/src/native/new-log.ts', why: home },
  { path: 'packages/engines/src/native/probe.ts', why: 'the free room of the home' },
  { path: 'packages/engines/src/native/process-table-linux.ts', why: '/proc' },
  { path: 'packages/engines/src/native/projects-of.ts', why: home },
  {
    path: 'packages/engines/src/native/reach.ts',
    why: 'programs of the machine; else where programs have the rights of the service anyway',
  },
  { path: 'packages/engines/src/native/record.ts', why: home },
  { path: 'packages/engines/src/native/remove.ts', why: 'names in folders of our own, never what is inside' },
  { path: 'packages/engines/src/native/spawn.ts', why: 'where programs have the rights of the service anyway' },
  { path: 'packages/engines/src/native/start.ts', why: home },
  { path: 'packages/engines/src/native/stored-log.ts', why: home },
  { path: 'packages/engines/src/native/toolchain-places.ts', why: 'programs of the machine' },
  { path: 'packages/engines/src/native/toolchain-version.ts', why: home },
  { path: 'packages/engines/src/native/toolchains.ts', why: 'programs of the machine' },
  { path: 'packages/engines/src/native/waiting.ts', why: 'where programs have the rights of the service anyway' },
]
