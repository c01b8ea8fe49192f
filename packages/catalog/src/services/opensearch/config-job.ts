import type { Job } from '@stackquay/engine-api'
import { dataPath } from '@stackquay/engine-api/workload'

/**
 * Writes the configuration folder beside its place and moves file by file, the one that tells of completeness last. The
 * folder itself stays: OpenSearch keeps its keystore in it. What differs from project to project (ports, paths) is said at
 * the start, so that nothing here has to be quoted.
 */
export function configJob(name: string, line: string, heap: number): Job {
  const folder = `${dataPath(name)}/config`
  return {
    name: 'configure',
    title: 'Write the configuration of OpenSearch',
    argv: ['/bin/sh', '-c', script, 'configure', folder, jvmOptions(line, heap), log4j, settings],
    cwd: dataPath(name),
    env: {},
    timeoutSeconds: 120,
    inputs: [],
    creates: `${folder}/opensearch.yml`,
  }
}

const script = `set -eu
umask 077
mkdir -p "$1"
cd "$1"
put() { printf '%s\\n' "$2" > "$1.new"; mv "$1.new" "$1"; }
put jvm.options "$2"
put log4j2.properties "$3"
put opensearch.yml "$4"
`

/**
 * Memory-mapped files need a system setting (vm.max_map_count) that only root may raise. Shards have nowhere to move, so
 * a disk that is fuller than some percentage would do nothing but make every index read-only.
 */
const settings = `cluster.name: stackquay
node.name: opensearch
discovery.type: single-node
node.store.allow_mmap: false
cluster.routing.allocation.disk.threshold_enabled: false`

/** To standard output alone: the engine keeps the log. */
const log4j = `status = error
appender.console.type = Console
appender.console.name = console
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = [%-5p] [%c{1.}] %m%n
rootLogger.level = info
rootLogger.appenderRef.console.ref = console`

/** OpenSearch puts the folder there as it reads the file. */
const temporary = '\u0024{OPENSEARCH_TMPDIR}'

/** Lines are for the Java versions that stand in front of them. */
export function jvmOptions(line: string, heap: number): string {
  return [
    `-Xms${heap}m`,
    `-Xmx${heap}m`,
    '-XX:+UseG1GC',
    '-XX:G1ReservePercent=25',
    '-XX:InitiatingHeapOccupancyPercent=30',
    `-Djava.io.tmpdir=${temporary}`,
    // Java would keep counters in a file below /tmp.
    '-XX:-UsePerfData',
    `-XX:ErrorFile=${temporary}/../logs/hs_err_pid%p.log`,
    '20-:--add-modules=jdk.incubator.vector',
    // From 3 on an agent of its own does what the security manager of Java did before.
    ...(Number.parseInt(line, 10) >= 3 ? ['21-:-javaagent:agent/opensearch-agent.jar'] : []),
  ].join('\n')
}
